package errs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/bridle-go/bridle/harness/errs"
)

func TestCodeOf(t *testing.T) {
	coded := errs.New(errs.NotFound, "nothing there")
	tests := []struct {
		name string
		err  error
		want errs.Code
	}{
		{"nil", nil, ""},
		{"coded", coded, errs.NotFound},
		{"the outermost counts", errs.Wrap(errs.IO, "reading", coded), errs.IO},
		{"wrapped by a plain error", fmt.Errorf("while looking: %w", coded), errs.NotFound},
		{"joined", errors.Join(errors.New("plain"), coded), errs.NotFound},
		{"a bare code", errs.TooLarge, errs.TooLarge},
		{"cancelled", fmt.Errorf("x: %w", context.Canceled), errs.Aborted},
		{"out of time", context.DeadlineExceeded, errs.Aborted},
		{"plain", errors.New("plain"), ""},
	}
	for _, test := range tests {
		if got := errs.CodeOf(test.err); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestErrorKeepsItsCause(t *testing.T) {
	err := fmt.Errorf("outside: %w", &errs.Error{Code: errs.NotFound, Op: "read", Path: "/a", Err: fs.ErrNotExist})
	if !errors.Is(err, errs.NotFound) || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, errs.IO) {
		t.Errorf("%v: its code and its cause must be found, and no other", err)
	}
	var e *errs.Error
	if !errors.As(err, &e) || e.Path != "/a" {
		t.Errorf("%v: not found as *errs.Error", err)
	}
}

func TestErrorText(t *testing.T) {
	cause := errors.New("disk on fire")
	tests := []struct {
		err  *errs.Error
		want string
	}{
		{&errs.Error{Code: errs.IO, Op: "read", Path: "/a", Message: "the message speaks", Err: cause}, "the message speaks"},
		{&errs.Error{Code: errs.IO, Op: "read", Path: "/a", Err: cause}, "read: /a: disk on fire"},
		{&errs.Error{Code: errs.IO, Err: cause}, "disk on fire"},
		{&errs.Error{Code: errs.IO, Op: "read"}, "read: FS_IO_ERROR"},
	}
	for _, test := range tests {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
