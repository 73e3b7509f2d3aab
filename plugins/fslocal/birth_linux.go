package fslocal

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// birthTime asks statx, which kernels have since 4.11; not every filesystem
// records the time.
func birthTime(path string) (time.Time, error) {
	var st unix.Statx_t
	err := retry(func() error {
		return unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	})
	if errors.Is(err, unix.ENOSYS) {
		return time.Time{}, nil
	}
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}, err
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), nil
}
