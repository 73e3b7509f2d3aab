package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/tool"
)

// The exit statuses.
const (
	statusOK = 0
	// statusFailed: the operation failed.
	statusFailed = 1
	// statusUsage: the command line is wrong, and nothing was tried.
	statusUsage = 2
	// statusInterrupted is what shells give for an interrupt, 128 + SIGINT.
	statusInterrupted = 130
)

// Codes of the command line itself.
const (
	codeUsage = "USAGE"
	// codeFailed is for errors that have no code of their own.
	codeFailed = "FAILED"
	// codeScenario reports scenarios that did not pass.
	codeScenario = "SCENARIO_FAILED"
	// codeInvalidScenario reports a file that holds no scenarios.
	codeInvalidScenario = "SCENARIO_INVALID"
	// codeInvalidScript reports a file that holds no scripted model.
	codeInvalidScript = "SCRIPT_INVALID"
)

// failure is how a command ends when it does not end well.
type failure struct {
	status  int
	code    string
	message string
}

func (f *failure) Error() string { return f.code + ": " + f.message }

func failed(code, format string, args ...any) error {
	return &failure{status: statusFailed, code: code, message: fmt.Sprintf(format, args...)}
}

func usage(format string, args ...any) error {
	return &failure{status: statusUsage, code: codeUsage, message: fmt.Sprintf(format, args...)}
}

// asFailure turns any error of a command into a failure. Commands return
// failures and coded errors; what else there is comes from the parser of the
// command line.
func asFailure(ctx context.Context, cmd *cobra.Command, err error) *failure {
	var f *failure
	code := errs.CodeOf(err)
	switch {
	case ctx.Err() != nil:
		return &failure{status: statusInterrupted, code: string(errs.Aborted), message: "interrupted"}
	case errors.As(err, &f):
	case code != "":
		f = &failure{status: statusFailed, code: string(code), message: err.Error()}
	default:
		f = &failure{status: statusUsage, code: codeUsage, message: err.Error()}
	}
	if f.status == statusUsage && !strings.Contains(f.message, "--help") {
		if cmd.Name() == "help" {
			cmd = cmd.Root()
		}
		return &failure{status: f.status, code: f.code, message: fmt.Sprintf("%s; see %s --help", f.message, cmd.CommandPath())}
	}
	return f
}

// resultFailure turns the result of a failed tool call into a failure. What
// the tool advises a model to do, after a dash, gives way to what a person at
// a command line can do.
func resultFailure(r tool.Result) error {
	code := codeFailed
	if r.Error != nil {
		code = r.Error.Code
	}
	message := strings.TrimPrefix(r.Text(), "Error: ")
	hint := advice[errs.Code(code)]
	if code == string(errs.NotFound) && !strings.HasSuffix(message, "not found") {
		hint = "" // something else than the path, such as a line behind the end
	}
	if hint != "" {
		message, _, _ = strings.Cut(message, " — ")
		if code == string(errs.AmbiguousEdit) {
			message, _, _ = strings.Cut(message, "; give ")
		}
		message += "; " + hint
	}
	return failed(code, "%s", message)
}

var advice = map[errs.Code]string{
	errs.NotFound:       "check the path; a relative one starts at --cwd",
	errs.NotText:        "the tools read and change UTF-8 text only",
	errs.NotRegularFile: "the tools open regular files only",
	errs.Permission:     "check the permissions of the file and its directories",
	errs.NotObserved:    "leave out --no-read to have it read first",
	errs.StaleVersion:   "run the command again",
	errs.AmbiguousEdit:  "give more of the text around it, or --all to replace every match",
	errs.EditNotFound:   "demo read shows what is there",
	errs.SandboxDenied:  "--sandbox with a wider mode allows it",
}

// fileFailure is the failure of a file that the command itself reads, such as
// the content to write.
func fileFailure(err error) error {
	code := errs.IO
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = errs.NotFound
	case errors.Is(err, fs.ErrPermission):
		code = errs.Permission
	}
	return failed(string(code), "%v; check the name and its permissions", err)
}
