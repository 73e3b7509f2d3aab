package walk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Open opens the directory t of a provider.
func Open(ctx context.Context, fs vfs.FileSystem, t vfs.Target) (Dir, error) {
	if opener, ok := vfs.As[vfs.DirOpener](fs); ok {
		return opener.OpenDir(ctx, t)
	}
	info, err := fs.Stat(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case !info.Exists():
		return nil, &errs.Error{Code: errs.NotFound, Op: "open", Path: t.Path, Message: "not found"}
	case info.Type != vfs.Directory:
		return nil, notDirectory(t)
	}
	return &listed{fs, t}, nil
}

// listed is a directory of a provider that cannot keep one open.
type listed struct {
	fs vfs.FileSystem
	t  vfs.Target
}

func (d *listed) Close() error { return nil }

func (d *listed) Entries(ctx context.Context) ([]Entry, error) {
	list, err := vfs.ReadDir(ctx, d.fs, d.t)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(list))
	for i, e := range list {
		out[i] = Entry{Name: e.Name, Type: e.Type, Size: -1}
	}
	return out, nil
}

// child is the target of an entry, which must not be a symlink.
func (d *listed) child(ctx context.Context, name string) (vfs.Target, vfs.Info, error) {
	// A slash separates on every system.
	t, err := d.fs.Resolve(ctx, strings.TrimSuffix(d.t.Path, "/")+"/"+name, vfs.ResolveOptions{})
	if err != nil {
		return t, vfs.Info{}, err
	}
	info, err := d.fs.Lstat(ctx, t)
	return t, info, err
}

func (d *listed) OpenDir(ctx context.Context, name string) (Dir, error) {
	t, info, err := d.child(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Type != vfs.Directory {
		return nil, notDirectory(t)
	}
	return &listed{d.fs, t}, nil
}

func (d *listed) Size(ctx context.Context, name string) (int64, error) {
	_, info, err := d.child(ctx, name)
	return max(info.Size, 0), err
}

func (d *listed) ReadFile(ctx context.Context, name string, buf []byte) ([]byte, io.ReadCloser, error) {
	t, info, err := d.child(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if info.Type != vfs.File {
		return nil, nil, &errs.Error{Code: errs.NotRegularFile, Op: "read", Path: t.Path, Message: "not a regular file"}
	}
	if _, ok := vfs.As[vfs.Opener](d.fs); !ok {
		return d.readWhole(ctx, t, buf)
	}
	r, err := vfs.Open(ctx, d.fs, t)
	if err != nil {
		return nil, nil, err
	}
	n, err := r.ReadAt(buf, 0)
	switch {
	case err == io.EOF || err == nil && n < len(buf):
		return buf[:n], nil, r.Close()
	case err != nil:
		r.Close()
		return nil, nil, err
	}
	return buf, &restOf{r, int64(n)}, nil
}

// maxWhole bounds a file that can only be read at once.
const maxWhole = 64 << 20

func (d *listed) readWhole(ctx context.Context, t vfs.Target, buf []byte) ([]byte, io.ReadCloser, error) {
	got, err := d.fs.ReadBytes(ctx, t, maxWhole)
	if err != nil {
		return nil, nil, err
	}
	n := copy(buf, got.Data)
	if n == len(got.Data) {
		return buf[:n], nil, nil
	}
	return buf[:n], io.NopCloser(bytes.NewReader(got.Data[n:])), nil
}

// restOf reads a file from a place on.
type restOf struct {
	vfs.Reader
	at int64
}

func (r *restOf) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func notDirectory(t vfs.Target) error {
	return &errs.Error{Code: errs.NotDirectory, Op: "open", Path: t.Path,
		Message: fmt.Sprintf("\"%s\" is not a directory", vfs.DisplayName(t.Path))}
}
