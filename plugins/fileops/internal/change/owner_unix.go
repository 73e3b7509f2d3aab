//go:build unix

package change

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
)

// running reports whether there is a process of that number.
func running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// startOf returns when a process started, in a form that is the same each
// time: field 22 of /proc/PID/stat, see proc_pid_stat(5). It is "" where that
// is not to be had.
func startOf(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name in field 2 may hold anything; the last parenthesis ends it.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 || string(fields[0]) == "Z" {
		return ""
	}
	return string(fields[19])
}
