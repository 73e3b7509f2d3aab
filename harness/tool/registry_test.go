package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
)

func TestRegistrationsComeAndGo(t *testing.T) {
	f := newFixture(t)
	own := plug.NewScope("test")
	newer := echo("echo")
	newer.Description = "newer"
	if _, err := f.Register(own, newer); err != nil {
		t.Fatal(err)
	}
	if d, err := f.Lookup(nil, "echo"); err != nil || d.Description != "newer" {
		t.Errorf("%v, %v", d.Description, err)
	}
	_, err := f.Register(plug.NewScope("other"), echo("echo"))
	if !errors.Is(err, errs.DuplicateName) || !strings.Contains(err.Error(), `both "test" and "other"`) {
		t.Errorf("another owner's registration: %v", err)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err := f.Lookup(nil, "echo"); err != nil || d.Description != "" {
		t.Errorf("the older one is not back: %v, %v", d.Description, err)
	}
	if err := f.scope.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(f.Definitions(nil)); got != nil {
		t.Errorf("left over: %v", got)
	}
}

// An order that does not tell all names apart must not make the prompt differ
// from request to request.
func TestOrderOfTools(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"d", "a", "c", "b"} {
		if _, err := f.Register(f.scope, echo(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		compare func(a, b string) int
		want    string
	}{
		{"one first", func(a, b string) int {
			rank := map[string]int{"c": -1}
			return rank[a] - rank[b]
		}, "c a b d echo"},
		{"backwards", func(a, b string) int { return strings.Compare(b, a) }, "echo d c b a"},
		{"none", nil, "a b c d echo"},
	} {
		f.SetOrder(c.compare)
		for range 20 {
			var names []string
			for _, d := range f.Definitions(nil) {
				names = append(names, d.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Fatalf("%s: %s, want %s", c.name, got, c.want)
			}
		}
	}
}

func TestBadDefinitions(t *testing.T) {
	f := newFixture(t)
	for name, d := range map[string]tool.Definition{
		"no name":       echo(""),
		"blank in name": echo("a b"),
		"long name":     echo(strings.Repeat("a", 65)),
		"no body":       {Name: "x"},
		"bad schema":    func() tool.Definition { d := echo("x"); d.Input = tool.Schema(`{"type":"objekt"}`); return d }(),
		"foreign ref": func() tool.Definition {
			d := echo("x")
			d.Input = tool.Schema(`{"$ref":"file:///etc/passwd"}`)
			return d
		}(),
	} {
		if _, err := f.Register(f.scope, d); !errors.Is(err, errs.InvalidArgs) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestViewRestrictsAndShadows(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"alpha", "zulu"} {
		if _, err := f.Register(f.scope, echo(name)); err != nil {
			t.Fatal(err)
		}
	}
	mine := echo("alpha")
	mine.Description = "mine"
	tests := []struct {
		name string
		view *tool.View
		want []string
	}{
		{"nil", nil, []string{"alpha", "echo", "zulu"}},
		{"only", &tool.View{Only: []string{"zulu", "absent"}}, []string{"zulu"}},
		{"without", &tool.View{Without: []string{"echo"}}, []string{"alpha", "zulu"}},
		{"shadow", &tool.View{Shadow: []tool.Definition{mine, echo("own")}}, []string{"alpha", "echo", "own", "zulu"}},
		{"nothing", &tool.View{Only: []string{}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			agent := &tool.Agent{View: test.view}
			if diff := cmp.Diff(test.want, names(f.Definitions(agent))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, name := range []string{"alpha", "echo", "own", "zulu"} {
				_, err := f.Lookup(agent, name)
				if seen := strings.Contains(fmt.Sprint(test.want), name); seen != (err == nil) {
					t.Errorf("%s: seen %v, called with %v", name, seen, err)
				}
			}
		})
	}
	if d, _ := f.Lookup(&tool.Agent{View: tests[3].view}, "alpha"); d.Description != "mine" {
		t.Errorf("the agent calls %q, want its own", d.Description)
	}
}
