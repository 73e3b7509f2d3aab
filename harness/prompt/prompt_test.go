package prompt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
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
	if text, sections, err := r.Context(nil); text != "" || sections != nil || err != nil {
		t.Errorf("without sections: %q, %v, %v", text, sections, err)
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
	text, sections, err := r.Context("me")
	if err != nil {
		t.Fatal(err)
	}
	want := "Current runtime context. This snapshot supersedes earlier runtime-context snapshots.\n\nfirst\n\nfor me"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]prompt.Snapshot{{"a", "first"}, {"b", "for me"}}, sections); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A rule of a section that cannot be told must not be left out silently.
func TestSectionThatPanicsIsNamed(t *testing.T) {
	r := prompt.NewRegistry()
	for name, text := range map[string]func(any) string{
		"fine": func(any) string { return "fine" },
		"bad":  func(actor any) string { return actor.(fmt.Stringer).String() },
	} {
		if _, err := r.AddSection(plug.NewScope("p"), prompt.Section{Name: name, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	text, sections, err := r.Context("no stringer")
	if text != "" || sections != nil || !errors.Is(err, prompt.SectionFailed) {
		t.Fatalf("%q, %v, %v", text, sections, err)
	}
	if !strings.HasPrefix(err.Error(), `section "bad" of the runtime context, owned by "p", panicked: `) {
		t.Errorf("error %q", err)
	}
	var p *event.PanicError
	if !errors.As(err, &p) || len(p.Stack) == 0 {
		t.Errorf("the error of a panic has no stack: %v", err)
	}
}

func TestSectionWithoutTextIsRefused(t *testing.T) {
	_, err := prompt.NewRegistry().AddSection(plug.NewScope("p"), prompt.Section{Name: "empty"})
	if !errors.Is(err, errs.InvalidArgs) || !strings.Contains(err.Error(), `section "empty" of "p"`) {
		t.Errorf("error %v", err)
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
