package fslocal

import (
	"time"

	"golang.org/x/sys/unix"
)

func birthTime(path string) (time.Time, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Lstat(path, &st) }); err != nil {
		return time.Time{}, err
	}
	return time.Unix(st.Btim.Unix()), nil
}
