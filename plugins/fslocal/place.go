package fslocal

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// place is one directory entry that is locked for a change: an open directory
// and a name in it.
type place struct {
	fs   *FS
	verb string
	t    vfs.Target
	opts vfs.Options
	gate Gate
	// path is the entry's absolute path when it was resolved.
	path string
	name string
	// dir holds the entry or, while missing is not empty, the outermost of the
	// directories that have to be made first.
	dir     *Dir
	missing []string
	made    []madeDir
	// last tells that there will be no further attempt.
	last bool
	// looks tells that nothing is to be changed.
	looks bool
}

// madeDir is a directory that was made for the change, with the one it is in.
type madeDir struct {
	in   *Dir
	name string
}

// attempts bounds how often a change begins again because the path leads
// elsewhere or the file changed between the look at it and the publication.
const attempts = 32

// spot is a request for a place.
type spot struct {
	t    vfs.Target
	opts vfs.Options
	// entry asks for the entry that t.Path names, though it be a symlink;
	// else for the file that it leads to.
	entry bool
}

// change runs fn on the locked places of one change, from the start again when
// it reports errMoved. fn must leave nothing behind when it fails.
func (f *FS) change(ctx context.Context, verb string, spots []spot, fn func([]*place) error) error {
	path := spots[0].t.Path
	f.life.RLock()
	defer f.life.RUnlock()
	if f.closed {
		return refuse(errs.IO, verb, path, "the filesystem provider has been closed", nil)
	}
	for try := 1; ; try++ {
		if err := vfs.Aborted(ctx, verb, path); err != nil {
			return err
		}
		err := f.attempt(ctx, verb, spots, try, fn)
		if errors.Is(err, errMoved) && try < attempts {
			continue
		}
		return fail(verb, path, err)
	}
}

func (f *FS) attempt(ctx context.Context, verb string, spots []spot, try int, fn func([]*place) error) error {
	places := make([]*place, len(spots))
	defer func() {
		for _, p := range places {
			p.leave()
		}
	}()
	for i, s := range spots {
		path, err := f.locate(s, try)
		if err != nil {
			return err
		}
		if err := within(s, path); err != nil {
			return err
		}
		p := &place{fs: f, verb: verb, t: s.t, opts: s.opts, path: path, last: try == attempts}
		places[i] = p
		if f.fence != nil {
			if p.gate, err = f.fence.Enter(ctx, Change{Op: verb, Target: s.t, Path: path, Options: s.opts}); err != nil {
				return err
			}
		}
	}
	unlock, err := lockPlaces(ctx, places)
	if err != nil {
		return err
	}
	defer unlock()
	for _, p := range places {
		if err := p.open(); err != nil {
			return err
		}
	}
	return fn(places)
}

// locate returns the absolute path of the entry that would change. The key of
// a target says it at first; if that turns out to be out of date, the path is
// resolved again.
func (f *FS) locate(s spot, try int) (string, error) {
	key, err := keyPath(s.t)
	if err != nil {
		return "", err
	}
	switch {
	case s.entry:
		return resolveEntry(s.t.Path, key)
	case try == 1:
		return key, nil
	}
	path, err := resolvePath(s.t.Path)
	if err == nil && s.opts.Grant != nil && path != key {
		// Who approved it has approved the place that the path led to.
		return "", refuse(errs.StaleVersion, "change", s.t.Path, "the path leads elsewhere than when the change was approved", nil)
	}
	return path, err
}

// lockPlaces takes the locks of all places in one order, so that two changes
// never wait for each other.
func lockPlaces(ctx context.Context, places []*place) (unlock func(), err error) {
	first, err := lockKey(ctx, minPath(places))
	if err != nil {
		return nil, err
	}
	if len(places) == 1 || foldKey(places[0].path) == foldKey(places[1].path) {
		return first, nil
	}
	second, err := lockKey(ctx, maxPath(places))
	if err != nil {
		first()
		return nil, err
	}
	return func() { second(); first() }, nil
}

func minPath(places []*place) string {
	path := places[0].path
	for _, p := range places[1:] {
		path = min(foldKey(path), foldKey(p.path))
	}
	return path
}

func maxPath(places []*place) string {
	path := places[0].path
	for _, p := range places[1:] {
		path = max(foldKey(path), foldKey(p.path))
	}
	return path
}

// open opens the directory of the entry, or the innermost above it that
// exists.
func (p *place) open() error {
	if err := p.fs.hit("open-parent"); err != nil {
		return err
	}
	rel := p.gate.Rel
	enter := func(rel string) (*Dir, error) { return p.gate.Root.sub(rel) }
	if p.gate.Root == nil {
		rel = p.path
		enter = OpenDir
	} else if rel == "" {
		// The gate's root itself, which has no name below it.
		dir, err := p.gate.Root.sub("")
		p.dir = dir
		return err
	}
	parent, name := splitLast(rel, p.gate.Root == nil)
	p.name = name
	for {
		dir, err := enter(parent)
		switch {
		case err == nil:
			p.dir = dir
			return nil
		case errors.Is(err, syscall.ELOOP):
			return errMoved
		case !errors.Is(err, syscall.ENOENT) || parent == "" || parent == rootOf(parent):
			return err
		}
		var last string
		parent, last = splitLast(parent, p.gate.Root == nil)
		p.missing = append([]string{last}, p.missing...)
	}
}

// splitLast cuts the last part off a path.
func splitLast(path string, absolute bool) (parent, name string) {
	if absolute {
		return filepath.Dir(path), filepath.Base(path)
	}
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// rootOf returns the root directory of an absolute path.
func rootOf(path string) string { return filepath.VolumeName(path) + string(filepath.Separator) }

// leave closes what the place holds open.
func (p *place) leave() {
	if p == nil {
		return
	}
	for _, m := range p.made {
		m.in.Close()
	}
	if p.dir != nil {
		p.dir.Close()
	}
	if p.gate.Release != nil {
		p.gate.Release()
	}
}

// stat describes the entry; nothing is there while its directory is missing.
func (p *place) stat() (meta, error) {
	switch {
	case len(p.missing) > 0:
		return meta{}, nil
	case p.name == "":
		return p.dir.self()
	}
	return p.dir.stat(p.name)
}

// makeParents makes the missing directories. dropParents takes them back.
func (p *place) makeParents() error {
	for len(p.missing) > 0 {
		name := p.missing[0]
		if err := p.fs.hit("make-parent"); err != nil {
			return err
		}
		err := p.dir.mkdir(name, 0o777)
		if err != nil && !errors.Is(err, syscall.EEXIST) {
			return lost(err)
		}
		sub, subErr := p.dir.sub(name)
		if subErr != nil {
			if err == nil {
				_ = p.dir.rmdir(name) // ours, empty, and of no use
			}
			return lost(subErr)
		}
		if err == nil {
			p.made = append(p.made, madeDir{in: p.dir, name: name})
		} else {
			p.dir.Close()
		}
		p.dir, p.missing = sub, p.missing[1:]
	}
	return nil
}

// dropParents removes the directories that were made for a change that then
// failed. One that somebody else uses by now stays.
func (p *place) dropParents() {
	for i := len(p.made) - 1; i >= 0; i-- {
		m := p.made[i]
		_ = m.in.rmdir(m.name) // fails when in use, as it should
	}
}

// sync makes the entry and the directories made for it durable.
func (p *place) sync() error {
	if err := p.fs.hit("sync-dir"); err != nil {
		return err
	}
	if err := p.dir.sync(); err != nil {
		return err
	}
	for i := len(p.made) - 1; i >= 0; i-- {
		if err := p.made[i].in.sync(); err != nil {
			return err
		}
	}
	return nil
}

// lost turns the disappearance of a directory that was there, or a symlink in
// its place, into a reason to begin again.
func lost(err error) error {
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ELOOP) {
		return errMoved
	}
	return err
}
