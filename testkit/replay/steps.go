package replay

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// recordedError is a failure as the log tells of it.
type recordedError struct {
	text  string
	code  errs.Code
	class llm.Class     // of a failure that was tried again
	wait  time.Duration // before the next attempt
}

func (e *recordedError) Error() string { return e.text }

// Unwrap lets the loop decide as it did: by the class of a failure that was
// tried again, and by the code of one that was final.
func (e *recordedError) Unwrap() error {
	if e.class != "" {
		return &llm.Error{Class: e.class, RetryAfter: e.wait, Message: e.text}
	}
	return &errs.Error{Code: e.code, Message: e.text}
}

// readTurn finds out how the model answered and where the turn was stopped.
func (p *plan) readTurn(t *turnPlan) {
	t.cut = !t.whole || !slices.Contains(ownEnds, t.reason.Kind)
	t.cutAt = t.end
	if t.cut || t.reason.Kind == session.EndAborted {
		p.findStop(t)
	}
	p.readSteps(t)
	if t.reason.Kind == session.EndMaxSteps {
		t.maxSteps = len(t.steps)
	}
}

// stopped are the codes of results that calls get when their turn is stopped.
var stopped = []errs.Code{errs.Aborted, errs.AbortedBeforeDispatch, errs.FSAborted, errs.ApprovalCancelled}

// findStop goes back from the end of a turn over what is written because it
// was stopped.
func (p *plan) findStop(t *turnPlan) {
	i := t.end
	if t.whole {
		i--
	}
	asking := false
back:
	for ; i > t.start+1; i-- {
		e := p.events[i-1]
		switch e.Type {
		case session.TypeStepEnd:
		case session.TypeAssistantMessage:
			var b session.AssistantMessage
			_ = e.Decode(&b)
			// A finished answer without calls ends its turn whatever happens then,
			// so what stopped the turn came with the end of the stream.
			if p.finished(e.SourceEventSeqs, t) && !t.cut && len(b.Message.ToolCalls()) > 0 {
				break back
			}
			if t.cut && !p.wroteAfterCrash(i-1, t) {
				break back
			}
		case session.TypeToolResult:
			var b session.ToolResult
			_ = e.Decode(&b)
			if b.Error == nil || !slices.Contains(stopped, errs.Code(b.Error.Code)) {
				break back
			}
			if len(e.SourceEventSeqs) > 0 {
				t.cancelIn = b.Message.Source.CallID
			}
		case session.TypeApprovalDecided:
			if readQuestion(e).outcome != approval.Cancelled {
				break back
			}
			asking = true
		default:
			// What plugins note meanwhile tells nothing of the loop.
			if p.exact || p.shared(e) || !e.Ignorable && !e.LogOnly() {
				break back
			}
		}
	}
	t.cutAt = i
	if asking || t.cut {
		t.cancelIn = ""
	}
	if t.cancelIn == "" {
		t.cancelAfter = p.sharedBefore(i)
	}
}

// finished reports whether the chunks of an answer include its finish.
func (p *plan) finished(seqs []int64, t *turnPlan) bool {
	for _, e := range p.events[t.start:t.end] {
		if e.Type != session.TypeAssistantChunk || !slices.Contains(seqs, e.Seq) {
			continue
		}
		var b session.AssistantChunk
		if e.Decode(&b) == nil && b.Chunk.Type == llm.FinishChunk {
			return true
		}
	}
	return len(seqs) == 0
}

// wroteAfterCrash reports whether an answer was put together when the log was
// opened again: nothing but aborted results follows it.
func (p *plan) wroteAfterCrash(i int, t *turnPlan) bool {
	for _, e := range p.events[i+1 : t.end] {
		if e.Type == session.TypeToolCall {
			return false
		}
	}
	return t.whole
}

// readSteps sorts the chunks of a turn into attempts.
func (p *plan) readSteps(t *turnPlan) {
	var s *stepPlan
	for i := t.start; i < min(t.cutAt, t.end); i++ {
		e := p.events[i]
		if e.Type == session.TypeStepStart {
			var b session.StepStart
			_ = e.Decode(&b)
			s = &stepPlan{n: b.Step, begun: i, asked: -1}
			s.attempts = p.attempts(i+1, t, s)
			t.steps[b.Step] = s
		}
	}
	if s == nil || t.reason.Kind == session.EndCompleted || t.reason.Kind == session.EndMaxSteps || t.reason.Kind == agent.EndMaxTokens {
		return
	}
	last := s.attempts[len(s.attempts)-1]
	if !p.exact && !s.answered {
		// This loop keeps what a person saw of an answer that broke off. Where
		// the recording does not, later requests are without it.
		last.chunks, last.made = nil, true
	}
	// A stream can fail behind its finish; had it ended well, its calls had been
	// made. Such a failure has a code of models.
	failedLate := t.reason.Kind == session.EndError && strings.HasPrefix(t.reason.Code, "MODEL_") && !p.called(s, t)
	if last.failed != nil || ended(last.chunks) && !failedLate {
		return
	}
	if t.reason.Kind == session.EndError {
		last.failed = &recordedError{text: t.reason.Message, code: errs.Code(t.reason.Code)}
	} else {
		last.cut = true
		if !p.exact && !t.cut && t.cancelIn == "" && len(s.attempts) > 1 && len(last.chunks) == 0 {
			// It was stopped while it waited to try again, and another system's
			// retries are not among the shared events that are counted.
			t.cancelAfter = -1
		}
	}
}

// called reports whether a call of the step was handed to its tool.
func (p *plan) called(s *stepPlan, t *turnPlan) bool {
	return slices.ContainsFunc(p.events[s.begun:t.end], func(e session.Event) bool { return e.Type == session.TypeToolCall })
}

// attempts reads the attempts of the step whose events begin at from.
func (p *plan) attempts(from int, t *turnPlan, s *stepPlan) []*attempt {
	all := []*attempt{{}}
	var acc llm.Accumulator
	var seqs []int64 // of the chunks of the newest attempt
	next := func(failure error) {
		all[len(all)-1].failed = failure
		all = append(all, &attempt{})
		acc, seqs = llm.Accumulator{}, nil
	}
	unknown := func() error {
		return &recordedError{text: "the recorded attempt broke off", class: llm.Network}
	}
	i := from
events:
	for ; i < t.end; i++ {
		e := p.events[i]
		switch e.Type {
		case session.TypeAssistantChunk:
			var b session.AssistantChunk
			_ = e.Decode(&b)
			if acc.Add(b.Chunk) != nil {
				next(unknown())
				_ = acc.Add(b.Chunk) // the first of an attempt can stand anywhere in it
			}
			last := all[len(all)-1]
			last.chunks, seqs = append(last.chunks, b.Chunk), append(seqs, e.Seq)
		case agent.TypeRetry:
			var b agent.RetryEvent
			if e.Decode(&b) == nil {
				next(&recordedError{text: b.Message, class: llm.Class(b.Class), wait: time.Duration(b.DelayMS) * time.Millisecond})
			}
		case session.TypeAssistantMessage:
			var b session.AssistantMessage
			_ = e.Decode(&b)
			s.answered = true
			last := all[len(all)-1]
			if n := len(e.SourceEventSeqs); n > 0 && n < len(seqs) {
				counted := last.chunks[len(seqs)-n:]
				last.chunks = last.chunks[:len(seqs)-n]
				next(unknown())
				all[len(all)-1].chunks = counted
			} else if len(seqs) == 0 {
				last.chunks, last.made = chunksOf(b), true
			}
			break events
		case session.TypeStepStart, session.TypeStepEnd, session.TypeTurnEnd:
			break events
		}
		if s.asked < 0 && (e.Type == session.TypeAssistantChunk || e.Type == agent.TypeRetry) {
			s.asked = i
		}
	}
	if s.asked < 0 {
		s.asked = i
	}
	return all
}

func ended(chunks []llm.Chunk) bool {
	return slices.ContainsFunc(chunks, func(c llm.Chunk) bool {
		return c.Type == llm.FinishChunk && c.Reason != nil && c.Reason.Kind != llm.FinishError && c.Reason.Kind != llm.FinishAborted
	})
}

// chunksOf streams an answer of which only the whole is recorded.
func chunksOf(b session.AssistantMessage) []llm.Chunk {
	var out []llm.Chunk
	for i, block := range b.Message.Content {
		out = append(out, llm.Chunk{Type: llm.BlockStart, Index: i, BlockType: block.Type},
			llm.Chunk{Type: llm.BlockEnd, Index: i, Block: &block})
	}
	if b.Usage != nil {
		out = append(out, llm.Chunk{Type: llm.UsageChunk, Usage: b.Usage})
	}
	finish := llm.FinishStop
	if len(b.Message.ToolCalls()) > 0 {
		finish = llm.FinishToolCalls
	}
	return append(out, llm.Chunk{Type: llm.FinishChunk, Reason: &llm.FinishReason{Kind: finish}})
}

// sleep does not wait: a replay has all the time in the world.
func sleep(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
