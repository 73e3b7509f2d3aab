package fslocal

import (
	"context"
	"errors"
	"syscall"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Remove implements [vfs.Remover].
func (f *FS) Remove(ctx context.Context, t vfs.Target, opts vfs.Options) error {
	spots := []spot{{t: t, opts: opts, entry: true}}
	return f.change(ctx, "remove", spots, func(ps []*place) error {
		p := ps[0]
		m, err := p.judgeEntry(ctx)
		if err != nil {
			return err
		}
		switch m.kind {
		case vfs.Absent:
			return refuse(errs.NotFound, p.verb, t.Path, "not found", syscall.ENOENT)
		case vfs.Directory:
			return refuse(errs.NotRegularFile, p.verb, t.Path, "it is a directory", syscall.EISDIR)
		}
		if err := p.unchanged(m); err != nil {
			return err
		}
		if err := p.fs.hit("publish"); err != nil {
			return err
		}
		if err := p.dir.remove(p.name); err != nil {
			return lost(err)
		}
		return p.durable()
	})
}

// Sweep implements [vfs.Sweeper]. Copies of old content, from which an
// interrupted change in place is mended, are no remains.
func (f *FS) Sweep(ctx context.Context, t vfs.Target, opts vfs.Options) error {
	spots := []spot{{t: t, opts: opts, entry: true}}
	return f.change(ctx, "sweep", spots, func(ps []*place) error {
		if len(ps[0].missing) == 0 {
			sweepFrom(ps[0].dir, ps[0].name, "", 0)
		}
		return nil
	})
}

// RemoveDir implements [vfs.DirRemover].
func (f *FS) RemoveDir(ctx context.Context, t vfs.Target, opts vfs.Options) error {
	spots := []spot{{t: t, opts: opts, entry: true}}
	return f.change(ctx, "remove directory", spots, func(ps []*place) error {
		p := ps[0]
		m, err := p.stat()
		if err != nil {
			return err
		}
		switch m.kind {
		case vfs.Absent:
			return refuse(errs.NotFound, p.verb, t.Path, "not found", syscall.ENOENT)
		case vfs.Directory:
		default:
			return refuse(errs.NotDirectory, p.verb, t.Path, "not a directory", syscall.ENOTDIR)
		}
		if err := p.fs.hit("publish"); err != nil {
			return err
		}
		if err := p.dir.rmdir(p.name); err != nil {
			return lost(err)
		}
		return p.durable()
	})
}

// MakeDir implements [vfs.DirMaker].
func (f *FS) MakeDir(ctx context.Context, t vfs.Target, opts vfs.Options) error {
	return f.change(ctx, OpMakeDir, []spot{{t: t, opts: opts}}, func(ps []*place) (err error) {
		p := ps[0]
		m, err := p.stat()
		if err != nil {
			return err
		}
		switch m.kind {
		case vfs.Directory:
			return nil
		case vfs.Link:
			return errMoved
		case vfs.Absent:
		default:
			return refuse(errs.NotDirectory, p.verb, t.Path, "there is something that is not a directory", syscall.EEXIST)
		}
		defer func() {
			if err != nil {
				p.dropParents()
			}
		}()
		if err := p.makeParents(); err != nil {
			return err
		}
		if err := vfs.Aborted(ctx, p.verb, t.Path); err != nil {
			return err
		}
		if err := p.fs.hit("publish"); err != nil {
			return err
		}
		if err := p.dir.mkdir(p.name, 0o777); err != nil {
			if errors.Is(err, syscall.EEXIST) {
				return errMoved
			}
			return lost(err)
		}
		return p.durable()
	})
}

// Readlink implements [vfs.Linker].
func (f *FS) Readlink(ctx context.Context, t vfs.Target) (string, error) {
	key, err := keyPath(t)
	if err != nil {
		return "", err
	}
	if err := vfs.Aborted(ctx, "read link", t.Path); err != nil {
		return "", err
	}
	path, err := resolveEntry(t.Path, key)
	if err != nil {
		return "", fail("read link", t.Path, err)
	}
	content, err := readlink(path)
	if err != nil && notSymlink(err) {
		return "", refuse(errs.NotRegularFile, "read link", t.Path, "not a symlink", err)
	}
	return content, fail("read link", t.Path, err)
}

// Symlink implements [vfs.Linker]. Missing parent directories are made.
func (f *FS) Symlink(ctx context.Context, content string, t vfs.Target, opts vfs.Options) error {
	const verb = "make link"
	if content == "" {
		return refuse(errs.InvalidArgs, verb, t.Path, "the link would hold nothing", nil)
	}
	for _, c := range []byte(content) {
		if c == 0 {
			return refuse(errs.InvalidArgs, verb, t.Path, "the link would hold a NUL byte", nil)
		}
	}
	spots := []spot{{t: t, opts: opts, entry: true}}
	return f.change(ctx, verb, spots, func(ps []*place) (err error) {
		p := ps[0]
		m, err := p.stat()
		if err != nil {
			return err
		}
		if m.exists() {
			return vfs.NotObserved(t)
		}
		if _, guarded := opts.Guard.Version(); guarded {
			return vfs.Stale(t, false)
		}
		defer func() {
			if err != nil {
				p.dropParents()
			}
		}()
		if err := p.makeParents(); err != nil {
			return err
		}
		if err := vfs.Aborted(ctx, verb, t.Path); err != nil {
			return err
		}
		if err := p.fs.hit("publish"); err != nil {
			return err
		}
		if err := p.dir.symlink(content, p.name); err != nil {
			if errors.Is(err, syscall.EEXIST) {
				return errMoved
			}
			return lost(err)
		}
		return p.durable()
	})
}

// judgeEntry looks at an entry that is not followed and makes sure that the
// guard holds on it. A version guard demands a regular file.
func (p *place) judgeEntry(ctx context.Context) (meta, error) {
	m, err := p.stat()
	if err != nil {
		return m, err
	}
	want, guarded := p.opts.Guard.Version()
	switch {
	case p.opts.Guard.Absent() && m.exists():
		return m, vfs.NotObserved(p.t)
	case guarded && m.kind != vfs.File:
		return m, vfs.Stale(p.t, m.exists())
	case guarded:
		return m, p.read(ctx, &existing{meta: m}, want, true, false, false)
	}
	return m, nil
}
