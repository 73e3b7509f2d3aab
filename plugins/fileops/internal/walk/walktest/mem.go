// Package walktest has directories to walk in tests: in memory, and of the
// operating system.
package walktest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

// File is an entry of a tree in memory.
type File struct {
	Data string
	// Type is File if it is left zero.
	Type vfs.Type
	// Err fails the attempt to read or list the entry.
	Err error
}

// Tree is a tree in memory that counts its open directories.
type Tree struct {
	root *node
	open atomic.Int64
}

type node struct {
	file     File
	children map[string]*node
}

// Mem makes a tree of files named by their paths. Directories need not be
// listed, except for empty ones and those with an error.
func Mem(files map[string]File) *Tree {
	t := &Tree{root: &node{file: File{Type: vfs.Directory}}}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		at := t.root
		for part := range strings.SplitSeq(path, "/") {
			if at.children == nil {
				at.children = map[string]*node{}
			}
			if at.children[part] == nil {
				at.children[part] = &node{file: File{Type: vfs.Directory}}
			}
			at = at.children[part]
		}
		at.file = files[path]
		if at.file.Type == vfs.Absent {
			at.file.Type = vfs.File
		}
	}
	return t
}

// Text makes a tree of text files.
func Text(files map[string]string) *Tree {
	all := map[string]File{}
	for path, text := range files {
		if dir, ok := strings.CutSuffix(path, "/"); ok {
			all[dir] = File{Type: vfs.Directory}
		} else {
			all[path] = File{Data: text}
		}
	}
	return Mem(all)
}

// Open opens the root.
func (t *Tree) Open() walk.Dir {
	t.open.Add(1)
	return &memDir{t, t.root}
}

// StillOpen is the number of directories that were not closed.
func (t *Tree) StillOpen() int { return int(t.open.Load()) }

type memDir struct {
	tree *Tree
	node *node
}

func (d *memDir) Close() error {
	d.tree.open.Add(-1)
	return nil
}

func (d *memDir) Entries(ctx context.Context) ([]walk.Entry, error) {
	if d.node.file.Err != nil {
		return nil, d.node.file.Err
	}
	var out []walk.Entry
	for name, n := range d.node.children {
		out = append(out, walk.Entry{Name: name, Type: n.file.Type, Size: int64(len(n.file.Data))})
	}
	return out, ctx.Err()
}

func (d *memDir) child(name string, want vfs.Type) (*node, error) {
	n := d.node.children[name]
	if n == nil || n.file.Type != want {
		return nil, fmt.Errorf("%s is no %s", name, want)
	}
	return n, nil
}

func (d *memDir) OpenDir(_ context.Context, name string) (walk.Dir, error) {
	n, err := d.child(name, vfs.Directory)
	if err != nil {
		return nil, err
	}
	d.tree.open.Add(1)
	return &memDir{d.tree, n}, nil
}

func (d *memDir) ReadFile(_ context.Context, name string, buf []byte) ([]byte, io.ReadCloser, error) {
	n, err := d.child(name, vfs.File)
	if err == nil {
		err = n.file.Err
	}
	if err != nil {
		return nil, nil, err
	}
	k := copy(buf, n.file.Data)
	if k < len(n.file.Data) {
		return buf[:k], io.NopCloser(bytes.NewReader([]byte(n.file.Data[k:]))), nil
	}
	return buf[:k], nil, nil
}

func (d *memDir) Size(_ context.Context, name string) (int64, error) {
	n, err := d.child(name, vfs.File)
	if err != nil {
		return 0, err
	}
	return int64(len(n.file.Data)), nil
}
