package session

import (
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/harness/llm"
)

// Repair is what opening a log put right.
type Repair struct {
	// Torn is the torn last line that was cut off, or nil, and TornFile where
	// it is kept.
	Torn     *Torn
	TornFile string
	// Turn is the turn that was closed as interrupted, or 0.
	Turn int
	// Calls are the ids of the tool calls that were given a result.
	Calls []string
	// Requeued counts the messages that were claimed from the inbox and had
	// not reached the model; they wait in it again.
	Requeued int
}

// Needed reports whether anything was put right.
func (r Repair) Needed() bool {
	return r.Torn != nil || r.Turn != 0 || len(r.Calls) > 0 || r.Requeued > 0
}

// repairEvents returns the events that close what the end of a process left
// open: the answer as far as it came, a result for each call without one, the
// step, the turn. Nothing that a person saw or said is lost.
func repairEvents(s *State, c Config) ([]Event, Repair) {
	var out []Event
	var report Repair
	turn, step := s.turn, s.step
	pending := s.pending
	if answer, chunks, ok := partialAnswer(s, c); ok {
		out = append(out, answer.Event(chunks))
		pending = nil
		for _, call := range answer.Message.ToolCalls() {
			pending = append(pending, pendingCall{call: call, seq: -1})
		}
	}
	for _, p := range pending {
		r := interrupted(c.NewID(), p.call, p.seq >= 0, c.MayRetry)
		r.Turn, r.Step = turn, step
		if turn == 0 {
			r.Turn, r.Step = s.lastTurn, s.lastStep
		} else if step == 0 {
			r.Step = s.lastStep
		}
		out = append(out, r.Event(p.seq))
		report.Calls = append(report.Calls, p.call.ID)
	}
	if step != 0 {
		out = append(out, StepEnd{Turn: turn, Step: step}.Event())
	}
	if turn != 0 {
		out = append(out, TurnEnd{Turn: turn, Reason: EndReason{Kind: EndInterrupted}}.Event())
		report.Turn = turn
	}
	next := map[InboxTarget]int{}
	for _, cl := range s.claimed {
		out = append(out, InboxSpliced{Target: cl.target, Start: next[cl.target], Inserted: []llm.Message{cl.message}}.Event())
		next[cl.target]++
		report.Requeued++
	}
	return out, report
}

// partialAnswer puts together the chunks of an answer that has no message
// yet. Of several attempts at one request the last counts.
func partialAnswer(s *State, c Config) (answer AssistantMessage, seqs []int64, ok bool) {
	acc := &llm.Accumulator{}
	for _, raw := range s.chunks {
		var body AssistantChunk
		if err := json.Unmarshal(raw.data, &body); err != nil {
			continue // accept has checked it
		}
		answer.Turn, answer.Step = body.Turn, body.Step
		if err := acc.Add(body.Chunk); err != nil {
			acc, seqs = &llm.Accumulator{}, nil
			if err := acc.Add(body.Chunk); err != nil {
				continue
			}
		}
		seqs = append(seqs, raw.seq)
	}
	blocks := acc.Blocks()
	if len(blocks) == 0 {
		return answer, nil, false
	}
	source := llm.Source{Kind: llm.FromModel}
	if s.context != nil {
		source.Provider, source.Model = s.context.Provider, s.context.Model
	} else if s.header != nil {
		source.Provider, source.Model = s.header.Header.Config.Provider, s.header.Header.Config.Model
	}
	answer.Message = llm.Message{Role: llm.Assistant, Content: blocks, Source: source, ID: c.NewID()}
	answer.Usage = acc.Usage()
	return answer, seqs, true
}

// repair appends what closes the log, and makes it durable by the next
// checkpoint.
func (s *Session) repair(torn *Torn, tornFile string) error {
	events, report := repairEvents(s.state, s.config)
	report.Torn, report.TornFile = torn, tornFile
	s.repaired = report
	if len(events) == 0 {
		return nil
	}
	if _, err := s.Append(events...); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	return nil
}

// Repaired returns what opening the session put right.
func (s *Session) Repaired() Repair { return s.repaired }
