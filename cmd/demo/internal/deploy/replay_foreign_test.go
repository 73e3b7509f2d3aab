package deploy_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit/replay"
)

// rewrite returns a log in which change puts any number of events in the place
// of each. Numbers, and what refers to them, follow.
func rewrite(t *testing.T, log *session.Log, change func(session.Event) []session.Event) *session.Log {
	t.Helper()
	out := &session.Log{Header: log.Header}
	moved := map[int64]int64{}
	for _, e := range log.Events {
		for _, c := range change(e) {
			if c.Type == e.Type {
				moved[e.Seq] = int64(len(out.Events))
			}
			c.Seq, c.Time = int64(len(out.Events)), e.Time
			var sources []int64
			for _, seq := range c.SourceEventSeqs {
				if at, ok := moved[seq]; ok {
					sources = append(sources, at)
				}
			}
			c.SourceEventSeqs = sources
			out.Events = append(out.Events, c)
		}
	}
	return out
}

// Logs of another implementation differ from ours in what they hold beside the
// core. They replay all the same, compared by what matters.
func TestLogsOfOthersReplay(t *testing.T) {
	note := func(n string) session.Event {
		return session.Event{Type: "todo/" + n, Data: json.RawMessage(`{"items":[]}`), Ignorable: true}
	}
	logOnly := session.Event{Type: "metrics/sample", Data: json.RawMessage(`{}`), SurfaceOp: session.SurfaceNone}
	keep := func(e session.Event) []session.Event { return []session.Event{e} }
	tests := []struct {
		name   string
		change func(session.Event) []session.Event
	}{
		{"nothing changed", keep},
		{"events of unknown plugins around each event", func(e session.Event) []session.Event {
			if e.Type == session.TypeAssistantChunk {
				return keep(e)
			}
			return []session.Event{note("before"), e, note("after"), logOnly}
		}},
		{"no observations and no retries", func(e session.Event) []session.Event {
			if e.Type == session.TypeObserved || e.Type == agent.TypeRetry {
				return nil
			}
			return keep(e)
		}},
		{"no chunks of answers that ended well", dropWholeAnswers()},
		{"a runtime context in other words", func(e session.Event) []session.Event {
			var m llm.Message
			if e.Type == session.TypeUserMessage && e.Decode(&m) == nil && m.Source.Form == session.SnapshotForm {
				m.Source.Plugin, m.Content = "other/prompt", []llm.Block{llm.Text("Everything is allowed.")}
				return keep(session.UserMessage(m))
			}
			return keep(e)
		}},
		{"no inbox", func(e session.Event) []session.Event {
			if e.Type == session.TypeInboxSpliced {
				return nil
			}
			return keep(e)
		}},
		{"options that this loop has no field for", func(e session.Event) []session.Event {
			var h session.RequestHeader
			if e.Type == session.TypeRequestHeader && e.Decode(&h) == nil {
				h.Header.Config.Extra = map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"enabled","budget":1000}`), "temperature": json.RawMessage(`0.5`)}
				return keep(h.Event())
			}
			return keep(e)
		}},
		{"a notice of an unknown plugin", func(e session.Event) []session.Event {
			if e.Type == session.TypeTitle {
				return []session.Event{e, session.UserMessage(llm.Message{Role: llm.User, Content: []llm.Block{llm.Text("The build is green.")},
					Source: llm.Source{Kind: llm.FromPlugin, Plugin: "ci", Form: "notice"}, ID: "notice"})}
			}
			return keep(e)
		}},
		{"without titles and contexts", func(e session.Event) []session.Event {
			if e.Type == session.TypeTitle || e.Type == session.TypeRequestContext {
				return nil
			}
			return keep(e)
		}},
	}
	whole, err := replay.Load(recordActs(t, acts))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rec, err := replay.FromLog(rewrite(t, whole.Log, test.change))
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
			if len(report.Calls) < 20 || slices.ContainsFunc(report.Calls, func(c replay.Call) bool { return c.Skipped != "" || c.Replayed == nil }) {
				t.Errorf("%d calls, not all compared", len(report.Calls))
			}
		})
	}
}

// dropWholeAnswers leaves out the chunks that a message was made from which
// says all they say.
func dropWholeAnswers() func(session.Event) []session.Event {
	var chunks []session.Event
	return func(e session.Event) []session.Event {
		switch e.Type {
		case session.TypeAssistantChunk:
			chunks = append(chunks, e)
			return nil
		case session.TypeAssistantMessage:
			last := chunks[len(chunks)-1]
			var c session.AssistantChunk
			whole := last.Decode(&c) == nil && c.Chunk.Type == llm.FinishChunk && c.Chunk.Reason.Kind != llm.FinishMaxTokens
			out := []session.Event{e}
			if !whole {
				out = append(slices.Clone(chunks), e)
			} else {
				out[0].SourceEventSeqs = nil
			}
			chunks = nil
			return out
		}
		if e.Type == session.TypeInboxSpliced && len(chunks) > 0 {
			return []session.Event{e} // somebody steers while the model speaks
		}
		out := append(slices.Clone(chunks), e)
		chunks = nil
		return out
	}
}
