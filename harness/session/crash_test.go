package session_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

var ctx = context.Background()

// A log cut after any byte reads as everything that was complete before the
// cut, and the torn line. Without its header it is refused.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	data := sampleLog(t, 1)
	whole, err := session.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:len(lines)-1]
	for cut := range len(lines[0]) - 1 {
		_, err := session.Read(bytes.NewReader(data[:cut]))
		if !errors.Is(err, session.Corrupt) || !strings.Contains(err.Error(), "line 1:") {
			t.Fatalf("cut at %d, in the header: %v", cut, err)
		}
	}
	start, n := len(lines[0]), 0 // of the line, and the events before it
	for i, line := range lines[1:] {
		one, err := session.Read(bytes.NewReader(data[:start+len(line)]))
		if err != nil {
			t.Fatal(err)
		}
		before, after := encoded(whole.Events[:n]), encoded(whole.Events[:len(one.Events)])
		for cut := range len(line) {
			log, err := session.Read(bytes.NewReader(data[:start+cut]))
			if err != nil {
				t.Fatalf("cut at %d: %v", start+cut, err)
			}
			want, torn := before, &session.Torn{Line: i + 2, Offset: int64(start), Bytes: int64(cut)}
			switch cut {
			case 0:
				torn = nil
			case len(line) - 1: // only the line break is missing
				want, torn = after, nil
			}
			if got := encoded(log.Events); got != want {
				t.Fatalf("cut at %d: what was complete changed:\n%s", start+cut, cmp.Diff(want, got))
			}
			if diff := cmp.Diff(torn, log.Torn, cmpopts.IgnoreFields(session.Torn{}, "Reason")); diff != "" {
				t.Fatalf("cut at %d: torn (-want +got):\n%s", start+cut, diff)
			}
		}
		start, n = start+len(line), len(one.Events)
	}
}

// A log that was cut opens with everything that was complete before the cut;
// the torn line is kept beside it; the session goes on; and opening it once
// more finds nothing to put right. It is cut at every byte; a short run
// cuts lines at their ends, and in places between.
func TestCutLogGoesOn(t *testing.T) {
	t.Parallel()
	data := sampleLog(t, 1)
	whole, err := session.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	headerEnd := bytes.IndexByte(data, '\n')
	stride := 1
	if testing.Short() {
		stride = 29
	}
	dir := memDir(t)
	// What is complete is the same for the cuts of one line, and read once.
	var want *session.Log
	wanted := 0
	for cut := 1; cut <= len(data); cut++ {
		if atEnd := bytes.IndexByte(data[max(0, cut-3):min(cut+2, len(data))], '\n') >= 0; !atEnd && cut%stride != 0 {
			continue
		}
		id := fmt.Sprint("cut-", cut)
		// The id is part of the header, so the file must carry its own.
		own := bytes.Replace(data[:cut], []byte(`"id":"s"`), []byte(`"id":"`+id+`"`), 1)
		path := filepath.Join(dir, id+".jsonl")
		if err := os.WriteFile(path, own, 0o600); err != nil {
			t.Fatal(err)
		}
		store := session.NewFileStore(dir, fixed())
		s, err := store.Open(ctx, id)
		if cut < headerEnd {
			if !errors.Is(err, session.Corrupt) || !strings.Contains(err.Error(), "line 1:") {
				t.Fatalf("cut at %d, in the header: %v", cut, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		tail := own[bytes.LastIndexByte(own, '\n')+1:]
		if len(tail) > 0 && (cut == len(data) || data[cut] == '\n') {
			tail = nil // only the line break is missing
		}
		if complete := cut - len(tail); complete != wanted {
			if want, err = session.Read(bytes.NewReader(data[:complete])); err != nil {
				t.Fatal(err)
			}
			wanted = complete
		}
		var got []session.Event
		for e, err := range s.Events() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		n := len(want.Events)
		if a, b := encoded(whole.Events[:n]), encoded(got[:n]); a != b {
			t.Fatalf("cut at %d: what was complete changed:\n%s", cut, cmp.Diff(a, b))
		}
		if len(tail) > 0 {
			rep := s.Repaired()
			if rep.Torn == nil {
				t.Fatalf("cut at %d: the torn line was not reported", cut)
			}
			kept, err := os.ReadFile(rep.TornFile)
			if err != nil || !bytes.Equal(kept, tail) {
				t.Fatalf("cut at %d: kept %q (%v), want %q", cut, kept, err, tail)
			}
		}
		if s.OpenTurn() != 0 || s.OpenStep() != 0 {
			t.Fatalf("cut at %d: turn %d, step %d are open", cut, s.OpenTurn(), s.OpenStep())
		}
		validMessages(t, s.Messages())
		if want.State.Turns() > 0 && len(s.Inbox(session.NextTurn)) == 0 && !hasUserMessage(s.Messages()) {
			t.Fatalf("cut at %d: the prompt is neither before the model nor in the inbox", cut)
		}
		add(t, s, session.TurnStart{Turn: 2}.Event(), session.TurnEnd{Turn: 2, Reason: session.EndReason{Kind: session.EndCompleted}}.Event())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := store.Open(ctx, id)
		if err != nil {
			t.Fatalf("cut at %d, opened again: %v", cut, err)
		}
		if again.Repaired().Needed() {
			t.Fatalf("cut at %d: opened again, it was repaired again: %+v", cut, again.Repaired())
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if err := store.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if !strings.HasSuffix(name, ".jsonl") {
			t.Errorf("%s is left over", name)
		}
	}
}

func hasUserMessage(ms []llm.Message) bool {
	for _, m := range ms {
		if m.Source.Kind == llm.FromUser {
			return true
		}
	}
	return false
}

func encoded(events []session.Event) string {
	var out []byte
	for _, e := range events {
		out = append(e.AppendJSON(out), '\n')
	}
	return string(out)
}

// A log with any one byte flipped either reads with every event but those of
// the damaged line as they were, or is refused with that line named. Nothing
// goes missing without a word.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	data := sampleLog(t, 1)
	whole, err := session.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Count(data, []byte("\n"))
	stride := 3
	if testing.Short() {
		stride = 17
	}
	refused := 0
	for i, mask := range []byte{0x01, 0x20, 0x80, 0xff} {
		for at := i % 3; at < len(data); at += stride {
			bad := bytes.Clone(data)
			bad[at] ^= mask
			line := bytes.Count(data[:at], []byte("\n")) + 1
			log, err := session.Read(bytes.NewReader(bad))
			if err != nil {
				refused++
				var le *session.LineError
				if !errors.As(err, &le) || le.Err == nil {
					t.Fatalf("flip %#x at %d: the error names no line: %v", mask, at, err)
				}
				// A damaged number shows on its own line or the next, and a line
				// break lost or won moves the lines after it.
				if le.Line < line || le.Line > line+1 {
					t.Fatalf("flip %#x at %d, line %d: the error names line %d: %v", mask, at, line, le.Line, err)
				}
				continue
			}
			if log.Torn != nil {
				if log.Torn.Line != lines && log.Torn.Line != lines-1 {
					t.Fatalf("flip %#x at %d: line %d of %d counts as torn", mask, at, log.Torn.Line, lines)
				}
				continue
			}
			if len(log.Events) != len(whole.Events) {
				t.Fatalf("flip %#x at %d, line %d: %d events of %d and no word", mask, at, line, len(log.Events), len(whole.Events))
			}
		}
	}
	if refused == 0 {
		t.Error("no flip was refused")
	}
}

// A numbered log with a line missing or doubled is refused, and the line where
// it shows is named; only the loss of the last line cannot show.
func TestMissingAndDoubledLines(t *testing.T) {
	lines := bytes.SplitAfter(sampleLog(t, 1), []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines {
		var without, twice [][]byte
		without = append(append(without, lines[:i]...), lines[i+1:]...)
		twice = append(append(twice, lines[:i+1]...), lines[i:]...)
		for what, all := range map[string][][]byte{"without": without, "twice": twice} {
			if what == "without" && i == len(lines)-1 {
				continue
			}
			_, err := session.Read(bytes.NewReader(bytes.Join(all, nil)))
			var le *session.LineError
			if !errors.As(err, &le) {
				t.Fatalf("%s line %d: %v", what, i+1, err)
			}
			want := i + 1
			if what == "twice" {
				want = i + 2
			}
			if le.Line != want {
				t.Errorf("%s line %d: the error names line %d: %v", what, i+1, le.Line, err)
			}
		}
	}
}

// writeUntilKilled is the helper process: it resumes the session of a store
// and writes turns, telling which events are durable, until it is killed.
func writeUntilKilled(dir string) {
	store := session.NewFileStore(dir, session.Config{})
	s, err := store.Open(ctx, "s")
	if errors.Is(err, session.NotFound) {
		s, err = store.Create(ctx, session.Header{ID: "s", Cwd: "/w"})
	}
	if err != nil {
		fmt.Println("fail", err)
		os.Exit(1)
	}
	fmt.Println("durable", s.Len())
	for turn := s.Len(); ; turn++ {
		converse(die{}, s, int(turn)+1)
		if err := s.Checkpoint(ctx); err != nil {
			die{}.Fatal(err)
		}
		fmt.Println("durable", s.Len())
	}
}

type die struct{}

func (die) Helper() {}

// Pause spreads the writes of a turn, so that kills hit all parts of it.
func (die) Pause() { time.Sleep(100 * time.Microsecond) }

func (die) Fatal(args ...any) {
	fmt.Println(append([]any{"fail"}, args...)...)
	os.Exit(1)
}

// A process that is killed while it writes leaves a session that resumes with
// everything it had made durable, and no lock.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := 150
	if testing.Short() {
		rounds = 15
	}
	dir := memDir(t)
	store := session.NewFileStore(dir, fixed())
	random := rand.New(rand.NewPCG(1, 2))
	repaired := 0
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SESSION_TEST_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		durable := 0
		lines := bufio.NewScanner(out)
		var timer *time.Timer
		for lines.Scan() {
			if timer == nil { // it has the session open
				after := time.Duration(random.IntN(12_000)) * time.Microsecond
				timer = time.AfterFunc(after, func() { cmd.Process.Kill() })
			}
			word, rest, _ := strings.Cut(lines.Text(), " ")
			if word == "fail" {
				t.Fatalf("round %d: %s", round, rest)
			}
			durable, _ = strconv.Atoi(rest)
		}
		cmd.Wait()
		timer.Stop()

		s, err := store.Open(ctx, "s")
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if s.Repaired().Needed() {
			repaired++
		}
		if s.Len() < int64(durable) {
			t.Fatalf("round %d: %d events, and %d were durable", round, s.Len(), durable)
		}
		validMessages(t, s.Messages())
		if s.OpenTurn() != 0 {
			t.Fatalf("round %d: turn %d is open", round, s.OpenTurn())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s.Len() > 1000 {
			// A fresh log keeps the rounds quick.
			if err := store.Delete(ctx, "s"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if repaired == 0 {
		t.Errorf("none of %d kills left anything to repair, so nothing was tried", rounds)
	}
	t.Logf("%d of %d kills left something to repair", repaired, rounds)
}

// What a repair says about a call that was cut off depends on whether it
// began and on what it does.
func TestInterruptedCalls(t *testing.T) {
	tests := []struct {
		name, tool string
		dispatched bool
		code       errs.Code
		text       string
	}{
		{"a read", "read", true, errs.Aborted, "Error: read was interrupted before its result was known. It changes nothing; the call may be retried."},
		{"a mutation", "edit", true, errs.Aborted, "Error: edit was interrupted before its result was known. It may or may not have taken effect: look at the current state before you decide whether to retry."},
		{"never begun", "edit", false, errs.AbortedBeforeDispatch, "Error: edit was not run: the session was interrupted before it began. Nothing was changed; the call may be retried."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := session.NewMemoryStore(fixed())
			s, err := store.Create(ctx, session.Header{ID: "s", Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			add(t, s, session.TurnStart{Turn: 1}.Event(), session.StepStart{Turn: 1, Step: 1}.Event(),
				session.AssistantMessage{Turn: 1, Step: 1, Message: llm.Message{Role: llm.Assistant, ID: "a",
					Source:  llm.Source{Kind: llm.FromModel},
					Content: []llm.Block{llm.ToolCall("c", tt.tool, "{}")}}}.Event(nil))
			if tt.dispatched {
				add(t, s, session.ToolCall{Turn: 1, Step: 1, CallID: "c", Name: tt.tool, Arguments: "{}"}.Event())
			}
			before := s.Messages()
			s.Close()

			s, err = store.Open(ctx, "s")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if diff := cmp.Diff(session.Repair{Turn: 1, Calls: []string{"c"}}, s.Repaired()); diff != "" {
				t.Errorf("repair (-want +got):\n%s", diff)
			}
			ms := s.Messages()
			validMessages(t, ms)
			validMessages(t, before)
			got := ms[len(ms)-1].Content[0]
			if !got.IsError || got.Content[0].Text != tt.text {
				t.Errorf("result %+v", got)
			}
			if before[len(before)-1].Content[0].Content[0].Text != tt.text {
				t.Errorf("before the repair the model would read %+v", before[len(before)-1])
			}
			log, err := store.Read(ctx, "s")
			if err != nil {
				t.Fatal(err)
			}
			var types []string
			for _, e := range log.Events {
				types = append(types, e.Type)
				if e.Type == session.TypeToolResult {
					var r session.ToolResult
					if err := e.Decode(&r); err != nil {
						t.Fatal(err)
					}
					if r.Error == nil || r.Error.Code != string(tt.code) {
						t.Errorf("error %+v, want code %s", r.Error, tt.code)
					}
				}
			}
			if got := strings.Join(types[len(types)-3:], " "); got != "tool/result step/end turn/end" {
				t.Errorf("the log ends with %s", got)
			}
		})
	}
}

// A stream that was cut keeps what the person saw, and no half tool call.
func TestInterruptedAnswer(t *testing.T) {
	store := session.NewMemoryStore(fixed())
	s, err := store.Create(ctx, session.Header{ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, session.TurnStart{Turn: 1}.Event(), session.StepStart{Turn: 1, Step: 1}.Event(),
		session.UserMessage(user("u", "hi")), session.RequestContext{Provider: "p", Model: "m"}.Event())
	// A first attempt that failed, and a second one.
	add(t, s, chunks(1, 1, append(streamed(0, llm.TextBlock, "lost"), finish(llm.FinishError))...)...)
	made := add(t, s, chunks(1, 1, streamed(0, llm.TextBlock, "I w", "ill")...)...)
	made = append(made, add(t, s, chunks(1, 1, calling(1, "c1", "edit", "{}")...)...)...)
	made = append(made, add(t, s, chunks(1, 1, calling(2, "c2", "edit", `{"a":`)[:2]...)...)...)
	s.Close()

	s, err = store.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ms := s.Messages()
	validMessages(t, ms)
	want := []llm.Block{llm.Text("I will"), llm.ToolCall("c1", "edit", "{}")}
	if diff := cmp.Diff(want, ms[1].Content); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if ms[1].Source.Model != "m" {
		t.Errorf("source %+v", ms[1].Source)
	}
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == session.TypeAssistantMessage {
			if diff := cmp.Diff(seqs(made), e.SourceEventSeqs); diff != "" {
				t.Errorf("made from (-want +got):\n%s", diff)
			}
		}
	}
}

// A prompt that was claimed and did not reach the model waits in the inbox
// again.
func TestClaimedPromptIsNotLost(t *testing.T) {
	store := session.NewMemoryStore(fixed())
	s, err := store.Create(ctx, session.Header{ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	ms := []llm.Message{user("a", "first"), user("b", "second"), user("c", "third")}
	add(t, s, session.InboxSpliced{Target: session.NextTurn, Inserted: ms}.Event(),
		session.TurnStart{Turn: 1}.Event(),
		session.InboxSpliced{Target: session.NextTurn, RemovedCount: 2}.Event(),
		session.StepStart{Turn: 1, Step: 1}.Event(),
		session.UserMessage(ms[0]))
	s.Close()
	s, err = store.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if diff := cmp.Diff(ms[1:], s.Inbox(session.NextTurn)); diff != "" {
		t.Errorf("inbox (-want +got):\n%s", diff)
	}
	// What a person took back during a turn does not return.
	add(t, s, session.TurnStart{Turn: 2}.Event(), session.StepStart{Turn: 2, Step: 1}.Event(),
		session.InboxSpliced{Target: session.NextTurn, Start: 1, RemovedCount: 1}.Event())
	s.Close()
	s, err = store.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if diff := cmp.Diff(ms[1:2], s.Inbox(session.NextTurn)); diff != "" {
		t.Errorf("inbox after a message was taken back (-want +got):\n%s", diff)
	}
}

// Which calls may be retried is the deployment's to say.
func TestMayRetry(t *testing.T) {
	c := fixed()
	c.MayRetry = func(name, arguments string) bool { return name == "look" && arguments == "{}" }
	store := session.NewMemoryStore(c)
	s, err := store.Create(ctx, session.Header{ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, session.TurnStart{Turn: 1}.Event(), session.StepStart{Turn: 1, Step: 1}.Event(),
		session.AssistantMessage{Turn: 1, Step: 1, Message: llm.Message{Role: llm.Assistant, ID: "a",
			Source: llm.Source{Kind: llm.FromModel}, Content: []llm.Block{llm.ToolCall("c", "look", "{}")}}}.Event(nil),
		session.ToolCall{Turn: 1, Step: 1, CallID: "c", Name: "look", Arguments: "{}"}.Event())
	want := "Error: look was interrupted before its result was known. It changes nothing; the call may be retried."
	last := func() string {
		ms := s.Messages()
		return ms[len(ms)-1].Content[0].Content[0].Text
	}
	if got := last(); got != want {
		t.Errorf("open: %s", got)
	}
	s.Close()
	if s, err = store.Open(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := last(); got != want {
		t.Errorf("repaired: %s", got)
	}
}
