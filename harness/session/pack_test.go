package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// encode writes events as a log.
func encode(t interface{ Fatal(...any) }, bare bool, events []session.Event) []byte {
	var out bytes.Buffer
	enc := session.NewEncoder(&out, session.Header{ID: "s", CreatedAt: 5, Cwd: "/w"}, bare)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// drawChunk draws an event that may or may not fit into a row, in spellings
// that must come back as they were.
func drawChunk(t *rapid.T) session.Event {
	turn := rapid.IntRange(1, 2).Draw(t, "turn")
	index := rapid.IntRange(0, 1).Draw(t, "index")
	piece := rapid.OneOf(rapid.StringN(0, 6, -1), rapid.SampledFrom([]string{"", `"`, `\`, "}}", `"}}`, "\u2028", "<&>", "\x00", "é", "𝄞"})).Draw(t, "piece")
	c := llm.Chunk{Index: index}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		c.Type, c.Text = llm.ReasoningDelta, piece
	case 1:
		c.Type, c.ArgumentsDelta = llm.ToolCallDelta, piece
		c.ID = rapid.SampledFrom([]string{"", "call", `a"b`}).Draw(t, "id")
		c.Name = rapid.SampledFrom([]string{"", "read"}).Draw(t, "name")
	case 2:
		c = llm.Chunk{Type: llm.BlockStart, Index: index, BlockType: llm.TextBlock}
	default:
		c.Type, c.Text = llm.TextDelta, piece
	}
	e := session.AssistantChunk{Turn: turn, Step: 1, Chunk: c}.Event()
	switch rapid.IntRange(0, 14).Draw(t, "twist") {
	case 0: // the same in other words
		e.Data = []byte(strings.Replace(string(e.Data), `"step":1`, `"step": 1`, 1))
	case 1:
		e.Ignorable = true
	case 2:
		e.Extra = map[string]json.RawMessage{"later": []byte(`[1,{"a":null}]`)}
	case 3:
		e.Data = []byte(strings.Replace(string(e.Data), `"turn":`, `"new":0,"turn":`, 1))
	case 4:
		e.SourceEventSeqs = []int64{0}
	case 5: // half of a surrogate pair, which no Go string holds
		e = session.AssistantChunk{Turn: turn, Step: 1, Chunk: llm.Chunk{Type: llm.TextDelta, Text: "x"}}.Event()
		e.Data = bytes.Replace(e.Data, []byte(`"x"`), []byte(`"\ud83d"`), 1)
	}
	return e
}

// Whatever is packed comes back event by event as the same bytes, and packing
// that again gives the same log.
func TestPackIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "events")
		var events []session.Event
		at := int64(100)
		for i := range n {
			e := drawChunk(t)
			if i > 0 && rapid.Bool().Draw(t, "again") {
				e.Data = events[i-1].Data // makes runs likely
			}
			at += rapid.Int64Range(-3, 50).Draw(t, "dt")
			e.Seq, e.Time = int64(i), at
			events = append(events, e)
		}
		log := encode(t, false, events)
		got, err := session.Read(bytes.NewReader(log))
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		if a, b := encoded(events), encoded(got.Events); a != b {
			t.Fatalf("the events changed (-packed +unpacked):\n%s", cmp.Diff(a, b))
		}
		if again := encode(t, false, got.Events); !bytes.Equal(log, again) {
			t.Fatalf("packed again, the log changed:\n%s", cmp.Diff(string(log), string(again)))
		}
	})
}

// Runs are packed in rows of the documented form, shorter runs stay events.
func TestRows(t *testing.T) {
	deltas := func(ty llm.ChunkType, texts ...string) []session.Event {
		var out []session.Event
		for _, s := range texts {
			c := llm.Chunk{Type: ty, Index: 1, Text: s}
			if ty == llm.ToolCallDelta {
				c = llm.Chunk{Type: ty, Index: 1, ID: "c", Name: "read", ArgumentsDelta: s}
			}
			out = append(out, session.AssistantChunk{Turn: 1, Step: 2, Chunk: c}.Event())
		}
		return out
	}
	tests := []struct {
		name   string
		events []session.Event
		want   []string
	}{
		{"text", deltas(llm.TextDelta, "a", "b\n", "<c>"),
			[]string{`{"type":"text-chunks","seq0":0,"time0":10,"data":{"turn":1,"step":2,"index":1,"dt":[1,2],"texts":["a","b\n","<c>"]}}`}},
		{"reasoning", deltas(llm.ReasoningDelta, "a", "b", "c"),
			[]string{`{"type":"reasoning-chunks","seq0":0,"time0":10,"data":{"turn":1,"step":2,"index":1,"dt":[1,2],"texts":["a","b","c"]}}`}},
		{"tool call", deltas(llm.ToolCallDelta, "", "{", "}"),
			[]string{`{"type":"tool-call-chunks","seq0":0,"time0":10,"data":{"turn":1,"step":2,"index":1,"dt":[1,2],"id":"c","name":"read","args":["","{","}"]}}`}},
		{"two are too few", deltas(llm.TextDelta, "a", "b"),
			[]string{
				`{"type":"assistant/chunk","seq":0,"time":10,"data":{"turn":1,"step":2,"chunk":{"type":"text-delta","index":1,"text":"a"}}}`,
				`{"type":"assistant/chunk","seq":1,"time":11,"data":{"turn":1,"step":2,"chunk":{"type":"text-delta","index":1,"text":"b"}}}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := int64(10)
			for i := range tt.events {
				tt.events[i].Seq, tt.events[i].Time = int64(i), at
				at += int64(i + 1)
			}
			lines := strings.Split(strings.TrimSpace(string(encode(t, false, tt.events))), "\n")
			if diff := cmp.Diff(tt.want, lines[1:]); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

const head = `{"type":"session","version":0,"id":"s","createdAt":5,"cwd":"/w"}` + "\n"

// What cannot be read is refused with the line, the reason and a code.
func TestRefusals(t *testing.T) {
	row := func(data string) string { return `{"type":"text-chunks","seq0":0,"time0":1,"data":` + data + `}` }
	tests := []struct {
		name, log string
		code      error
		want      string
	}{
		{"empty", "", session.Corrupt, "line 1: the log is empty: it has no header"},
		{"no header", `{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}` + "\n", session.Corrupt, `line 1: the header is cut off or damaged: it is not a session header: its type is "turn/start", not "session"`},
		{"other version", `{"type":"session","version":3,"id":"s","createdAt":5,"cwd":"/w"}` + "\n" + head, session.UnsupportedVersion, "line 1: the log has format version 3, and this program reads version 0"},
		{"version in quotes", `{"type":"session","version":"0","id":"s","createdAt":5,"cwd":"/w"}` + "\n" + head, session.UnsupportedVersion, `line 1: the log has format version "0", and this program reads version 0`},
		{"no version", `{"type":"session","id":"s","createdAt":5,"cwd":"/w"}` + "\n" + head, session.Corrupt, `line 1: the field "version" is missing`},
		{"unknown event", head + `{"type":"x/y","seq":0,"time":1,"data":{}}`, session.UnknownEvent, `line 2: the event type "x/y" is unknown here and not marked ignorable, so what it means for the session would be lost`},
		{"ignorable, but not true", head + `{"type":"x/y","seq":0,"time":1,"data":{},"ignorable":"yes"}`, session.UnknownEvent, `line 2: the event type "x/y" is unknown`},
		{"unknown surface operation", head + `{"type":"user/message","seq":0,"time":1,"data":{"content":[],"source":{"kind":"user"},"role":"user","id":"1"},"surfaceOp":"replace"}`, session.UnknownEvent, `line 2: the surface operation "replace" of the user/message event is unknown here`},
		{"not JSON within", head + "{\n" + `{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}`, session.Corrupt, "line 2: it is not valid JSON"},
		{"not UTF-8 within", head + "{\"type\":\"\xff\"}\n{}", session.Corrupt, "line 2: it holds bytes that are not UTF-8"},
		{"a line lost beside an empty one", head + "\n" + `{"type":"turn/start","seq":1,"time":1,"data":{"turn":1}}`, session.Corrupt, "line 3: the event has number 1 where 0 follows: a line is missing"},
		{"a line of nothing but NULs", head + "\x00\x00\n" + head, session.Corrupt, "line 2: it is not valid JSON"},
		{"a list", head + "[]\n{}", session.Corrupt, "line 2: it is not a JSON object"},
		{"no type", head + `{"seq":0,"time":1,"data":{}}`, session.Corrupt, `line 2: the field "type" is missing`},
		{"no data", head + `{"type":"turn/start","seq":0,"time":1}`, session.Corrupt, `line 2: turn/start: the field "data" is missing`},
		{"data of the wrong kind", head + `{"type":"turn/start","seq":0,"time":1,"data":[1]}`, session.Corrupt, `line 2: turn/start: the field "data" is not an object`},
		{"a field twice", head + `{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"seq":0}`, session.Corrupt, `line 2: the field "seq" comes twice`},
		{"no turn", head + `{"type":"turn/start","seq":0,"time":1,"data":{"tusn":1}}`, session.Corrupt, `line 2: turn/start: the field "turn" of its data is missing`},
		{"unknown mode", head + `{"type":"sandbox/mode","seq":0,"time":1,"data":{"mode":"read-onlx"}}`, session.Corrupt, `line 2: sandbox/mode: the mode "read-onlx" is unknown`},
		{"a gap", head + `{"type":"turn/start","seq":1,"time":1,"data":{"turn":1}}`, session.Corrupt, "line 2: the event has number 1 where 0 follows: a line is missing"},
		{"a second header", head + head + head, session.Corrupt, "line 2: "},
		{"a row without pieces", head + row(`{"turn":1,"step":1,"index":0,"dt":[],"texts":[]}`), session.Corrupt, "line 2: a text-chunks row has no pieces"},
		{"a row of odd length", head + row(`{"turn":1,"step":1,"index":0,"dt":[1],"texts":["a"]}`), session.Corrupt, "line 2: a text-chunks row of 1 pieces needs 0 time steps and has 1"},
		{"a row without its turn", head + row(`{"step":1,"index":0,"dt":[],"texts":["a"]}`), session.Corrupt, `line 2: the field "turn" of a text-chunks row's data is missing`},
		{"unknown and marked in a way we do not know", head + `{"type":"x/y","seq":0,"time":1,"data":{},"surfaceOp":"append","logOnly":false}`, session.UnknownEvent, `line 2: the event type "x/y" is unknown here and not marked ignorable`},
		{"a question without data", head + `{"type":"approval/asked","seq":0,"time":1}`, session.Corrupt, `line 2: approval/asked: the field "data" is missing`},
		{"a row of numbers", head + row(`{"turn":1,"step":1,"index":0,"dt":[],"texts":[1]}`), session.Corrupt, `line 2: the field "texts": piece 0 is not a string`},
		{"a row of fractions", head + row(`{"turn":1,"step":1,"index":0,"dt":[0.5],"texts":["a","b"]}`), session.Corrupt, `line 2: the field "dt": 0.5 is not a whole number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := session.Read(strings.NewReader(tt.log))
			if !errors.Is(err, tt.code) {
				t.Fatalf("error %v, want code %v", err, tt.code)
			}
			if !strings.HasPrefix(err.Error(), "the session log cannot be opened: "+tt.want) {
				t.Errorf("error %q, want %q", err, tt.want)
			}
		})
	}
}

// Unknown events that say that no fold needs them are kept, with every field.
func TestUnknownEventsAreKept(t *testing.T) {
	lines := []string{
		`{"type":"x/a","seq":0,"time":7,"data":{"b":1,"a":[1,2.50,"\u00e9"]},"ignorable":true}`,
		`{"type":"x/b","seq":1,"time":8,"data":{},"logOnly":true}`,
		`{"type":"x/c","seq":2,"time":9,"data":{},"surfaceOp":"none"}`,
		`{"type":"x/d","seq":3,"time":9,"data":{},"surfaceOp":"log-only"}`,
		`{"type":"x/e","seq":4,"time":9,"data":{},"surfaceOp":"logOnly"}`,
		`{"type":"x/f","seq":5,"time":9,"data":{},"log-only":true}`,
		`{"type":"x/g","seq":6,"time":9,"ignorable":true}`,
		`{"type":"x/h","seq":7,"time":9,"data":["no","object"],"ignorable":true}`,
		`{"type":"x/i","seq":8,"time":9,"data":null,"ignorable":true}`,
		`{"type":"x/known","seq":9,"time":9,"data":{}}`,
		`{"type":"turn/start","seq":10,"time":9,"data":{"turn":1,"later":{"z":1,"a":2}},"more":"<&>"}`,
		`{"type":"x/j","seq":11,"time":9,"data":{},"visibility":"log-only"}`,
	}
	in := head[:len(head)-2] + `,"delegationDepth":0,"parent":{"z":1,"a":2}}` + "\n" + strings.Join(lines, "\n") + "\n"
	log, err := session.Read(strings.NewReader(in), "x/known")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := session.NewEncoder(&out, log.Header, false)
	for _, e := range log.Events {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out.String()); diff != "" {
		t.Errorf("the log changed:\n%s", diff)
	}
}

// A message that stays in the log alone is not in front of the model.
func TestLogOnlyMessage(t *testing.T) {
	seen, hidden := session.UserMessage(user("a", "seen")), session.UserMessage(user("b", "hidden"))
	hidden.SurfaceOp = session.SurfaceNone
	s := memory(t, fixed(), seen, hidden)
	if ms := s.Messages(); len(ms) != 1 || ms[0].ID != "a" || s.Len() != 2 {
		t.Errorf("messages %+v of %d events", ms, s.Len())
	}
}

// A line may be longer than any buffer.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	log, err := session.Read(bytes.NewReader(encode(t, false, []session.Event{session.UserMessage(user("u", long))})))
	if err != nil {
		t.Fatal(err)
	}
	if got := log.State.Messages()[0].Text(); got != long {
		t.Errorf("%d bytes came back of %d", len(got), len(long))
	}
}

// The reader neither panics nor hangs on any input, and what it reads it can
// write and read again as the same events.
func FuzzReader(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(head + `{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[1,-2],"texts":["a","b","c"]}}`))
	f.Add([]byte(head + `{"type":"x","data":{},"ignorable":true,"seq":0}` + "\n{"))
	f.Add(sampleLog(f, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := session.Read(bytes.NewReader(data))
		if err != nil {
			var le *session.LineError
			if !errors.As(err, &le) {
				t.Fatalf("the error names no line: %v", err)
			}
			return
		}
		validMessages(t, log.State.Messages())
		var out bytes.Buffer
		enc := session.NewEncoder(&out, log.Header, false)
		for _, e := range log.Events {
			if err := enc.Encode(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := enc.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := session.Read(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out.Bytes())
		}
		if a, b := encoded(log.Events), encoded(again.Events); a != b {
			t.Fatal(cmp.Diff(a, b))
		}
	})
}

// oneByte gives a reader as little as it can.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// A reader does not depend on how its input arrives, and reports an input
// that fails as such.
func TestReaderInput(t *testing.T) {
	data := sampleLog(t, 1)
	a, err := session.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b, err := session.Read(oneByte{bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	if x, y := encoded(a.Events), encoded(b.Events); x != y {
		t.Error(cmp.Diff(x, y))
	}
	broken := fmt.Errorf("the disk is on fire")
	_, err = session.Read(io.MultiReader(bytes.NewReader(data[:len(data)-9]), failing{broken}))
	if !errors.Is(err, session.ReadFailed) || !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// What a row has beside the fields of the format stays with its first event.
func TestUnknownFieldsOfRowsAreKept(t *testing.T) {
	in := head + `{"type":"text-chunks","seq0":0,"time0":5,"data":{"turn":1,"step":1,"index":0,"dt":[1],"id":"x","texts":["a","b"],"later":{"z":1}},"node":"n1"}` + "\n"
	log, err := session.Read(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range log.Events {
		got = append(got, string(e.AppendJSON(nil)))
	}
	want := []string{
		`{"type":"assistant/chunk","seq":0,"time":5,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a"},"id":"x","later":{"z":1}},"node":"n1"}`,
		`{"type":"assistant/chunk","seq":1,"time":6,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"b"}}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if log.State.Len() != 2 {
		t.Errorf("%d events are in the folds", log.State.Len())
	}
}

// Blank lines and other line breaks are no events and no damage.
func TestBlankLines(t *testing.T) {
	one, two := `{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}`, `{"type":"turn/end","seq":1,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}`
	for _, in := range []string{
		head + "\n" + one + "\n \t\n\n" + two + "\n",
		head + one + "\n" + two + "\n\n\n",
		head + one + "\n" + two + "\n  ",
		strings.ReplaceAll(head+one+"\n"+two+"\n\n", "\n", "\r\n"),
	} {
		log, err := session.Read(strings.NewReader(in))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if len(log.Events) != 2 || log.Torn != nil || log.State.Turns() != 1 || log.State.OpenTurn() != 0 {
			t.Errorf("%q: %d events, torn %v", in, len(log.Events), log.Torn)
		}
	}
}
