package fslocal

import (
	"os"
	"syscall"
	"time"
)

func birthTime(path string) (time.Time, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}, err
	}
	data, ok := info.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return time.Time{}, nil
	}
	return time.Unix(0, data.CreationTime.Nanoseconds()), nil
}
