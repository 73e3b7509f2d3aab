package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// models provides the registry that scripts put their model in.
func models() plug.Plugin {
	return plug.Plugin{Name: "models", Services: []plug.Declaration{plug.Provides[*llm.Registry]()},
		Options: fx.Provide(func() *llm.Registry { return new(llm.Registry) })}
}

// lab has two tools: look may run in parallel, touch may not. Both note when
// they begin and end.
type lab struct {
	running, most atomic.Int32
	alone         atomic.Bool // touch saw nobody else
	enter         func(ctx context.Context, name string) error
}

type labArgs struct {
	N int `json:"n"`
}

func (l *lab) plugin() plug.Plugin {
	l.alone.Store(true)
	define := func(name string, parallel bool) tool.Definition {
		return tool.Tool[labArgs, string]{
			Name: name, Parallel: parallel,
			Input: tool.Schema(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
			Run: func(ctx context.Context, _ *tool.Call, a labArgs) (string, error) {
				n := l.running.Add(1)
				defer l.running.Add(-1)
				if n > l.most.Load() {
					l.most.Store(n)
				}
				if l.enter != nil {
					if err := l.enter(ctx, name); err != nil {
						return "", err
					}
				}
				if !parallel && l.running.Load() != 1 {
					l.alone.Store(false)
				}
				return fmt.Sprintf("%s %d", name, a.N), nil
			},
			Render: func(_ labArgs, v string) (tool.Rendered, error) {
				return tool.Rendered{Content: []llm.Block{llm.Text(v)}}, nil
			},
		}.Definition()
	}
	return plug.Plugin{Name: "lab", Options: fx.Invoke(func(r *tool.Registry, s *plug.Scope) error {
		_, err := r.Register(s, define("look", true))
		_, err2 := r.Register(s, define("touch", false))
		return errors.Join(err, err2)
	})}
}

// fixture is an agent on a scripted model.
type fixture struct {
	*agent.Agent
	d     *harness.Deployment
	model *script.Model
	lab   *lab
	slept []time.Duration
}

func newFixture(t *testing.T, steps ...script.Step) *fixture {
	t.Helper()
	return newFixtureWith(t, agent.Config{}, steps...)
}

func newFixtureWith(t *testing.T, cfg agent.Config, steps ...script.Step) *fixture {
	t.Helper()
	f := &fixture{model: script.New(script.Config{Provider: "p"}, steps...), lab: new(lab)}
	f.d = testkit.Compose(t, models(), f.model.Plugin(), f.lab.plugin())
	s, err := session.NewMemory(session.Header{ID: "s", Cwd: "/w"}, session.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Provider, cfg.Model = "p", "m"
	if cfg.Retry.Sleep == nil {
		cfg.Retry.Sleep = func(ctx context.Context, d time.Duration) error {
			f.slept = append(f.slept, d)
			return context.Cause(ctx)
		}
	}
	cfg.Retry.Rand = func() float64 { return 0 }
	if f.Agent, err = f.d.Agent(s, cfg); err != nil {
		t.Fatal(err)
	}
	return f
}

// log returns the types of the session's events, runs of chunks as one, with
// the reason of each turn's end.
func (f *fixture) log(t *testing.T) string {
	t.Helper()
	var out []string
	for e, err := range f.Session().Events() {
		if err != nil {
			t.Fatal(err)
		}
		word := e.Type
		if word == session.TypeTurnEnd {
			var end session.TurnEnd
			if err := e.Decode(&end); err != nil {
				t.Fatal(err)
			}
			word += " " + end.Reason.Kind
		}
		if word == session.TypeAssistantChunk && len(out) > 0 && out[len(out)-1] == word {
			continue
		}
		out = append(out, word)
	}
	return strings.Join(out, "\n")
}

// checkMessages wants a conversation that a provider accepts: every call has
// one result right behind it.
func checkMessages(t *testing.T, messages []llm.Message) {
	t.Helper()
	var open []string
	for i, m := range messages {
		if len(m.Content) == 0 {
			t.Errorf("message %d has no content", i)
		}
		for _, b := range m.Content {
			if b.Type != llm.ToolResultBlock {
				continue
			}
			if len(open) == 0 || open[0] != b.ToolCallID {
				t.Errorf("message %d has the result of %q, want one of %v", i, b.ToolCallID, open)
				return
			}
			open = open[1:]
		}
		if calls := m.ToolCalls(); len(open) > 0 && m.Source.Kind != llm.FromTool || len(calls) > 0 && len(open) > 0 {
			t.Errorf("message %d comes before the results of %v", i, open)
		} else {
			for _, c := range calls {
				open = append(open, c.ID)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("no results of %v", open)
	}
}

func TestTurnIsLoggedAsItHappens(t *testing.T) {
	f := newFixture(t,
		script.Step{Reasoning: "hm", Calls: []script.Call{{Name: "look", Arguments: `{"n":1}`}}},
		script.Step{Text: "All is well."})
	out, err := f.Ask(t.Context(), "Please look at one two three")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(agent.Outcome{Turn: 1, Reason: session.EndReason{Kind: session.EndCompleted}, Steps: 2, Text: "All is well."}, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := `agent/inbox/spliced
turn/start
agent/inbox/spliced
step/start
user/message
session/title
request/header
request/context
assistant/chunk
assistant/message
tool/call
tool/result
step/end
step/start
assistant/chunk
assistant/message
step/end
turn/end completed`
	if diff := cmp.Diff(want, f.log(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := f.Session().Title(); got != "Please look at one two" {
		t.Errorf("title %q", got)
	}
	checkMessages(t, f.Session().Messages())
	if len(f.model.Requests()) != 2 || len(f.model.Requests()[1].Messages) != 3 {
		t.Errorf("the second request did not carry the call and its result")
	}
}

func TestFollowUpsBeginTurnsAndSteeringJoins(t *testing.T) {
	f := newFixture(t,
		script.Step{Calls: []script.Call{{Name: "look"}}},
		script.Step{Text: "one"},
		script.Step{Text: "two"})
	f.lab.enter = func(ctx context.Context, _ string) error { return f.Steer(ctx, llm.Text("hurry")) }
	if err := f.Send(t.Context(), llm.Text("first")); err != nil {
		t.Fatal(err)
	}
	if err := f.Send(t.Context(), llm.Text("second")); err != nil {
		t.Fatal(err)
	}
	out, err := f.Run(t.Context())
	if err != nil || out.Turn != 2 || out.Text != "two" {
		t.Fatalf("%+v, %v", out, err)
	}
	var said []string
	for _, m := range f.Session().Messages() {
		if m.Source.Kind == llm.FromUser {
			said = append(said, m.Text())
		}
	}
	if diff := cmp.Diff([]string{"first", "hurry", "second"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	last := f.model.Requests()[1].Messages
	if got := last[len(last)-1].Text(); got != "hurry" {
		t.Errorf("the step after the steering ends in %q", got)
	}
}

func TestSteeringAtTheLastWordMakesAnotherStep(t *testing.T) {
	hold := make(chan struct{})
	f := newFixture(t, script.Step{Text: "done", Hold: hold}, script.Step{Text: "really done"})
	if err := f.Send(t.Context(), llm.Text("go")); err != nil {
		t.Fatal(err)
	}
	undo := f.Session().Subscribe(func(e session.Event) {
		if e.Type == session.TypeRequestContext {
			if err := f.Steer(context.Background(), llm.Text("wait")); err != nil {
				t.Error(err)
			}
			close(hold)
		}
	})
	defer undo()
	out, err := f.Run(t.Context())
	if err != nil || out.Steps != 2 || out.Text != "really done" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestParallelCallsAndBarriers(t *testing.T) {
	call := func(name string, n int) script.Call {
		return script.Call{Name: name, Arguments: fmt.Sprintf(`{"n":%d}`, n)}
	}
	f := newFixtureWith(t, agent.Config{MaxParallel: 3},
		script.Step{Calls: []script.Call{call("look", 1), call("look", 2), call("look", 3), call("look", 4), call("touch", 5), call("touch", 6), call("look", 7), call("zzz", 8)}},
		script.Step{Text: "ok"})
	arrived := make(chan struct{}, 8)
	f.lab.enter = func(_ context.Context, name string) error {
		if name == "look" && len(arrived) < 2 {
			arrived <- struct{}{}
			for len(arrived) < 2 { // the first two meet, so they do run at once
				time.Sleep(time.Millisecond)
			}
		}
		return nil
	}
	if _, err := f.Ask(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if most := f.lab.most.Load(); most < 2 || most > 3 {
		t.Errorf("%d calls ran at once, want 2 or 3", most)
	}
	if !f.lab.alone.Load() {
		t.Error("a call that may not run in parallel did")
	}
	var got []string
	for _, m := range f.Session().Messages() {
		for _, b := range m.Content {
			if b.Type == llm.ToolResultBlock {
				got = append(got, b.Content[0].Text)
			}
		}
	}
	want := []string{"look 1", "look 2", "look 3", "look 4", "touch 5", "touch 6", "look 7", `Error: there is no tool "zzz"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetries(t *testing.T) {
	fault := func(f script.Fault) script.Step { return script.Step{Text: "some text", Fault: &f} }
	good := script.Step{Text: "fine"}
	tests := []struct {
		name  string
		steps []script.Step
		slept []time.Duration
		text  string
		code  errs.Code
	}{
		{"overloaded twice", []script.Step{fault(script.Fault{Class: llm.Overloaded}), fault(script.Fault{Class: llm.Server}), good},
			[]time.Duration{250 * time.Millisecond, 500 * time.Millisecond}, "fine", ""},
		{"the server's wish counts", []script.Step{fault(script.Fault{Class: llm.RateLimited, RetryAfter: 7 * time.Second}), good},
			[]time.Duration{7 * time.Second}, "fine", ""},
		{"a wish too long is final", []script.Step{fault(script.Fault{Class: llm.RateLimited, RetryAfter: time.Hour}), good},
			nil, "", llm.RateLimited.Code()},
		{"cut in the middle", []script.Step{fault(script.Fault{After: 2, Cut: true}), good}, []time.Duration{250 * time.Millisecond}, "fine", ""},
		{"silent end", []script.Step{fault(script.Fault{After: 2, Silent: true}), good}, []time.Duration{250 * time.Millisecond}, "fine", ""},
		{"empty answer", []script.Step{{}, good}, []time.Duration{250 * time.Millisecond}, "fine", ""},
		{"auth is final", []script.Step{fault(script.Fault{Class: llm.Auth}), good}, nil, "", llm.Auth.Code()},
		{"too long is final", []script.Step{fault(script.Fault{Class: llm.ContextTooLong}), good}, nil, "", llm.ContextTooLong.Code()},
		{"attempts run out", []script.Step{fault(script.Fault{Class: llm.Server}), fault(script.Fault{Class: llm.Server}), fault(script.Fault{Class: llm.Server}), good},
			[]time.Duration{250 * time.Millisecond, 500 * time.Millisecond}, "", llm.Server.Code()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixtureWith(t, agent.Config{Retry: agent.Retry{Attempts: 3}}, test.steps...)
			out, err := f.Ask(t.Context(), "go")
			if diff := cmp.Diff(test.slept, f.slept); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if test.code == "" {
				if err != nil || out.Text != test.text {
					t.Errorf("%+v, %v", out, err)
				}
			} else if !errors.Is(err, test.code) || out.Reason.Kind != session.EndError || out.Reason.Code != string(test.code) {
				t.Errorf("%+v, %v; want code %s", out, err, test.code)
			}
			checkMessages(t, f.Session().Messages())
		})
	}
}

// A turn may be cancelled at any point. Whatever the point, the conversation
// is one that a provider accepts, nothing is open, and the agent goes on.
func TestCancellation(t *testing.T) {
	calls := []script.Call{{Name: "touch", Arguments: `{"n":1}`}, {Name: "touch", Arguments: `{"n":2}`}}
	tests := []struct {
		name string
		// at is the event behind which the turn is cancelled, the n-th of its
		// type.
		at     string
		n      int
		steps  []script.Step
		inTool bool
	}{
		{name: "before the request", at: session.TypeStepStart, n: 1, steps: []script.Step{{Text: "never"}}},
		{name: "before the first chunk", at: session.TypeRequestContext, n: 1, steps: []script.Step{{Text: "never", Hold: make(chan struct{})}}},
		{name: "in the middle of the text", at: session.TypeAssistantChunk, n: 3, steps: []script.Step{{Text: strings.Repeat("text ", 50)}}},
		{name: "in the middle of a thought", at: session.TypeAssistantChunk, n: 3, steps: []script.Step{{Reasoning: strings.Repeat("hm ", 50)}}},
		{name: "in the middle of a call's arguments", at: session.TypeAssistantChunk, n: 2, steps: []script.Step{{Calls: calls}}},
		{name: "after the answer", at: session.TypeAssistantMessage, n: 1, steps: []script.Step{{Calls: calls}}},
		{name: "between calls", at: session.TypeToolResult, n: 1, steps: []script.Step{{Calls: calls}}},
		{name: "within a tool", inTool: true, steps: []script.Step{{Calls: calls}}},
		{name: "after the last result", at: session.TypeToolResult, n: 2, steps: []script.Step{{Calls: calls}, {Text: "never"}}},
		{name: "while it waits to try again", at: agent.TypeRetry, n: 1, steps: []script.Step{{Text: "x", Fault: &script.Fault{Class: llm.Server}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, test.steps...)
			ctx, cancel := context.WithCancel(t.Context())
			seen := 0
			undo := f.Session().Subscribe(func(e session.Event) {
				if e.Type == test.at {
					if seen++; seen == test.n {
						cancel()
					}
				}
			})
			if test.inTool {
				f.lab.enter = func(ctx context.Context, _ string) error { cancel(); return context.Cause(ctx) }
			}
			out, err := f.Ask(ctx, "go")
			undo()
			if !errors.Is(err, context.Canceled) || out.Reason.Kind != session.EndAborted {
				t.Fatalf("%+v, %v", out, err)
			}
			if f.Session().OpenTurn() != 0 || f.Session().OpenStep() != 0 {
				t.Error("something is open")
			}
			checkMessages(t, f.Session().Messages())

			f.lab.enter = nil
			f.model.Add(script.Step{Text: "again"}, script.Step{Text: "again"})
			if out, err := f.Ask(t.Context(), "go on"); err != nil || out.Turn != 2 {
				t.Errorf("the agent does not go on: %+v, %v", out, err)
			}
			checkMessages(t, f.Session().Messages())
		})
	}
}

func TestWhatWasSeenIsKept(t *testing.T) {
	f := newFixture(t, script.Step{Text: "one two three four five six seven eight nine ten"})
	ctx, cancel := context.WithCancel(t.Context())
	chunks := 0
	defer f.Session().Subscribe(func(e session.Event) {
		if e.Type == session.TypeAssistantChunk {
			if chunks++; chunks == 3 {
				cancel()
			}
		}
	})()
	if _, err := f.Ask(ctx, "go"); err == nil {
		t.Fatal("not cancelled")
	}
	messages := f.Session().Messages()
	got := messages[len(messages)-1]
	if got.Role != llm.Assistant || !strings.HasPrefix(got.Text(), "one two") || strings.Contains(got.Text(), "ten") {
		t.Errorf("kept %q", got.Text())
	}
}

func TestRuntimeContextIsAppendedOnlyWhenItChanges(t *testing.T) {
	f := newFixture(t, script.Step{Text: "1"}, script.Step{Text: "2"}, script.Step{Text: "3"}, script.Step{Text: "4"}, script.Step{Text: "5"})
	mode := "soft"
	scope := plug.NewScope("test")
	t.Cleanup(func() { _ = scope.Close() })
	if _, err := f.d.Prompt().AddSection(scope, prompt.Section{Name: "mode", Text: func(any) string { return "Mode: " + mode }}); err != nil {
		t.Fatal(err)
	}
	ask := func() {
		if _, err := f.Ask(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	ask()
	mode = "loud"
	ask()
	if err := scope.Close(); err != nil {
		t.Fatal(err)
	}
	ask() // the section is gone, and what it said is taken back
	ask()
	var got []string
	for _, m := range f.Session().Messages() {
		if m.Source.Kind == llm.FromPlugin {
			_, text, _ := strings.Cut(m.Text(), "\n\n")
			got = append(got, text)
		}
	}
	if diff := cmp.Diff([]string{"Mode: soft", "Mode: loud", "Nothing of the earlier ones holds any more."}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The prefix that a provider may have cached stays what it was.
	requests := f.model.Requests()
	for i := 1; i < len(requests); i++ {
		before, after := requests[i-1].Messages, requests[i].Messages
		if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
			t.Errorf("request %d changed what was said before (-before +after):\n%s", i+1, diff)
		}
	}
}

func TestHeaderIsLoggedWhenItChanges(t *testing.T) {
	f := newFixture(t, script.Step{Text: "1"}, script.Step{Text: "2"}, script.Step{Text: "3"})
	scope := plug.NewScope("test")
	t.Cleanup(func() { _ = scope.Close() })
	ask := func() {
		if _, err := f.Ask(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	ask()
	if _, err := f.d.Prompt().Add(scope, prompt.Segment{Name: "x", Text: "More."}); err != nil {
		t.Fatal(err)
	}
	ask()
	var reasons []string
	for e, err := range f.Session().Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == session.TypeRequestHeader {
			var h session.RequestHeader
			if err := json.Unmarshal(e.Data, &h); err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, h.Reason)
		}
	}
	if diff := cmp.Diff([]string{"initial", "system"}, reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEndsOfATurn(t *testing.T) {
	again := script.Step{Calls: []script.Call{{Name: "look"}}}
	tests := []struct {
		name  string
		cfg   agent.Config
		steps []script.Step
		want  string
	}{
		{"steps run out", agent.Config{MaxSteps: 2}, []script.Step{again, again, again}, session.EndMaxSteps},
		{"output limit", agent.Config{}, []script.Step{{Text: "cut", Finish: llm.FinishMaxTokens}}, agent.EndMaxTokens},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixtureWith(t, test.cfg, test.steps...)
			out, err := f.Ask(t.Context(), "go")
			if err != nil || out.Reason.Kind != test.want {
				t.Errorf("%+v, %v; want %s", out, err, test.want)
			}
			checkMessages(t, f.Session().Messages())
		})
	}
}

func TestOneRunAtATime(t *testing.T) {
	f := newFixture(t, script.Step{Calls: []script.Call{{Name: "look"}}}, script.Step{Text: "ok"})
	f.lab.enter = func(ctx context.Context, _ string) error {
		if _, err := f.Run(ctx); !errors.Is(err, agent.Busy) {
			t.Errorf("a second run got %v", err)
		}
		return nil
	}
	if _, err := f.Ask(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
}

func TestModelThatIsGoneEndsTheTurnClearly(t *testing.T) {
	f := newFixture(t)
	if err := f.d.Unmount(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	out, err := f.Ask(t.Context(), "go")
	if !errors.Is(err, llm.UnknownProvider) || out.Reason.Kind != session.EndError {
		t.Errorf("%+v, %v", out, err)
	}
}

// A panic of an adapter ends the turn, and nothing else.
func TestAdapterThatPanics(t *testing.T) {
	f := newFixture(t, script.Step{Check: func(llm.Request) error { panic("ouch") }, Text: "x"}, script.Step{Text: "fine"})
	out, err := f.Ask(t.Context(), "go")
	if err == nil || out.Reason.Kind != session.EndError || !strings.Contains(out.Reason.Message, "ouch") || strings.Contains(out.Reason.Message, "goroutine") {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := f.Ask(t.Context(), "go on"); err != nil || out.Text != "fine" {
		t.Errorf("the agent does not go on: %+v, %v", out, err)
	}
	checkMessages(t, f.Session().Messages())
}

// A log that takes no more events ends the turn, and is told of once.
func TestFailingLogIsToldOnce(t *testing.T) {
	calls := []script.Call{{Name: "look", Arguments: `{}`}, {Name: "look", Arguments: `{}`}, {Name: "touch", Arguments: `{}`}}
	f := newFixture(t, script.Step{Calls: calls})
	f.lab.enter = func(context.Context, string) error { return f.Session().Close() }
	_, err := f.Ask(t.Context(), "go")
	if !errors.Is(err, session.Closed) {
		t.Fatalf("error %v, want %v", err, session.Closed)
	}
	if n := strings.Count(err.Error(), "session s is closed"); n != 1 {
		t.Errorf("the failure is told %d times: %v", n, err)
	}
}
