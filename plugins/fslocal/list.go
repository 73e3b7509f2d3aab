package fslocal

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/vfs"
)

// List implements [vfs.FileSystem].
func (f *FS) List(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
	names, err := f.names(ctx, "list", t)
	if err != nil {
		return nil, err
	}
	entries := make([]vfs.Entry, 0, len(names))
	for i, d := range names {
		if i%256 == 0 {
			if err := vfs.Aborted(ctx, "list", t.Path); err != nil {
				return nil, err
			}
		}
		e := childOf(t, d.Name())
		path := string(e.Target.Key)
		m, err := statPath(path, false)
		switch {
		case err != nil || m.kind == vfs.Absent:
			e.Type = vfs.Other // vanished, or not to be examined
		case m.kind == vfs.Link:
			e.Type = vfs.Other
			if there, err := statPath(path, true); err == nil && there.exists() {
				e.Type = vfs.Link
				e.Modified = m.modified()
			}
			if key, err := resolvePath(path); err == nil {
				e.Target.Key = vfs.Key(key)
			}
		default:
			e.Type, e.Modified = m.kind, m.modified()
			if m.kind == vfs.File {
				e.Size = m.size
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func childOf(dir vfs.Target, name string) vfs.Entry {
	return vfs.Entry{Name: name, Target: vfs.Target{
		Key:  vfs.Key(filepath.Join(string(dir.Key), name)),
		Path: strings.TrimSuffix(dir.Path, string(filepath.Separator)) + string(filepath.Separator) + name,
	}}
}

// names returns the entries of a directory in byte order of their names.
func (f *FS) names(ctx context.Context, verb string, t vfs.Target) ([]fs.DirEntry, error) {
	path, err := keyPath(t)
	if err != nil {
		return nil, err
	}
	if err := vfs.Aborted(ctx, verb, t.Path); err != nil {
		return nil, err
	}
	names, err := readNames(path)
	return names, fail(verb, t.Path, err)
}

// readNames opens a path as a directory only, so that nothing else is opened.
func readNames(path string) ([]fs.DirEntry, error) {
	dir, err := openListing(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.ReadDir(-1)
	slices.SortFunc(names, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return names, err
}

// ReadDir implements [vfs.Walker]. The target of a symlink is the symlink.
func (f *FS) ReadDir(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
	names, err := f.names(ctx, "list", t)
	if err != nil {
		return nil, err
	}
	entries := make([]vfs.Entry, len(names))
	for i, d := range names {
		entries[i] = childOf(t, d.Name())
		entries[i].Type = typeOf(d.Type())
	}
	return entries, nil
}

func typeOf(mode fs.FileMode) vfs.Type {
	switch {
	case mode.IsRegular():
		return vfs.File
	case mode.IsDir():
		return vfs.Directory
	case mode&fs.ModeSymlink != 0:
		return vfs.Link
	}
	return vfs.Other
}

// WalkDir implements [vfs.Walker]. Entries have no sizes, and the target of a
// symlink is the symlink itself. The root must be a directory; its own entry
// is not visited. SkipDir for an entry that is no directory leaves out the
// rest of the directory it is in.
func (f *FS) WalkDir(ctx context.Context, root vfs.Target, fn vfs.WalkFunc) error {
	names, err := f.names(ctx, "walk", root)
	if err != nil {
		return err
	}
	w := &treeWalk{ctx: ctx, root: root, fn: fn}
	err = w.dir("", root, names)
	if errors.Is(err, vfs.SkipDir) {
		return nil
	}
	return err
}

type treeWalk struct {
	ctx  context.Context
	root vfs.Target
	fn   vfs.WalkFunc
}

// visit is one thing to do in a directory: to show an entry, or to go into it.
// What a directory holds sorts behind the directory with a slash: that is where
// the byte order of paths has it, after a sibling such as "dir-2".
type visit struct {
	key   string
	entry *vfs.Entry
	into  bool
}

func (w *treeWalk) dir(prefix string, t vfs.Target, names []fs.DirEntry) error {
	entries := make([]vfs.Entry, len(names))
	visits := make([]visit, 0, len(names)+8)
	sorted := true
	for i, d := range names {
		e := childOf(t, d.Name())
		e.Type = typeOf(d.Type())
		entries[i] = e
		visits = append(visits, visit{key: e.Name, entry: &entries[i]})
		if e.Type == vfs.Directory {
			visits = append(visits, visit{key: e.Name + "/", entry: &entries[i], into: true})
			sorted = false
		}
	}
	if !sorted {
		slices.SortFunc(visits, func(a, b visit) int { return strings.Compare(a.key, b.key) })
	}
	var skipped map[string]bool
	for _, v := range visits {
		path := prefix + v.entry.Name
		if v.into {
			if skipped[v.entry.Name] {
				continue
			}
			if err := w.into(path, *v.entry); err != nil {
				return err
			}
			continue
		}
		if err := vfs.Aborted(w.ctx, "walk", w.root.Path); err != nil {
			return err
		}
		err := w.fn(path, *v.entry, nil)
		switch {
		case err == nil:
		case !errors.Is(err, vfs.SkipDir):
			return err
		case v.entry.Type == vfs.Directory:
			if skipped == nil {
				skipped = map[string]bool{}
			}
			skipped[v.entry.Name] = true
		default:
			return nil
		}
	}
	return nil
}

func (w *treeWalk) into(path string, e vfs.Entry) error {
	names, err := readNames(string(e.Target.Key))
	if err != nil {
		err = w.fn(path, e, fail("list", e.Target.Path, err))
		if errors.Is(err, vfs.SkipDir) {
			return nil
		}
		return err
	}
	return w.dir(path+"/", e.Target, names)
}
