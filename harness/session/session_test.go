package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
)

func memory(t *testing.T, c session.Config, events ...session.Event) *session.Session {
	t.Helper()
	s, err := session.NewMemory(session.Header{ID: "s", Cwd: "/w"}, c, events...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// An append is all or nothing, and names what is wrong with an event.
func TestAppendRefuses(t *testing.T) {
	s := memory(t, fixed())
	good := session.TurnStart{Turn: 1}.Event()
	tests := []struct {
		name string
		e    session.Event
		code error
		want string
	}{
		{"no type", session.Event{Data: []byte("{}")}, session.InvalidEvent, "it has no type"},
		{"a row", session.Event{Type: "text-chunks", Data: []byte("{}")}, session.InvalidEvent, `the type "text-chunks" is one of the format's own`},
		{"a header", session.Event{Type: "session", Data: []byte("{}")}, session.InvalidEvent, `the type "session" is one of the format's own`},
		{"no data", session.Event{Type: "turn/start"}, session.InvalidEvent, `the field "data" is missing`},
		{"not JSON", session.Event{Type: "turn/start", Data: []byte("{")}, session.InvalidEvent, "it is not valid JSON"},
		{"no object", session.Event{Type: "turn/start", Data: []byte("1")}, session.InvalidEvent, `the field "data" is not an object`},
		{"no turn", session.Event{Type: "turn/start", Data: []byte("{}")}, session.InvalidEvent, `the field "turn" of its data is missing`},
		{"unknown", session.Event{Type: "x", Data: []byte("{}")}, session.UnknownEvent, `the event type "x" is unknown here`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Append(good, tt.e)
			if !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %v with %q", err, tt.code, tt.want)
			}
		})
	}
	if s.Len() != 0 || s.OpenTurn() != 0 {
		t.Errorf("%d events got in, turn %d is open", s.Len(), s.OpenTurn())
	}
	// Data on several lines is brought onto one.
	out := add(t, s, session.Event{Type: "turn/start", Data: []byte("{\n \"turn\": 1\r\n}")})
	if got := string(out[0].Data); got != `{"turn":1}` {
		t.Errorf("data %q", got)
	}
}

// Two runs with the same clock and ids give the same bytes, and time never
// goes back.
func TestReproducible(t *testing.T) {
	if a, b := sampleLog(t, 2), sampleLog(t, 2); !bytes.Equal(a, b) {
		t.Error(cmp.Diff(string(a), string(b)))
	}
	times := []int64{50, 40, 60, 10}
	s := memory(t, session.Config{Clock: func() time.Time {
		at := times[0]
		times = times[1:]
		return time.UnixMilli(at)
	}})
	var got []int64
	for range 3 {
		got = append(got, add(t, s, session.Observed{Key: "k", State: "absent"}.Event())[0].Time)
	}
	if diff := cmp.Diff([]int64{50, 60, 60}, got); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

// Subscribers see every event once and in order, whoever appends and even
// when a subscriber appends itself; a panic in one harms nobody.
func TestSubscribe(t *testing.T) {
	c := fixed()
	var said bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&said, nil))
	s := memory(t, session.Config{Logger: c.Logger})
	var mu sync.Mutex
	var got []int64
	s.Subscribe(func(e session.Event) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, e.Seq)
	})
	once := false
	undo := s.Subscribe(func(e session.Event) {
		if !once {
			once = true
			add(t, s, session.Observed{Key: "from a subscriber", State: "absent"}.Event())
			panic("oops")
		}
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				add(t, s, session.Observed{Key: "k", State: "absent"}.Event())
			}
		})
	}
	wg.Wait()
	undo()
	undo()
	// Whoever delivers last has done so before its Append returned, and this
	// Append waits for nobody: one more delivers whatever is left.
	add(t, s, session.Observed{Key: "k", State: "absent"}.Event())
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 802 {
		t.Fatalf("%d events seen, want 802", len(got))
	}
	for i, seq := range got {
		if seq != int64(i) {
			t.Fatalf("event %d came at place %d", seq, i)
		}
	}
	if !strings.Contains(said.String(), "panic=oops") {
		t.Errorf("the panic was logged as %q", said.String())
	}
}

// Folds that follow an inbox: splices anywhere, per queue, and bounds that
// reach past the end.
func TestInbox(t *testing.T) {
	s := memory(t, fixed())
	ids := func(target session.InboxTarget) string {
		var out []string
		for _, m := range s.Inbox(target) {
			out = append(out, m.ID)
		}
		return strings.Join(out, " ")
	}
	a, b, c := user("a", "1"), user("b", "2"), user("c", "3")
	steps := []struct {
		splice session.InboxSpliced
		turn   string
		step   string
	}{
		{session.InboxSpliced{Target: session.NextTurn, Inserted: []llm.Message{a, b}}, "a b", ""},
		{session.InboxSpliced{Target: session.NextStep, Inserted: []llm.Message{c}}, "a b", "c"},
		{session.InboxSpliced{Target: session.NextTurn, Start: 1, Inserted: []llm.Message{c}}, "a c b", "c"},
		{session.InboxSpliced{Target: session.NextTurn, Start: 1, RemovedCount: 1}, "a b", "c"},
		{session.InboxSpliced{Target: session.NextStep, Start: 0, RemovedCount: 9}, "a b", ""},
		{session.InboxSpliced{Target: session.NextTurn, Start: 7, Inserted: []llm.Message{c}}, "a b c", ""},
		{session.InboxSpliced{Target: session.NextTurn, Start: -1, RemovedCount: 1}, "b c", ""},
	}
	for i, st := range steps {
		add(t, s, st.splice.Event())
		if ids(session.NextTurn) != st.turn || ids(session.NextStep) != st.step {
			t.Fatalf("splice %d: %q and %q, want %q and %q", i, ids(session.NextTurn), ids(session.NextStep), st.turn, st.step)
		}
	}
}

// The conversation is valid for a provider whatever the log holds: results
// late, out of order, doubled or missing, ids used again, empty answers.
func TestMessagesAreAlwaysValid(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := memory(t, fixed())
		for i := range 30 {
			id := fmt.Sprint("c", random.IntN(3))
			switch random.IntN(4) {
			case 0:
				add(t, s, session.UserMessage(user(fmt.Sprint(i), "x")))
			case 1:
				var blocks []llm.Block
				for n := range random.IntN(3) {
					blocks = append(blocks, llm.ToolCall(fmt.Sprint("c", n), "edit", "{}"))
				}
				if random.IntN(2) == 0 {
					blocks = append(blocks, llm.Text("t"))
				}
				add(t, s, session.AssistantMessage{Turn: 1, Step: 1, Message: llm.Message{Role: llm.Assistant,
					ID: fmt.Sprint(i), Source: llm.Source{Kind: llm.FromModel}, Content: blocks}}.Event(nil))
			case 2:
				add(t, s, session.ToolCall{Turn: 1, Step: 1, CallID: id, Name: "edit", Arguments: "{}"}.Event())
			default:
				add(t, s, session.ToolResult{Turn: 1, Step: 1,
					Message: session.ResultMessage(fmt.Sprint(i), id, false, llm.Text("r"))}.Event(-1))
			}
			validMessages(t, s.Messages())
		}
	}
}

// Observations are bounded, and the newest are kept.
func TestObservationsAreBounded(t *testing.T) {
	s := memory(t, session.Config{})
	for i := range 4096 + 10 {
		add(t, s, session.Observed{Key: fmt.Sprint(i), State: session.ObservedPresent, Version: "1"}.Event())
	}
	add(t, s, session.Observed{Key: "10", State: session.ObservedAbsent}.Event())
	got := s.Observations()
	if len(got) != 4096 || got[0].Key != "11" || got[4095] != (session.Observed{Key: "10", State: session.ObservedAbsent}) {
		t.Errorf("%d kept, from %+v to %+v", len(got), got[0], got[len(got)-1])
	}
}

// The tool pipeline's folds follow the last event of their kind.
func TestModes(t *testing.T) {
	raw := []string{
		`{"type":"sandbox/mode","data":{"mode":"read-only"},"seq":0}`,
		`{"type":"approval/policy","data":{"policy":"ask"}}`,
		`{"type":"approval/policy","data":{"mode":"never"}}`,
		`{"type":"request/header","data":{"header":{"config":{"provider":"p","model":"m","effort":"high"},"system":"{{system}}","tools":"{{tools}}"},"reason":"initial"}}`,
	}
	var events []session.Event
	for _, line := range raw {
		e, err := session.ParseEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	s := memory(t, fixed(), events...)
	if s.SandboxMode() != sandbox.ReadOnly || s.ApprovalPolicy() != "never" {
		t.Errorf("mode %q, policy %q", s.SandboxMode(), s.ApprovalPolicy())
	}
	h, ok := s.RequestHeader()
	if !ok || h.Header.Config.Model != "m" || string(h.Header.Config.Extra["effort"]) != `"high"` || string(h.Header.Tools) != `"{{tools}}"` {
		t.Errorf("header %+v", h)
	}
}

// One session takes appends, reads, folds and checkpoints at once.
func TestConcurrentUse(t *testing.T) {
	stores(t, func(t *testing.T, store session.Store) {
		s := create(t, store, "s")
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for range 50 {
					add(t, s, chunks(1, w, llm.Chunk{Type: llm.TextDelta, Text: "x"}, llm.Chunk{Type: llm.TextDelta, Text: "y"})...)
				}
			})
			wg.Go(func() {
				for range 10 {
					n := s.Len()
					if got := int64(len(events(t, s))); got < n {
						t.Errorf("%d events seen of %d", got, n)
					}
					s.Messages()
					if err := s.Checkpoint(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		log, err := store.Read(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		if len(log.Events) != 400 {
			t.Errorf("%d events, want 400", len(log.Events))
		}
	})
}

// An idle session holds its folds and one open file, whatever it streamed.
func TestIdleMemory(t *testing.T) {
	const sessions = 200
	measure := func(deltas int) int64 {
		store := session.NewFileStore(memDir(t), session.Config{})
		text := make([]string, deltas)
		for i := range text {
			text[i] = "word "
		}
		var open []*session.Session
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range sessions {
			s := create(t, store, fmt.Sprint("s", i))
			add(t, s, session.TurnStart{Turn: 1}.Event(), session.StepStart{Turn: 1, Step: 1}.Event(), session.UserMessage(user("u", "hi")))
			made := add(t, s, chunks(1, 1, streamed(0, llm.TextBlock, text...)...)...)
			add(t, s, session.AssistantMessage{Turn: 1, Step: 1, Message: llm.Message{Role: llm.Assistant, ID: "a",
				Source: llm.Source{Kind: llm.FromModel}, Content: []llm.Block{llm.Text("short")}}}.Event(seqs(made)))
			add(t, s, session.StepEnd{Turn: 1, Step: 1}.Event(), session.TurnEnd{Turn: 1, Reason: session.EndReason{Kind: session.EndCompleted}}.Event())
			open = append(open, s)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		for _, s := range open {
			s.Close()
		}
		return (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / sessions
	}
	few, many := measure(10), measure(500)
	t.Logf("heap per idle session: %d bytes after 10 deltas, %d after 500", few, many)
	if many > few+2048 || many > 16<<10 {
		t.Errorf("an idle session holds %d bytes after 500 deltas, and %d after 10", many, few)
	}
}

// deltaLog returns the bytes of a log of n events, most of them deltas.
func deltaLog(b *testing.B, n int) []byte {
	var out bytes.Buffer
	enc := session.NewEncoder(&out, session.Header{ID: "s", CreatedAt: 5, Cwd: "/w"}, false)
	seq := int64(0)
	put := func(events ...session.Event) []int64 {
		var made []int64
		for _, e := range events {
			e.Seq, e.Time = seq, 5+seq
			made = append(made, seq)
			seq++
			if err := enc.Encode(e); err != nil {
				b.Fatal(err)
			}
		}
		return made
	}
	words := make([]string, 90)
	for i := range words {
		words[i] = fmt.Sprint("word", i, " ")
	}
	for turn := 1; seq < int64(n); turn++ {
		put(session.TurnStart{Turn: turn}.Event(), session.StepStart{Turn: turn, Step: 1}.Event(), session.UserMessage(user("u", "go on")))
		made := put(chunks(turn, 1, streamed(0, llm.TextBlock, words...)...)...)
		put(session.AssistantMessage{Turn: turn, Step: 1, Message: llm.Message{Role: llm.Assistant, ID: "a",
			Source: llm.Source{Kind: llm.FromModel}, Content: []llm.Block{llm.Text(strings.Join(words, ""))}}}.Event(made))
		put(session.StepEnd{Turn: turn, Step: 1}.Event(), session.TurnEnd{Turn: turn, Reason: session.EndReason{Kind: session.EndCompleted}}.Event())
	}
	if err := enc.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// Reading a log of 100 000 events, each of which is yielded.
func BenchmarkRead100kEvents(b *testing.B) {
	data := deltaLog(b, 100_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		rd, err := session.NewReader(bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			_, err := rd.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n < 100_000 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// Resuming a session of 100 000 events: read, checked, folded.
func BenchmarkOpen100kEvents(b *testing.B) {
	data := deltaLog(b, 100_000)
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), data, 0o600); err != nil {
		b.Fatal(err)
	}
	store := session.NewFileStore(dir, session.Config{})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := store.Open(ctx, "s")
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// Listing 100 sessions of 10 000 events whose logs are not remembered.
func BenchmarkList100(b *testing.B) {
	data := deltaLog(b, 10_000)
	dir := b.TempDir()
	for i := range 100 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".jsonl")), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(100 * len(data)))
	for b.Loop() {
		list, err := session.NewFileStore(dir, session.Config{}).List(ctx)
		if err != nil || len(list) != 100 {
			b.Fatal(len(list), err)
		}
	}
}

func benchmarkAppend(b *testing.B, s *session.Session, e session.Event, checkpoint bool) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Append(e); err != nil {
			b.Fatal(err)
		}
		if checkpoint {
			if err := s.Checkpoint(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func benchStore(b *testing.B) *session.Session {
	store := session.NewFileStore(b.TempDir(), session.Config{})
	s, err := store.Create(ctx, session.Header{ID: "s", Cwd: "/w"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func BenchmarkAppendDelta(b *testing.B) {
	benchmarkAppend(b, benchStore(b), chunks(1, 1, llm.Chunk{Type: llm.TextDelta, Text: " word"})[0], false)
}

func BenchmarkAppendMessage(b *testing.B) {
	benchmarkAppend(b, benchStore(b), session.Observed{Key: "k", Path: "/w/f", State: session.ObservedPresent, Version: "v"}.Event(), false)
}

func BenchmarkAppendDurable(b *testing.B) {
	benchmarkAppend(b, benchStore(b), session.Observed{Key: "k", Path: "/w/f", State: session.ObservedPresent, Version: "v"}.Event(), true)
}

// 32 goroutines each append and wait until that is durable.
func BenchmarkAppendDurableTogether(b *testing.B) {
	s := benchStore(b)
	e := session.Observed{Key: "k", Path: "/w/f", State: session.ObservedPresent, Version: "v"}.Event()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Append(e); err != nil {
				b.Error(err)
			}
			if err := s.Checkpoint(ctx); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// What waits for the end of a session is told once, after the end, and without
// the session's lock; a panic in it harms nobody.
func TestOnClose(t *testing.T) {
	s := memory(t, session.Config{Logger: slog.New(slog.DiscardHandler)})
	var told []string
	tell := func(word string) func() {
		return func() {
			told = append(told, word)
			if _, err := s.Append(session.TurnStart{Turn: 1}.Event()); !errors.Is(err, session.Closed) {
				t.Errorf("%s: the session is open: %v", word, err)
			}
		}
	}
	s.OnClose(tell("first"))
	undo := s.OnClose(tell("undone"))
	s.OnClose(func() { panic("ouch") })
	s.OnClose(tell("last"))
	undo()
	undo()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.OnClose(tell("late"))()
	if diff := cmp.Diff([]string{"first", "last", "late"}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
