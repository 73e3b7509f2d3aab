package attachments

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// publish makes objects durable under their names: all are staged and synced
// before the first is linked, so that a full disk shows before anything is done.
func (s *Store) publish(ctx context.Context, all []saved) (err error) {
	unlock, err := s.lock(ctx, false)
	if err != nil {
		return err
	}
	defer unlock()
	staged := map[digest]stagedObject{}
	defer func() {
		for _, o := range staged {
			if gone := s.root.Remove(o.name); gone != nil && err == nil && !errors.Is(gone, fs.ErrNotExist) {
				err = writeFailed("remove a staged file", gone)
			}
		}
	}()
	done := map[digest]bool{}
	for _, n := range all {
		if _, ok := staged[n.id]; ok || done[n.id] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		there, intact, err := s.present(n.id, n.Data)
		if err != nil {
			return err
		}
		if intact {
			done[n.id] = true
			continue
		}
		name, err := s.stage(n.Data)
		if err != nil {
			return err
		}
		staged[n.id] = stagedObject{name, there}
	}
	dirs := map[string]bool{}
	for id, o := range staged {
		if err := s.place(o, id); err != nil {
			return err
		}
		dirs[path.Dir(id.path())] = true
	}
	for id := range done {
		// Another process may have linked it and not yet synced the directory.
		dirs[path.Dir(id.path())] = true
	}
	for dir := range dirs {
		if err := syncDir(s.root, dir); err != nil {
			return writeFailed("sync "+dir, err)
		}
	}
	return nil
}

// stagedObject is a file in staging that will be an object.
type stagedObject struct {
	name string
	// heals tells that a damaged object has the final name.
	heals bool
}

// present tells whether the object is there, and whether it has these bytes. An
// intact one gets a new time, which keeps a collection away until the reference
// is logged.
func (s *Store) present(id digest, data []byte) (there, intact bool, err error) {
	f, err := s.root.Open(id.path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, readFailed("open an object", err)
	}
	defer f.Close()
	have, err := io.ReadAll(io.LimitReader(f, int64(len(data))+1))
	if err != nil {
		return false, false, readFailed("read an object", err)
	}
	if digestOf(have) != id {
		return true, false, nil
	}
	now := time.Now()
	if err := s.root.Chtimes(id.path(), now, now); err != nil {
		return false, false, writeFailed("mark an object as used", err)
	}
	return true, true, nil
}

// stage writes a synced file for its owner alone and returns its name.
func (s *Store) stage(pieces ...[]byte) (_ string, err error) {
	name := stagingDir + "/" + rand.Text()
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", writeFailed("stage a file", err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = writeFailed("close a staged file", closed)
		}
		if err != nil {
			err = errors.Join(err, ignoreMissing(s.root.Remove(name)))
		}
	}()
	for _, b := range pieces {
		if _, err := f.Write(b); err != nil {
			return "", writeFailed("write a staged file", err)
		}
	}
	if err := f.Sync(); err != nil {
		return "", writeFailed("sync a staged file", err)
	}
	return name, nil
}

// place gives a staged file its final name. Linking never replaces; where the
// file system has no links, a rename may replace an object by its equal. A damaged
// object is replaced in one step, too, and not removed first: another process may
// have healed it meanwhile, and a kill must not take that away again.
func (s *Store) place(staged stagedObject, id digest) error {
	dir := path.Dir(id.path())
	switch err := s.root.Mkdir(dir, 0o700); {
	case err == nil:
		if err := syncDir(s.root, objectsDir); err != nil {
			return writeFailed("sync "+objectsDir, err)
		}
	case !errors.Is(err, fs.ErrExist):
		return writeFailed("make "+dir, err)
	}
	var err error
	if !staged.heals {
		err = s.root.Link(staged.name, id.path())
		if err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
	}
	if renamed := s.root.Rename(staged.name, id.path()); renamed != nil {
		return writeFailed("publish an object", errors.Join(err, renamed))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// staleStaging is the age at which a staged file cannot belong to a living save
// any more.
const staleStaging = 24 * time.Hour

// sweepStaging removes what killed processes left.
func (s *Store) sweepStaging() error {
	entries, err := readDir(s.root, stagingDir)
	if err != nil {
		return readFailed("list "+stagingDir, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < staleStaging {
			continue
		}
		if err := ignoreMissing(s.root.Remove(stagingDir + "/" + e.Name())); err != nil {
			return writeFailed("remove a stale file", err)
		}
	}
	return nil
}

// readDir lists a directory in byte order of names.
func readDir(root *os.Root, name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(root.FS(), name)
}

// lockPause is how long a caller waits between two tries for a lock that another
// process holds; a collection holds it for one removal at a time.
const lockPause = 2 * time.Millisecond

// lock takes the store's lock between processes: shared to publish, alone to
// remove.
func (s *Store) lock(ctx context.Context, alone bool) (unlock func(), err error) {
	f, err := s.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, writeFailed("open its lock", err)
	}
	for {
		switch err := tryLock(f, alone); {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, errHeld):
			f.Close()
			return nil, writeFailed("take its lock", err)
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for the attachment store's lock: %w", context.Cause(ctx))
		}
	}
}

var errHeld = errors.New("the lock is held")
