package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bridle-go/bridle/cmd/demo/internal/cli"
	"github.com/bridle-go/bridle/harness/session"
)

// person reads what a command prints, and does something when it has seen
// something.
type person struct {
	mu    sync.Mutex
	seen  bytes.Buffer // since the last thing was done
	all   bytes.Buffer
	plan  []reaction
	typed *io.PipeWriter
}

type reaction struct {
	see string
	do  func(p *person)
}

// types is a line that the person types.
func types(line string) func(*person) {
	return func(p *person) { io.WriteString(p.typed, line+"\n") }
}

// hangsUp is the end of the input.
func hangsUp(p *person) { p.typed.Close() }

func (p *person) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.Write(text)
	p.all.Write(text)
	for len(p.plan) > 0 {
		_, rest, found := strings.Cut(p.seen.String(), p.plan[0].see)
		if !found {
			break
		}
		p.seen.Reset()
		p.seen.WriteString(rest)
		do := p.plan[0].do
		p.plan = p.plan[1:]
		go do(p)
	}
	return len(text), nil
}

// at runs a command at which a person sits, and returns its status and output.
func at(t *testing.T, ctx context.Context, interrupts *cli.Interrupts, args []string, plan ...reaction) (int, string) {
	t.Helper()
	in, typed := io.Pipe()
	p := &person{plan: plan, typed: typed}
	status := cli.Run(ctx, cli.Env{Args: args, Stdin: in, Stdout: p, Stderr: p, Getenv: noEnv, Interrupts: interrupts, Typed: true})
	typed.Close()
	in.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.plan) > 0 {
		t.Errorf("the output never had %q:\n%s", p.plan[0].see, p.all.String())
	}
	return status, p.all.String()
}

// scriptFile writes the answers of a model to a file.
func scriptFile(t *testing.T, answers ...map[string]any) string {
	t.Helper()
	data, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	return textFile(t, string(data))
}

func textFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// slow is an answer that takes minutes, and begins at once.
var slow = map[string]any{"text": strings.Repeat("I think about it. ", 20_000), "pace": "5ms"}

func only(t *testing.T, dir string) *session.Log {
	t.Helper()
	store := session.NewFileStore(filepath.Join(dir, "sessions"), session.Config{})
	all, err := store.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("the store has %v, %v", all, err)
	}
	log, err := store.Read(t.Context(), all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// said lists what the user said, and how the turns ended.
func said(t *testing.T, log *session.Log) string {
	t.Helper()
	var out []string
	for _, e := range log.Events {
		switch e.Type {
		case session.TypeUserMessage:
			var m struct {
				Content []struct{ Text string }
				Source  struct{ Kind string }
			}
			if err := e.Decode(&m); err != nil {
				t.Fatal(err)
			}
			if m.Source.Kind == "user" {
				out = append(out, m.Content[0].Text)
			}
		case session.TypeTurnEnd:
			var end session.TurnEnd
			if err := e.Decode(&end); err != nil {
				t.Fatal(err)
			}
			out = append(out, end.Reason.Kind)
		}
	}
	return strings.Join(out, ", ")
}

func TestThePromptTakesTasksUntilTheInputEnds(t *testing.T) {
	store := t.TempDir()
	file := scriptFile(t, map[string]any{"text": "Hello."}, map[string]any{"text": "Good bye."})
	status, out := at(t, t.Context(), nil, []string{"run", "--script", file, "--store", store, "--cwd", t.TempDir()},
		reaction{"› ", types("first task")},
		reaction{"Hello.", func(*person) {}}, reaction{"› ", types("")},
		reaction{"› ", types("second task")},
		reaction{"Good bye.", func(*person) {}}, reaction{"› ", hangsUp},
		reaction{"resume: demo run --resume ", func(*person) {}},
	)
	if status != 0 {
		t.Errorf("status %d:\n%s", status, out)
	}
	if got, want := said(t, only(t, store)), "first task, completed, second task, completed"; got != want {
		t.Errorf("the session has %q, want %q", got, want)
	}
}

func TestTypedLinesSteerARunningTurn(t *testing.T) {
	store, work := t.TempDir(), t.TempDir()
	// The question holds the turn for as long as it takes to type.
	file := scriptFile(t,
		map[string]any{"text": "Let me think.", "delay": "50ms", "pace": "50ms", "calls": []any{map[string]any{"name": "read", "args": map[string]any{"file_path": "a"}}}},
		map[string]any{"text": "As you wish."})
	status, out := at(t, t.Context(), nil, []string{"run", "Begin", "--script", file, "--store", store, "--cwd", work},
		reaction{"Let me", types("No, do something else")},
		reaction{"› No, do something else", func(*person) {}},
		reaction{"As you wish.", func(*person) {}},
	)
	if status != 0 {
		t.Errorf("status %d:\n%s", status, out)
	}
	if got, want := said(t, only(t, store)), "Begin, No, do something else, completed"; got != want {
		t.Errorf("the session has %q, want %q", got, want)
	}
}

func TestALineAnswersTheOpenQuestion(t *testing.T) {
	for answer, code := range map[string]string{"y": "approval allowed-once", "nope": "APPROVAL_REJECTED"} {
		store, work := t.TempDir(), t.TempDir()
		file := scriptFile(t,
			map[string]any{"calls": []any{map[string]any{"name": "write", "args": map[string]any{
				"file_path": "new.txt", "content": "x", "sandbox_permissions": "workspace-write", "justification": "It is needed."}}}},
			map[string]any{"text": "That was it."})
		status, out := at(t, t.Context(), nil, []string{"run", "Write", "--script", file, "--store", store, "--cwd", work, "--sandbox", "read-only"},
			reaction{"Allow this once? [y/N] ", types(answer)},
			reaction{code, func(*person) {}}, reaction{"That was it.", func(*person) {}},
		)
		_, err := os.Stat(filepath.Join(work, "new.txt"))
		if status != 0 || (err == nil) != (answer == "y") {
			t.Errorf("%s: status %d, %v:\n%s", answer, status, err, out)
		}
		if got, want := said(t, only(t, store)), "Write, completed"; got != want {
			t.Errorf("%s: the session has %q, want %q", answer, got, want)
		}
	}
}

func TestAnInterruptEndsTheTurnAndKeepsTheSession(t *testing.T) {
	store := t.TempDir()
	var interrupts cli.Interrupts
	file := scriptFile(t, slow, map[string]any{"text": "Back again."})
	interrupt := func(*person) {
		if !interrupts.Interrupt() {
			t.Error("nobody took the interrupt")
		}
	}
	status, out := at(t, t.Context(), &interrupts, []string{"run", "--script", file, "--store", store, "--cwd", t.TempDir()},
		reaction{"› ", types("wait for it")},
		reaction{"I think", interrupt},
		reaction{"the turn ended: aborted", func(*person) {}}, reaction{"› ", types("go on")},
		reaction{"Back again.", func(*person) {}}, reaction{"› ", hangsUp},
	)
	if status != 0 {
		t.Errorf("status %d:\n%s", status, out)
	}
	if got, want := said(t, only(t, store)), "wait for it, aborted, go on, completed"; got != want {
		t.Errorf("the session has %q, want %q", got, want)
	}
	if interrupts.Interrupt() {
		t.Error("an interrupt between turns was taken")
	}
}

// What was typed while the model spoke is not lost with the turn.
func TestAnInterruptKeepsWhatWasTyped(t *testing.T) {
	store := t.TempDir()
	var interrupts cli.Interrupts
	file := scriptFile(t, slow, map[string]any{"text": "Back again."})
	steerThenInterrupt := func(p *person) {
		types("steer me")(p)
		for !logged(store, "steer me") {
			time.Sleep(time.Millisecond)
		}
		interrupts.Interrupt()
	}
	status, out := at(t, t.Context(), &interrupts, []string{"run", "--script", file, "--store", store, "--cwd", t.TempDir()},
		reaction{"› ", types("wait for it")},
		reaction{"I think", steerThenInterrupt},
		reaction{"1 message that you typed came too late for this turn, and will go with the next", func(*person) {}},
		reaction{"› ", types("go on")},
		reaction{"Back again.", func(*person) {}}, reaction{"› ", hangsUp},
	)
	if status != 0 {
		t.Errorf("status %d:\n%s", status, out)
	}
	if got, want := said(t, only(t, store)), "wait for it, aborted, go on, steer me, completed"; got != want {
		t.Errorf("the session has %q, want %q", got, want)
	}
}

// logged reports whether a log of the store has a text in it.
func logged(store, text string) bool {
	logs, _ := filepath.Glob(filepath.Join(store, "sessions", "*.jsonl"))
	for _, name := range logs {
		if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// A session that was never given a task is not kept.
func TestAnInterruptAtThePromptEndsTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var interrupts cli.Interrupts
	store := t.TempDir()
	status, out := at(t, ctx, &interrupts, []string{"run", "--script", scriptFile(t, slow), "--store", store, "--cwd", t.TempDir()},
		reaction{"› ", func(*person) {
			if interrupts.Interrupt() {
				t.Error("somebody took the interrupt")
			}
			cancel()
		}},
		reaction{"demo: ABORTED: interrupted\n", func(*person) {}},
	)
	if status != 130 || strings.Contains(out, "resume:") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if all, err := session.NewFileStore(filepath.Join(store, "sessions"), session.Config{}).List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("the store has %v, %v", all, err)
	}
}

func TestASecondInterruptEndsTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var interrupts cli.Interrupts
	status, out := at(t, ctx, &interrupts, []string{"run", "--script", scriptFile(t, slow), "--store", t.TempDir(), "--cwd", t.TempDir()},
		reaction{"› ", types("wait")},
		reaction{"I think", func(*person) {
			first, second := interrupts.Interrupt(), interrupts.Interrupt()
			if !first || second {
				t.Errorf("taken: %v, %v", first, second)
			}
			cancel()
		}},
		reaction{"resume: demo run --resume ", func(*person) {}},
	)
	if status != 130 {
		t.Errorf("status %d:\n%s", status, out)
	}
}

func TestAnInterruptEndsATaskAndTellsHowToResume(t *testing.T) {
	store := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status, out := at(t, ctx, nil, []string{"run", "wait for it", "--script", scriptFile(t, slow), "--store", store, "--cwd", t.TempDir()},
		reaction{"I think", func(*person) { cancel() }},
		reaction{"resume: demo run --resume ", func(*person) {}},
		reaction{"demo: ABORTED: interrupted\n", func(*person) {}},
	)
	if status != 130 {
		t.Errorf("status %d:\n%s", status, out)
	}
	log := only(t, store)
	if got, want := said(t, log), "wait for it, aborted"; got != want {
		t.Errorf("the session has %q, want %q", got, want)
	}
	// What was seen is kept, and the session goes on.
	status, out = at(t, t.Context(), nil, []string{"run", "and now", "--script", scriptFile(t, map[string]any{"text": "Here I am."}), "--store", store, "--resume", log.Header.ID[:8]},
		reaction{"Here I am.", func(*person) {}})
	if status != 0 {
		t.Errorf("status %d:\n%s", status, out)
	}
	if got, want := said(t, only(t, store)), "wait for it, aborted, and now, completed"; got != want {
		t.Errorf("the session has %q, want %q", got, want)
	}
}

// TestThePromptEndsWithoutAKey: there is nothing that the person could do at
// the prompt, and nothing to keep.
func TestThePromptEndsWithoutAKey(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	dir := t.TempDir()
	status, out := at(t, t.Context(), nil, []string{"run", "--model", "anthropic/some", "--cwd", t.TempDir(), "--store", dir},
		reaction{"›", types("hello")})
	if status != 1 || !strings.Contains(out, "set the environment variable ANTHROPIC_API_KEY") || strings.Contains(out, "resume:") {
		t.Errorf("status %d:\n%s", status, out)
	}
	left, err := filepath.Glob(filepath.Join(dir, "sessions", "*.jsonl"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v stayed behind (%v)", left, err)
	}
}
