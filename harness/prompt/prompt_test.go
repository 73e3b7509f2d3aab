package prompt_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
)

func TestSystemIsOrderedWhateverTheOrderOfContributions(t *testing.T) {
	segments := []prompt.Segment{{"write", 101, "W"}, {"read", 100, "R"}, {"b", 5, "B"}, {"a", 5, "A"}, {"empty", 1, ""}}
	want := "A\n\nB\n\nR\n\nW"
	for shift := range segments {
		r := prompt.NewRegistry()
		scope := plug.NewScope("p")
		for i := range segments {
			if _, err := r.Add(scope, segments[(i+shift)%len(segments)]); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, r.System()); diff != "" {
			t.Errorf("shift %d (-want +got):\n%s", shift, diff)
		}
		if err := scope.Close(); err != nil {
			t.Fatal(err)
		}
		if got := r.System(); got != "" {
			t.Errorf("after the owner left: %q", got)
		}
	}
}

func TestTakenNameNamesBothOwners(t *testing.T) {
	r := prompt.NewRegistry()
	if _, err := r.Add(plug.NewScope("p"), prompt.Segment{Name: "read"}); err != nil {
		t.Fatal(err)
	}
	_, err := r.Add(plug.NewScope("q"), prompt.Segment{Name: "read"})
	if !errors.Is(err, errs.DuplicateName) {
		t.Fatalf("error %v", err)
	}
	if want := `prompt part "read" is contributed by both "p" and "q"`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestContextLeavesEmptySectionsOut(t *testing.T) {
	r := prompt.NewRegistry()
	if text, sections := r.Context(nil); text != "" || sections != nil {
		t.Errorf("without sections: %q, %v", text, sections)
	}
	for _, s := range []prompt.Section{
		{Name: "b", Order: 2, Text: func(actor any) string { return "for " + actor.(string) }},
		{Name: "a", Order: 1, Text: func(any) string { return "first" }},
		{Name: "c", Order: 3, Text: func(any) string { return "" }},
	} {
		if _, err := r.AddSection(plug.NewScope("p"), s); err != nil {
			t.Fatal(err)
		}
	}
	text, sections := r.Context("me")
	want := "Current runtime context. This snapshot supersedes earlier runtime-context snapshots.\n\nfirst\n\nfor me"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]prompt.Snapshot{{"a", "first"}, {"b", "for me"}}, sections); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// successor is the scope of a plugin that is about to replace another.
type successor struct {
	*plug.Scope
	of string
}

func (s successor) Succeeds() string { return s.of }

func TestSuccessorTakesNamesOver(t *testing.T) {
	r := prompt.NewRegistry()
	old := plug.NewScope("p")
	add := func(scope interface {
		Owner() string
		Add(func())
	}, text string, order int) {
		t.Helper()
		if _, err := r.Add(scope, prompt.Segment{Name: "read", Text: text, Order: order}); err != nil {
			t.Fatal(err)
		}
	}
	add(old, "old", 5)
	refused := successor{plug.NewScope("q"), "p"}
	add(refused, "new", 1)
	if got := r.System(); got != "new" {
		t.Errorf("with a successor: %q", got)
	}
	if err := refused.Close(); err != nil {
		t.Fatal(err)
	}
	if got := r.System(); got != "old" {
		t.Errorf("after the successor was refused: %q", got)
	}
	stays := successor{plug.NewScope("q"), "p"}
	add(stays, "new", 1)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if got := r.System(); got != "new" || r.Owners()["read"] != "q" {
		t.Errorf("after the predecessor left: %q of %q", got, r.Owners()["read"])
	}
	if _, err := r.Add(successor{plug.NewScope("x"), "p"}, prompt.Segment{Name: "read"}); !errors.Is(err, errs.DuplicateName) {
		t.Errorf("the successor of somebody else got %v", err)
	}
}
