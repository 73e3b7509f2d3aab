//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package attachments

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the open file, alone or shared, until it is closed.
func tryLock(f *os.File, alone bool) error {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		default:
			return err
		}
	}
}

// syncDir makes the names in a directory durable.
func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
