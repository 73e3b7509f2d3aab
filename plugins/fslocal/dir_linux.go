package fslocal

import (
	"errors"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/vfs"
)

// noAccessTime lets a file be read without moving its access time.
const noAccessTime = unix.O_NOATIME

const (
	searchOnly = unix.O_PATH
)

// hasOpenat2 tells whether the kernel (5.6 and later) and its seccomp filters
// let openat2 through.
var hasOpenat2 = sync.OnceValue(func() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
})

// PathWalk says in a few words how directories are opened without following
// symlinks.
func PathWalk() string {
	if hasOpenat2() {
		return "openat2 without symlinks"
	}
	return "openat part by part"
}

func openNoSymlinks(at int, path string, flags int, beneath bool) (int, error) {
	if !hasOpenat2() {
		return openBySteps(at, path, flags)
	}
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	if beneath {
		how.Resolve |= unix.RESOLVE_BENEATH
	}
	return retryFd(func() (int, error) { return unix.Openat2(at, path, &how) })
}

// renameNew moves an entry to a name at which nothing exists; what exists is
// EEXIST. errUnsupported tells that the filesystem cannot do it in one step.
func (d *Dir) renameNew(name string, to *Dir, toName string) error {
	err := retry(func() error { return unix.Renameat2(d.fd, name, to.fd, toName, unix.RENAME_NOREPLACE) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return errUnsupported
	}
	return err
}

// reserve takes the space for size bytes before the first is overwritten.
func (f *file) reserve(size int64) error {
	if size == 0 {
		return nil
	}
	err := retry(func() error { return unix.Fallocate(f.fd, unix.FALLOC_FL_KEEP_SIZE, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

func (f *file) sync() error { return retry(func() error { return unix.Fsync(f.fd) }) }

// clone makes dst share the blocks of src, where the filesystem can.
func clone(dst, src *file) error { return unix.IoctlFileClone(dst.fd, src.fd) }

// copyRange copies up to n bytes inside the kernel.
func copyRange(dst, src *file, n int) (int, error) {
	return retryN(func() (int, error) { return unix.CopyFileRange(src.fd, nil, dst.fd, nil, n, 0) })
}

// pseudo lists filesystems whose regular files are views of kernel state.
var pseudo = map[int64]bool{
	unix.PROC_SUPER_MAGIC:    true,
	unix.SYSFS_MAGIC:         true,
	unix.DEBUGFS_MAGIC:       true,
	unix.TRACEFS_MAGIC:       true,
	unix.CGROUP_SUPER_MAGIC:  true,
	unix.CGROUP2_SUPER_MAGIC: true,
	unix.SECURITYFS_MAGIC:    true,
	unix.SELINUX_MAGIC:       true,
	unix.BPF_FS_MAGIC:        true,
	unix.EFIVARFS_MAGIC:      true,
	unix.BINFMTFS_MAGIC:      true,
}

// remote lists filesystems whose times come from another machine's clock.
var remote = map[int64]bool{
	unix.NFS_SUPER_MAGIC:  true,
	unix.SMB_SUPER_MAGIC:  true,
	unix.SMB2_SUPER_MAGIC: true,
	unix.CIFS_SUPER_MAGIC: true,
	unix.FUSE_SUPER_MAGIC: true,
	unix.V9FS_MAGIC:       true,
	unix.CEPH_SUPER_MAGIC: true,
	unix.AFS_SUPER_MAGIC:  true,
	unix.AFS_FS_MAGIC:     true,
	unix.CODA_SUPER_MAGIC: true,
}

func (f *file) world() world {
	var st unix.Statfs_t
	if unix.Fstatfs(f.fd, &st) != nil {
		return worldRemote
	}
	return worldOf(int64(st.Type))
}

func worldAt(path string) world {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return worldRemote
	}
	return worldOf(int64(st.Type))
}

func worldOf(magic int64) world {
	switch {
	case magic == unix.PROC_SUPER_MAGIC:
		return worldProc
	case pseudo[magic]:
		return worldPseudo
	case remote[magic]:
		return worldRemote
	}
	return worldDisk
}

// chtimes sets the modification time of the open file, whatever its name leads
// to by now.
func (f *file) chtimes(modified time.Time) error { return futimens(f.fd, modified) }

func futimens(fd int, modified time.Time) error {
	times := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(modified.UnixNano())}
	return retry(func() error {
		// Without a path the call is about the descriptor (utimensat(2)).
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
}

// chtimesLink sets the modification time of a symlink. Kernels before 5.8
// cannot do so by a handle and leave it.
func (d *Dir) chtimesLink(name string, modified time.Time) error {
	fd, err := retryFd(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	m, err := (&file{fd: fd}).stat()
	if err != nil || m.kind != vfs.Link {
		return errors.Join(errMoved, err)
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(modified.UnixNano())}
	err = retry(func() error { return unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// chtimesDir sets the modification time of a directory.
func (d *Dir) chtimesDir(name string, modified time.Time) error {
	sub, err := d.sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	if sub.blind {
		return unix.EACCES
	}
	return futimens(sub.fd, modified)
}
