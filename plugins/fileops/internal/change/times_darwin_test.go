package change_test

import (
	"syscall"
	"time"
)

func statTimes(st *syscall.Stat_t) (access, change time.Time) {
	return time.Unix(st.Atimespec.Unix()), time.Unix(st.Ctimespec.Unix())
}
