package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit/replay"
	"github.com/bridle-go/bridle/testkit/script"
)

// drawCall draws a call, which may be wrong in any way.
func drawCall(t *rapid.T) script.Call {
	file := rapid.SampledFrom([]string{"a.txt", "b.txt", "new.txt", "", "no/such"}).Draw(t, "file")
	switch rapid.IntRange(0, 7).Draw(t, "call") {
	case 0, 1:
		return read(file)
	case 2, 3:
		return edit(file, rapid.SampledFrom([]string{"a", "alpha", "beta", ""}).Draw(t, "old"), rapid.StringN(0, 5, 20).Draw(t, "new"))
	case 4, 5:
		return write(file, rapid.StringN(0, 10, 40).Draw(t, "content"))
	case 6:
		return script.Call{Name: rapid.SampledFrom([]string{"shell", "read", "write"}).Draw(t, "name"),
			Arguments: rapid.SampledFrom([]string{"", "{", "[]", "null", `{"file_path":7}`, `{"file_path":"a.txt","x":1}`}).Draw(t, "arguments")}
	}
	return script.Call{Name: "read", ID: "again", Arguments: `{"file_path":"a.txt"}`}
}

func drawStep(t *rapid.T) script.Step {
	s := script.Step{Text: rapid.SampledFrom([]string{"", "ok", longText, "\u2028 \x1b[31m\u00e9"}).Draw(t, "text")}
	if rapid.Bool().Draw(t, "thinks") {
		s.Reasoning = longText
	}
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 4}).Draw(t, "calls") {
		s.Calls = append(s.Calls, drawCall(t))
	}
	if rapid.IntRange(0, 4).Draw(t, "fault") == 0 {
		s.Fault = &script.Fault{
			After:  rapid.IntRange(0, 6).Draw(t, "after"),
			Class:  rapid.SampledFrom([]llm.Class{llm.Server, llm.Overloaded, llm.RateLimited, llm.Network, llm.Auth, llm.Invalid, llm.ContextTooLong}).Draw(t, "class"),
			Silent: rapid.IntRange(0, 3).Draw(t, "silent") == 0,
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "limit") == 0 {
		s.Finish = llm.FinishMaxTokens
	}
	return s
}

// drawAct draws a turn with a few answers, which something may happen in.
func drawAct(t *rapid.T, n int) act {
	a := act{name: fmt.Sprintf("act %d", n), prompt: fmt.Sprintf("prompt %d", n)}
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		a.script = append(a.script, drawStep(t))
	}
	if o := rapid.SampledFrom([]approval.Outcome{"", approval.AllowedOnce, approval.Rejected}).Draw(t, "outcome"); o != "" {
		a.answer = func(context.Context, func()) approval.Outcome { return o }
	}
	a.at = rapid.SampledFrom([]string{"", session.TypeTurnStart, session.TypeStepStart, session.TypeUserMessage, session.TypeAssistantChunk,
		session.TypeAssistantMessage, session.TypeToolResult, session.TypeStepEnd, session.TypeApprovalAsked, agent.TypeRetry}).Draw(t, "at")
	a.n = rapid.IntRange(1, 5).Draw(t, "nth")
	a.do = cancelled
	if rapid.Bool().Draw(t, "steers") {
		a.do = func(ctx context.Context, a *agent.Agent, _ func()) error { return a.Steer(ctx, llm.Text("and this")) }
	}
	return a
}

// Whatever a model says, wherever it fails, and whenever a person stops or
// steers it: the log opens again with nothing to repair, its messages are what
// a provider takes, and it replays byte for byte, and in meaning.
func TestRandomSessionsReplay(t *testing.T) {
	dir := memDir(t)
	sessions := 0
	rapid.Check(t, func(rt *rapid.T) {
		var acts []act
		for i := range rapid.IntRange(1, 3).Draw(rt, "acts") {
			acts = append(acts, drawAct(rt, i))
		}
		sessions++
		folder := filepath.Join(dir, fmt.Sprint(sessions))
		defer os.RemoveAll(folder)
		// A turn that is stopped leaves answers for the next ones, and a recording
		// has to play them all.
		left := 0
		for _, a := range acts {
			left += len(a.script)
		}
		for i := range left {
			acts = append(acts, act{name: "more", prompt: fmt.Sprintf("more %d", i)})
		}
		if err := replay.Record(t.Context(), folder, perform(acts)); err != nil {
			rt.Fatal(err)
		}
		rec, err := replay.Load(folder)
		if err != nil {
			rt.Fatal(err)
		}
		s, err := session.NewMemory(rec.Log.Header, session.Config{}, rec.Log.Events...)
		if err != nil {
			rt.Fatal(err)
		}
		messages := s.Messages()
		if err := errors.Join(valid(messages), s.Close()); err != nil {
			rt.Fatal(err)
		}
		if s.OpenTurn() != 0 || len(s.PendingCalls()) != 0 {
			rt.Errorf("turn %d is open, and %d calls have no result", s.OpenTurn(), len(s.PendingCalls()))
		}
		for _, exact := range []bool{true, false} {
			report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: inMemory(), Cwd: "/w", Exact: exact})
			if err != nil {
				rt.Fatal(err)
			}
			for _, d := range report.Differences {
				rt.Errorf("exact %v: %v", exact, d)
			}
			if got, want := string(encoded(t, report.Log)), string(encoded(t, rec.Log)); exact && got != want && len(report.Differences) == 0 {
				rt.Errorf("the logs differ, and no difference was told:\n%s\n%s", want, got)
			}
		}
	})
}
