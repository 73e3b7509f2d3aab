package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer puts a streamed answer together, and returns the error that ended it.
func answer(ctx context.Context, m *script.Model, r llm.Request) (*llm.Accumulator, int, error) {
	var a llm.Accumulator
	n := 0
	for c, err := range m.Stream(ctx, r) {
		if err != nil {
			return &a, n, err
		}
		n++
		if err := a.Add(c); err != nil {
			return &a, n, err
		}
	}
	return &a, n, nil
}

// TestWholeAnswer checks that an answer arrives in small pieces, in an order
// that an accumulator accepts, and adds up to what was written.
func TestWholeAnswer(t *testing.T) {
	m := script.New(script.Config{PieceRunes: 3},
		script.Step{Reasoning: "let me see, 世界", Text: "I will read.", Usage: &llm.Usage{InputTokens: 7, OutputTokens: 5},
			Calls: []script.Call{{Name: "read", Args: json.RawMessage(`{"file_path":"a"}`)}, {ID: "mine", Name: "write", Arguments: `{"broken`}}},
		script.Step{Calls: []script.Call{{Name: "read"}}},
		script.Step{Text: "cut", Finish: llm.FinishMaxTokens},
		script.Step{})
	wants := []struct {
		blocks []llm.Block
		finish llm.FinishKind
		chunks int
	}{
		{[]llm.Block{llm.Reasoning("let me see, 世界"), llm.Text("I will read."),
			llm.ToolCall("call-1", "read", `{"file_path":"a"}`), llm.ToolCall("mine", "write", `{"broken`)}, llm.FinishToolCalls, 28},
		{[]llm.Block{llm.ToolCall("call-3", "read", "")}, llm.FinishToolCalls, 3},
		{[]llm.Block{llm.Text("cut")}, llm.FinishMaxTokens, 4},
		{nil, llm.FinishStop, 1},
	}
	for i, want := range wants {
		a, n, err := answer(t.Context(), m, llm.Request{Model: "x"})
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if diff := cmp.Diff(want.blocks, a.Blocks()); diff != "" {
			t.Errorf("step %d: blocks (-want +got)\n%s", i, diff)
		}
		if r, ok := a.Finish(); !ok || r.Kind != want.finish {
			t.Errorf("step %d: finish %+v, want %s", i, r, want.finish)
		}
		if n != want.chunks {
			t.Errorf("step %d: %d chunks, want %d", i, n, want.chunks)
		}
	}
	if len(m.Requests()) != 4 || m.Left() != 0 {
		t.Errorf("%d requests and %d steps left, want 4 and 0", len(m.Requests()), m.Left())
	}
	_, _, err := answer(t.Context(), m, llm.Request{})
	if llm.ClassOf(err) != llm.Invalid || !strings.Contains(err.Error(), "4 answers") {
		t.Errorf("beyond the script: %v, want an invalid request that names the 4 answers", err)
	}
	m.Add(script.Step{Text: "more"})
	if a, _, err := answer(t.Context(), m, llm.Request{}); err != nil || a.Blocks()[0].Text != "more" {
		t.Errorf("after Add: %v", err)
	}
}

func TestFaults(t *testing.T) {
	own := errors.New("own")
	tests := []struct {
		name   string
		fault  script.Fault
		chunks int
		check  func(error) bool
	}{
		{"at once, with a class", script.Fault{Class: llm.RateLimited, Status: 429, RetryAfter: time.Second, Message: "slow down"}, 0,
			func(err error) bool {
				return llm.ClassOf(err) == llm.RateLimited && llm.RetryAfterOf(err) == time.Second && strings.Contains(err.Error(), "slow down")
			}},
		{"in the middle", script.Fault{After: 2, Class: llm.Overloaded}, 2, func(err error) bool { return llm.ClassOf(err) == llm.Overloaded }},
		{"cut", script.Fault{After: 3, Cut: true}, 3, func(err error) bool { return llm.ClassOf(err) == llm.Network && errors.Is(err, io.ErrUnexpectedEOF) }},
		{"after everything", script.Fault{After: 99, Class: llm.Server}, 4, func(err error) bool { return llm.ClassOf(err) == llm.Server }},
		{"an error of the test's own", script.Fault{After: 1, Err: own}, 1, func(err error) bool { return err == own }},
		{"silent", script.Fault{After: 2, Silent: true}, 2, func(err error) bool { return err == nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := script.New(script.Config{}, script.Step{Text: "hello", Fault: &tt.fault})
			_, n, err := answer(t.Context(), m, llm.Request{})
			if n != tt.chunks || !tt.check(err) {
				t.Errorf("%d chunks, then %v; want %d", n, err, tt.chunks)
			}
		})
	}
}

// TestTime checks delays and pace on a clock that only moves when all wait.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(script.Config{}, script.Step{Text: "hello", Delay: time.Second, Pace: time.Minute})
		begin := time.Now()
		_, n, err := answer(t.Context(), m, llm.Request{})
		if err != nil || n != 4 {
			t.Fatalf("%d chunks, %v", n, err)
		}
		if got, want := time.Since(begin), time.Second+3*time.Minute; got != want {
			t.Errorf("the answer took %v, want %v", got, want)
		}
	})
}

func TestCancellation(t *testing.T) {
	stop := errors.New("stopped by the person")
	hold := make(chan struct{})
	steps := map[string]script.Step{
		"before":        {Text: "hello"},
		"while held":    {Text: "hello", Hold: hold},
		"while waiting": {Text: "hello", Delay: time.Hour},
		"in the middle": {Text: "hello", Pace: time.Hour},
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				if name == "before" {
					cancel(stop)
				} else {
					time.AfterFunc(time.Minute, func() { cancel(stop) })
				}
				if step.Hold != nil {
					step.Hold = make(chan struct{}) // of this bubble
				}
				_, _, err := answer(ctx, script.New(script.Config{}, step), llm.Request{})
				if llm.ClassOf(err) != llm.Cancelled || !errors.Is(err, stop) {
					t.Errorf("error %v, want a cancelled request that wraps the cause", err)
				}
			})
		})
	}
}

func TestHoldAndCheck(t *testing.T) {
	hold := make(chan struct{})
	m := script.New(script.Config{},
		script.Step{Text: "hello", Hold: hold},
		script.Step{Text: "hello", Check: func(r llm.Request) error {
			if r.System != "be brief" {
				return errors.New("another system prompt")
			}
			return nil
		}})
	done := make(chan error)
	go func() {
		_, _, err := answer(t.Context(), m, llm.Request{})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("the held answer came: %v", err)
	default:
	}
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, _, err := answer(t.Context(), m, llm.Request{System: "x"}); err == nil || !strings.Contains(err.Error(), "another system prompt") {
		t.Errorf("error %v, want the one of Check", err)
	}
}

func TestModels(t *testing.T) {
	m := script.New(script.Config{Provider: "p", Models: []llm.ModelInfo{{Model: "b"}, {Model: "a", InputModalities: []llm.Modality{llm.ImageInput}}}})
	infos, err := m.Models(t.Context())
	if err != nil || len(infos) != 2 || infos[0].Model != "a" || infos[0].Provider != "p" {
		t.Errorf("models %+v, %v; want a and b of p", infos, err)
	}
	if info, err := m.ResolveModel("a"); err != nil || !info.Accepts(llm.ImageInput) {
		t.Errorf("model a is %+v, %v; want one that takes images", info, err)
	}
	if _, err := m.ResolveModel("c"); err == nil {
		t.Error("a model that is not listed resolves")
	}
	if info, err := script.New(script.Config{}).ResolveModel("any"); err != nil || info.Model != "any" || info.Provider != "script" {
		t.Errorf("without a list the model is %+v, %v", info, err)
	}
}

func TestPlugin(t *testing.T) {
	var registry llm.Registry
	provider := plug.Plugin{
		Name:     "registry",
		Services: []plug.Declaration{plug.Provides[*llm.Registry]()},
		Options:  fx.Supply(&registry),
	}
	d := testkit.Compose(t, script.New(script.Config{Provider: "p"}).Plugin(), provider)
	if _, err := registry.ResolveModelInfo("p", "any"); err != nil {
		t.Error(err)
	}
	if err := d.Unmount(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if got := registry.Providers(); len(got) > 0 {
		t.Errorf("after unmounting there are still %q", got)
	}
}

func TestParse(t *testing.T) {
	got, err := script.Parse(strings.NewReader(`[
		{"reasoning": "r", "text": "t", "delay": "150ms", "pace": "1s", "usage": {"inputTokens": 1, "outputTokens": 2}},
		{"calls": [{"name": "read", "args": {"file_path": "a"}}], "finish": "stop"},
		{"fault": {"after": 1, "class": "rate-limited", "retryAfter": "2s"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []script.Step{
		{Reasoning: "r", Text: "t", Delay: 150 * time.Millisecond, Pace: time.Second, Usage: &llm.Usage{InputTokens: 1, OutputTokens: 2}},
		{Calls: []script.Call{{Name: "read", Args: json.RawMessage(`{"file_path": "a"}`)}}, Finish: llm.FinishStop},
		{Fault: &script.Fault{After: 1, Class: llm.RateLimited, RetryAfter: 2 * time.Second}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, bad := range []string{``, `{}`, `[{"txt":""}]`, `[{"delay":"soon"}]`, `[{"fault":{"kind":"x"}}]`, `[] []`, `[{"calls":[{"nam":""}]}]`} {
		if _, err := script.Parse(strings.NewReader(bad)); err == nil {
			t.Errorf("Parse(%s) gave no error", bad)
		}
	}
}
