package walktest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

type dir struct{ fd int }

// Open opens the directory at path.
func Open(path string) (walk.Dir, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &dir{fd}, nil
}

func (d *dir) Close() error { return unix.Close(d.fd) }

func (d *dir) OpenDir(_ context.Context, name string) (walk.Dir, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &dir{fd}, nil
}

func (d *dir) Entries(context.Context) ([]walk.Entry, error) {
	if _, err := unix.Seek(d.fd, 0, 0); err != nil {
		return nil, err
	}
	var out []walk.Entry
	var space [16 << 10]byte
	for {
		n, err := unix.Getdents(d.fd, space[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return out, err
		}
		if n == 0 {
			return out, nil
		}
		for buf := space[:n]; len(buf) > 0; {
			const header = int(unsafe.Offsetof(syscall.Dirent{}.Name))
			size := binary.NativeEndian.Uint16(buf[unsafe.Offsetof(syscall.Dirent{}.Reclen):])
			kind := buf[unsafe.Offsetof(syscall.Dirent{}.Type)]
			name := buf[header:size]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			buf = buf[size:]
			if string(name) == "." || string(name) == ".." {
				continue
			}
			e := walk.Entry{Name: string(name), Size: -1}
			switch kind {
			case unix.DT_REG:
				e.Type = vfs.File
			case unix.DT_DIR:
				e.Type = vfs.Directory
			case unix.DT_LNK:
				e.Type = vfs.Link
			default:
				e.Type = vfs.Other
			}
			out = append(out, e)
		}
	}
}

func (d *dir) Size(_ context.Context, name string) (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0, err
	}
	return st.Size, nil
}

func (d *dir) ReadFile(_ context.Context, name string, buf []byte) ([]byte, io.ReadCloser, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	f := file(fd)
	n, err := f.fill(buf)
	if err != nil || n < len(buf) {
		return buf[:n], nil, errors.Join(err, f.Close())
	}
	return buf[:n], f, nil
}

type file int

func (f file) Close() error { return unix.Close(int(f)) }

func (f file) Read(p []byte) (int, error) {
	n, err := f.fill(p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// fill reads until p is full or the file ends.
func (f file) fill(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k, err := unix.Read(int(f), p[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("read: %w", err)
		}
		if k == 0 {
			break
		}
		n += k
		if k < 4096 {
			// A short read of a regular file is its end; asking again for
			// zero bytes costs a system call a file.
			break
		}
	}
	return n, nil
}
