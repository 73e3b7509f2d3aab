package fslocal

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

const noAccessTime = 0 // there is no such open

const searchOnly = unix.O_SEARCH

// PathWalk says in a few words how directories are opened without following
// symlinks.
func PathWalk() string { return "openat part by part" }

func openNoSymlinks(at int, path string, flags int, _ bool) (int, error) {
	return openBySteps(at, path, flags)
}

// renameNew moves an entry to a name at which nothing exists; what exists is
// EEXIST. errUnsupported tells that the filesystem cannot do it in one step.
func (d *Dir) renameNew(name string, to *Dir, toName string) error {
	err := retry(func() error { return unix.RenameatxNp(d.fd, name, to.fd, toName, unix.RENAME_EXCL) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return errUnsupported
	}
	return err
}

// reserve is left to the write itself: macOS cannot take space without
// changing the size.
func (f *file) reserve(int64) error { return nil }

// sync flushes the drive as well where it can: fsync alone leaves the bytes in
// the drive's cache on macOS (fsync(2)).
func (f *file) sync() error {
	if _, err := unix.FcntlInt(uintptr(f.fd), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	return retry(func() error { return unix.Fsync(f.fd) })
}

// clone reports errUnsupported: the plain copy is used instead.
func clone(_, _ *file) error { return errUnsupported }

func copyRange(_, _ *file, _ int) (int, error) { return 0, errUnsupported }

func (f *file) world() world {
	var st unix.Statfs_t
	if unix.Fstatfs(f.fd, &st) != nil || st.Flags&unix.MNT_LOCAL == 0 {
		return worldRemote
	}
	return worldDisk
}

func worldAt(path string) world {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil || st.Flags&unix.MNT_LOCAL == 0 {
		return worldRemote
	}
	return worldDisk
}

// utimeOmit is UTIME_OMIT of macOS's sys/stat.h.
const utimeOmit = -2

// chtimes sets the modification time of the open file. By a handle, macOS takes
// microseconds only.
func (f *file) chtimes(modified time.Time) error {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return err
	}
	times := []unix.Timeval{unix.NsecToTimeval(unix.TimespecToNsec(st.Atim)), unix.NsecToTimeval(modified.UnixNano())}
	return retry(func() error { return unix.Futimes(f.fd, times) })
}

// chtimesLink sets the modification time of a symlink.
func (d *Dir) chtimesLink(name string, modified time.Time) error {
	times := []unix.Timespec{{Nsec: utimeOmit}, unix.NsecToTimespec(modified.UnixNano())}
	return retry(func() error { return unix.UtimesNanoAt(d.fd, name, times, unix.AT_SYMLINK_NOFOLLOW) })
}

// chtimesDir sets the modification time of a directory.
func (d *Dir) chtimesDir(name string, modified time.Time) error {
	sub, err := d.sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return (&file{fd: sub.fd}).chtimes(modified)
}
