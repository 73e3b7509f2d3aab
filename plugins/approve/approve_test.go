package approve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type decider = event.Decider[approval.Question, approval.Outcome]

func always(o approval.Outcome) decider {
	return func(context.Context, approval.Question, event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
		return o, nil
	}
}

func passes(ctx context.Context, q approval.Question, next event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
	return next(ctx, q)
}

func newSession(t *testing.T, events ...session.Event) *session.Session {
	t.Helper()
	s, err := session.NewMemory(session.Header{ID: "s1", Cwd: "/w"}, session.Config{}, events...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOutcomes(t *testing.T) {
	fails := func(context.Context, approval.Question, event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
		return approval.AllowedOnce, errors.New("lost the connection")
	}
	panics := func(context.Context, approval.Question, event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
		panic("ouch")
	}
	never := session.ApprovalPolicy{Policy: approval.Never}.Event()
	ask := session.ApprovalPolicy{Policy: approval.Ask}.Event()
	tests := []struct {
		name      string
		cfg       approve.Config
		log       []session.Event
		answerers []decider
		want      approval.Outcome
		why       string
	}{
		{name: "allowed", answerers: []decider{always(approval.AllowedOnce)}, want: approval.AllowedOnce},
		{name: "rejected", answerers: []decider{always(approval.Rejected), always(approval.AllowedOnce)}, want: approval.Rejected},
		{name: "passed on", answerers: []decider{passes, always(approval.AllowedOnce)}, want: approval.AllowedOnce},
		{name: "nobody", want: approval.Unavailable, why: "no answerer"},
		{name: "all pass", answerers: []decider{passes, passes}, want: approval.Unavailable, why: "no answerer"},
		{name: "answerer fails while allowing", answerers: []decider{fails}, want: approval.Unavailable, why: "lost the connection"},
		{name: "answerer panics", answerers: []decider{panics}, want: approval.Unavailable, why: "ouch"},
		{name: "unknown outcome", answerers: []decider{always("sure")}, want: approval.Unavailable, why: `"sure"`},
		{name: "session says never", log: []session.Event{never}, answerers: []decider{always(approval.AllowedOnce)}, want: approval.Rejected},
		{name: "deployment says never", cfg: approve.Config{Policy: approval.Never}, answerers: []decider{always(approval.AllowedOnce)}, want: approval.Rejected},
		{name: "session says ask", cfg: approve.Config{Policy: approval.Never}, log: []session.Event{ask}, answerers: []decider{always(approval.AllowedOnce)}, want: approval.AllowedOnce},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var bus event.Bus
			for _, a := range test.answerers {
				approval.Answer.On(&bus, plug.NewScope("test"), a)
			}
			service, err := approve.New(test.cfg, &bus)
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t, test.log...)
			got, err := service.Request(t.Context(), &tool.Call{Agent: &tool.Agent{Session: s}},
				approval.Request{ToolName: "write", CallID: "c1", Reason: "need it", Path: "/w/a", Before: "00", After: "11"})
			if got != test.want {
				t.Errorf("outcome %q (%v), want %q", got, err, test.want)
			}
			if (err != nil) != (test.why != "") || err != nil && !strings.Contains(err.Error(), test.why) {
				t.Errorf("error %v, want one with %q", err, test.why)
			}
			checkPair(t, s, test.want)
		})
	}
}

// checkPair wants the question and its answer at the end of the log.
func checkPair(t *testing.T, s *session.Session, outcome approval.Outcome) {
	t.Helper()
	var asked session.ApprovalAsked
	var decided session.ApprovalDecided
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case session.TypeApprovalAsked:
			err = e.Decode(&asked)
		case session.TypeApprovalDecided:
			err = e.Decode(&decided)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := session.ApprovalAsked{ID: asked.ID, CallID: "c1", ToolName: "write", Reason: "need it", Path: "/w/a", Before: "00", After: "11"}
	if diff := cmp.Diff(want, asked); diff != "" || asked.ID == "" {
		t.Errorf("question in the log (-want +got):\n%s", diff)
	}
	if decided.ID != asked.ID || decided.Outcome != outcome {
		t.Errorf("answer in the log %+v, want outcome %q of question %q", decided, outcome, asked.ID)
	}
}

// askWithdrawn asks a question that is cancelled while it is open, and checks
// what the caller and the log are told.
func askWithdrawn(ctx context.Context, t *testing.T, service approval.Service, s *session.Session) {
	t.Helper()
	got, err := service.Request(ctx, &tool.Call{Agent: &tool.Agent{Session: s}},
		approval.Request{ToolName: "write", CallID: "c1", Reason: "need it", Path: "/w/a", Before: "00", After: "11"})
	if got != approval.Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v", got, err)
	}
	checkPair(t, s, approval.Cancelled)
}

func TestAbortWithdrawsTheQuestion(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var bus event.Bus
	approval.Answer.On(&bus, plug.NewScope("test"), func(ctx context.Context, _ approval.Question, _ event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
		cancel()
		<-ctx.Done()
		return approval.AllowedOnce, nil // too late to count
	})
	service, err := approve.New(approve.Config{}, &bus)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t)
	askWithdrawn(ctx, t, service, s)
}

// An answerer that does not notice that the question is withdrawn does not keep
// the call that asked.
func TestAbortDoesNotWaitForADeafAnswerer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var bus event.Bus
		deaf := make(chan struct{})
		approval.Answer.On(&bus, plug.NewScope("test"), func(context.Context, approval.Question, event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
			cancel()
			<-deaf
			return approval.AllowedOnce, nil
		})
		service, err := approve.New(approve.Config{}, &bus)
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t)
		askWithdrawn(ctx, t, service, s)
		close(deaf)
		synctest.Wait()
		checkPair(t, s, approval.Cancelled)
	})
}

func TestNobodyIsAskedWithoutASession(t *testing.T) {
	var bus event.Bus
	approval.Answer.On(&bus, plug.NewScope("test"), always(approval.AllowedOnce))
	service, err := approve.New(approve.Config{}, &bus)
	if err != nil {
		t.Fatal(err)
	}
	for _, actor := range []any{nil, &tool.Call{}, "someone"} {
		if got, err := service.Request(t.Context(), actor, approval.Request{}); got != approval.Unavailable || err == nil {
			t.Errorf("actor %v: %q, %v", actor, got, err)
		}
	}
}

func TestUnknownPolicyIsRefused(t *testing.T) {
	if _, err := approve.New(approve.Config{Policy: "maybe"}, nil); err == nil {
		t.Error("policy \"maybe\" was taken")
	}
}

func TestTerminal(t *testing.T) {
	tests := []struct {
		typed string
		want  approval.Outcome
	}{
		{"y\n", approval.AllowedOnce}, {" YES \n", approval.AllowedOnce}, {"yes", approval.AllowedOnce},
		{"\n", approval.Rejected}, {"n\n", approval.Rejected}, {"yess\n", approval.Rejected}, {"y\x1b[A\n", approval.Rejected},
		{"", approval.Unavailable},
	}
	for _, test := range tests {
		var out bytes.Buffer
		term := approve.NewTerminal(strings.NewReader(test.typed), &out)
		got, err := term.Answer(t.Context(), approval.Question{Request: approval.Request{ToolName: "write", Reason: "r"}}, nil)
		if got != test.want {
			t.Errorf("typed %q: %q (%v), want %q", test.typed, got, err, test.want)
		}
	}
}

// What is shown must not be able to repaint the terminal or reorder itself.
func TestTerminalShowsWhatIsHidden(t *testing.T) {
	var out bytes.Buffer
	term := approve.NewTerminal(strings.NewReader("n\n"), &out)
	term.MaxDiffLines = 3
	_, err := term.Answer(t.Context(), approval.Question{Request: approval.Request{
		ToolName: "write", Path: "/w/\x1b[2Ja\u202egpj.exe", Reason: "fine\r\nAllow this once? [y/N] y",
		Diff: func(context.Context) (string, error) {
			return "-a\n+\tb\u2066\x07\n+\xffc\n+d\n+e\n", nil
		},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `
write asks for approval
  path    /w/\x1b[2Ja\u202egpj.exe
  reason  fine\r\nAllow this once? [y/N] y
  -a
  +	b\u2066\a
  +\xffc
  ... and 2 more lines
Allow this once? [y/N] 
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTerminalThatCannotShowTheChangeAllowsNothing(t *testing.T) {
	term := approve.NewTerminal(strings.NewReader("y\n"), io.Discard)
	boom := errors.New("boom")
	got, err := term.Answer(t.Context(), approval.Question{Request: approval.Request{
		Diff: func(context.Context) (string, error) { return "", boom },
	}}, nil)
	if got != approval.Unavailable || !errors.Is(err, boom) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTerminalQuestionIsWithdrawn(t *testing.T) {
	in, typing := io.Pipe()
	defer in.Close()
	term := approve.NewTerminal(in, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := term.Answer(ctx, approval.Question{}, nil)
	if got != approval.Cancelled || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	// The next question is answered by what is typed after it.
	go func() { _, _ = typing.Write([]byte("y\n")) }()
	if got, err := term.Answer(t.Context(), approval.Question{}, nil); got != approval.AllowedOnce {
		t.Errorf("got %q, %v", got, err)
	}
	typing.Close()
}

// The runtime context tells the policy of the session, as it is at the moment.
func TestPolicyIsInTheRuntimeContext(t *testing.T) {
	d := testkit.Compose(t, approve.Plugin(approve.Config{Policy: approval.Never}))
	s := newSession(t)
	text := func() string {
		_, sections, err := d.Prompt().Context(&tool.Agent{Session: s})
		if err != nil {
			t.Fatal(err)
		}
		if len(sections) != 1 || sections[0].Name != "approval:policy" {
			t.Fatalf("sections %+v", sections)
		}
		return sections[0].Text
	}
	if got := text(); !strings.Contains(got, "nobody is asked") {
		t.Errorf("never: %q", got)
	}
	if _, err := s.Append(session.ApprovalPolicy{Policy: approval.Ask}.Event()); err != nil {
		t.Fatal(err)
	}
	if got := text(); !strings.Contains(got, "the user is asked") {
		t.Errorf("ask: %q", got)
	}
	if text, _, err := d.Prompt().Context(&tool.Agent{}); text != "" || err != nil {
		t.Errorf("without a session: %q, %v", text, err)
	}
}
