//go:build linux || darwin

package fslocal

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/vfs"
)

// Dir is an open directory. Everything done through it happens in that
// directory, wherever it may be moved meanwhile, and never follows a symlink.
type Dir struct {
	fd int
	// blind tells that the directory may be entered but not read, so that it
	// cannot be synced either.
	blind bool
}

// Open modes of a file in a directory.
const (
	forReading   = unix.O_RDONLY
	forWriting   = unix.O_RDWR
	createUnique = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL
)

// always goes with every open: no symlink at the end, no waiting for the other
// end of a FIFO or for a device, no terminal taken over, nothing inherited by
// child processes.
const always = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

// OpenDir opens the directory at an absolute path that holds no symlink.
func OpenDir(path string) (*Dir, error) {
	return openDir(unix.AT_FDCWD, path, false)
}

// sub opens the directory at rel, a slash-separated path without "." and ".."
// parts, below d. An empty rel is d itself, opened anew.
func (d *Dir) sub(rel string) (*Dir, error) {
	if rel == "" {
		rel = "."
	}
	return openDir(d.fd, rel, true)
}

func openDir(at int, path string, beneath bool) (*Dir, error) {
	fd, err := openNoSymlinks(at, path, dirFlags, beneath)
	if err == nil {
		return &Dir{fd: fd}, nil
	}
	if !errors.Is(err, unix.EACCES) {
		return nil, err
	}
	// Write and search permission suffice to change a directory.
	fd, err = openNoSymlinks(at, path, searchOnly|unix.O_DIRECTORY|unix.O_CLOEXEC, beneath)
	if err != nil {
		return nil, err
	}
	return &Dir{fd: fd, blind: true}, nil
}

// openBySteps opens path part by part, so that a symlink anywhere in it is
// noticed. It is for kernels that cannot do so in one call.
func openBySteps(at int, path string, flags int) (int, error) {
	cur, owned := at, false
	done := func() {
		if owned {
			unix.Close(cur)
		}
	}
	if strings.HasPrefix(path, "/") {
		fd, err := retryFd(func() (int, error) {
			return unix.Open("/", searchOnly|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		})
		if err != nil {
			return -1, err
		}
		cur, owned = fd, true
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(parts) == 0 {
		parts = []string{"."}
	}
	for i, part := range parts {
		f := searchOnly | unix.O_DIRECTORY | unix.O_CLOEXEC
		if i == len(parts)-1 {
			f = flags
		}
		fd, err := retryFd(func() (int, error) { return unix.Openat(cur, part, f|unix.O_NOFOLLOW, 0) })
		if err != nil {
			if errors.Is(err, unix.ENOTDIR) && isLink(cur, part) {
				err = unix.ELOOP
			}
			done()
			return -1, err
		}
		done()
		cur, owned = fd, true
	}
	return cur, nil
}

func isLink(at int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// Close releases the handle.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// self describes the directory.
func (d *Dir) self() (meta, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return meta{}, err
	}
	return metaOf(&st), nil
}

// stat describes an entry without following it. Absence is no error.
func (d *Dir) stat(name string) (meta, error) { return statAt(d.fd, name, unix.AT_SYMLINK_NOFOLLOW) }

// statPath describes what is at an absolute path. Absence is no error, and a
// path that leads through something that is no directory leads to nothing.
func statPath(path string, follow bool) (meta, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	return statAt(unix.AT_FDCWD, path, flags)
}

func statAt(at int, name string, flags int) (meta, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(at, name, &st, flags) })
	switch {
	case err == nil:
		return metaOf(&st), nil
	case errors.Is(err, unix.ENOENT):
		return meta{}, nil
	}
	return meta{}, err
}

type native struct{ dev, ino uint64 }

// sameFile reports whether two metas are of one file, in whatever state.
func (m meta) sameFile(o meta) bool { return m.dev == o.dev && m.ino == o.ino }

func metaOf(st *unix.Stat_t) meta {
	m := meta{
		kind:  vfs.Other,
		size:  st.Size,
		mtime: unix.TimespecToNsec(st.Mtim),
		ctime: unix.TimespecToNsec(st.Ctim),
		mode:  uint32(st.Mode) & 0o7777,
		uid:   st.Uid, gid: st.Gid,
		links:  uint64(st.Nlink),
		native: native{dev: uint64(st.Dev), ino: uint64(st.Ino)},
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		m.kind = vfs.File
	case unix.S_IFDIR:
		m.kind = vfs.Directory
	case unix.S_IFLNK:
		m.kind = vfs.Link
	}
	return m
}

// open opens an entry. A symlink is ELOOP.
func (d *Dir) open(name string, mode int, perm uint32) (*file, error) {
	openat := func(extra int) (int, error) {
		return retryFd(func() (int, error) { return unix.Openat(d.fd, name, mode|always|extra, perm) })
	}
	fd, err := -1, error(nil)
	if mode == forReading {
		fd, err = quietly(openat)
	} else {
		fd, err = openat(0)
	}
	if err != nil {
		return nil, err
	}
	return &file{fd: fd}, nil
}

// quietly opens something for reading so that its access time stays, where the
// system can do that; it does so for the owner only.
func quietly(open func(extra int) (int, error)) (int, error) {
	if noAccessTime != 0 {
		if fd, err := open(noAccessTime); !errors.Is(err, unix.EPERM) {
			return fd, err
		}
	}
	return open(0)
}

// openListing opens a directory to list it.
func openListing(path string) (*os.File, error) {
	fd, err := quietly(func(extra int) (int, error) {
		return retryFd(func() (int, error) { return unix.Open(path, dirFlags|directoryOnly|extra, 0) })
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openPath opens what is at an absolute path, following symlinks.
func openPath(path string) (*file, error) {
	fd, err := quietly(func(extra int) (int, error) {
		return retryFd(func() (int, error) { return unix.Open(path, forReading|always&^unix.O_NOFOLLOW|extra, 0) })
	})
	if err != nil {
		return nil, err
	}
	return &file{fd: fd}, nil
}

func (d *Dir) mkdir(name string, perm uint32) error {
	return retry(func() error { return unix.Mkdirat(d.fd, name, perm) })
}

func (d *Dir) remove(name string) error {
	return retry(func() error { return unix.Unlinkat(d.fd, name, 0) })
}

func (d *Dir) rmdir(name string) error {
	return retry(func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) })
}

// rename moves an entry over whatever is at the new name.
func (d *Dir) rename(name string, to *Dir, toName string) error {
	return retry(func() error { return unix.Renameat(d.fd, name, to.fd, toName) })
}

// link gives a file a second name in the same directory. What exists is EEXIST.
func (d *Dir) link(name, toName string) error { return d.linkTo(name, d, toName) }

func (d *Dir) linkTo(name string, to *Dir, toName string) error {
	return retry(func() error { return unix.Linkat(d.fd, name, to.fd, toName, 0) })
}

func (d *Dir) symlink(content, name string) error {
	return retry(func() error { return unix.Symlinkat(content, d.fd, name) })
}

// readlink returns what the symlink at path holds. Something that is no
// symlink is EINVAL.
func readlink(path string) (string, error) {
	for size := 128; ; size *= 4 {
		buf := make([]byte, size)
		n, err := unix.Readlink(path, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			size /= 4
		case err != nil:
			return "", err
		case n < size:
			return string(buf[:n]), nil
		}
	}
}

// notSymlink reports whether readlink failed because there is no symlink but
// something else.
func notSymlink(err error) bool { return errors.Is(err, unix.EINVAL) }

// writable reports whether the process may write an entry that is no symlink.
func (d *Dir) writable(name string) error {
	return retry(func() error {
		return unix.Faccessat(d.fd, name, unix.W_OK, unix.AT_EACCESS)
	})
}

// access tells what the process may do with what is at an absolute path.
func access(path string) (readable, writable bool, err error) {
	try := func(mode uint32) (bool, error) {
		err := retry(func() error { return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) })
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.EPERM) {
			return false, nil
		}
		return err == nil, err
	}
	if readable, err = try(unix.R_OK); err != nil {
		return false, false, err
	}
	writable, err = try(unix.W_OK)
	return readable, writable, err
}

// sync makes the directory's entries durable. Filesystems that cannot sync a
// directory say EINVAL or ENOTSUP; there is nothing more to be done then.
func (d *Dir) sync() error {
	if d.blind {
		return nil
	}
	err := retry(func() error { return unix.Fsync(d.fd) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// file is an open file. It is less than an os.File on purpose: a regular file
// needs no poller, and opening one should cost one system call.
type file struct{ fd int }

func (f *file) stat() (meta, error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return meta{}, err
	}
	return metaOf(&st), nil
}

func (f *file) Read(p []byte) (int, error) {
	n, err := retryN(func() (int, error) { return unix.Read(f.fd, clip(p)) })
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return n, err
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	total := 0
	for len(p) > 0 {
		n, err := retryN(func() (int, error) { return unix.Pread(f.fd, clip(p), off) })
		if err != nil {
			return total, err
		}
		if n == 0 {
			return total, io.EOF
		}
		total += n
		off += int64(n)
		p = p[n:]
	}
	return total, nil
}

func (f *file) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		n, err := retryN(func() (int, error) { return unix.Write(f.fd, clip(p)) })
		total += n
		if err != nil {
			return total, err
		}
		p = p[n:]
	}
	return total, nil
}

func (f *file) seek(off int64) error {
	_, err := unix.Seek(f.fd, off, io.SeekStart)
	return err
}

func (f *file) truncate(size int64) error {
	return retry(func() error { return unix.Ftruncate(f.fd, size) })
}

func (f *file) chmod(mode uint32) error {
	return retry(func() error { return unix.Fchmod(f.fd, mode) })
}

func (f *file) chown(uid, gid uint32) error {
	return retry(func() error { return unix.Fchown(f.fd, int(uid), int(gid)) })
}

func (f *file) Close() error { return unix.Close(f.fd) }

// lock takes the file for this process, without waiting. It reports false when
// another open file has it. The lock ends with the process.
func (f *file) lock() (bool, error) {
	err := retry(func() error { return unix.Flock(f.fd, unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// clip keeps one transfer below the 2 GiB that kernels allow.
func clip(p []byte) []byte { return p[:min(len(p), 1<<30)] }

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func retryFd(call func() (int, error)) (int, error) {
	for {
		if fd, err := call(); !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func retryN(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return max(n, 0), err
	}
}

// directoryOnly makes an open fail for anything but a directory, and at once.
const directoryOnly = unix.O_DIRECTORY | unix.O_NONBLOCK
