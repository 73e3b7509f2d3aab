package vfs

import (
	"context"
	"errors"
	"testing"

	"github.com/bridle-go/bridle/harness/errs"
)

func TestCheckPath(t *testing.T) {
	for path, want := range map[string]string{
		"":      `cannot resolve "": the path is empty`,
		"~/a":   `cannot resolve "~/a": "~" is not expanded; spell out the directory, or write "./~/a" for a file of that name`,
		"a\x00": `cannot resolve "a\x00": the path holds a NUL byte`,
	} {
		err := CheckPath(path)
		if !errors.Is(err, errs.InvalidArgs) || err.Error() != want {
			t.Errorf("%q: got %v, want %s", path, err, want)
		}
	}
	for _, path := range []string{"a", "/", "./~", "a~", " "} {
		if err := CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestAborted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if err := Aborted(ctx, "read", "/w/a"); err != nil {
		t.Errorf("before the end: %v", err)
	}
	cause := errors.New("the person pressed Ctrl-C")
	cancel(cause)
	err := Aborted(ctx, "read", "/w/a")
	if errs.CodeOf(err) != errs.FSAborted || !errors.Is(err, cause) {
		t.Errorf("got %v with the code %s, want FS_ABORTED around its cause", err, errs.CodeOf(err))
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	cancel(errs.New(errs.NotFound, "the failure of another call"))
	err = Aborted(ctx, "read", "/w/a")
	if !errors.Is(err, errs.FSAborted) || !errors.Is(err, context.Canceled) || errors.Is(err, errs.NotFound) {
		t.Errorf("got %v, which is FS_NOT_FOUND: %v", err, errors.Is(err, errs.NotFound))
	}
	if want := `cannot read "/w/a": the call was aborted; nothing was changed`; err.Error() != want {
		t.Errorf("got %s, want %s", err, want)
	}
}
