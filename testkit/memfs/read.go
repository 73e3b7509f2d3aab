package memfs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/textedit"
	"github.com/bridle-go/bridle/harness/vfs"
)

// begin is the beginning of each operation. A fault may take its time, so the
// context is asked again after it.
func (f *FS) begin(ctx context.Context, verb string, t vfs.Target) error {
	if err := vfs.Aborted(ctx, verb, t.Path); err != nil {
		return err
	}
	if err := f.hit(verb, t); err != nil {
		return err
	}
	return vfs.Aborted(ctx, verb, t.Path)
}

// Stat implements [vfs.FileSystem].
func (f *FS) Stat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	return f.examine(ctx, "stat", t, func() (string, error) { return keyOf(t) })
}

// Lstat implements [vfs.FileSystem].
func (f *FS) Lstat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	return f.examine(ctx, "lstat", t, func() (string, error) { return f.entry(t) })
}

func (f *FS) examine(ctx context.Context, verb string, t vfs.Target, where func() (string, error)) (vfs.Info, error) {
	if err := f.begin(ctx, verb, t); err != nil {
		return vfs.Info{}, err
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	p, err := where()
	if err != nil {
		return vfs.Info{}, fail(verb, t.Path, err)
	}
	n, err := f.at(p)
	return n.info(), fail(verb, t.Path, err)
}

// read returns the content of a regular file and what it says of itself.
func (f *FS) read(ctx context.Context, verb string, t vfs.Target) ([]byte, vfs.Info, error) {
	key, err := keyOf(t)
	if err != nil {
		return nil, vfs.Info{}, err
	}
	if err := f.begin(ctx, verb, t); err != nil {
		return nil, vfs.Info{}, err
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, err := f.at(key)
	switch {
	case err != nil:
	case n == nil:
		err = fs.ErrNotExist
	case n.typ != vfs.File:
		err = notRegular("read", t)
	case n.mode&mayRead == 0:
		err = fs.ErrPermission
	}
	if err != nil {
		return nil, vfs.Info{}, fail("read", t.Path, err)
	}
	return n.data, n.info(), nil
}

func notRegular(verb string, t vfs.Target) error {
	return refuse(errs.NotRegularFile, verb, t.Path, "not a regular file", nil)
}

// ReadText implements [vfs.FileSystem].
func (f *FS) ReadText(ctx context.Context, t vfs.Target) (vfs.Text, error) {
	data, info, err := f.read(ctx, "readtext", t)
	if err != nil {
		return vfs.Text{}, err
	}
	text, err := vfs.DecodeText(t, data)
	if err != nil {
		return vfs.Text{}, err
	}
	return vfs.Text{Content: text, Version: info.Version}, nil
}

// ReadBytes implements [vfs.FileSystem].
func (f *FS) ReadBytes(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
	if limit < 0 {
		return vfs.Bytes{}, refuse(errs.InvalidArgs, "read", t.Path, "the limit is negative", nil)
	}
	data, info, err := f.read(ctx, "readbytes", t)
	if err != nil {
		return vfs.Bytes{}, err
	}
	if info.Size > limit {
		return vfs.Bytes{}, refuse(errs.TooLarge, "read", t.Path, "larger than the limit", nil)
	}
	return vfs.Bytes{Data: bytes.Clone(data), Version: info.Version}, nil
}

// StreamText implements [vfs.FileSystem]. The stream reads the file as it was
// when it was opened.
func (f *FS) StreamText(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
	data, info, err := f.read(ctx, "streamtext", t)
	if err != nil {
		return nil, err
	}
	return &stream{ctx: ctx, t: t, text: textedit.NewReader(bytes.NewReader(data)), version: info.Version}, nil
}

// stream keeps the context of its opening, as a reader cannot be given one.
type stream struct {
	ctx     context.Context
	t       vfs.Target
	text    *textedit.Reader
	version vfs.Version
	ended   bool
	closed  bool
}

func (s *stream) Read(p []byte) (int, error) {
	if s.closed {
		return 0, fail("read", s.t.Path, fs.ErrClosed)
	}
	if err := vfs.Aborted(s.ctx, "read", s.t.Path); err != nil {
		return 0, err
	}
	n, err := s.text.Read(p)
	switch bad := (*textedit.NotTextError)(nil); {
	case err == io.EOF:
		s.ended = true
	case errors.As(err, &bad):
		err = vfs.NotText(s.t, "read", err)
	}
	return n, err
}

func (s *stream) Close() error {
	s.closed = true
	return nil
}

func (s *stream) Version() vfs.Version {
	if !s.ended {
		return ""
	}
	return s.version
}

// Open implements [vfs.Opener].
func (f *FS) Open(ctx context.Context, t vfs.Target) (vfs.Reader, error) {
	data, info, err := f.read(ctx, "open", t)
	if err != nil {
		return nil, err
	}
	return &reader{Reader: bytes.NewReader(data), version: info.Version}, nil
}

type reader struct {
	*bytes.Reader
	version vfs.Version
}

func (r *reader) Version() vfs.Version { return r.version }
func (r *reader) Close() error         { return nil }

// List implements [vfs.FileSystem].
func (f *FS) List(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
	key, err := keyOf(t)
	if err != nil {
		return nil, err
	}
	if err := f.begin(ctx, "list", t); err != nil {
		return nil, err
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	dir, err := f.at(key)
	switch {
	case err != nil:
	case dir == nil:
		err = fs.ErrNotExist
	case dir.typ != vfs.Directory:
		err = errNotDir
	case dir.mode&mayRead == 0:
		err = fs.ErrPermission
	}
	if err != nil {
		return nil, fail("list", t.Path, err)
	}
	entries := make([]vfs.Entry, 0, len(dir.children))
	for name, child := range dir.children {
		entries = append(entries, f.describe(t, key, name, child))
	}
	slices.SortFunc(entries, func(a, b vfs.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

func (f *FS) describe(dir vfs.Target, key, name string, n *node) vfs.Entry {
	info := n.info()
	e := vfs.Entry{Name: name, Type: info.Type, Size: info.Size, Modified: info.Modified}
	e.Target = vfs.Target{Key: vfs.Key(path.Join(key, name)), Path: path.Join(dir.Path, name)}
	if n.typ != vfs.Link {
		return e
	}
	to, _, err := f.resolve(path.Join(key, name))
	if err == nil {
		e.Target.Key = vfs.Key(to)
		if there, atErr := f.at(to); atErr == nil && there != nil {
			return e
		}
	}
	e.Type = vfs.Other
	return e
}

// ReadDir implements [vfs.Walker].
func (f *FS) ReadDir(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) { return f.List(ctx, t) }

// WalkDir implements [vfs.Walker].
func (f *FS) WalkDir(ctx context.Context, root vfs.Target, fn vfs.WalkFunc) error {
	entries, err := f.List(ctx, root)
	if err != nil {
		return err
	}
	err = f.walkDir(ctx, "", entries, fn)
	if errors.Is(err, vfs.SkipDir) {
		return nil
	}
	return err
}

func (f *FS) walkDir(ctx context.Context, prefix string, entries []vfs.Entry, fn vfs.WalkFunc) error {
	for _, e := range entries {
		if err := vfs.Aborted(ctx, "walk", e.Target.Path); err != nil {
			return err
		}
		var children []vfs.Entry
		var failed error
		if e.Type == vfs.Directory {
			children, failed = f.List(ctx, e.Target)
			if errs.CodeOf(failed) == errs.FSAborted {
				return failed
			}
		}
		err := fn(prefix+e.Name, e, failed)
		if errors.Is(err, vfs.SkipDir) {
			if e.Type == vfs.Directory {
				continue
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := f.walkDir(ctx, prefix+e.Name+"/", children, fn); err != nil {
			return err
		}
	}
	return nil
}

// Access implements [vfs.Accesser].
func (f *FS) Access(ctx context.Context, t vfs.Target) (readable, writable bool, err error) {
	info, err := f.Stat(ctx, t)
	return info.Mode&mayRead != 0, info.Mode&mayWrite != 0, err
}

// Readlink implements [vfs.Linker].
func (f *FS) Readlink(ctx context.Context, t vfs.Target) (string, error) {
	if err := f.begin(ctx, "readlink", t); err != nil {
		return "", err
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	p, err := f.entry(t)
	if err != nil {
		return "", fail("read link", t.Path, err)
	}
	n, err := f.at(p)
	switch {
	case err != nil:
	case n == nil:
		err = fs.ErrNotExist
	case n.typ != vfs.Link:
		err = notRegular("read link", t)
	default:
		return n.link, nil
	}
	return "", fail("read link", t.Path, err)
}
