package fslocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/bridle-go/bridle/harness/vfs"
)

// staged is new content that is not in place yet: a file in the target's
// directory, locked for as long as it is open.
type staged struct {
	*file
	in   *Dir
	name string
}

// drop removes the staged file.
func (s *staged) drop() {
	// It goes while it is still locked, lest another process takes the name in
	// between. What cannot be removed is swept by the next change.
	_ = s.in.remove(s.name)
	s.Close()
}

// slots bounds how many processes can stage one target at a time.
const slots = 64

// stageName names the staging file of an entry. It follows from the entry's
// name, so that a later change finds what was left by a killed process without
// listing the directory; the slot tells apart the processes that change the
// entry at the same time. kind tells new content from copies of old.
func stageName(entry, kind string, slot int) string {
	return fmt.Sprintf("%s%016x-%s%d%s", stagePrefix, xxh3.HashString(entry), kind, slot, stageSuffix)
}

const (
	stagePrefix = ".bridle-"
	stageSuffix = ".tmp"
)

// defaultPatience is how long a change waits for another process that changes the
// same target. One that takes longer has stopped, or writes very much; then
// both stage at the same time.
const defaultPatience = 2 * time.Second

// stageIn creates a locked staging file for an entry in dir, and removes those
// of dead processes. It waits for a living one: so the processes that work
// through this package take turns, and none gets in between another's last
// look and its publication.
func (f *FS) stageIn(ctx context.Context, dir *Dir, entry, kind string, perm uint32) (*staged, error) {
	pause, waited := 100*time.Microsecond, time.Duration(0)
	for slot := 0; slot < slots; {
		name := stageName(entry, kind, slot)
		if err := f.hit("stage"); err != nil {
			return nil, err
		}
		file, err := dir.open(name, createUnique, perm)
		if errors.Is(err, syscall.EEXIST) {
			switch sweep(dir, name) {
			case swept:
			case alive:
				if waited < f.patience {
					if err := sleep(ctx, pause); err != nil {
						return nil, err
					}
					waited += pause
					pause = min(2*pause, 10*time.Millisecond)
					continue
				}
				slot++
			case unknown:
				slot++
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if !owned(dir, name, file) {
			// Another process took the file for a dead one's before it was locked.
			file.Close()
			continue
		}
		s := &staged{file: file, in: dir, name: name}
		if err := f.hit("lock"); err != nil {
			s.drop()
			return nil, err
		}
		sweepFrom(dir, entry, kind, slot+1)
		return s, nil
	}
	return nil, fmt.Errorf("%d other processes are changing the file: %w", slots, syscall.EBUSY)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// owned locks a staging file and makes sure that its name still leads to it.
// A filesystem without locks leaves the file alone from both sides.
func owned(dir *Dir, name string, file *file) bool {
	if got, err := file.lock(); err == nil && !got {
		return false
	}
	own, err := file.stat()
	if err != nil {
		return false
	}
	there, err := dir.stat(name)
	return err == nil && there.sameFile(own)
}

// remains is what became of a staging file that was in the way.
type remains uint8

const (
	swept   remains = iota // its process was dead, and it is gone
	alive                  // its process is at work
	unknown                // nobody can tell
)

// sweep removes a staging file if its process is dead. The lock tells: it ends
// with its holder, on every machine.
func sweep(dir *Dir, name string) remains {
	file, err := dir.open(name, forWriting, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return swept
	}
	if err != nil {
		// A symlink that is being copied is staged for microseconds and cannot
		// be locked.
		m, statErr := dir.stat(name)
		if statErr == nil && m.kind == vfs.Link && time.Since(time.Unix(0, m.ctime)) > time.Minute && dir.remove(name) == nil {
			return swept
		}
		return unknown
	}
	defer file.Close()
	got, err := file.lock()
	if err != nil {
		return unknown
	}
	if !got {
		return alive
	}
	own, err := file.stat()
	if err != nil {
		return unknown
	}
	there, err := dir.stat(name)
	switch {
	case err != nil:
		return unknown
	case !there.exists() || !there.sameFile(own):
		return swept // published or removed meanwhile
	case dir.remove(name) != nil:
		return unknown
	}
	return swept
}

// sweepFrom removes the remains in the slots from the given one on. Two empty
// slots in a row end the search: more than that takes three processes that
// were killed while they changed one target.
func sweepFrom(dir *Dir, entry, kind string, slot int) {
	for empty := 0; empty < 2 && slot < slots; slot++ {
		name := stageName(entry, kind, slot)
		if m, err := dir.stat(name); err != nil || !m.exists() {
			empty++
			continue
		}
		empty = 0
		sweep(dir, name)
	}
}

// publish puts a staged file in place of what was judged to be there.
func (p *place) publish(s *staged, was meta) error {
	if err := p.unchanged(was); err != nil {
		return err
	}
	if err := p.fs.hit("publish"); err != nil {
		return err
	}
	if was.exists() {
		return lost(p.dir.rename(s.name, p.dir, p.name))
	}
	return p.publishNew(s)
}

// unchanged looks at the entry once more. When somebody changes it all the
// time, the last attempt of a change that demands nothing lets that pass.
func (p *place) unchanged(was meta) error {
	if err := p.fs.hit("check"); err != nil {
		return err
	}
	now, err := p.stat()
	if err != nil {
		return err
	}
	if !now.sameEntry(was) && !(p.last && p.opts.Guard.None() && p.opts.Grant == nil && now.kind == was.kind) {
		return errMoved
	}
	return nil
}

// publishNew puts a staged file where nothing is, also against a creator that
// races.
func (p *place) publishNew(s *staged) error {
	err := p.fs.hit("rename-new")
	if err == nil {
		err = p.dir.renameNew(s.name, p.dir, p.name)
	}
	if errors.Is(err, errUnsupported) {
		// A second name, then no first one, comes to the same.
		if err = p.fs.hit("link"); err == nil {
			err = p.dir.link(s.name, p.name)
		}
		if err == nil {
			_ = p.dir.remove(s.name) // swept later if it stays
			return nil
		}
		if !errors.Is(err, syscall.EEXIST) {
			err = p.claim(s)
		}
	}
	if errors.Is(err, syscall.EEXIST) {
		return errMoved
	}
	return lost(err)
}

// claim creates the entry empty and renames over it, for filesystems that know
// neither a rename that does not replace nor hard links. Only there can a
// reader see the empty file.
func (p *place) claim(s *staged) error {
	empty, err := p.dir.open(p.name, createUnique, 0o600)
	if err != nil {
		return err
	}
	empty.Close()
	if err = p.dir.rename(s.name, p.dir, p.name); err != nil {
		_ = p.dir.remove(p.name) // ours, and empty
	}
	return err
}
