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
	staged := map[digest]string{}
	defer func() {
		for _, name := range staged {
			if gone := s.root.Remove(name); gone != nil && err == nil && !errors.Is(gone, fs.ErrNotExist) {
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
		there, err := s.intact(n.id, n.Data)
		if err != nil {
			return err
		}
		if there {
			done[n.id] = true
			continue
		}
		name, err := s.stage(n.Data)
		if err != nil {
			return err
		}
		staged[n.id] = name
	}
	dirs := map[string]bool{}
	for id, name := range staged {
		if err := s.place(name, id); err != nil {
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

// intact tells whether the object is there with these bytes. It gives it a new
// time, which keeps a collection away until the reference is logged. A damaged
// object is moved out of the way.
func (s *Store) intact(id digest, data []byte) (bool, error) {
	f, err := s.root.Open(id.path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, readFailed("open an object", err)
	}
	defer f.Close()
	have, err := io.ReadAll(io.LimitReader(f, int64(len(data))+1))
	if err != nil {
		return false, readFailed("read an object", err)
	}
	if digestOf(have) != id {
		if err := s.root.Remove(id.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, writeFailed("remove a damaged object", err)
		}
		return false, nil
	}
	now := time.Now()
	if err := s.root.Chtimes(id.path(), now, now); err != nil {
		return false, writeFailed("mark an object as used", err)
	}
	return true, nil
}

// stage writes a synced file for its owner alone and returns its name.
func (s *Store) stage(pieces ...[]byte) (name string, err error) {
	name = stagingDir + "/" + rand.Text()
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
// file system has no links, a rename may replace an object by its equal.
func (s *Store) place(staged string, id digest) error {
	dir := path.Dir(id.path())
	switch err := s.root.Mkdir(dir, 0o700); {
	case err == nil:
		if err := syncDir(s.root, objectsDir); err != nil {
			return writeFailed("sync "+objectsDir, err)
		}
	case !errors.Is(err, fs.ErrExist):
		return writeFailed("make "+dir, err)
	}
	err := s.root.Link(staged, id.path())
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if renamed := s.root.Rename(staged, id.path()); renamed != nil {
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
