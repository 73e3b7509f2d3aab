package fslocal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/vfs"
)

var _ vfs.DirOpener = (*FS)(nil)

// openedDir is a [vfs.Dir]: one system call opens a child of it.
type openedDir struct {
	dir    *Dir
	path   string // for errors
	listed atomic.Bool
}

// OpenDir implements [vfs.DirOpener]. Other systems than Linux do without it,
// and callers then go by paths.
func (f *FS) OpenDir(ctx context.Context, t vfs.Target) (vfs.Dir, error) {
	path, err := keyPath(t)
	if err != nil {
		return nil, err
	}
	if err := vfs.Aborted(ctx, "open", t.Path); err != nil {
		return nil, err
	}
	dir, err := OpenDir(path)
	if err != nil {
		return nil, fail("open", t.Path, err)
	}
	return &openedDir{dir: dir, path: t.Path}, nil
}

func (d *openedDir) child(name string) string { return strings.TrimSuffix(d.path, "/") + "/" + name }

// Close implements [vfs.Dir].
func (d *openedDir) Close() error { return d.dir.Close() }

// OpenDir implements [vfs.Dir].
func (d *openedDir) OpenDir(_ context.Context, name string) (vfs.Dir, error) {
	fd, err := quietly(func(extra int) (int, error) {
		return retryFd(func() (int, error) { return unix.Openat(d.dir.fd, name, dirFlags|unix.O_NOFOLLOW|extra, 0) })
	})
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			err = unix.ENOTDIR
		}
		return nil, fail("open", d.child(name), err)
	}
	return &openedDir{dir: &Dir{fd: fd}, path: d.child(name)}, nil
}

// direntBuffer is what one call asks of the kernel: some 400 entries.
const direntBuffer = 16 << 10

// Entries implements [vfs.Dir].
func (d *openedDir) Entries(ctx context.Context) ([]vfs.Child, error) {
	fd := d.dir.fd
	if d.dir.blind || d.listed.Swap(true) {
		// The place of a listing belongs to the handle, so that another one,
		// also at the same time, takes a handle of its own.
		var err error
		if fd, err = quietly(func(extra int) (int, error) {
			return retryFd(func() (int, error) { return unix.Openat(d.dir.fd, ".", dirFlags|extra, 0) })
		}); err != nil {
			return nil, fail("list", d.path, err)
		}
		defer unix.Close(fd)
	}
	var out []vfs.Child
	buf := make([]byte, direntBuffer)
	for {
		n, err := retryN(func() (int, error) { return unix.Getdents(fd, buf) })
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fail("list", d.path, err)
		}
		if n == 0 {
			return out, nil
		}
		out = d.parse(buf[:n], out)
	}
}

// parse appends the entries of a block that the kernel filled.
func (d *openedDir) parse(block []byte, out []vfs.Child) []vfs.Child {
	const (
		lengthAt = int(unsafe.Offsetof(unix.Dirent{}.Reclen))
		typeAt   = int(unsafe.Offsetof(unix.Dirent{}.Type))
		nameAt   = int(unsafe.Offsetof(unix.Dirent{}.Name))
	)
	for len(block) > nameAt {
		length := int(binary.NativeEndian.Uint16(block[lengthAt:]))
		if length <= nameAt || length > len(block) {
			return out
		}
		name, kind := block[nameAt:length], block[typeAt]
		block = block[length:]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if s := string(name); s != "." && s != ".." {
			out = append(out, vfs.Child{Name: s, Type: d.typeOf(s, kind), Size: -1})
		}
	}
	return out
}

func (d *openedDir) typeOf(name string, kind byte) vfs.Type {
	switch kind {
	case unix.DT_REG:
		return vfs.File
	case unix.DT_DIR:
		return vfs.Directory
	case unix.DT_LNK:
		return vfs.Link
	case unix.DT_UNKNOWN:
		// Some filesystems leave it to a look at the entry.
		if m, err := d.dir.stat(name); err == nil && m.kind != vfs.Absent {
			return m.kind
		}
	}
	return vfs.Other
}

// Size implements [vfs.Dir].
func (d *openedDir) Size(_ context.Context, name string) (int64, error) {
	m, err := d.dir.stat(name)
	if err != nil || m.kind != vfs.File {
		return 0, fail("examine", d.child(name), err)
	}
	return m.size, nil
}

// ReadFile implements [vfs.Dir].
func (d *openedDir) ReadFile(_ context.Context, name string, buf []byte) ([]byte, io.ReadCloser, error) {
	file, err := d.dir.open(name, forReading, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
			err = notRegular("read", d.child(name))
		}
		return nil, nil, fail("read", d.child(name), err)
	}
	data, more, err := d.fill(file, name, buf)
	if more {
		return data, file, nil
	}
	// Searches read very many files: nothing is made for an error that there
	// is not.
	if err != nil {
		err = fail("read", d.child(name), err)
	}
	if closed := file.Close(); closed != nil {
		err = errors.Join(err, closed)
	}
	return data, nil, err
}

// fill reads until buf is full or the file ends, and reports whether there may
// be more. The size saves asking once more at the end.
func (d *openedDir) fill(file *file, name string, buf []byte) (data []byte, more bool, err error) {
	m, err := file.stat()
	if err != nil {
		return nil, false, err
	}
	if m.kind != vfs.File {
		return nil, false, regular("read", d.child(name), m)
	}
	for n := 0; ; {
		if n == len(buf) {
			return buf, true, nil
		}
		k, err := file.Read(buf[n:])
		n += k
		if err == io.EOF || err == nil && m.size > 0 && int64(n) == m.size && n < len(buf) {
			return buf[:n], false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}
