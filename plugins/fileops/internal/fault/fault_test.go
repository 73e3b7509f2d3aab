package fault

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/bridle-go/bridle/harness/errs"
)

// Every kind says what the caller may do; what is final is never to be sent
// again.
func TestEveryKindIsComplete(t *testing.T) {
	final := map[Kind]bool{OperationNotEnabled: true, ApprovalDenied: true, UnsupportedByProvider: true, BackupCorrupt: true, PathOutsideSandbox: true}
	again := map[Kind]bool{IOError: true, Cancelled: true}
	if len(properties) != 24 {
		t.Errorf("%d kinds, want 24", len(properties))
	}
	for kind := range properties {
		r := New(kind, "path", "why").Report()
		if r.SuggestedAction == "" || r.Terminal == nil || r.Error != "why" || r.ErrorField != "path" {
			t.Errorf("%s: %+v", kind, r)
			continue
		}
		want := RetryAfterCorrection
		switch {
		case final[kind]:
			want = DoNotRetry
		case again[kind]:
			want = RetrySameCall
		}
		if r.RetryDisposition != want || *r.Terminal != final[kind] {
			t.Errorf("%s: %s, terminal %v", kind, r.RetryDisposition, *r.Terminal)
		}
	}
}

func TestOf(t *testing.T) {
	own := New(NoMatch, "replacements", "no match")
	tests := []struct {
		err   error
		kind  Kind
		field string
	}{
		{fmt.Errorf("editing: %w", own), NoMatch, "replacements"},
		{errs.New(errs.NotFound, "x"), PathNotFound, "file_path"},
		{errs.New(errs.NotRegularFile, "x"), NotAFile, "file_path"},
		{errs.New(errs.SandboxDenied, "x"), PathOutsideSandbox, "file_path"},
		{errs.New(errs.StaleVersion, "x"), HashMismatch, ""},
		{errs.New(errs.Unsupported, "x"), UnsupportedByProvider, ""},
		{errs.New(errs.ApprovalRejected, "x"), ApprovalDenied, ""},
		{context.Canceled, Cancelled, ""},
		{errs.New(errs.Permission, "x"), IOError, ""},
		{errors.New("plain"), IOError, ""},
	}
	for _, test := range tests {
		f := Of(test.err, "file_path")
		if f.Kind != test.kind || f.Field != test.field || !errors.Is(test.err, f.Err) && f != own {
			t.Errorf("%v: %s %q", test.err, f.Kind, f.Field)
		}
	}
	if Of(nil, "x") != nil {
		t.Error("no error is a fault")
	}
}
