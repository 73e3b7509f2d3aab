//go:build !linux

package sandbox

// Landlock is a fence of the Linux kernel; there is none here.
func Landlock([]string) (Status, error) { return Unavailable, nil }
