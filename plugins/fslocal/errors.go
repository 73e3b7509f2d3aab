package fslocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// fail turns a failure into a coded error that says what could not be done to
// which file, and why. Errors that have a code already stay as they are.
func fail(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	var coded *errs.Error
	if errors.As(err, &coded) {
		return err
	}
	code, why := explain(err)
	return refuse(code, verb, path, why, err)
}

// refuse returns a coded error with a reason of ours.
func refuse(code errs.Code, verb, path, why string, cause error) error {
	return &errs.Error{Code: code, Op: verb, Path: path, Err: cause,
		Message: fmt.Sprintf("cannot %s %s: %s", verb, quote(path), why)}
}

func explain(err error) (errs.Code, string) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errs.FSAborted, "the call was aborted; nothing was changed"
	case errors.Is(err, fs.ErrNotExist):
		return errs.NotFound, "not found"
	case errors.Is(err, syscall.ENOTDIR):
		return errs.NotDirectory, "a part of the path is not a directory"
	case errors.Is(err, syscall.EROFS):
		return errs.Permission, "the filesystem is read-only"
	case errors.Is(err, fs.ErrPermission):
		return errs.Permission, "permission denied"
	case errors.Is(err, syscall.EISDIR):
		return errs.NotRegularFile, "not a regular file"
	case errors.Is(err, syscall.ENOSPC):
		return errs.IO, "no space left on the device; free some space and retry"
	case errors.Is(err, syscall.EDQUOT):
		return errs.IO, "the disk quota is used up; free some space and retry"
	case errors.Is(err, syscall.EFBIG):
		return errs.IO, "the file would be larger than the system allows"
	case errors.Is(err, syscall.ELOOP):
		return errs.IO, "the path holds a symlink loop"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return errs.IO, "the path or one of its parts is too long"
	case errors.Is(err, syscall.ENOTEMPTY):
		return errs.IO, "the directory is not empty"
	case errors.Is(err, errMoved):
		return errs.IO, "the file or a directory above it keeps changing; retry"
	}
	return errs.IO, err.Error()
}

func quote(path string) string { return `"` + vfs.DisplayName(path) + `"` }

func tooLarge(verb, path string, size, limit int64) error {
	why := fmt.Sprintf("larger than the limit of %d bytes", limit)
	if size > limit {
		why = fmt.Sprintf("%d bytes, the limit is %d", size, limit)
	}
	return refuse(errs.TooLarge, verb, path, why, nil)
}
