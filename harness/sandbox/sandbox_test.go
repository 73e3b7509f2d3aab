package sandbox_test

import (
	"testing"

	"github.com/bridle-go/bridle/harness/sandbox"
)

func TestWiderIsAStrictOrder(t *testing.T) {
	modes := sandbox.Modes()
	for i, a := range modes {
		if !a.Valid() {
			t.Errorf("%s is not valid", a)
		}
		for j, b := range modes {
			if got := a.Wider(b); got != (i > j) {
				t.Errorf("%s wider than %s: %v", a, b, got)
			}
		}
	}
}

// A mode that does not exist must neither widen anything nor be widened, or a
// misspelling would open the sandbox.
func TestUnknownModesAreNeverWider(t *testing.T) {
	for _, unknown := range []sandbox.Mode{"", "root", "Read-Only"} {
		if unknown.Valid() {
			t.Errorf("%q is valid", unknown)
		}
		for _, known := range sandbox.Modes() {
			if unknown.Wider(known) || known.Wider(unknown) {
				t.Errorf("%q and %s are compared", unknown, known)
			}
		}
	}
}
