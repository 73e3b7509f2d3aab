package fslocal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"

	"github.com/bridle-go/bridle/harness/vfs"
)

// Dir is an open directory. What is done through it cannot leave it; os.Root
// sees to that.
type Dir struct{ root *os.Root }

const (
	forReading    = os.O_RDONLY
	forWriting    = os.O_RDWR
	createUnique  = os.O_RDWR | os.O_CREATE | os.O_EXCL
	directoryOnly = 0
)

// PathWalk says in a few words how directories are opened without following
// symlinks out of their root.
func PathWalk() string { return "os.Root; moves between two directories go by their paths" }

// OpenDir opens the directory at an absolute path.
func OpenDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root}, nil
}

func (d *Dir) sub(rel string) (*Dir, error) {
	if rel == "" {
		rel = "."
	}
	root, err := d.root.OpenRoot(filepath.FromSlash(rel))
	if err != nil {
		return nil, err
	}
	return &Dir{root: root}, nil
}

// Close releases the handle.
func (d *Dir) Close() error { return d.root.Close() }

func (d *Dir) self() (meta, error) {
	info, err := d.root.Stat(".")
	return metaOf(info), err
}

func (d *Dir) stat(name string) (meta, error) {
	info, err := d.root.Lstat(name)
	return absentOK(info, err)
}

func statPath(path string, follow bool) (meta, error) {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	info, err := look(path)
	return absentOK(info, err)
}

func absentOK(info fs.FileInfo, err error) (meta, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return meta{}, nil
	}
	return metaOf(info), err
}

// native has no device and inode: they come with an open file only.
type native struct {
	info     fs.FileInfo
	dev, ino uint64
}

// sameFile reports whether two metas are of one file, in whatever state.
func (m meta) sameFile(o meta) bool { return os.SameFile(m.info, o.info) }

// metaOf has no device, inode and change time: metadata then never counts as
// proof that content is unchanged.
func metaOf(info fs.FileInfo) meta {
	if info == nil {
		return meta{}
	}
	m := meta{
		kind: typeOf(info.Mode()), size: info.Size(), mtime: info.ModTime().UnixNano(),
		mode: uint32(info.Mode().Perm()), links: 1,
		native: native{info: info},
	}
	if m.kind != vfs.File {
		m.size = 0
	}
	return m
}

func (d *Dir) open(name string, mode int, perm uint32) (*file, error) {
	f, err := d.root.OpenFile(name, mode, fs.FileMode(perm))
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

func openPath(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

func (d *Dir) mkdir(name string, perm uint32) error { return d.root.Mkdir(name, fs.FileMode(perm)) }
func (d *Dir) remove(name string) error             { return d.root.Remove(name) }
func (d *Dir) rmdir(name string) error              { return d.root.Remove(name) }
func (d *Dir) symlink(content, name string) error   { return d.root.Symlink(content, name) }
func (d *Dir) link(name, toName string) error       { return d.root.Link(name, toName) }

// linkTo and rename work by path where two directories are concerned: os.Root
// knows one only.
func (d *Dir) linkTo(name string, to *Dir, toName string) error {
	return os.Link(filepath.Join(d.root.Name(), name), filepath.Join(to.root.Name(), toName))
}

func (d *Dir) rename(name string, to *Dir, toName string) error {
	if d == to {
		return d.root.Rename(name, toName)
	}
	return os.Rename(filepath.Join(d.root.Name(), name), filepath.Join(to.root.Name(), toName))
}

// renameNew is left to a second name: no rename of os.Root refuses to replace.
func (d *Dir) renameNew(string, *Dir, string) error { return errUnsupported }

func readlink(path string) (string, error) { return os.Readlink(path) }

func notSymlink(err error) bool { return !errors.Is(err, fs.ErrNotExist) }

func (d *Dir) writable(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && info.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return err
}

func access(path string) (readable, writable bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, false, err
	}
	return true, info.Mode().Perm()&0o200 != 0, nil
}

// sync does nothing: Windows makes directory entries durable by itself.
func (d *Dir) sync() error { return nil }

func (d *Dir) chtimesLink(string, time.Time) error { return nil }

func (d *Dir) chtimesDir(name string, modified time.Time) error {
	return d.root.Chtimes(name, time.Time{}, modified)
}

type file struct{ *os.File }

func (f *file) stat() (meta, error) {
	info, err := f.Stat()
	return metaOf(info), err
}

func (f *file) seek(off int64) error {
	_, err := f.Seek(off, 0)
	return err
}

func (f *file) truncate(size int64) error { return f.Truncate(size) }
func (f *file) chmod(mode uint32) error   { return f.Chmod(fs.FileMode(mode)) }
func (f *file) chtimes(modified time.Time) error {
	return os.Chtimes(f.Name(), time.Time{}, modified)
}
func (f *file) sync() error                    { return f.Sync() }
func (f *file) reserve(int64) error            { return nil }
func (f *file) world() world                   { return worldDisk }
func worldAt(string) world                     { return worldDisk }
func clone(_, _ *file) error                   { return errUnsupported }
func copyRange(*file, *file, int) (int, error) { return 0, errUnsupported }

// lockByte is a byte far behind any content: locks are mandatory on Windows,
// and this one must not keep anybody from reading.
const lockByte = 1 << 62

func (f *file) lock() (bool, error) {
	at := windows.Overlapped{OffsetHigh: lockByte >> 32}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// keepOwner has nothing to do: a file takes its access control from its
// directory.
func keepOwner(*file, meta) bool { return true }

func copyAttributes(*Dir, string, *staged) {}

// private is not told by permission bits here; the directory is in the user's
// own temp directory.
func private(meta) bool { return true }

func own(meta) bool { return true }

func defaultRecoveryDir() string { return filepath.Join(os.TempDir(), "bridle-recovery") }

func openListing(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|directoryOnly, 0)
}
