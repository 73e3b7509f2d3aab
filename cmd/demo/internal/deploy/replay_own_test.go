package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit/memfs"
	"github.com/bridle-go/bridle/testkit/replay"
	"github.com/bridle-go/bridle/testkit/script"
)

// inMemory is a deployment whose every answer follows from its input: files in
// memory, the policy, the file tools, questions before each write, and a tool
// that runs until its call is aborted.
func inMemory(extra ...plug.Plugin) func(replay.Setup) ([]plug.Plugin, error) {
	return func(replay.Setup) ([]plug.Plugin, error) {
		plugins := []plug.Plugin{
			memfs.Plugin(memfs.Config{Cwd: "/w", Files: map[string]string{"a.txt": "alpha\n", "b.txt": "beta\n", "c.txt": "gamma\n"}}),
			fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{}), approve.Plugin(approve.Config{}), asking(),
		}
		return append(plugins, extra...), nil
	}
}

func asking() plug.Plugin {
	return plug.Plugin{Name: "asking", Options: fx.Invoke(func(bus *event.Bus, r *tool.Registry, s *plug.Scope) error {
		tool.PreExecute.On(bus, s, func(ctx context.Context, c *tool.Call, next event.Next[*tool.Call, tool.Decision]) (tool.Decision, error) {
			if c.Name == "write" {
				return tool.Decision{Verdict: tool.Ask, Reason: "it writes"}, nil
			}
			return next(ctx, c)
		})
		_, err := r.Register(s, tool.Tool[struct{}, string]{
			Name: "wait", Input: tool.Schema(`{"type":"object"}`),
			Run: func(ctx context.Context, _ *tool.Call, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			},
			Render: func(struct{}, string) (tool.Rendered, error) { return tool.Rendered{}, nil },
		}.Definition())
		return err
	})}
}

func read(file string) script.Call {
	return script.Call{Name: "read", Arguments: fmt.Sprintf(`{"file_path":%q}`, file)}
}

func edit(file, from, to string) script.Call {
	return script.Call{Name: "edit", Arguments: fmt.Sprintf(`{"file_path":%q,"old_string":%q,"new_string":%q}`, file, from, to)}
}

func write(file, content string) script.Call {
	return script.Call{Name: "write", Arguments: fmt.Sprintf(`{"file_path":%q,"content":%q}`, file, content)}
}

// act is a part of a session: what the model says, and what is done to the
// session meanwhile.
type act struct {
	name   string
	script []script.Step
	// at is the event behind which do is called, the n-th of its type.
	at string
	n  int
	do func(ctx context.Context, a *agent.Agent, cancel func()) error
	// answer answers questions; it may cancel.
	answer func(ctx context.Context, cancel func()) approval.Outcome
	prompt string
}

var cancelled = func(_ context.Context, _ *agent.Agent, cancel func()) error { cancel(); return nil }

var longText = strings.Repeat("some words to read, ", 20)

// acts have everything in them that can come from outside of a loop.
var acts = []act{
	{name: "calls that run at once", prompt: "read them", script: []script.Step{
		{Reasoning: "let me look", Calls: []script.Call{read("a.txt"), read("b.txt"), read("c.txt"), read("nowhere.txt"), read("a.txt")}},
		{Calls: []script.Call{edit("a.txt", "alpha", "ALPHA")}, Usage: &llm.Usage{InputTokens: 5, OutputTokens: 3, ReasoningTokens: llm.Count(1)}},
		{Text: "done"}}},
	{name: "failing calls", prompt: "fail", script: []script.Step{
		{Calls: []script.Call{{Name: "no_such_tool"}, {Name: "read", Arguments: "{"}, edit("b.txt", "nothing", "x")}}, {Text: "oh"}}},
	{name: "steering", prompt: "go", at: session.TypeToolResult, n: 1,
		do: func(ctx context.Context, a *agent.Agent, _ func()) error {
			return a.Steer(ctx, llm.Text("hurry <up> & go"))
		},
		script: []script.Step{{Calls: []script.Call{read("b.txt")}}, {Text: "hurried"}}},
	{name: "steering in the stream", prompt: "go", at: session.TypeAssistantChunk, n: 4,
		do:     func(ctx context.Context, a *agent.Agent, _ func()) error { return a.Steer(ctx, llm.Text("wait")) },
		script: []script.Step{{Text: longText}, {Text: "waited"}}},
	{name: "a follow-up", prompt: "one", at: session.TypeStepStart, n: 1,
		do:     func(ctx context.Context, a *agent.Agent, _ func()) error { return a.Send(ctx, llm.Text("two")) },
		script: []script.Step{{Text: "1"}, {Text: "2"}}},
	{name: "modes that change", prompt: "go", at: session.TypeStepEnd, n: 1,
		do: func(_ context.Context, a *agent.Agent, _ func()) error {
			_, err := a.Session().Append(session.SandboxMode{Mode: sandbox.FullAccess}.Event(), session.ApprovalPolicy{Policy: approval.Ask}.Event())
			return err
		},
		script: []script.Step{{Calls: []script.Call{read("c.txt")}}, {Text: "ok"}}},
	{name: "retries", prompt: "try", script: []script.Step{
		{Text: longText, Fault: &script.Fault{After: 3, Class: llm.Overloaded, Status: 529, Message: "busy"}},
		{Text: longText, Fault: &script.Fault{Class: llm.RateLimited, RetryAfter: 3 * time.Second}},
		{Text: longText, Fault: &script.Fault{After: 2, Silent: true}}, {}, {Text: "at last"}}},
	{name: "a final failure", prompt: "try", script: []script.Step{{Text: longText, Fault: &script.Fault{After: 5, Class: llm.Auth, Message: "no key"}}}},
	{name: "a failure after a retry", prompt: "try", script: []script.Step{
		{Fault: &script.Fault{Class: llm.Server}, Text: "x"}, {Text: longText, Fault: &script.Fault{Class: llm.Invalid, Message: "no"}}}},
	{name: "an output limit", prompt: "talk", script: []script.Step{{Text: "cut", Finish: llm.FinishMaxTokens}}},
	{name: "a question allowed", prompt: "write", answer: func(context.Context, func()) approval.Outcome { return approval.AllowedOnce },
		script: []script.Step{{Calls: []script.Call{write("new.txt", "x\n"), read("new.txt")}}, {Text: "ok"}}},
	{name: "a question rejected", prompt: "write", answer: func(context.Context, func()) approval.Outcome { return approval.Rejected },
		script: []script.Step{{Calls: []script.Call{write("other.txt", "x\n")}}, {Text: "ok"}}},
	{name: "a question nobody answers", prompt: "write", script: []script.Step{{Calls: []script.Call{write("other.txt", "x\n")}}, {Text: "ok"}}},
	{name: "cancelled in a question", prompt: "write",
		answer: func(ctx context.Context, cancel func()) approval.Outcome {
			cancel()
			<-ctx.Done()
			return approval.Cancelled
		},
		script: []script.Step{{Calls: []script.Call{write("other.txt", "x\n"), write("more.txt", "")}}}},
	{name: "cancelled before the first chunk", prompt: "go", at: session.TypeStepStart, n: 1, do: cancelled, script: []script.Step{{Text: "never"}}},
	{name: "cancelled in the text", prompt: "go", at: session.TypeAssistantChunk, n: 4, do: cancelled, script: []script.Step{{Text: longText}}},
	{name: "cancelled in the thought", prompt: "go", at: session.TypeAssistantChunk, n: 4, do: cancelled, script: []script.Step{{Reasoning: longText}}},
	{name: "cancelled in the arguments", prompt: "go", at: session.TypeAssistantChunk, n: 2, do: cancelled, script: []script.Step{{Calls: []script.Call{read("a.txt")}}}},
	{name: "cancelled before the calls", prompt: "go", at: session.TypeAssistantMessage, n: 1, do: cancelled, script: []script.Step{{Calls: []script.Call{read("a.txt"), read("b.txt")}}}},
	{name: "cancelled between calls", prompt: "go", at: session.TypeToolResult, n: 1, do: cancelled, script: []script.Step{{Calls: []script.Call{edit("b.txt", "beta", "BETA"), edit("b.txt", "BETA", "beta")}}}},
	{name: "cancelled in a tool", prompt: "go", at: session.TypeToolCall, n: 2,
		do: func(_ context.Context, _ *agent.Agent, cancel func()) error {
			time.AfterFunc(5*time.Millisecond, cancel)
			return nil
		},
		script: []script.Step{{Calls: []script.Call{read("a.txt"), {Name: "wait"}, read("b.txt")}}}},
	{name: "cancelled while it waits", prompt: "go", at: agent.TypeRetry, n: 1, do: cancelled, script: []script.Step{{Text: "x", Fault: &script.Fault{Class: llm.Server}}}},
	{name: "all is well", prompt: "end", script: []script.Step{{Calls: []script.Call{read("a.txt")}}, {Text: "bye"}}},
}

// perform plays acts.
func perform(acts []act) replay.Recorder {
	var answer func(context.Context) approval.Outcome
	answerer := approve.Answerer("person", func(ctx context.Context, q approval.Question, next event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
		if answer == nil {
			return next(ctx, q)
		}
		return answer(ctx), nil
	})
	var all []script.Step
	for _, a := range acts {
		all = append(all, a.script...)
	}
	return replay.Recorder{
		Plugins: inMemory(answerer), Cwd: "/w", Script: all, Whole: true,
		Before: []session.Event{session.SandboxMode{Mode: sandbox.WorkspaceWrite}.Event()},
		Agent: agent.Config{Provider: "p", Model: "m", Retry: agent.Retry{Attempts: 5,
			Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }}},
		Drive: func(ctx context.Context, a *agent.Agent) error {
			for _, act := range acts {
				if err := act.play(ctx, a, &answer); err != nil {
					return fmt.Errorf("%s: %w", act.name, err)
				}
			}
			return nil
		},
	}
}

func (act act) play(ctx context.Context, a *agent.Agent, answer *func(context.Context) approval.Outcome) error {
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	*answer = nil
	if act.answer != nil {
		*answer = func(ctx context.Context) approval.Outcome { return act.answer(ctx, cancel) }
	}
	var failed error
	seen := 0
	defer a.Session().Subscribe(func(e session.Event) {
		if e.Type == act.at {
			if seen++; seen == act.n {
				failed = act.do(ctx, a, cancel)
			}
		}
	})()
	_, err := a.Ask(turn, act.prompt)
	// Some acts are meant to fail; how they ended is in the log.
	if errs.CodeOf(err) == errs.InvalidArgs || ctx.Err() != nil {
		return err
	}
	return failed
}

// recordActs returns the folder of a recording.
func recordActs(t *testing.T, acts []act) string {
	t.Helper()
	folder := filepath.Join(memDir(t), "recording")
	if err := replay.Record(t.Context(), folder, perform(acts)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// encoded returns a log as it is written.
func encoded(t *testing.T, log *session.Log) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := session.NewEncoder(&b, log.Header, false)
	for _, e := range log.Events {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// replayExactly wants a replay whose log is the recording, byte for byte.
func replayExactly(t *testing.T, rec *replay.Recording) {
	t.Helper()
	report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: inMemory(), Cwd: "/w", Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range report.Differences {
		t.Error(d)
	}
	if diff := cmp.Diff(string(encoded(t, rec.Log)), string(encoded(t, report.Log))); diff != "" && !t.Failed() {
		t.Errorf("the logs differ (-recorded +replayed):\n%s", diff)
	}
}

// Every act alone, and all of them in one session, come out byte for byte.
func TestOwnLogsReplayByteForByte(t *testing.T) {
	for _, one := range acts {
		t.Run(one.name, func(t *testing.T) {
			rec, err := replay.Load(recordActs(t, []act{one, acts[len(acts)-1]}))
			if err != nil {
				t.Fatal(err)
			}
			replayExactly(t, rec)
		})
	}
	t.Run("all", func(t *testing.T) {
		rec, err := replay.Load(recordActs(t, acts))
		if err != nil {
			t.Fatal(err)
		}
		replayExactly(t, rec)
	})
}

// The same log on another session of the same deployment is compared by what
// matters, and that is equal too.
func TestOwnLogsReplayInMeaning(t *testing.T) {
	rec, err := replay.Load(recordActs(t, acts))
	if err != nil {
		t.Fatal(err)
	}
	report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: inMemory(), Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range report.Differences {
		t.Error(d)
	}
}

// A log that a crash cut behind an event, that was opened again and went on,
// replays byte for byte too: the end of the process is an input.
func TestCrashedLogsReplay(t *testing.T) {
	for i, one := range acts {
		whole, err := replay.Load(recordActs(t, []act{acts[0], one}))
		if err != nil {
			t.Fatal(err)
		}
		step := 13
		if testing.Short() {
			step = 25
		}
		for n := 1 + i%step; n <= len(whole.Log.Events); n += step {
			name := fmt.Sprintf("%s/%d", one.name, n)
			if !crashAndGoOn(t, name, whole.Log, n) {
				return
			}
		}
	}
}

// storeOf is a store with a log in it.
func storeOf(t *testing.T, log *session.Log) *session.FileStore {
	t.Helper()
	dir := memDir(t)
	if err := os.WriteFile(filepath.Join(dir, log.Header.ID+".jsonl"), encoded(t, log), 0o600); err != nil {
		t.Fatal(err)
	}
	ids := 0
	return session.NewFileStore(dir, session.Config{
		NewID: func() string { ids++; return fmt.Sprintf("after-%d", ids) },
		Clock: func() time.Time { return time.UnixMilli(0) },
	})
}

// crashAndGoOn cuts a log behind n events, opens it again, runs another turn
// on it, and replays that.
func crashAndGoOn(t *testing.T, name string, log *session.Log, n int) bool {
	t.Helper()
	store := storeOf(t, &session.Log{Header: log.Header, Events: log.Events[:n]})
	s, err := store.Open(t.Context(), log.Header.ID)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return goOn(t, name, store, s)
}

// A fork takes over what it was made from, and replays what came after.
func TestForksReplay(t *testing.T) {
	whole, err := replay.Load(recordActs(t, acts[:3]))
	if err != nil {
		t.Fatal(err)
	}
	store := storeOf(t, whole.Log)
	s, err := store.Fork(t.Context(), whole.Log.Header.ID, -1)
	if err != nil {
		t.Fatal(err)
	}
	goOn(t, "fork", store, s)
}

// goOn runs another turn on a session, and replays the whole.
func goOn(t *testing.T, name string, store *session.FileStore, s *session.Session) bool {
	t.Helper()
	plugins, err := inMemory()(replay.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	model := script.New(script.Config{Provider: "p"}, script.Step{Calls: []script.Call{{ID: "last", Name: "read", Arguments: `{"file_path":"c.txt"}`}}}, script.Step{Text: "bye"}, script.Step{Text: "bye"}, script.Step{Text: "bye"})
	d := compose(t, append(plugins, registryPlugin(), model.Plugin())...)
	a, err := d.Agent(s, agent.Config{Provider: "p", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Ask(t.Context(), "go on"); err != nil {
		t.Fatalf("%s: the session does not go on: %v", name, err)
	}
	checkValid(t, name, s.Messages())
	if err := errors.Join(s.Close(), d.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	rec, err := replay.Load(filepath.Join(store.Dir(), s.ID()+".jsonl"))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: inMemory(), Cwd: "/w", Exact: true})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, d := range report.Differences {
		t.Errorf("%s: %v", name, d)
	}
	return !t.Failed()
}
