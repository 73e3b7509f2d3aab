package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// double is a plugin with one tool.
func double() plug.Plugin {
	type args struct {
		N int `json:"n"`
	}
	def := tool.Tool[args, int]{
		Name:  "double",
		Input: tool.Schema(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`),
		Run: func(_ context.Context, call *tool.Call, a args) (int, error) {
			if call.Session() != nil && call.Session().OpenTurn() == 0 {
				return 0, errors.New("no turn is open")
			}
			return 2 * a.N, nil
		},
		Render: func(_ args, v int) (tool.Rendered, error) {
			return tool.Rendered{Content: []llm.Block{llm.Text(fmt.Sprint(v))}}, nil
		},
	}.Definition()
	return plug.Plugin{Name: "double", Options: fx.Invoke(func(r *tool.Registry, scope *plug.Scope) error {
		_, err := r.Register(scope, def)
		return err
	})}
}

func TestCall(t *testing.T) {
	testkit.NoLeaks(t)
	d := testkit.Compose(t, double())
	agent := testkit.Agent(t, "/w", session.TurnStart{Turn: 7}.Event(), session.TurnEnd{Turn: 7}.Event())
	if got := agent.Session.OpenTurn(); got != 8 {
		t.Errorf("open turn is %d, want 8", got)
	}
	for _, a := range []*tool.Agent{agent, nil} {
		if got := testkit.MustCall(t, d, a, "double", map[string]int{"n": 4}).Text(); got != "8" {
			t.Errorf("double gave %s, want 8", got)
		}
	}
	if got := testkit.CodeOf(testkit.Call(t, d, agent, "double", `{"n":"x"}`)); got != "INVALID_ARGS" {
		t.Errorf("code is %q, want INVALID_ARGS", got)
	}
}

// recorder is a test that notes its failures.
type recorder struct {
	testing.TB
	failures []string
	cleanup  []func()
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Cleanup(f func())  { r.cleanup = append(r.cleanup, f) }
func (r *recorder) end() { // newest first, as a test does
	for i := len(r.cleanup) - 1; i >= 0; i-- {
		r.cleanup[i]()
	}
}

// TestUncleanStopFails shows what Compose notices when a test ends.
func TestUncleanStopFails(t *testing.T) {
	tests := []struct {
		name   string
		option fx.Option
	}{
		{"a stop hook that fails", fx.Invoke(func(lc fx.Lifecycle) { lc.Append(fx.StopHook(func() error { return errors.New("no") })) })},
		{"a tool without an undo", fx.Invoke(func(r *tool.Registry) error {
			_, err := r.Register(forgetful{}, tool.Definition{Name: "x", Run: func(context.Context, *tool.Call) (any, error) { return nil, nil },
				Render: func(*tool.Call, any) (tool.Rendered, error) { return tool.Rendered{}, nil }})
			return err
		})},
		{"a segment without an undo", fx.Invoke(func(r *prompt.Registry) error {
			_, err := r.Add(forgetful{}, prompt.Segment{Name: "x"})
			return err
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{TB: t}
			testkit.Compose(r, plug.Plugin{Name: "bad", Options: tt.option})
			r.end()
			if len(r.failures) != 1 {
				t.Errorf("failures %q, want exactly one", r.failures)
			}
		})
	}
}

// forgetful is a scope that loses the undo of what is registered in it.
type forgetful struct{}

func (forgetful) Owner() string { return "forgetful" }
func (forgetful) Add(func())    {}

func TestNoLeaksNotices(t *testing.T) {
	r := &recorder{TB: t}
	testkit.NoLeaks(r)
	release, stopped := make(chan struct{}), make(chan struct{})
	go func() { <-release; close(stopped) }()
	r.end()
	close(release)
	<-stopped
	if len(r.failures) != 1 {
		t.Errorf("failures %q, want exactly one", r.failures)
	}
}
