package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// randomAnswer is a stream of chunks that mostly hang together.
func randomAnswer(r *rand.Rand) []llm.Chunk {
	var out []llm.Chunk
	next := 0
	for range r.IntN(6) {
		i := next
		if r.IntN(10) == 0 {
			i = r.IntN(4) - 1
		}
		next++
		switch r.IntN(6) {
		case 0:
			out = append(out, start(i, llm.TextBlock), say(i, "text"), end(i, llm.Text("text")))
		case 1:
			out = append(out, start(i, llm.ReasoningBlock), llm.Chunk{Type: llm.ReasoningDelta, Index: i, Text: "hm"})
		case 2:
			out = append(out, start(i, llm.ToolCallBlock), llm.Chunk{Type: llm.ToolCallDelta, Index: i, ID: "x", Name: "look", ArgumentsDelta: "{"})
		default:
			id := []string{"a", "b", "c", ""}[r.IntN(4)]
			name := []string{"look", "touch", "look", "nothing"}[r.IntN(4)]
			arguments := []string{`{"n":1}`, `{"n":2}`, `{`, ``, `[]`, `{"n":"x"}`}[r.IntN(6)]
			out = append(out, start(i, llm.ToolCallBlock), end(i, call(id, name, arguments)))
		}
	}
	if r.IntN(4) == 0 {
		out = append(out, llm.Chunk{Type: llm.UsageChunk, Usage: &llm.Usage{InputTokens: 1}})
	}
	if r.IntN(8) > 0 {
		out = append(out, finish([]llm.FinishKind{llm.FinishStop, llm.FinishToolCalls, llm.FinishToolCalls, llm.FinishMaxTokens, llm.FinishError, llm.FinishAborted}[r.IntN(6)]))
	}
	return out
}

// However answers, cancellations, failing tools and steering come together,
// the log can be read again with nothing open, and the conversation is one
// that a provider accepts.
func TestRandomTurns(t *testing.T) {
	runs := 400
	if testing.Short() {
		runs = 60
	}
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 0))
			model := &raw{}
			for range 1 + r.IntN(6) {
				model.answers = append(model.answers, randomAnswer(r))
			}
			moods := make([]int, 64)
			for i := range moods {
				moods[i] = r.IntN(8)
			}
			l := new(lab)
			a, _ := rawAgent(t, model, l)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			at, seen := r.IntN(60), 0
			defer a.Session().Subscribe(func(session.Event) {
				if seen++; seen == at {
					cancel()
				}
			})()
			l.enter = func(context.Context, string) error {
				switch moods[int(l.most.Load())%len(moods)] {
				case 0:
					panic("ouch")
				case 1:
					return errors.New("no")
				case 2:
					return a.Steer(context.Background(), llm.Text("hurry"))
				case 3:
					cancel()
				}
				return nil
			}
			for range 3 {
				_, _ = a.Ask(ctx, "go") // how it ends is up to chance
				checkMessages(t, a.Session().Messages())
				log := reopened(t, a.Session())
				if log.State.OpenTurn() != 0 || log.State.OpenStep() != 0 || len(log.State.PendingCalls()) > 0 {
					t.Errorf("something is open: turn %d, step %d, calls %v", log.State.OpenTurn(), log.State.OpenStep(), log.State.PendingCalls())
				}
			}
		})
	}
}
