package fslocal

import (
	"context"
	"syscall"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

var (
	_ vfs.DirAttrSetter   = (*FS)(nil)
	_ vfs.VersionComparer = (*FS)(nil)
)

// within judges [vfs.Options.Root]. path is free of symlinks and is walked
// without following any, so what is judged here is what changes.
func within(s spot, path string) error {
	if s.opts.Root.Key == "" {
		return nil
	}
	root, err := keyPath(s.opts.Root)
	if err != nil {
		return err
	}
	if _, ok := Below(root, path); !ok {
		return vfs.Outside(s.t, s.opts.Root)
	}
	return nil
}

// SetDirAttr implements [vfs.DirAttrSetter].
func (f *FS) SetDirAttr(ctx context.Context, t vfs.Target, attr vfs.Attr, opts vfs.Options) error {
	const verb = "set attributes of"
	return f.change(ctx, verb, []spot{{t: t, opts: opts}}, func(ps []*place) error {
		p := ps[0]
		m, err := p.stat()
		if err != nil {
			return err
		}
		switch m.kind {
		case vfs.Directory:
		case vfs.Link:
			return errMoved
		case vfs.Absent:
			return refuse(errs.NotFound, verb, t.Path, "not found", syscall.ENOENT)
		default:
			return refuse(errs.NotDirectory, verb, t.Path, "not a directory", syscall.ENOTDIR)
		}
		if err := f.hit("attributes"); err != nil {
			return err
		}
		if attr.SetMode {
			if err := p.dir.chmodDir(p.name, attr.Mode&0o777); err != nil {
				return lost(err)
			}
		}
		if attr.Modified.IsZero() {
			return nil
		}
		return lost(p.dir.chtimesDir(p.name, attr.Modified))
	})
}

// SameVersion implements [vfs.VersionComparer]: by digest where both have one,
// else by metadata.
func (f *FS) SameVersion(want, got vfs.Version) bool {
	a, b := parseVersion(want), parseVersion(got)
	if a.digest != nil && b.digest != nil {
		return *a.digest == *b.digest
	}
	return a.identity != nil && b.identity != nil && *a.identity == *b.identity
}
