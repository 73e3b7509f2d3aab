package memfs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/textedit"
	"github.com/bridle-go/bridle/harness/vfs"
)

// WriteText implements [vfs.FileSystem].
func (f *FS) WriteText(ctx context.Context, t vfs.Target, content string, opts vfs.Options) (vfs.WriteResult, error) {
	if !utf8.ValidString(content) {
		return vfs.WriteResult{}, vfs.NotText(t, "write", nil)
	}
	return f.replace(ctx, "writetext", t, vfs.Attr{}, opts, func([]byte, bool) ([]byte, error) { return []byte(content), nil })
}

// WriteBytes implements [vfs.ByteWriter].
func (f *FS) WriteBytes(ctx context.Context, t vfs.Target, data []byte, attr vfs.Attr, opts vfs.Options) (vfs.WriteResult, error) {
	data = bytes.Clone(data)
	return f.replace(ctx, "writebytes", t, attr, opts, func([]byte, bool) ([]byte, error) { return data, nil })
}

// EditText implements [vfs.FileSystem].
func (f *FS) EditText(ctx context.Context, t vfs.Target, e vfs.Edit, opts vfs.Options) (vfs.WriteResult, error) {
	return f.replace(ctx, "edittext", t, vfs.Attr{}, opts, func(before []byte, exists bool) ([]byte, error) {
		if !exists {
			return nil, fail("edit", t.Path, fs.ErrNotExist)
		}
		return vfs.ApplyEdit(t, before, e)
	})
}

// replace puts in place what next makes of the content that is there.
func (f *FS) replace(ctx context.Context, verb string, t vfs.Target, attr vfs.Attr, opts vfs.Options,
	next func(before []byte, exists bool) ([]byte, error)) (vfs.WriteResult, error) {
	key, err := keyOf(t)
	if err != nil {
		return vfs.WriteResult{}, err
	}
	defer f.targets.hold(key)()
	if err := f.begin(ctx, verb, t); err != nil {
		return vfs.WriteResult{}, err
	}
	if err := within(t, key, opts.Root); err != nil {
		return vfs.WriteResult{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.judge(t, key, opts.Guard)
	if err != nil {
		return vfs.WriteResult{}, fail("write", t.Path, err)
	}
	var before []byte
	if old != nil {
		before = old.data
	}
	after, err := next(before, old != nil)
	if err != nil {
		return vfs.WriteResult{}, err
	}
	if err := granted(t, opts, old, after); err != nil {
		return vfs.WriteResult{}, err
	}
	if err := vfs.Aborted(ctx, verb, t.Path); err != nil {
		return vfs.WriteResult{}, err
	}
	n, err := f.publish(key, old, after)
	if err != nil {
		return vfs.WriteResult{}, fail("write", t.Path, err)
	}
	f.dress(n, attr)
	return f.report(old != nil, before, after, opts), nil
}

// judge returns the file at key, nil where there is none, if it may be
// replaced and the guard holds.
func (f *FS) judge(t vfs.Target, key string, guard vfs.Guard) (*node, error) {
	n, err := f.at(key)
	if err != nil {
		return nil, err
	}
	want, guarded := guard.Version()
	switch {
	case n == nil && guarded:
		return nil, vfs.Stale(t, false)
	case n == nil:
		return nil, nil
	case n.typ == vfs.Link:
		// The key was made when there was no symlink here yet.
		return nil, refuse(errs.IO, "write", t.Path, "a symlink has come into its place; resolve it again", nil)
	case n.typ != vfs.File:
		return nil, notRegular("write", t)
	case guard.Absent():
		return nil, vfs.NotObserved(t)
	case guarded && want != versionOf(n.data):
		return nil, vfs.Stale(t, true)
	case n.mode&mayWrite == 0:
		return nil, fs.ErrPermission
	}
	return n, nil
}

func granted(t vfs.Target, opts vfs.Options, old *node, after []byte) error {
	if opts.Grant == nil {
		return nil
	}
	was := ""
	if old != nil {
		was = digest(old.data)
	}
	if opts.Grant.Before != was || opts.Grant.After != digest(after) {
		return refuse(errs.StaleVersion, "write", t.Path, "it is not what was approved", nil)
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// newMode is what a umask of 022 leaves of a new file.
const newMode = 0o644

// publish puts content in place. An existing node keeps its mode; a file in a
// directory that may not be written is written in place all the same.
func (f *FS) publish(key string, old *node, data []byte) (*node, error) {
	if old != nil {
		old.data, old.modified = data, f.now()
		return old, nil
	}
	if err := f.makeParents(key); err != nil {
		return nil, err
	}
	dir, name, err := f.parent(key)
	if err != nil {
		return nil, err
	}
	if dir.mode&mayWrite == 0 {
		return nil, fs.ErrPermission
	}
	n := &node{typ: vfs.File, mode: newMode, modified: f.now(), data: data}
	dir.put(name, n, f.now())
	return n, nil
}

func (f *FS) dress(n *node, attr vfs.Attr) {
	if attr.SetMode {
		n.mode = attr.Mode & 0o777
	}
	if !attr.Modified.IsZero() {
		n.modified = attr.Modified
	}
}

func (f *FS) report(existed bool, before, after []byte, opts vfs.Options) vfs.WriteResult {
	r := vfs.WriteResult{Operation: vfs.Create, Version: versionOf(after), Size: int64(len(after))}
	r.After = string(bytes.TrimPrefix(after, []byte("\xef\xbb\xbf")))
	if !existed {
		return r
	}
	r.Operation = vfs.Update
	if largest := int64(max(len(before), len(after))); opts.Exact || largest < f.diffBasis {
		if text, _, err := textedit.Decode(before); err == nil {
			r.Before = &text
		}
	}
	return r
}
