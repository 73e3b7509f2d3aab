package memfs

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// change makes a change of the entries that targets name, with all of them
// locked. Their paths are without symlinks but for the last part.
func (f *FS) change(ctx context.Context, verb string, opts vfs.Options, fn func(at []string) error, targets ...vfs.Target) error {
	keys := make([]string, len(targets))
	for i, t := range targets {
		key, err := keyOf(t)
		if err != nil {
			return err
		}
		keys[i] = key
	}
	defer f.targets.hold(keys...)()
	if err := f.begin(ctx, verb, targets[0]); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := make([]string, len(targets))
	for i, t := range targets {
		p, err := f.entry(t)
		if err != nil {
			return fail(verb, t.Path, err)
		}
		if err := within(t, p, opts.Root); err != nil {
			return err
		}
		at[i] = p
	}
	return fail(verb, targets[0].Path, fn(at))
}

// within judges [vfs.Options.Root] for the entry at p.
func within(t vfs.Target, p string, root vfs.Target) error {
	if root.Key == "" || p == string(root.Key) || strings.HasPrefix(p, strings.TrimSuffix(string(root.Key), "/")+"/") {
		return nil
	}
	return vfs.Outside(t, root)
}

// SetDirAttr implements [vfs.DirAttrSetter].
func (f *FS) SetDirAttr(ctx context.Context, t vfs.Target, attr vfs.Attr, opts vfs.Options) error {
	return f.change(ctx, "setdirattr", opts, func([]string) error {
		n, err := f.at(string(t.Key))
		switch {
		case err != nil:
			return err
		case n == nil:
			return fs.ErrNotExist
		case n.typ != vfs.Directory:
			return errNotDir
		}
		f.dress(n, attr)
		return nil
	}, t)
}

// take removes the entry at p, which must satisfy ok.
func (f *FS) take(p string, ok func(*node) error) error {
	n, err := f.at(p)
	if err != nil {
		return err
	}
	if n == nil {
		return fs.ErrNotExist
	}
	if err := ok(n); err != nil {
		return err
	}
	dir, name, err := f.parent(p)
	if err != nil {
		return err
	}
	if dir.mode&mayWrite == 0 {
		return fs.ErrPermission
	}
	dir.drop(name, f.now())
	return nil
}

// Remove implements [vfs.Remover].
func (f *FS) Remove(ctx context.Context, t vfs.Target, opts vfs.Options) error {
	return f.change(ctx, "remove", opts, func(at []string) error {
		return f.take(at[0], func(n *node) error {
			if n.typ != vfs.File && n.typ != vfs.Link {
				return notRegular("remove", t)
			}
			return guardEntry(t, n, opts.Guard)
		})
	}, t)
}

// guardEntry judges a guard on something that is there.
func guardEntry(t vfs.Target, n *node, guard vfs.Guard) error {
	if guard.Absent() {
		return vfs.NotObserved(t)
	}
	if want, guarded := guard.Version(); guarded && (n.typ != vfs.File || want != versionOf(n.data)) {
		return vfs.Stale(t, true)
	}
	return nil
}

// RemoveDir implements [vfs.DirRemover].
func (f *FS) RemoveDir(ctx context.Context, t vfs.Target, opts vfs.Options) error {
	return f.change(ctx, "removedir", opts, func(at []string) error {
		return f.take(at[0], func(n *node) error {
			switch {
			case n.typ != vfs.Directory:
				return errNotDir
			case len(n.children) > 0:
				return errNotEmpty
			}
			return nil
		})
	}, t)
}

// MakeDir implements [vfs.DirMaker].
func (f *FS) MakeDir(ctx context.Context, t vfs.Target, opts vfs.Options) error {
	return f.change(ctx, "makedir", opts, func([]string) error {
		p := string(t.Key)
		n, err := f.at(p)
		switch {
		case err != nil:
			return err
		case n == nil:
			return f.makeParents(path.Join(p, "x"))
		case n.typ != vfs.Directory:
			return errNotDir
		}
		return nil
	}, t)
}

// Rename implements [vfs.Renamer].
func (f *FS) Rename(ctx context.Context, from, to vfs.Target, replace bool, opts vfs.Options) error {
	return f.change(ctx, "rename", opts, func(at []string) error {
		n, err := f.at(at[0])
		if err != nil {
			return err
		}
		if n == nil {
			return fs.ErrNotExist
		}
		if at[0] == at[1] {
			return nil
		}
		if strings.HasPrefix(at[1], at[0]+"/") {
			return refuse(errs.InvalidArgs, "rename", from.Path, "a directory cannot move into itself", nil)
		}
		if err := f.mayPlace(at[1], n, to, replace, opts.Guard); err != nil {
			return err
		}
		if err := f.take(at[0], func(*node) error { return nil }); err != nil {
			return err
		}
		return f.place(at[1], n)
	}, from, to)
}

// mayPlace reports why n cannot go to p, whose parents need not exist.
func (f *FS) mayPlace(p string, n *node, t vfs.Target, replace bool, guard vfs.Guard) error {
	dir, name, err := f.parent(p)
	for above := path.Dir(p); errors.Is(err, fs.ErrNotExist); above = path.Dir(above) {
		dir, name, err = f.parent(above)
	}
	if err != nil {
		return err
	}
	if dir.mode&mayWrite == 0 {
		return fs.ErrPermission
	}
	there := dir.children[name]
	_, guarded := guard.Version()
	switch {
	case there == nil && guarded:
		return vfs.Stale(t, false)
	case there == nil:
		return nil
	case !replace:
		return vfs.NotObserved(t)
	case there.typ == vfs.Directory && len(there.children) > 0:
		return errNotEmpty
	case (there.typ == vfs.Directory) != (n.typ == vfs.Directory):
		return notRegular("replace", t)
	}
	return guardEntry(t, there, guard)
}

// place puts n at p and makes the parents that are missing.
func (f *FS) place(p string, n *node) error {
	if err := f.makeParents(p); err != nil {
		return err
	}
	dir, name, err := f.parent(p)
	if err != nil {
		return err
	}
	dir.put(name, n, f.now())
	return nil
}

// Copy implements [vfs.Copier].
func (f *FS) Copy(ctx context.Context, from, to vfs.Target, replace bool, opts vfs.Options) (int64, error) {
	var size int64
	err := f.change(ctx, "copy", vfs.Options{}, func(at []string) error {
		if err := within(to, at[1], opts.Root); err != nil {
			return err
		}
		n, err := f.at(at[0])
		switch {
		case err != nil:
			return err
		case n == nil:
			return fs.ErrNotExist
		case n.typ != vfs.File && n.typ != vfs.Link:
			return notRegular("copy", from)
		case n.typ == vfs.File && n.mode&mayRead == 0:
			return fs.ErrPermission
		}
		if err := f.mayPlace(at[1], n, to, replace, opts.Guard); err != nil {
			return err
		}
		double := *n
		size = int64(len(n.data))
		return f.place(at[1], &double)
	}, from, to)
	return size, err
}

// Symlink implements [vfs.Linker].
func (f *FS) Symlink(ctx context.Context, content string, t vfs.Target, opts vfs.Options) error {
	return f.change(ctx, "symlink", opts, func(at []string) error {
		n := &node{typ: vfs.Link, mode: 0o777, modified: f.now(), link: content}
		if err := f.mayPlace(at[0], n, t, false, vfs.Guard{}); err != nil {
			return err
		}
		return f.place(at[0], n)
	}, t)
}
