package session_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// recorded returns the logs that another implementation of the format wrote,
// where they are at hand.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../../shared/sessions/*/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("no recorded sessions here")
	}
	logs := map[string][]byte{}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		logs[filepath.Base(filepath.Dir(p))] = data
	}
	return logs
}

// A recorded log, read event by event and written again, is the same bytes.
func TestRecordedLogsRoundTrip(t *testing.T) {
	for name, data := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			log, err := session.Read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			enc := session.NewEncoder(&out, log.Header, true)
			for i, e := range log.Events {
				if e.Seq != int64(i) {
					t.Fatalf("event %d has number %d", i, e.Seq)
				}
				if err := enc.Encode(e); err != nil {
					t.Fatal(err)
				}
			}
			if err := enc.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(data), out.String()); diff != "" {
				t.Errorf("the log changed (-recorded +written):\n%s", diff)
			}
		})
	}
}

// The typed bodies of a recorded log, decoded and encoded again, are the same
// bytes: nothing is unknown, reordered or escaped differently.
func TestRecordedBodiesRoundTrip(t *testing.T) {
	for name, data := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			log, err := session.Read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range log.Events {
				got := rebuild(t, e)
				if got.Type == "" {
					t.Errorf("event %d has the type %q, which this test does not know", e.Seq, e.Type)
					continue
				}
				got.Seq, got.Time = e.Seq, e.Time
				if diff := cmp.Diff(string(e.AppendJSON(nil)), string(got.AppendJSON(nil))); diff != "" {
					t.Errorf("event %d changed (-recorded +rebuilt):\n%s", e.Seq, diff)
				}
			}
		})
	}
}

// rebuild decodes an event's body and makes the event again from it.
func rebuild(t *testing.T, e session.Event) session.Event {
	t.Helper()
	decode := func(v any) {
		if err := e.Decode(v); err != nil {
			t.Fatal(err)
		}
	}
	switch e.Type {
	case session.TypeTurnStart:
		var b session.TurnStart
		decode(&b)
		return b.Event()
	case session.TypeTurnEnd:
		var b session.TurnEnd
		decode(&b)
		return b.Event()
	case session.TypeStepStart:
		var b session.StepStart
		decode(&b)
		return b.Event()
	case session.TypeStepEnd:
		var b session.StepEnd
		decode(&b)
		return b.Event()
	case session.TypeUserMessage:
		var m llm.Message
		decode(&m)
		return session.UserMessage(m)
	case session.TypeAssistantChunk:
		var b session.AssistantChunk
		decode(&b)
		return b.Event()
	case session.TypeAssistantMessage:
		var b session.AssistantMessage
		decode(&b)
		return b.Event(e.SourceEventSeqs)
	case session.TypeToolCall:
		var b session.ToolCall
		decode(&b)
		return b.Event()
	case session.TypeToolResult:
		var b session.ToolResult
		decode(&b)
		return b.Event(e.SourceEventSeqs[0])
	case session.TypeRequestHeader:
		var b session.RequestHeader
		decode(&b)
		return b.Event()
	case session.TypeRequestContext:
		var b session.RequestContext
		decode(&b)
		return b.Event()
	case session.TypeTitle:
		var b session.Title
		decode(&b)
		return b.Event()
	case session.TypeInboxSpliced:
		var b session.InboxSpliced
		decode(&b)
		return b.Event()
	}
	return session.Event{}
}

// The chunks of each recorded answer add up to its message.
func TestRecordedChunksAddUp(t *testing.T) {
	for name, data := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			log, err := session.Read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			answers := 0
			for _, e := range log.Events {
				if e.Type != session.TypeAssistantMessage {
					continue
				}
				answers++
				var want session.AssistantMessage
				if err := e.Decode(&want); err != nil {
					t.Fatal(err)
				}
				var acc llm.Accumulator
				for _, seq := range e.SourceEventSeqs {
					var c session.AssistantChunk
					if err := log.Events[seq].Decode(&c); err != nil {
						t.Fatal(err)
					}
					if err := acc.Add(c.Chunk); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(want.Message.Content, acc.Blocks()); diff != "" {
					t.Errorf("answer %d (-recorded +added up):\n%s", answers, diff)
				}
				if diff := cmp.Diff(want.Usage, acc.Usage()); diff != "" {
					t.Errorf("usage of answer %d (-recorded +added up):\n%s", answers, diff)
				}
			}
			if answers == 0 {
				t.Error("the log has no answers")
			}
		})
	}
}

// The folds of a recorded log are what its conversation was.
func TestRecordedFolds(t *testing.T) {
	logs := recorded(t)
	log, err := session.Read(bytes.NewReader(logs["parallel-tool-calls"]))
	if err != nil {
		t.Fatal(err)
	}
	s := log.State
	if s.OpenTurn() != 0 || s.Turns() != 1 || s.Steps() != 2 || s.LastStep() != 2 {
		t.Errorf("open turn %d, turns %d, steps %d, last step %d", s.OpenTurn(), s.Turns(), s.Steps(), s.LastStep())
	}
	if got, want := s.Title(), "Use the read tool twice"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	var kinds []string
	for _, m := range s.Messages() {
		kinds = append(kinds, string(m.Role)+"/"+string(m.Source.Kind))
	}
	if diff := cmp.Diff("user/user user/plugin assistant/model user/tool user/tool assistant/model", strings.Join(kinds, " ")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	h, ok := s.RequestHeader()
	if !ok || h.Header.Config.Provider != "deepseek-official" || h.Header.Config.Model != "deepseek-v4-flash" {
		t.Errorf("header %+v, %v", h, ok)
	}
	if got := s.Inbox(session.NextTurn); len(got) != 0 {
		t.Errorf("the inbox still holds %d messages", len(got))
	}
	if string(log.Header.Extra["delegationDepth"]) != "0" {
		t.Errorf("the unknown header field is %s", log.Header.Extra["delegationDepth"])
	}
}

// In a log without numbers a missing or doubled line leaves no gap, and is
// noticed all the same, or the log still reads as a whole shorter one.
func TestRecordedLinesMissingOrTwice(t *testing.T) {
	for name, data := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			lines := bytes.SplitAfter(data, []byte("\n"))
			lines = lines[:len(lines)-1]
			for i := 1; i < len(lines); i++ {
				without := bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)
				twice := bytes.Join(append(append([][]byte{}, lines[:i+1]...), lines[i:]...), nil)
				if i < len(lines)-1 {
					mustName(t, without, "without line", i+1)
				}
				mustName(t, twice, "twice line", i+1)
			}
		})
	}
}

func mustName(t *testing.T, data []byte, what string, line int) {
	t.Helper()
	_, err := session.Read(bytes.NewReader(data))
	if err == nil {
		var v struct{ Type string }
		lines := bytes.Split(data, []byte("\n"))
		json.Unmarshal(lines[min(line, len(lines)-1)-1], &v)
		t.Errorf("%s %d (%s) was not noticed", what, line, v.Type)
		return
	}
	if !strings.Contains(err.Error(), "line ") {
		t.Errorf("%s %d: the error names no line: %v", what, line, err)
	}
}
