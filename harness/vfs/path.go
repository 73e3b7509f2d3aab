package vfs

import (
	"context"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
)

// CheckPath returns the INVALID_ARGS error of a path that no provider
// resolves: an empty one, one that begins with "~", or one with a NUL byte.
func CheckPath(path string) error {
	var why string
	switch {
	case path == "":
		why = "the path is empty"
	case strings.IndexByte(path, 0) >= 0:
		why = "the path holds a NUL byte"
	case path[0] == '~':
		why = `"~" is not expanded; spell out the directory, or write "./` + DisplayName(path) + `" for a file of that name`
	default:
		return nil
	}
	return &errs.Error{Code: errs.InvalidArgs, Op: "resolve", Path: path,
		Message: "cannot resolve " + quote(path) + ": " + why}
}

// Aborted returns the FS_ABORTED error of an operation on path when ctx has
// ended, and nil before. It wraps the cause of ctx, unless that has a code: what
// an errgroup cancels with is the failure of another call, and must not be taken
// for one of this.
func Aborted(ctx context.Context, op, path string) error {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if code := errs.CodeOf(cause); code != "" && code != errs.Aborted {
		cause = ctx.Err()
	}
	return &errs.Error{Code: errs.FSAborted, Op: op, Path: path, Err: cause,
		Message: "cannot " + op + " " + quote(path) + ": the call was aborted; nothing was changed"}
}
