package toolfs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// invalid is the error of an argument that fits the schema and still cannot
// mean anything.
func invalid(format string, args ...any) error {
	return errs.New(errs.InvalidArgs, fmt.Sprintf(format, args...))
}

func checkPath(path string) error {
	if strings.TrimSpace(path) == "" {
		return invalid("file_path must be a non-empty string")
	}
	return nil
}

// on resolves the path against the caller's directory and runs do with the
// provider, which stays mounted until do returns.
func on[V any](ctx context.Context, t *tools, call *tool.Call, path string, do func(vfs.FileSystem, vfs.Target) (V, error)) (V, error) {
	var zero V
	fs, release, err := t.FS.Acquire()
	if err != nil {
		return zero, err
	}
	defer release()
	target, err := fs.Resolve(ctx, path, vfs.ResolveOptions{Cwd: call.Cwd()})
	if err != nil {
		return zero, err
	}
	return do(fs, target)
}

// cannotRead is the error of a target that is nothing to read, worded as the
// model knows it.
func cannotRead(code errs.Code, path, why string) error {
	return &errs.Error{Code: code, Op: "read", Path: path,
		Message: fmt.Sprintf(`cannot read "%s": %s`, vfs.DisplayName(path), why)}
}

// missing tells the policies that nothing is at the target and returns the
// error for the model.
func (t *tools) missing(ctx context.Context, call *tool.Call, target vfs.Target) error {
	err := vfs.Observed.Send(ctx, t.Bus, vfs.Observation{Target: target, Absent: true, Actor: call})
	if err != nil {
		return err
	}
	return cannotRead(errs.NotFound, target.Path, "not found")
}

// advise adds to a refused change what the model should do about it. A policy
// that knows what the caller had seen may say more first. mode is the sandbox
// mode that the change was tried under.
func (t *tools) advise(ctx context.Context, call *tool.Call, fs vfs.FileSystem, target vfs.Target, mode sandbox.Mode, err error) error {
	switch errs.CodeOf(err) {
	case errs.StaleVersion:
		err = vfs.Explain(ctx, t.Bus, vfs.Refusal{Target: target, Actor: call, Err: err, FS: fs})
		return withAdvice(err, "re-read the file, then retry")
	case errs.NotObserved:
		return withAdvice(err, "read the file, then retry")
	case errs.SandboxDenied:
		return withAdvice(err, escalationAdvice(mode))
	}
	return err
}

// withAdvice keeps the code and adds a clause to the message.
func withAdvice(err error, advice string) error {
	var e *errs.Error
	if !errors.As(err, &e) || advice == "" {
		return err
	}
	return &errs.Error{Code: e.Code, Op: e.Op, Path: e.Path, Err: err, Message: err.Error() + " — " + advice}
}
