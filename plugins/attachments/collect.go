package attachments

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"time"
)

// List yields the ids of all stored objects in byte order. Files that are not
// objects are passed over.
func (s *Store) List(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for id, err := range s.objects(ctx) {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(id.String(), nil) {
				return
			}
		}
	}
}

// objects yields the digests of all stored objects in byte order. After an error
// it ends.
func (s *Store) objects(ctx context.Context) iter.Seq2[digest, error] {
	return func(yield func(digest, error) bool) {
		leave, err := s.enter(ctx)
		if err != nil {
			yield(digest{}, err)
			return
		}
		defer leave()
		dirs, err := readDir(s.root, objectsDir)
		if err != nil {
			yield(digest{}, readFailed("list "+objectsDir, err))
			return
		}
		for _, d := range dirs {
			if len(d.Name()) != 2 || !d.IsDir() {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(digest{}, err)
				return
			}
			files, err := readDir(s.root, objectsDir+"/"+d.Name())
			if err != nil {
				yield(digest{}, readFailed("list "+objectsDir, err))
				return
			}
			for _, f := range files {
				id, err := parseID(idPrefix + f.Name())
				if err != nil || f.Name()[:2] != d.Name() || !f.Type().IsRegular() {
					continue
				}
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}

// Collect removes every object and variant that keep does not name, and returns
// how many objects and bytes went. Objects younger than the grace time stay. It
// excludes publishing, here and in other processes, for one removal at a time.
func (s *Store) Collect(ctx context.Context, keep map[string]bool) (objects int, bytes int64, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer leave()
	for id, err := range s.objects(ctx) {
		if err != nil {
			return objects, bytes, err
		}
		if keep[id.String()] {
			continue
		}
		gone, n, err := s.removeOld(ctx, id)
		if err != nil {
			return objects, bytes, err
		}
		if gone {
			objects++
		}
		bytes += n
	}
	n, err := s.removeOrphans(ctx)
	if err != nil {
		return objects, bytes + n, err
	}
	return objects, bytes + n, s.sweepStaging()
}

// removeOld removes one object and its variants, unless it is young: it may have
// come or been asked for again since it was listed.
func (s *Store) removeOld(ctx context.Context, id digest) (gone bool, bytes int64, err error) {
	unlock, err := s.lock(ctx, true)
	if err != nil {
		return false, 0, err
	}
	defer unlock()
	info, err := s.root.Lstat(id.path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, readFailed("look at an object", err)
	}
	if time.Since(info.ModTime()) < s.grace {
		return false, 0, nil
	}
	if err := s.root.Remove(id.path()); err != nil {
		return false, 0, writeFailed("remove an object", err)
	}
	n, err := s.removeVariants(id.hex())
	return true, info.Size() + n, err
}

func (s *Store) removeVariants(name string) (bytes int64, err error) {
	dir := variantsDir + "/" + name
	files, err := readDir(s.root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, readFailed("list "+dir, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			bytes += info.Size()
		}
	}
	if err := s.root.RemoveAll(dir); err != nil {
		return 0, writeFailed("remove "+dir, err)
	}
	return bytes, nil
}

// removeOrphans removes variants whose object is gone, which a kill between the
// two removals leaves.
func (s *Store) removeOrphans(ctx context.Context) (bytes int64, err error) {
	dirs, err := readDir(s.root, variantsDir)
	if err != nil {
		return 0, readFailed("list "+variantsDir, err)
	}
	for _, d := range dirs {
		id, err := parseID(idPrefix + d.Name())
		if err != nil {
			continue
		}
		n, err := s.removeOrphan(ctx, id)
		bytes += n
		if err != nil {
			return bytes, err
		}
	}
	return bytes, nil
}

func (s *Store) removeOrphan(ctx context.Context, id digest) (int64, error) {
	unlock, err := s.lock(ctx, true)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if _, err := s.root.Lstat(id.path()); !errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return s.removeVariants(id.hex())
}
