package memfs

import (
	"bytes"
	"io/fs"
	"slices"
	"time"

	"github.com/bridle-go/bridle/harness/vfs"
)

// World changes files behind the provider's back, as another program would:
// without locks, guards, permissions or faults. Paths are absolute or relative
// to the provider's directory, and symlinks are followed.
type World struct{ fs *FS }

// World returns the files without the provider.
func (f *FS) World() World { return World{f} }

// Put writes content in place, and makes the file and its directories where
// they are missing.
func (w World) Put(name string, data []byte) error {
	return w.change(name, true, func(key string, n *node) error {
		switch {
		case n == nil:
			return w.add(key, &node{typ: vfs.File, mode: newMode, data: bytes.Clone(data)})
		case n.typ != vfs.File:
			return fs.ErrInvalid
		}
		n.data, n.modified = bytes.Clone(data), w.fs.now()
		return nil
	})
}

// Get returns the content of a file.
func (w World) Get(name string) ([]byte, error) {
	var data []byte
	err := w.change(name, true, func(_ string, n *node) error {
		if n == nil || n.typ != vfs.File {
			return fs.ErrNotExist
		}
		data = bytes.Clone(n.data)
		return nil
	})
	return data, err
}

// MakeDir makes a directory and its parents.
func (w World) MakeDir(name string) error {
	return w.change(name, true, func(key string, n *node) error {
		if n != nil {
			return nil
		}
		return w.add(key, &node{typ: vfs.Directory, mode: 0o755, children: map[string]*node{}})
	})
}

// Symlink makes a symlink with that content.
func (w World) Symlink(content, name string) error {
	return w.change(name, false, func(key string, n *node) error {
		if n != nil {
			return fs.ErrExist
		}
		return w.add(key, &node{typ: vfs.Link, mode: 0o777, link: content})
	})
}

// MakeOther makes something that is neither file, directory nor symlink, as a
// FIFO is.
func (w World) MakeOther(name string) error {
	return w.change(name, false, func(key string, n *node) error {
		if n != nil {
			return fs.ErrExist
		}
		return w.add(key, &node{typ: vfs.Other, mode: newMode})
	})
}

// Remove removes what is there, with all it holds.
func (w World) Remove(name string) error {
	return w.change(name, false, func(key string, n *node) error {
		if n == nil {
			return fs.ErrNotExist
		}
		dir, leaf, err := w.fs.parent(key)
		if err != nil {
			return err
		}
		dir.drop(leaf, w.fs.now())
		return nil
	})
}

// Chmod sets the permission bits.
func (w World) Chmod(name string, mode uint32) error {
	return w.change(name, true, func(_ string, n *node) error {
		if n == nil {
			return fs.ErrNotExist
		}
		n.mode = mode & 0o777
		return nil
	})
}

// Mode returns the permission bits.
func (w World) Mode(name string) (uint32, error) {
	var mode uint32
	err := w.change(name, true, func(_ string, n *node) error {
		if n == nil {
			return fs.ErrNotExist
		}
		mode = n.mode
		return nil
	})
	return mode, err
}

// Modified returns the time of the last change.
func (w World) Modified(name string) (time.Time, error) {
	var at time.Time
	err := w.change(name, true, func(_ string, n *node) error {
		if n == nil {
			return fs.ErrNotExist
		}
		at = n.modified
		return nil
	})
	return at, err
}

// Touch sets the time of the last change.
func (w World) Touch(name string, modified time.Time) error {
	return w.change(name, true, func(_ string, n *node) error {
		if n == nil {
			return fs.ErrNotExist
		}
		n.modified = modified
		return nil
	})
}

// Names returns the names in a directory, sorted.
func (w World) Names(name string) ([]string, error) {
	var names []string
	err := w.change(name, true, func(_ string, n *node) error {
		if n == nil || n.typ != vfs.Directory {
			return errNotDir
		}
		for leaf := range n.children {
			names = append(names, leaf)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// change calls fn with the path without symlinks and what is there.
func (w World) change(name string, follow bool, fn func(key string, n *node) error) error {
	f := w.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	key, shown, err := f.resolve(f.full(name, ""))
	if err == nil && !follow {
		key, err = f.entry(vfs.Target{Key: vfs.Key(key), Path: shown})
	}
	if err != nil {
		return &fs.PathError{Op: "world", Path: name, Err: err}
	}
	n, err := f.at(key)
	if err == nil {
		err = fn(key, n)
	}
	if err != nil {
		return &fs.PathError{Op: "world", Path: name, Err: err}
	}
	return nil
}

func (w World) add(key string, n *node) error {
	if err := w.fs.makeParents(key); err != nil {
		return err
	}
	dir, leaf, err := w.fs.parent(key)
	if err != nil {
		return err
	}
	n.modified = w.fs.now()
	dir.put(leaf, n, n.modified)
	return nil
}
