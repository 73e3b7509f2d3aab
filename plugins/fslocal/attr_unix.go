//go:build linux || darwin

package fslocal

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// keepOwner gives a staged file the owner and group of the file it replaces,
// as far as the process may, and reports whether it has both.
func keepOwner(s *file, old meta) bool {
	now, err := s.stat()
	if err != nil {
		return false
	}
	if now.uid == old.uid && now.gid == old.gid {
		return true
	}
	if s.chown(old.uid, old.gid) == nil {
		return true
	}
	// A group of one's own may be kept where the owner may not.
	if now.gid != old.gid {
		_ = s.chown(now.uid, old.gid) // best effort, as the contract says
	}
	return false
}

// copyAttributes copies extended attributes, access control lists among them,
// as far as the process may. Most files have none.
func copyAttributes(dir *Dir, name string, to *staged) {
	from, err := dir.open(name, forReading, 0)
	if err != nil {
		return
	}
	defer from.Close()
	size, err := unix.Flistxattr(from.fd, nil)
	if err != nil || size == 0 {
		return
	}
	names := make([]byte, size)
	if size, err = unix.Flistxattr(from.fd, names); err != nil {
		return
	}
	for _, attr := range splitNames(names[:size]) {
		if attr == "security.capability" {
			continue // privileges were given to the old content
		}
		n, err := unix.Fgetxattr(from.fd, attr, nil)
		if err != nil {
			continue
		}
		value := make([]byte, n)
		if n, err = unix.Fgetxattr(from.fd, attr, value); err == nil {
			_ = unix.Fsetxattr(to.fd, attr, value[:n], 0) // some are the system's own
		}
	}
}

func splitNames(list []byte) []string {
	var names []string
	start := 0
	for i, c := range list {
		if c == 0 {
			names = append(names, string(list[start:i]))
			start = i + 1
		}
	}
	return names
}

// defaultRecoveryDir is a directory of the user's own.
func defaultRecoveryDir() string {
	return filepath.Join(os.TempDir(), "bridle-recovery-"+strconv.Itoa(os.Geteuid()))
}

// private reports whether a directory is this user's alone.
func private(m meta) bool { return own(m) && m.mode&0o077 == 0 }

// own reports whether a file belongs to this user.
func own(m meta) bool { return m.uid == uint32(os.Geteuid()) }

// chmodDir sets the permission bits of a directory.
func (d *Dir) chmodDir(name string, mode uint32) error {
	sub, err := d.sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	if sub.blind {
		return unix.EACCES // opened for searching only; its owner can read it
	}
	return retry(func() error { return unix.Fchmod(sub.fd, mode) })
}
