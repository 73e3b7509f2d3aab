package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit"
)

// raw is an adapter that sends what it is told, without the care that an
// adapter should take. Each request takes the next of its answers; the last
// one answers all that follow.
type raw struct {
	mu       sync.Mutex
	answers  [][]llm.Chunk
	requests []llm.Request
	resolve  func() // called where a model is resolved
}

func (r *raw) Provider() string                                { return "p" }
func (r *raw) Models(context.Context) ([]llm.ModelInfo, error) { return nil, nil }

func (r *raw) ResolveModel(model string) (llm.ModelInfo, error) {
	if r.resolve != nil {
		r.resolve()
	}
	return llm.ModelInfo{Provider: "p", Model: model}, nil
}

func (r *raw) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	r.mu.Lock()
	r.requests = append(r.requests, req)
	answer := r.answers[min(len(r.requests), len(r.answers))-1]
	r.mu.Unlock()
	return func(yield func(llm.Chunk, error) bool) {
		for _, c := range answer {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (r *raw) plugin() plug.Plugin {
	return plug.Plugin{Name: "raw", Services: []plug.Declaration{plug.Needs[*llm.Registry]()},
		Options: fx.Invoke(func(models *plug.Service[*llm.Registry], scope *plug.Scope) error {
			return models.While(scope, func(scope *plug.Scope, m *llm.Registry) error {
				_, err := m.Register(scope, r)
				return err
			})
		})}
}

// rawAgent is an agent on a raw adapter.
func rawAgent(t *testing.T, model *raw, l *lab) (*agent.Agent, *harness.Deployment) {
	t.Helper()
	d := testkit.Compose(t, models(), model.plugin(), l.plugin())
	s, err := session.NewMemory(session.Header{ID: "s", Cwd: "/w"}, session.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Agent(s, agent.Config{Provider: "p", Model: "m", MaxSteps: 4,
		Retry: agent.Retry{Attempts: 2, Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }}})
	if err != nil {
		t.Fatal(err)
	}
	return a, d
}

func start(index int, kind llm.BlockType) llm.Chunk {
	return llm.Chunk{Type: llm.BlockStart, Index: index, BlockType: kind}
}

func say(index int, text string) llm.Chunk {
	return llm.Chunk{Type: llm.TextDelta, Index: index, Text: text}
}

func end(index int, b llm.Block) llm.Chunk {
	return llm.Chunk{Type: llm.BlockEnd, Index: index, Block: &b}
}

func finish(kind llm.FinishKind) llm.Chunk {
	return llm.Chunk{Type: llm.FinishChunk, Reason: &llm.FinishReason{Kind: kind}}
}

func call(id, name, arguments string) llm.Block { return llm.ToolCall(id, name, arguments) }

// reopened reads the log as a store would have it.
func reopened(t *testing.T, s *session.Session) *session.Log {
	t.Helper()
	var file bytes.Buffer
	file.Write(append(s.Header().AppendJSON(nil), '\n'))
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		file.Write(append(e.AppendJSON(nil), '\n'))
	}
	log, err := session.Read(&file)
	if err != nil {
		t.Fatalf("the log cannot be read again: %v", err)
	}
	return log
}

// Whatever an adapter sends, the turn ends, the log can be read again, and the
// conversation stays one that a provider accepts.
func TestAnswersThatCannotBe(t *testing.T) {
	done := []llm.Chunk{start(0, llm.TextBlock), end(0, llm.Text("done")), finish(llm.FinishStop)}
	look := func(id string) llm.Block { return call(id, "look", `{"n":1}`) }
	for _, c := range []struct {
		name   string
		chunks []llm.Chunk
		kind   string // of the turn's end
		text   string // in the failure
	}{
		{"nothing at all", nil, session.EndError, "without saying why"},
		{"no finish", []llm.Chunk{start(0, llm.TextBlock), say(0, "x"), end(0, llm.Text("x"))}, session.EndError, "without saying why"},
		{"finish alone", []llm.Chunk{finish(llm.FinishStop)}, session.EndError, "answered with nothing"},
		{"empty text", []llm.Chunk{start(0, llm.TextBlock), end(0, llm.Text("")), finish(llm.FinishStop)}, session.EndError, "answered with nothing"},
		{"reasoning alone", []llm.Chunk{start(0, llm.ReasoningBlock), end(0, llm.Block{Type: llm.ReasoningBlock, Text: "hm"}), finish(llm.FinishStop)}, session.EndCompleted, ""},
		{"delta without a start", []llm.Chunk{say(0, "x"), finish(llm.FinishStop)}, session.EndCompleted, ""},
		{"text without an end", []llm.Chunk{start(0, llm.TextBlock), say(0, "x"), finish(llm.FinishStop)}, session.EndCompleted, ""},
		{"call without an end", []llm.Chunk{start(0, llm.TextBlock), say(0, "x"), start(1, llm.ToolCallBlock), finish(llm.FinishToolCalls)}, session.EndError, "in the middle of a tool call"},
		{"call without an end at the token limit", []llm.Chunk{start(0, llm.TextBlock), say(0, "x"), start(1, llm.ToolCallBlock), finish(llm.FinishMaxTokens)}, "max-tokens", ""},
		{"calls to make, but none", []llm.Chunk{start(0, llm.TextBlock), end(0, llm.Text("x")), finish(llm.FinishToolCalls)}, session.EndCompleted, ""},
		{"a block twice", []llm.Chunk{start(0, llm.TextBlock), start(0, llm.TextBlock)}, session.EndError, "started twice"},
		{"an end twice", []llm.Chunk{end(0, llm.Text("x")), end(0, llm.Text("x"))}, session.EndError, "follows the end"},
		{"another kind", []llm.Chunk{start(0, llm.ReasoningBlock), say(0, "x")}, session.EndError, "does not belong"},
		{"a negative index", []llm.Chunk{say(-1, "x")}, session.EndError, "block index -1"},
		{"a huge index", []llm.Chunk{say(1<<40, "x")}, session.EndError, "block index"},
		{"an end without a block", []llm.Chunk{{Type: llm.BlockEnd}}, session.EndError, "carries no block"},
		{"text after the finish", []llm.Chunk{end(0, llm.Text("x")), finish(llm.FinishStop), say(1, "y")}, session.EndError, "follows the finish"},
		{"an unknown chunk", []llm.Chunk{{Type: "weather"}, end(0, llm.Text("x")), finish(llm.FinishStop)}, session.EndCompleted, ""},
		{"an unknown reason", []llm.Chunk{end(0, llm.Text("x")), finish("tired")}, session.EndCompleted, ""},
		{"an error", []llm.Chunk{end(0, llm.Text("x")), finish(llm.FinishError)}, session.EndError, ""},
		{"broken off", []llm.Chunk{end(0, llm.Text("x")), finish(llm.FinishAborted)}, session.EndError, "broke the answer off"},
		{"one id twice", []llm.Chunk{end(0, look("a")), end(1, look("a")), finish(llm.FinishToolCalls)}, session.EndCompleted, ""},
		{"no ids", []llm.Chunk{end(0, look("")), end(1, look("")), finish(llm.FinishToolCalls)}, session.EndCompleted, ""},
		{"arguments that are no JSON", []llm.Chunk{end(0, call("a", "look", `{"n":`)), finish(llm.FinishToolCalls)}, session.EndCompleted, ""},
		{"a call of nothing", []llm.Chunk{end(0, call("a", "", ``)), finish(llm.FinishToolCalls)}, session.EndCompleted, ""},
		{"invalid UTF-8", []llm.Chunk{end(0, llm.Text("a\xffb")), finish(llm.FinishStop)}, session.EndCompleted, ""},
		{"a result of its own", []llm.Chunk{end(0, llm.ToolResult("a", false, llm.Text("x"))), end(1, llm.Text("x")), finish(llm.FinishStop)}, session.EndCompleted, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A failed answer is asked for twice.
			answers := [][]llm.Chunk{c.chunks, done}
			if c.kind == session.EndError && c.name != "an error" { // which is final
				answers = [][]llm.Chunk{c.chunks, c.chunks, done}
			}
			a, _ := rawAgent(t, &raw{answers: answers}, new(lab))
			out, err := a.Ask(t.Context(), "go")
			if out.Reason.Kind != c.kind || (err != nil) != (c.kind == session.EndError) {
				t.Fatalf("ended with %+v, %v", out.Reason, err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.text) || errs.CodeOf(err) == "") {
				t.Errorf("the failure is %q (%s), want one with %q and a code", err, errs.CodeOf(err), c.text)
			}
			checkMessages(t, a.Session().Messages())
			log := reopened(t, a.Session())
			if log.State.OpenTurn() != 0 || len(log.State.PendingCalls()) > 0 {
				t.Errorf("something is open: turn %d, calls %v", log.State.OpenTurn(), log.State.PendingCalls())
			}
			if out, err := a.Ask(t.Context(), "go on"); err != nil || out.Text != "done" {
				t.Errorf("the agent does not go on: %+v, %v", out, err)
			}
			checkMessages(t, a.Session().Messages())
		})
	}
}

// A call's arguments may come in pieces that end anywhere, within a character
// too; the block-end alone counts.
func TestArgumentsInPiecesOfOneByte(t *testing.T) {
	arguments := `{"n":1,"é":"` + strings.Repeat("🙂", 2000) + `"}`
	chunks := []llm.Chunk{start(0, llm.ToolCallBlock)}
	for i := range len(arguments) {
		chunks = append(chunks, llm.Chunk{Type: llm.ToolCallDelta, ID: "a", Name: "look", ArgumentsDelta: arguments[i : i+1]})
	}
	chunks = append(chunks, end(0, call("a", "look", arguments)), finish(llm.FinishToolCalls))
	a, _ := rawAgent(t, &raw{answers: [][]llm.Chunk{chunks, {end(0, llm.Text("done")), finish(llm.FinishStop)}}}, new(lab))
	if out, err := a.Ask(t.Context(), "go"); err != nil || out.Text != "done" {
		t.Fatalf("%+v, %v", out, err)
	}
	log := reopened(t, a.Session())
	for _, m := range log.State.Messages() {
		for _, c := range m.ToolCalls() {
			if c.Arguments != arguments {
				t.Errorf("the arguments are %.80q...", c.Arguments)
			}
		}
	}
}

// Code of plugins that panics ends the turn with an error that says whose it
// is. What was claimed from the inbox stays in the conversation.
func TestPanicsEndTheTurn(t *testing.T) {
	done := []llm.Chunk{end(0, llm.Text("done")), finish(llm.FinishStop)}
	for _, c := range []struct {
		name  string
		spoil func(*raw, *harness.Deployment) (mend func())
		code  errs.Code
		text  string
	}{
		{"a section of the runtime context", func(_ *raw, d *harness.Deployment) func() {
			scope := plug.NewScope("weather")
			_, err := d.Prompt().AddSection(scope, prompt.Section{Name: "rain", Text: func(any) string { panic("ouch") }})
			return func() { _ = errors.Join(err, scope.Close()) }
		}, prompt.SectionFailed, `section "rain" of the runtime context, owned by "weather", panicked: ouch`},
		{"what is known of a model", func(r *raw, _ *harness.Deployment) func() {
			r.resolve = func() { panic("ouch") }
			return func() { r.resolve = nil }
		}, "MODEL_FAILED", `panicked: ouch`},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := &raw{answers: [][]llm.Chunk{done}}
			a, d := rawAgent(t, model, new(lab))
			mend := c.spoil(model, d)
			out, err := a.Ask(t.Context(), "go")
			if out.Reason.Kind != session.EndError || errs.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Fatalf("%+v, %v (%s)", out, err, errs.CodeOf(err))
			}
			if m := a.Session().Messages(); len(m) == 0 || m[0].Text() != "go" {
				t.Errorf("the message is lost: %v", m)
			}
			mend()
			if out, err := a.Ask(t.Context(), "again"); err != nil || out.Text != "done" {
				t.Errorf("the agent does not go on: %+v, %v", out, err)
			}
		})
	}
}

// Whoever steers, however many at once, while turns claim: no message is lost
// or comes twice.
func TestSteeringFromManySides(t *testing.T) {
	const sides, each = 8, 25
	model := &raw{answers: [][]llm.Chunk{{end(0, llm.Text("ok")), finish(llm.FinishStop)}}}
	a, _ := rawAgent(t, model, new(lab))
	var wg sync.WaitGroup
	for side := range sides {
		wg.Go(func() {
			for i := range each {
				send := a.Steer
				if i%2 == 0 {
					send = a.Send
				}
				if err := send(t.Context(), llm.Text(fmt.Sprintf("%d.%d", side, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	for open := true; open; {
		select {
		case <-finished:
			open = false
		default:
		}
		if _, err := a.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for _, m := range a.Session().Messages() {
		if m.Source.Kind == llm.FromUser {
			seen[m.Text()]++
		}
	}
	for side := range sides {
		for i := range each {
			if n := seen[fmt.Sprintf("%d.%d", side, i)]; n != 1 {
				t.Errorf("message %d.%d came %d times", side, i, n)
			}
		}
	}
	reopened(t, a.Session())
}

// A tool that does not heed cancellation is waited for, and what it did is in
// the log; calls behind it are not made.
func TestToolThatIgnoresCancellation(t *testing.T) {
	answer := []llm.Chunk{end(0, call("a", "touch", `{"n":1}`)), end(1, call("b", "look", `{"n":2}`)), finish(llm.FinishToolCalls)}
	l := new(lab)
	a, _ := rawAgent(t, &raw{answers: [][]llm.Chunk{answer}}, l)
	ctx, cancel := context.WithCancel(t.Context())
	l.enter = func(context.Context, string) error { cancel(); return nil }
	out, err := a.Ask(ctx, "go")
	if !errors.Is(err, context.Canceled) || out.Reason.Kind != session.EndAborted {
		t.Fatalf("%+v, %v", out, err)
	}
	messages := a.Session().Messages()
	checkMessages(t, messages)
	var results []string
	for _, m := range messages {
		for _, b := range m.Content {
			if b.Type == llm.ToolResultBlock {
				results = append(results, b.Content[0].Text)
			}
		}
	}
	if len(results) != 2 || results[0] != "touch 1" || !strings.Contains(results[1], "nothing was done") {
		t.Errorf("results %q", results)
	}
}

// Tools that panic side by side fail one by one.
func TestToolsThatPanicSideBySide(t *testing.T) {
	var answer []llm.Chunk
	for i := range 5 {
		answer = append(answer, end(i, call(fmt.Sprint("c", i), "look", fmt.Sprintf(`{"n":%d}`, i))))
	}
	answer = append(answer, finish(llm.FinishToolCalls))
	l := &lab{enter: func(context.Context, string) error { panic("ouch") }}
	a, _ := rawAgent(t, &raw{answers: [][]llm.Chunk{answer, {end(0, llm.Text("done")), finish(llm.FinishStop)}}}, l)
	if out, err := a.Ask(t.Context(), "go"); err != nil || out.Text != "done" {
		t.Fatalf("%+v, %v", out, err)
	}
	checkMessages(t, a.Session().Messages())
	n := 0
	for _, m := range a.Session().Messages() {
		if strings.Contains(fmt.Sprint(m.Content), "tool look panicked: ouch") {
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d of 5 calls say that they panicked", n)
	}
}
