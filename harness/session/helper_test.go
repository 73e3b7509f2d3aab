package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SESSION_TEST_WRITER"); dir != "" {
		writeUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// memDir returns a directory in memory where the system has one: these tests
// sync thousands of times, which proves nothing more on a disk.
func memDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "session-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fixed returns a config whose clock goes 7 ms a call and whose ids count.
func fixed() session.Config {
	at := time.UnixMilli(1_700_000_000_000)
	n := 0
	return session.Config{
		Clock: func() time.Time { at = at.Add(7 * time.Millisecond); return at },
		NewID: func() string { n++; return fmt.Sprintf("id-%03d", n) },
	}
}

func user(id, text string) llm.Message {
	return llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromUser}, ID: id, Content: []llm.Block{llm.Text(text)}}
}

// chunks returns the events of a streamed answer.
func chunks(turn, step int, cs ...llm.Chunk) []session.Event {
	var out []session.Event
	for _, c := range cs {
		out = append(out, session.AssistantChunk{Turn: turn, Step: step, Chunk: c}.Event())
	}
	return out
}

// streamed returns the chunks of one text or reasoning block.
func streamed(index int, kind llm.BlockType, pieces ...string) []llm.Chunk {
	delta := llm.TextDelta
	if kind == llm.ReasoningBlock {
		delta = llm.ReasoningDelta
	}
	out := []llm.Chunk{{Type: llm.BlockStart, Index: index, BlockType: kind}}
	for _, p := range pieces {
		out = append(out, llm.Chunk{Type: delta, Index: index, Text: p})
	}
	whole := llm.Block{Type: kind, Text: strings.Join(pieces, "")}
	return append(out, llm.Chunk{Type: llm.BlockEnd, Index: index, Block: &whole})
}

// calling returns the chunks of one tool call.
func calling(index int, id, name string, pieces ...string) []llm.Chunk {
	out := []llm.Chunk{{Type: llm.BlockStart, Index: index, BlockType: llm.ToolCallBlock}}
	for _, p := range pieces {
		out = append(out, llm.Chunk{Type: llm.ToolCallDelta, Index: index, ID: id, Name: name, ArgumentsDelta: p})
	}
	whole := llm.ToolCall(id, name, strings.Join(pieces, ""))
	return append(out, llm.Chunk{Type: llm.BlockEnd, Index: index, Block: &whole})
}

func finish(kind llm.FinishKind) llm.Chunk {
	return llm.Chunk{Type: llm.FinishChunk, Reason: &llm.FinishReason{Kind: kind}}
}

type tester interface {
	Helper()
	Fatal(...any)
}

func add(t tester, s *session.Session, events ...session.Event) []session.Event {
	t.Helper()
	if p, ok := t.(interface{ Pause() }); ok {
		p.Pause()
	}
	out, err := s.Append(events...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func seqs(events []session.Event) []int64 {
	var out []int64
	for _, e := range events {
		out = append(out, e.Seq)
	}
	return out
}

// converse appends one turn with most kinds of events: a claimed prompt, an
// answer that reasons and calls two tools, their results, and a last word.
func converse(t tester, s *session.Session, turn int) {
	t.Helper()
	m := user(s.NewID(), "fix <main.go> & co")
	add(t, s, session.InboxSpliced{Target: session.NextTurn, Inserted: []llm.Message{m}}.Event())
	add(t, s, session.TurnStart{Turn: turn}.Event(),
		session.InboxSpliced{Target: session.NextTurn, RemovedCount: 1}.Event(),
		session.StepStart{Turn: turn, Step: 1}.Event(),
		session.UserMessage(m))
	if turn == 1 {
		add(t, s,
			session.Title{Title: "fix", MessageSeqs: []int64{4}, Source: session.TitleSource{Kind: "fallback"}}.Event(),
			session.SandboxMode{Mode: sandbox.WorkspaceWrite}.Event(),
			session.RequestHeader{Reason: "initial", Header: session.RequestHead{
				Config: session.RequestConfig{Provider: "p", Model: "m"},
				System: []byte(`"be good"`), Tools: []byte(`[]`)}}.Event(),
			session.RequestContext{Provider: "p", Model: "m"}.Event())
	}
	read, edit := fmt.Sprintf("r%d", turn), fmt.Sprintf("e%d", turn)
	usage := &llm.Usage{InputTokens: 10, OutputTokens: 4, CacheReadTokens: llm.Count(0)}
	var cs []llm.Chunk
	cs = append(cs, streamed(0, llm.ReasoningBlock, "I ", "must ", "look", ".")...)
	cs = append(cs, calling(1, read, "read", `{"file`, `_path":`, `"main.go"`, `}`)...)
	cs = append(cs, calling(2, edit, "edit", `{}`)...)
	cs = append(cs, llm.Chunk{Type: llm.UsageChunk, Usage: usage}, finish(llm.FinishToolCalls))
	var made []session.Event
	for _, e := range chunks(turn, 1, cs...) {
		made = append(made, add(t, s, e)...)
	}
	var acc llm.Accumulator
	for _, c := range cs {
		if err := acc.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	add(t, s, session.AssistantMessage{Turn: turn, Step: 1, Usage: usage, Message: llm.Message{
		Role: llm.Assistant, Content: acc.Blocks(), ID: s.NewID(),
		Source: llm.Source{Kind: llm.FromModel, Provider: "p", Model: "m"}}}.Event(seqs(made)))
	image := attachment.Ref{ID: "sha256:00", MediaType: attachment.PNG, Bytes: 69, Width: 1, Height: 1, Name: "red.png"}
	for i, call := range []string{read, edit} {
		name := []string{"read", "edit"}[i]
		c := add(t, s, session.ToolCall{Turn: turn, Step: 1, CallID: call, Name: name, Arguments: "{}"}.Event())
		add(t, s, session.ToolResult{Turn: turn, Step: 1, Meta: []byte(`{"path":"main.go"}`),
			Message: session.ResultMessage(s.NewID(), call, false, llm.Text("ok\n"), llm.Image(image))}.Event(c[0].Seq))
	}
	add(t, s, session.Observed{Key: "k", Path: "/w/main.go", State: session.ObservedPresent, Version: fmt.Sprint("v", turn)}.Event())
	add(t, s, session.StepEnd{Turn: turn, Step: 1}.Event(), session.StepStart{Turn: turn, Step: 2}.Event())
	cs = append(streamed(0, llm.TextBlock, "Done", " ", "→", "."), finish(llm.FinishStop))
	made = add(t, s, chunks(turn, 2, cs...)...)
	add(t, s, session.AssistantMessage{Turn: turn, Step: 2, Message: llm.Message{
		Role: llm.Assistant, Content: []llm.Block{llm.Text("Done →.")}, ID: s.NewID(),
		Source: llm.Source{Kind: llm.FromModel, Provider: "p", Model: "m"}}}.Event(seqs(made)))
	add(t, s, session.StepEnd{Turn: turn, Step: 2}.Event(),
		session.TurnEnd{Turn: turn, Reason: session.EndReason{Kind: session.EndCompleted}}.Event())
}

// sampleLog returns the bytes of a log with one turn, as a file store keeps
// it.
func sampleLog(t testing.TB, turns int) []byte {
	t.Helper()
	dir := t.TempDir()
	store := session.NewFileStore(dir, fixed())
	s, err := store.Create(context.Background(), session.Header{ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	for turn := range turns {
		converse(t, s, turn+1)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "s.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// validMessages fails unless a provider accepts the conversation.
func validMessages(t tester, ms []llm.Message) {
	t.Helper()
	var open []string
	for i, m := range ms {
		if len(m.Content) == 0 {
			t.Fatal("message", i, "has no content")
		}
		if m.Content[0].Type == llm.ToolResultBlock {
			if len(open) == 0 || open[0] != m.Content[0].ToolCallID {
				t.Fatal("message", i, "answers", m.Content[0].ToolCallID, "and open are", open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Fatal("message", i, "comes before the results of", open)
		}
		for _, c := range m.ToolCalls() {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Fatal("no results of", open)
	}
}
