package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
)

type echoArgs struct {
	Text  string   `json:"text"`
	Times *float64 `json:"times"`
}

type echoValue struct {
	Said string `json:"said"`
}

var echoInput = tool.Schema(`{"type":"object","properties":{"text":{"type":"string"},"times":{"type":"number"},` +
	`"mode":{"enum":["soft","loud"]},"deep":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}},"required":["text"]}`)

// echo says its text; "boom", "plain" and "panic" fail in three ways.
func echo(name string) tool.Definition {
	return tool.Tool[echoArgs, echoValue]{
		Name: name, Input: echoInput,
		Run: func(_ context.Context, _ *tool.Call, a echoArgs) (echoValue, error) {
			switch a.Text {
			case "boom":
				return echoValue{}, errs.New(errs.NotFound, "nothing there")
			case "plain":
				return echoValue{}, errors.New("just so")
			case "panic":
				panic("ouch")
			}
			return echoValue{Said: a.Text}, nil
		},
		Render: func(_ echoArgs, v echoValue) (tool.Rendered, error) {
			return tool.Rendered{Content: []llm.Block{llm.Text("said " + v.Said)}, Meta: map[string]string{"was": v.Said}}, nil
		},
	}.Definition()
}

// fixture is a registry with one echo tool.
type fixture struct {
	bus      event.Bus
	approval *plug.Service[approval.Service]
	scope    *plug.Scope
	*tool.Registry
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{approval: plug.NewService[approval.Service](), scope: plug.NewScope("test")}
	f.Registry = tool.NewRegistry(&f.bus, f.approval)
	if _, err := f.Register(f.scope, echo("echo")); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) call(t *testing.T, arguments string) tool.Result {
	t.Helper()
	return f.Execute(t.Context(), tool.Invocation{ID: "c1", Name: "echo", Arguments: arguments})
}

func TestResult(t *testing.T) {
	f := newFixture(t)
	got := f.call(t, `{"text":"<a> & b"}`)
	want := tool.Result{
		Content: []llm.Block{llm.Text("said <a> & b")},
		Value:   echoValue{Said: "<a> & b"},
		Meta:    json.RawMessage(`{"was":"<a> & b"}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestInvalidArguments has a tool say itself what is wrong with a call.
func TestInvalidArguments(t *testing.T) {
	f := newFixture(t)
	own := echo("own")
	own.Invalid = func(arguments json.RawMessage, problem error) any {
		switch string(arguments) {
		case `{"text":1}`:
			return echoValue{Said: problem.Error()}
		case `{"text":2}`:
			panic("ouch")
		case `{"text":3}`:
			return 3 // no value of this tool
		}
		return nil
	}
	own.Render = func(_ *tool.Call, v any) (tool.Rendered, error) {
		return tool.Rendered{Content: []llm.Block{llm.Text(v.(echoValue).Said)}}, nil
	}
	if _, err := f.Register(f.scope, own); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"text":1}`: "invalid arguments for own: text must be a string, not a number",
		`{"text":2}`: "Error: invalid arguments for own: text must be a string, not a number",
		`{"text":3}`: "Error: invalid arguments for own: text must be a string, not a number",
		`{`:          "Error: the arguments of own are not valid JSON: unexpected EOF; send one JSON object",
	} {
		got := f.Execute(t.Context(), tool.Invocation{ID: "c1", Name: "own", Arguments: arguments})
		if !got.IsError || got.Error == nil || got.Error.Code != "INVALID_ARGS" || got.Text() != want {
			t.Errorf("%s: %q, %+v; want %q", arguments, got.Text(), got.Error, want)
		}
	}
}

// Arguments that a lenient decoder would change on their way to the body are
// refused before it, and no message repeats a value of any length.
func TestArgumentsReachTheBodyAsValidated(t *testing.T) {
	f := newFixture(t)
	for arguments, want := range map[string]string{
		`{"text":"a","Times":2}`:                                 "invalid arguments for echo: Times is not a known property, did you mean times",
		`{"text":"a","TEXT":"b"}`:                                "invalid arguments for echo: TEXT is not a known property, did you mean text",
		`{"text":"a","deep":[{"n":1,"N":2}]}`:                    "invalid arguments for echo: deep[0].N is not a known property, did you mean n",
		"{\"text\":\"a\xff\"}":                                   "the arguments of echo are not valid UTF-8; send one JSON object",
		`{"text":"a\ud83d"}`:                                     `the arguments of echo hold \ud83d, which is half a character; send it whole`,
		`{"text":"\\\udE00 \ud83d\ude00"}`:                       `the arguments of echo hold \udE00, which is half a character; send it whole`,
		`{"text":"\ud83d\n"}`:                                    `the arguments of echo hold \ud83d, which is half a character; send it whole`,
		`{"text":"a","times":1e400}`:                             "invalid arguments: times is a number that is out of range",
		`{"text":"a","times":` + strings.Repeat("9", 5000) + `}`: "invalid arguments: times is a number that is out of range",
	} {
		got := f.Execute(t.Context(), tool.Invocation{ID: "c1", Name: "echo", Arguments: arguments})
		if !got.IsError || got.Error == nil || got.Error.Code != "INVALID_ARGS" || got.Text() != "Error: "+want {
			t.Errorf("%.60s: %q, %+v; want %q", arguments, got.Text(), got.Error, want)
		}
	}
	for arguments, want := range map[string]string{
		`{"text":"a","unknown":{"Text":1}}`:             "said a",
		`{"text":"\ud83d\ude00 \\ud83d \u00e9 \ufffd"}`: "said \U0001f600 \\ud83d \u00e9 \ufffd",
	} {
		got := f.Execute(t.Context(), tool.Invocation{ID: "c1", Name: "echo", Arguments: arguments})
		if got.IsError || got.Text() != want {
			t.Errorf("%s: %q, want %q", arguments, got.Text(), want)
		}
	}
}

func TestFailuresBecomeResults(t *testing.T) {
	tests := []struct{ name, arguments, code, text string }{
		{"coded", `{"text":"boom"}`, "FS_NOT_FOUND", "Error: nothing there"},
		{"without a code", `{"text":"plain"}`, "TOOL_FAILED", "Error: just so"},
		{"panic", `{"text":"panic"}`, "TOOL_FAILED", "Error: tool echo panicked: ouch"},
		{"missing property", ``, "INVALID_ARGS", "Error: invalid arguments for echo: text is required"},
		{"wrong type", `{"text":7}`, "INVALID_ARGS", "Error: invalid arguments for echo: text must be a string, not a number"},
		{"two problems", `{"text":null,"times":"x"}`, "INVALID_ARGS", "Error: invalid arguments for echo: text must be a string, not null; times must be a number, not a string"},
		{"an integer", `{"text":"a","deep":[{"n":"1"}]}`, "INVALID_ARGS", "Error: invalid arguments for echo: deep[0].n must be an integer, not a string"},
		{"not one of", `{"text":"a","mode":"mute"}`, "INVALID_ARGS", `Error: invalid arguments for echo: mode must be one of "soft", "loud", not "mute"`},
		{"deep inside", `{"text":"a","deep":[{"n":1},{}]}`, "INVALID_ARGS", "Error: invalid arguments for echo: deep[1].n is required"},
		{"not an object", `[1]`, "INVALID_ARGS", "Error: the arguments of echo must be a JSON object"},
		{"two values", `{"text":"a"}{}`, "INVALID_ARGS", "Error: the arguments of echo are not valid JSON: more than one value; send one JSON object"},
		{"stray bracket", `{"text":"a"}]`, "INVALID_ARGS", "Error: the arguments of echo are not valid JSON: more than one value; send one JSON object"},
		{"cut short", `{"text":"a`, "INVALID_ARGS", "Error: the arguments of echo are not valid JSON: unexpected EOF; send one JSON object"},
	}
	f := newFixture(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := f.call(t, test.arguments)
			if !got.IsError || got.Error == nil || got.Error.Code != test.code {
				t.Errorf("error %+v, want code %s", got.Error, test.code)
			}
			if diff := cmp.Diff(test.text, got.Text()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownToolNamesTheNearMiss(t *testing.T) {
	f := newFixture(t)
	got := f.Execute(t.Context(), tool.Invocation{Name: "ecko"})
	if got.Text() != `Error: there is no tool "ecko"; did you mean "echo"?` || got.Error.Code != "UNKNOWN_TOOL" {
		t.Errorf("%q %+v", got.Text(), got.Error)
	}
}

func TestCancelledBeforeDispatch(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := f.Execute(ctx, tool.Invocation{Name: "echo", Arguments: `{"text":"a"}`})
	if got.Error == nil || got.Error.Code != "ABORTED_BEFORE_DISPATCH" {
		t.Errorf("%+v", got.Error)
	}
}

// TestPrepare proves that what Prepare gives is what is checked, shown to
// guards and run.
func TestPrepare(t *testing.T) {
	f := newFixture(t)
	d := echo("lenient")
	d.Prepare = func(given map[string]any) map[string]any {
		if given["times"] == nil {
			delete(given, "times")
		}
		return given
	}
	if _, err := f.Register(f.scope, d); err != nil {
		t.Fatal(err)
	}
	var seen string
	f.Guard(f.scope, func(_ context.Context, c *tool.Call) error { seen = string(c.Arguments); return nil })
	arguments := `{"text":"a","times":null}`
	got := f.Execute(t.Context(), tool.Invocation{ID: "c1", Name: "lenient", Arguments: arguments})
	if got.IsError || seen != `{"text":"a"}` {
		t.Errorf("the call gave %q, and guards saw %s", got.Text(), seen)
	}
	if got = f.call(t, arguments); !got.IsError {
		t.Errorf("without Prepare the call gave %q", got.Text())
	}
	got = f.Execute(t.Context(), tool.Invocation{ID: "c1", Name: "lenient", Arguments: `{"times":null}`})
	if !got.IsError || got.Text() != "Error: invalid arguments for lenient: text is required" {
		t.Errorf("what is missing all the same gave %q", got.Text())
	}
}

func TestArgumentsAreCanonical(t *testing.T) {
	f := newFixture(t)
	var seen []string
	f.Guard(f.scope, func(_ context.Context, c *tool.Call) error { seen = append(seen, string(c.Arguments)); return nil })
	f.call(t, "{ \"times\" : 1.50, \"text\":\"a\\u003cb\" }")
	f.call(t, `{"text":"a<b","times":1.50}`)
	want := `{"text":"a<b","times":1.50}`
	if diff := cmp.Diff([]string{want, want}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStages(t *testing.T) {
	boom := errs.New("MY_CODE", "no")
	tests := []struct {
		name string
		set  func(*fixture)
		code string
		text string
		done string // value that tools/result tells of
	}{
		{"pre-execute denies", func(f *fixture) {
			tool.PreExecute.On(&f.bus, f.scope, func(context.Context, *tool.Call, event.Next[*tool.Call, tool.Decision]) (tool.Decision, error) {
				return tool.Decision{Verdict: tool.Deny, Reason: "not today"}, nil
			})
		}, "TOOL_DENIED", "Error: the call of echo was denied: not today", ""},
		{"pre-execute asks, nobody there", func(f *fixture) {
			tool.PreExecute.On(&f.bus, f.scope, func(context.Context, *tool.Call, event.Next[*tool.Call, tool.Decision]) (tool.Decision, error) {
				return tool.Decision{Verdict: tool.Ask, Reason: "sure?"}, nil
			})
		}, "APPROVAL_UNAVAILABLE", "Error: echo needs approval (sure?), and no approval service is mounted", ""},
		{"guard refuses", func(f *fixture) {
			f.Guard(f.scope, func(context.Context, *tool.Call) error { return boom })
		}, "MY_CODE", "Error: no", ""},
		{"guard refuses without a code", func(f *fixture) {
			f.Guard(f.scope, func(context.Context, *tool.Call) error { return errors.New("no") })
		}, "TOOL_DENIED", "Error: no", ""},
		{"guard panics", func(f *fixture) {
			f.Guard(f.scope, func(context.Context, *tool.Call) error { panic("ouch") })
		}, "LISTENER_FAILED", `Error: guard of tool calls owned by "test" panicked: ouch`, ""},
		{"pre-execute fails without a code", func(f *fixture) {
			tool.PreExecute.On(&f.bus, f.scope, func(context.Context, *tool.Call, event.Next[*tool.Call, tool.Decision]) (tool.Decision, error) {
				return tool.Decision{}, errors.New("no")
			})
		}, "TOOL_DENIED", "Error: no", ""},
		{"execute fails without a code", func(f *fixture) {
			tool.Execute.On(&f.bus, f.scope, func(context.Context, *tool.Call, event.Next[*tool.Call, any]) (any, error) {
				return nil, errors.New("no")
			})
		}, "TOOL_FAILED", "Error: no", ""},
		{"post-execute fails without a code", func(f *fixture) {
			tool.PostExecute.On(&f.bus, f.scope, func(context.Context, tool.Executed, event.Next[tool.Executed, tool.Result]) (tool.Result, error) {
				return tool.Result{}, errors.New("no")
			})
		}, "TOOL_FAILED", "Error: no", ""},
		{"execute is wrapped", func(f *fixture) {
			tool.Execute.On(&f.bus, f.scope, func(ctx context.Context, c *tool.Call, next event.Next[*tool.Call, any]) (any, error) {
				v, err := next(ctx, c)
				return echoValue{Said: v.(echoValue).Said + "!"}, err
			})
		}, "", "said hi!", `{"said":"hi!"}`},
		{"execute gives another type", func(f *fixture) {
			tool.Execute.On(&f.bus, f.scope, func(context.Context, *tool.Call, event.Next[*tool.Call, any]) (any, error) {
				return map[string]any{"said": "map"}, nil
			})
		}, "", "said map", `{"said":"map"}`},
		{"execute gives what the schema forbids", func(f *fixture) {
			tool.Execute.On(&f.bus, f.scope, func(context.Context, *tool.Call, event.Next[*tool.Call, any]) (any, error) {
				return map[string]any{"said": 1}, nil
			})
		}, "INVALID_OUTPUT", "Error: tool echo produced a value that does not match its output schema: said must be a string, not a number", ""},
		{"post-execute replaces", func(f *fixture) {
			tool.PostExecute.On(&f.bus, f.scope, func(ctx context.Context, e tool.Executed, next event.Next[tool.Executed, tool.Result]) (tool.Result, error) {
				r, err := next(ctx, e)
				r.Content = []llm.Block{llm.Text("hidden")}
				return r, err
			})
		}, "", "hidden", `{"said":"hi"}`},
		{"post-execute blocks", func(f *fixture) {
			tool.PostExecute.On(&f.bus, f.scope, func(context.Context, tool.Executed, event.Next[tool.Executed, tool.Result]) (tool.Result, error) {
				return tool.Result{}, boom
			})
		}, "MY_CODE", "Error: no", ""},
		{"a listener panics", func(f *fixture) {
			tool.PostExecute.On(&f.bus, f.scope, func(context.Context, tool.Executed, event.Next[tool.Executed, tool.Result]) (tool.Result, error) {
				panic("ouch")
			})
		}, "LISTENER_FAILED", `Error: listener of "tools/post-execute" owned by "test" failed: panic: ouch`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			test.set(f)
			var done []string
			tool.Done.On(&f.bus, f.scope, func(_ context.Context, e tool.Executed) error {
				value, err := e.Result.ValueJSON()
				done = append(done, string(value))
				return err
			})
			got := f.call(t, `{"text":"hi"}`)
			code := ""
			if got.Error != nil {
				code = got.Error.Code
			}
			if code != test.code {
				t.Errorf("code %q, want %q", code, test.code)
			}
			if diff := cmp.Diff(test.text, got.Text()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{test.done}, done); diff != "" {
				t.Errorf("tools/result (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDoneTellsOfRefusedCalls shows that who watches the results misses none of
// those that never reached a tool.
func TestDoneTellsOfRefusedCalls(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name      string
		ctx       context.Context
		tool      string
		arguments string
		code      errs.Code
		seen      string // arguments that tools/result tells of
	}{
		{"unknown tool", t.Context(), "nobody", `{ "a": 1 }`, errs.UnknownTool, `{ "a": 1 }`},
		{"no arguments", t.Context(), "nobody", "", errs.UnknownTool, "{}"},
		{"no JSON", t.Context(), "echo", `{"text":`, errs.InvalidArgs, ""},
		{"invalid arguments", t.Context(), "echo", `{"text":1}`, errs.InvalidArgs, `{"text":1}`},
		{"aborted", ended, "echo", `{"text":"hi"}`, errs.AbortedBeforeDispatch, `{"text":"hi"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			tool.PreExecute.On(&f.bus, f.scope, func(context.Context, *tool.Call, event.Next[*tool.Call, tool.Decision]) (tool.Decision, error) {
				t.Error("a refused call reached tools/pre-execute")
				return tool.Decision{}, nil
			})
			var done []tool.Executed
			tool.Done.On(&f.bus, f.scope, func(ctx context.Context, e tool.Executed) error {
				done = append(done, e)
				return ctx.Err()
			})
			agent := &tool.Agent{Provider: "p", Model: "m"}
			got := f.Execute(test.ctx, tool.Invocation{ID: "c1", Name: test.tool, Arguments: test.arguments, Agent: agent})
			if got.Error == nil || got.Error.Code != string(test.code) {
				t.Errorf("result %+v, want code %s", got, test.code)
			}
			if len(done) != 1 {
				t.Fatalf("tools/result told of %d results, want 1", len(done))
			}
			if diff := cmp.Diff(got, done[0].Result); diff != "" {
				t.Errorf("result that tools/result tells of (-want +got):\n%s", diff)
			}
			call := done[0].Call
			if call.ID != "c1" || call.Name != test.tool || call.Agent != agent || string(call.Arguments) != test.seen {
				t.Errorf("call %+v with arguments %q, want %q", call, call.Arguments, test.seen)
			}
		})
	}
}

func names(ds []tool.Definition) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Name)
	}
	return out
}

func TestCardsFallBackToGeneric(t *testing.T) {
	d := echo("echo")
	d.CallCard = func(json.RawMessage) (tool.Card, error) { return tool.Card{}, errors.New("cannot") }
	d.ResultCard = func(json.RawMessage, tool.Logged) (tool.Card, error) { return tool.Card{}, errors.New("cannot") }
	if got := d.PresentCall(`{"broken`); got.Kind != tool.GenericCard || got.Text != `{"broken` {
		t.Errorf("%+v", got)
	}
	d.CallCard = func(json.RawMessage) (tool.Card, error) { panic("ouch") }
	if got := d.PresentCall(`{}`); got.Kind != tool.GenericCard || got.Text != `{}` {
		t.Errorf("after a panic: %+v", got)
	}
	got := d.PresentResult(`{}`, tool.Logged{Content: []llm.Block{llm.Text("text")}, Meta: json.RawMessage(`[`)})
	if got.Kind != tool.GenericCard || got.Text != "text" {
		t.Errorf("%+v", got)
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"text":"a"}`, `{"text":"a","deep":[{"n":1}]}`, ``, `[`, `{"text":1e999}`, "{\"text\":\"\xff\"}", `{"text":"a","text":"b"}`} {
		f.Add(seed)
	}
	reg := tool.NewRegistry(new(event.Bus), plug.NewService[approval.Service]())
	if _, err := reg.Register(plug.NewScope("fuzz"), echo("echo")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		r := reg.Execute(context.Background(), tool.Invocation{Name: "echo", Arguments: arguments})
		if r.IsError {
			if r.Error == nil || !strings.HasPrefix(r.Text(), "Error: ") {
				t.Errorf("failure without a code: %+v", r)
			}
			return
		}
		if value, err := r.ValueJSON(); err != nil || !json.Valid(value) {
			t.Errorf("value %q is not JSON: %v", value, err)
		}
	})
}

func BenchmarkExecute(b *testing.B) {
	reg := tool.NewRegistry(new(event.Bus), plug.NewService[approval.Service]())
	if _, err := reg.Register(plug.NewScope("bench"), echo("echo")); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r := reg.Execute(b.Context(), tool.Invocation{Name: "echo", Arguments: `{"text":"hi","times":2}`}); r.IsError {
			b.Fatal(r.Text())
		}
	}
}

// Only a call of a tool that changes nothing may be made again when nobody
// knows what became of it.
func TestMayRetry(t *testing.T) {
	f := newFixture(t)
	reader := echo("reader")
	reader.Parallel = true
	if _, err := f.Register(f.scope, reader); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"reader": true, "echo": false, "nowhere": false} {
		if got := f.MayRetry(name, "{}"); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// A call that the caller's own cause ends is aborted, not failed.
func TestAbortWithACause(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the window was closed")
	waiting := echo("waiting")
	waiting.Run = func(ctx context.Context, _ *tool.Call) (any, error) {
		cancel(stopped)
		return nil, context.Cause(ctx)
	}
	if _, err := f.Register(f.scope, waiting); err != nil {
		t.Fatal(err)
	}
	r := f.Execute(ctx, tool.Invocation{ID: "c", Name: "waiting", Arguments: `{"text":"x"}`})
	if r.Error == nil || r.Error.Code != string(errs.Aborted) {
		t.Errorf("got %+v: %s", r.Error, r.Text())
	}
}

func TestRenderedFailureHasItsCode(t *testing.T) {
	f := newFixture(t)
	d := echo("fails")
	d.Render = func(*tool.Call, any) (tool.Rendered, error) {
		return tool.Rendered{Content: []llm.Block{llm.Text("no")}, IsError: true, Code: "MY_CODE"}, nil
	}
	if _, err := f.Register(f.scope, d); err != nil {
		t.Fatal(err)
	}
	r := f.Execute(t.Context(), tool.Invocation{Name: "fails", Arguments: `{"text":"a"}`})
	if !r.IsError || r.Error == nil || r.Error.Code != "MY_CODE" {
		t.Errorf("%+v", r)
	}
}
