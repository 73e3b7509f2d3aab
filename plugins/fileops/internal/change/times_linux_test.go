package change_test

import (
	"syscall"
	"time"
)

func statTimes(st *syscall.Stat_t) (access, change time.Time) {
	return time.Unix(st.Atim.Unix()), time.Unix(st.Ctim.Unix())
}
