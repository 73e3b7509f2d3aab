package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/cmd/demo/internal/live"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noTool(string) (tool.Definition, error) { return tool.Definition{}, errors.New("no such tool") }

func noEnv(string) string { return "" }

// events are those of a turn with something of every kind.
func events(text string) []session.Event {
	chunk := func(t llm.ChunkType, text string) session.Event {
		return session.AssistantChunk{Turn: 1, Step: 1, Chunk: llm.Chunk{Type: t, Text: text, ID: "c", Name: text}}.Event()
	}
	retry, _ := json.Marshal(agent.RetryEvent{Turn: 1, Step: 1, Attempt: 1, Message: text, DelayMS: 500})
	user := llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromUser}, ID: "m1", Content: []llm.Block{llm.Text(text)}}
	plugin := llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromPlugin, Plugin: text}, ID: "m2", Content: []llm.Block{llm.Text(text)}}
	answer := llm.Message{Role: llm.Assistant, Source: llm.Source{Kind: llm.FromModel}, ID: "m3", Content: []llm.Block{llm.Text(text)}}
	return []session.Event{
		session.StepStart{Turn: 1, Step: 1}.Event(),
		session.UserMessage(user), session.UserMessage(plugin),
		chunk(llm.ReasoningDelta, text), chunk(llm.ReasoningDelta, text),
		chunk(llm.TextDelta, text), chunk(llm.ToolCallDelta, text),
		{Type: agent.TypeRetry, Data: retry, Ignorable: true},
		session.AssistantMessage{Turn: 1, Step: 1, Message: answer, Usage: &llm.Usage{InputTokens: 10, OutputTokens: 2}}.Event(nil),
		session.ToolCall{Turn: 1, Step: 1, CallID: "c", Name: text, Arguments: text}.Event(),
		session.ApprovalAsked{ID: "q", CallID: "c", ToolName: text, Reason: text}.Event(),
		session.ApprovalDecided{ID: "q", CallID: "c", Outcome: "rejected", Reason: text}.Event(),
		session.ToolResult{Turn: 1, Step: 1, Message: session.ResultMessage("m4", "c", true, llm.Text(text)),
			Error: &session.ResultError{Name: text, Code: text}}.Event(-1),
		session.ToolCall{Turn: 1, Step: 1, CallID: "d", Name: text, Arguments: text}.Event(),
		session.ToolResult{Turn: 1, Step: 1, Message: session.ResultMessage("m5", "d", false, llm.Text(text))}.Event(-1),
		session.TurnEnd{Turn: 1, Reason: session.EndReason{Kind: session.EndError, Message: text}}.Event(),
		{Type: session.TypeToolResult, Data: json.RawMessage(`{"message":3}`)},
	}
}

func TestALogIsShown(t *testing.T) {
	var b bytes.Buffer
	v := live.NewLog(term.New(&b, noEnv), noTool)
	for _, e := range events("word") {
		v.Event(e)
	}
	v.Close()
	want := `› word

(4 characters of context from word)

wordword

word

word; attempt 2 follows in 500ms

word

approval asked for word: word
approval rejected: word

word  word
     │ word

word
  word

the turn ended: error: word
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := v.Usage().String(); got != "10 tokens in, 2 out" {
		t.Errorf("the usage is %q", got)
	}
}

func TestNothingInASessionActsOnATerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"a", " ", "\n", "\r", "\r\n", "\t", "\x1b[2J", "\x1b]0;x\a", "\u009b1m", "\u202e", "\u2066", "\u200b", "\u2028", "\x00", "漢",
		})).Draw(t, "parts"), "")
		var b bytes.Buffer
		for _, v := range []*live.View{live.NewLog(term.New(&b, noEnv), noTool), live.New(term.New(&b, noEnv), noTool)} {
			for _, e := range events(text) {
				v.Event(e)
			}
			v.Close()
		}
		for _, r := range b.String() {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Fatalf("the output has %U", r)
			}
		}
	})
}

// TestTheTaskIsNotShownTwice: who has typed it has seen it; what is typed
// later is shown when it reaches the model.
func TestTheTaskIsNotShownTwice(t *testing.T) {
	s, err := session.NewMemory(session.Header{Cwd: "/w"}, session.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	v := live.New(term.New(&b, noEnv), noTool)
	defer s.Subscribe(v.Event)()
	v.Begin()
	for _, text := range []string{"the task", "hurry"} {
		m := llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromUser}, ID: text, Content: []llm.Block{llm.Text(text)}}
		if _, err := s.Append(session.UserMessage(m)); err != nil {
			t.Fatal(err)
		}
	}
	v.Close()
	if err := errors.Join(s.Checkpoint(context.Background()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "› hurry\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUsage(t *testing.T) {
	var u live.Usage
	if u.String() != "" {
		t.Errorf("no answers are %q", u)
	}
	u.Add(llm.Usage{InputTokens: 1000, OutputTokens: 20, CacheReadTokens: llm.Count(234_567), ReasoningTokens: llm.Count(5)})
	u.Add(llm.Usage{InputTokens: 1, OutputTokens: 2, CacheWriteTokens: llm.Count(3)})
	if got, want := u.String(), "235,571 tokens in (234,567 cached), 22 out (5 reasoning)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := live.Count(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
