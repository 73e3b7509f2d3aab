package fslocal

import (
	"context"
	"errors"
	"math"
	"syscall"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Rename implements [vfs.Renamer]. A symlink is moved as such, and one at the
// destination is replaced as such. Missing parents of the destination are
// made.
func (f *FS) Rename(ctx context.Context, from, to vfs.Target, replace bool, opts vfs.Options) error {
	plain := opts
	plain.Guard = vfs.Guard{}
	spots := []spot{{t: from, opts: plain, entry: true}, {t: to, opts: opts, entry: true}}
	return f.change(ctx, "rename", spots, func(ps []*place) (err error) {
		src, dst := ps[0], ps[1]
		m, err := src.stat()
		if err != nil {
			return err
		}
		if !m.exists() {
			return refuse(errs.NotFound, "rename", from.Path, "not found", syscall.ENOENT)
		}
		there, err := dst.judgeEntry(ctx)
		if err != nil {
			return err
		}
		if there.exists() && !replace {
			return vfs.NotObserved(to)
		}
		defer func() {
			if err != nil {
				dst.dropParents()
			}
		}()
		if err := dst.makeParents(); err != nil {
			return err
		}
		if err := vfs.Aborted(ctx, "rename", from.Path); err != nil {
			return err
		}
		if err := src.unchangedEntry(m); err != nil {
			return err
		}
		if err := dst.unchanged(there); err != nil {
			return err
		}
		if err := f.hit("publish"); err != nil {
			return err
		}
		if there.exists() {
			err = src.dir.rename(src.name, dst.dir, dst.name)
		} else {
			err = src.renameNew(dst, m)
		}
		if err != nil {
			return renameRefused(from.Path, there.exists(), err)
		}
		err = dst.sync()
		if err == nil {
			err = src.sync()
		}
		if err != nil {
			return dst.durabilityError(err)
		}
		return nil
	})
}

// renameRefused says why the system did not rename what is at path; replaced
// tells whether something was to be replaced.
func renameRefused(path string, replaced bool, err error) error {
	switch {
	case errors.Is(err, syscall.EXDEV):
		return refuse(errs.IO, "rename", path, "it cannot be moved to another device in one step", vfs.ErrCrossDevice)
	case errors.Is(err, syscall.EEXIST) && !replaced:
		return errMoved
	case errors.Is(err, syscall.EINVAL):
		return refuse(errs.InvalidArgs, "rename", path, "a directory cannot be moved into itself", err)
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		return refuse(errs.IO, "rename", path, "a directory and something else cannot replace each other", err)
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST):
		return refuse(errs.IO, "rename", path, "the directory at the destination is not empty", err)
	}
	return lost(err)
}

// unchangedEntry makes sure that the entry is still the same file, in whatever
// state.
func (p *place) unchangedEntry(was meta) error {
	now, err := p.stat()
	if err == nil && (now.kind != was.kind || !now.sameFile(was)) {
		return errMoved
	}
	return err
}

// renameNew moves an entry to where nothing is. Filesystems that cannot do so
// in one step can for a file, by way of a second name.
func (p *place) renameNew(to *place, m meta) error {
	err := p.dir.renameNew(p.name, to.dir, to.name)
	if !errors.Is(err, errUnsupported) {
		return err
	}
	if m.kind == vfs.Directory {
		// Nothing but an empty directory can be replaced by one.
		return p.dir.rename(p.name, to.dir, to.name)
	}
	if err := p.dir.linkTo(p.name, to.dir, to.name); err != nil {
		return err
	}
	if err := p.dir.remove(p.name); err != nil {
		_ = to.dir.remove(to.name)
		return err
	}
	return nil
}

// Copy implements [vfs.Copier]. A symlink is copied as such, and one at the
// destination is replaced as such. Missing parents of the destination are
// made. Where the filesystem can, the copy shares the blocks of the original.
func (f *FS) Copy(ctx context.Context, from, to vfs.Target, replace bool, opts vfs.Options) (int64, error) {
	key, err := keyPath(from)
	if err != nil {
		return 0, err
	}
	var copied int64
	spots := []spot{{t: to, opts: opts, entry: true}}
	err = f.change(ctx, "copy", spots, func(ps []*place) (err error) {
		copied, err = ps[0].copyFrom(ctx, from, key, replace)
		return err
	})
	if err != nil {
		return 0, err
	}
	return copied, nil
}

func (p *place) copyFrom(ctx context.Context, from vfs.Target, key string, replace bool) (copied int64, err error) {
	path, err := resolveEntry(from.Path, key)
	if err != nil {
		return 0, fail("copy", from.Path, err)
	}
	m, err := statPath(path, false)
	if err != nil {
		return 0, fail("copy", from.Path, err)
	}
	if m.kind != vfs.Link {
		if err := regular("copy", from.Path, m); err != nil {
			return 0, err
		}
	}
	there, err := p.judgeEntry(ctx)
	if err != nil {
		return 0, err
	}
	switch {
	case there.exists() && !replace:
		return 0, vfs.NotObserved(p.t)
	case there.kind == vfs.Directory:
		return 0, refuse(errs.NotRegularFile, "copy", p.t.Path, "there is a directory", syscall.EISDIR)
	case there.exists() && there.sameFile(m) && m.kind == vfs.File:
		return m.size, nil // onto itself, by this name or another
	}
	defer func() {
		if err != nil {
			p.dropParents()
		}
	}()
	if err := p.makeParents(); err != nil {
		return 0, err
	}
	s, err := p.fs.stageIn(ctx, p.dir, p.name, "", 0o600)
	if err != nil {
		return 0, lost(err)
	}
	if m.kind == vfs.Link {
		err = p.stageLink(s, path, m)
	} else {
		copied, err = p.stageCopy(ctx, s, from, path)
	}
	if err == nil {
		err = p.publish(s, there)
	}
	if err != nil {
		s.drop()
		return 0, err
	}
	s.Close()
	return copied, p.durable()
}

// stageLink puts a copy of a symlink in the place of the staging file.
func (p *place) stageLink(s *staged, path string, m meta) error {
	content, err := readlink(path)
	if err != nil {
		return errMoved
	}
	if err := s.in.remove(s.name); err != nil {
		return err
	}
	if err := s.in.symlink(content, s.name); err != nil {
		return err
	}
	return s.in.chtimesLink(s.name, m.modified())
}

func (p *place) stageCopy(ctx context.Context, s *staged, from vfs.Target, path string) (int64, error) {
	src, err := p.fs.openFile("copy", vfs.Target{Key: vfs.Key(path), Path: from.Path})
	if err != nil {
		return 0, err
	}
	defer src.Close()
	if err := p.fs.hit("data"); err != nil {
		return 0, err
	}
	n, err := copyContent(ctx, s.file, src)
	if err != nil {
		return 0, readFailure("copy", from.Path, err)
	}
	if err := s.chmod(src.meta.mode & 0o777); err != nil {
		return 0, err
	}
	if err := s.chtimes(src.meta.modified()); err != nil {
		return 0, err
	}
	if err := p.fs.hit("sync"); err != nil {
		return 0, err
	}
	if err := s.sync(); err != nil {
		return 0, err
	}
	return n, vfs.Aborted(ctx, "copy", from.Path)
}

// copyContent copies all of a file by the quickest way that works.
func copyContent(ctx context.Context, dst *file, src *source) (int64, error) {
	if src.size > 0 && clone(dst, src.file) == nil {
		m, err := dst.stat()
		return m.size, err
	}
	var total int64
	for src.size >= 0 {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := copyRange(dst, src.file, 16<<20)
		if err != nil && total == 0 {
			break // not between these two: through memory then
		}
		if err != nil {
			return total, err
		}
		if n == 0 {
			if total == 0 {
				break // some filesystems say so when they cannot
			}
			return total, nil
		}
		total += int64(n)
	}
	err := src.pour(ctx, &limited{to: dst, total: &total, limit: unsizedLimit(src)})
	return total, err
}

func unsizedLimit(src *source) int64 {
	if src.size < 0 {
		return maxUnsized
	}
	return math.MaxInt64
}

// limited writes on and counts, up to a limit.
type limited struct {
	to    *file
	total *int64
	limit int64
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	*l.total += int64(n)
	if err == nil && *l.total > l.limit {
		err = errEndless
	}
	return n, err
}
