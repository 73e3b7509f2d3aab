package session

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// The locked byte lies past the owner's text, because a locked range cannot
// be read by others.
const lockedByte = 1 << 30

func tryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{Offset: lockedByte})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// syncDir has nothing to do: the file system journals its names.
func syncDir(string) error { return nil }
