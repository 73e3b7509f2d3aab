package attachments

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks the open file, alone or shared, until it is closed.
func tryLock(f *os.File, alone bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// syncDir has nothing to do: the file system journals its names.
func syncDir(*os.Root, string) error { return nil }
