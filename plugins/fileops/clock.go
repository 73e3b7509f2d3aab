package fileops

import (
	"time"

	"github.com/bridle-go/bridle/harness/tool"
)

// What results tell of clocks is an input of the call, so that a replay tells
// what was recorded: neither how long an operation takes nor when the files of
// a workspace were written can be the same again.

// elapsed is how long an operation has taken, in milliseconds.
func (r *request) elapsed(began time.Time) int64 {
	return tool.Input(r.call, "elapsed_ms", func() int64 { return time.Since(began).Milliseconds() })
}

// fileTime is a time of a file as results show it, under a name.
func (r *request) fileTime(name string, t time.Time) string {
	return tool.Input(r.call, name, func() string { return t.UTC().Format(time.RFC3339Nano) })
}
