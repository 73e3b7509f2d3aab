package approval_test

import (
	"errors"
	"testing"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
)

func TestRefusal(t *testing.T) {
	cause := errors.New("nobody home")
	tests := []struct {
		outcome approval.Outcome
		code    errs.Code
	}{
		{approval.AllowedOnce, ""},
		{approval.Rejected, errs.ApprovalRejected},
		{approval.Cancelled, errs.ApprovalCancelled},
		{approval.Unavailable, errs.ApprovalUnavailable},
		{"", errs.ApprovalUnavailable},
		{"perhaps", errs.ApprovalUnavailable},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		err := approval.Refusal(test.outcome, "writing a.txt", cause)
		if errs.CodeOf(err) != test.code {
			t.Errorf("%q: %v, want code %q", test.outcome, err, test.code)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, cause) {
			t.Errorf("%q: the cause is lost", test.outcome)
		}
		if seen[err.Error()] && test.code != errs.ApprovalUnavailable {
			t.Errorf("%q shares its words with another outcome: %v", test.outcome, err)
		}
		seen[err.Error()] = true
	}
}
