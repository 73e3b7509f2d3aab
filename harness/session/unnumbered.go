package session

import (
	"fmt"
	"slices"
)

// unnumbered checks a log whose lines carry no numbers. There a line that is
// missing or comes twice leaves no gap, but it shifts what later events refer
// to and breaks the nesting of turns and steps; both are checked.
type unnumbered struct {
	turn, step int
	chunks     []int64            // of the open answer
	asked      map[string]int     // how often the answer has each id
	calls      map[string][]int64 // without a result
}

// follow takes the next event of the log, with its decoded body.
func (u *unnumbered) follow(e Event, body any) error {
	for _, seq := range e.SourceEventSeqs {
		if seq < 0 || seq >= e.Seq {
			return fmt.Errorf("%s: it is made from event %d, which does not come before it: a line is missing or comes twice", e.Type, seq)
		}
	}
	switch b := body.(type) {
	case *TurnStart:
		if u.turn == b.Turn {
			return fmt.Errorf("turn %d starts twice", b.Turn)
		}
		u.turn, u.step, u.chunks = b.Turn, 0, nil
	case *TurnEnd:
		// A turn that was cut short may leave its step open.
		if u.turn != b.Turn || u.step != 0 && b.Reason.Kind == EndCompleted {
			return fmt.Errorf("turn %d ends where turn %d, step %d is open", b.Turn, u.turn, u.step)
		}
		if len(u.chunks) > 0 && b.Reason.Kind == EndCompleted {
			return u.noAnswer()
		}
		u.turn, u.step, u.chunks = 0, 0, nil
	case *StepStart:
		if u.turn != b.Turn || u.step != 0 {
			return fmt.Errorf("step %d of turn %d starts where turn %d, step %d is open", b.Step, b.Turn, u.turn, u.step)
		}
		if len(u.chunks) > 0 {
			return u.noAnswer()
		}
		u.step, u.calls = b.Step, map[string][]int64{}
	case *StepEnd:
		if u.turn != b.Turn || u.step != b.Step {
			return fmt.Errorf("step %d of turn %d ends where turn %d, step %d is open", b.Step, b.Turn, u.turn, u.step)
		}
		u.step = 0
	case *AssistantMessage:
		return u.answer(e, b)
	case *ToolCall:
		return u.call(e, b)
	case *ToolResult:
		return u.result(e, b)
	case nil:
		if e.Type == TypeAssistantChunk {
			u.chunks = append(u.chunks, e.Seq)
		}
	}
	return nil
}

// answer wants a message made from the chunks before it.
func (u *unnumbered) answer(e Event, b *AssistantMessage) error {
	// A retried request leaves the chunks of its failed attempts before those
	// that the message was made from.
	if n := len(e.SourceEventSeqs); n > len(u.chunks) || !slices.Equal(u.chunks[len(u.chunks)-n:], e.SourceEventSeqs) {
		return fmt.Errorf("%s: it is made from chunks that are not the ones before it: a line is missing or comes twice", e.Type)
	}
	u.chunks, u.asked = nil, map[string]int{}
	for _, call := range b.Message.ToolCalls() {
		u.asked[call.ID]++
	}
	return nil
}

// call wants a call that is not open already.
func (u *unnumbered) call(e Event, b *ToolCall) error {
	if u.calls == nil {
		u.calls = map[string][]int64{}
	}
	// Some models give two calls of one answer the same id.
	if open := u.calls[b.CallID]; len(open) > 0 && len(open) >= u.asked[b.CallID] {
		return fmt.Errorf("%s: the call %q comes twice", e.Type, b.CallID)
	}
	u.calls[b.CallID] = append(u.calls[b.CallID], e.Seq)
	return nil
}

// result wants a result made from an open call, and closes that.
func (u *unnumbered) result(e Event, b *ToolResult) error {
	id := b.Message.Source.CallID
	i := 0
	if len(e.SourceEventSeqs) > 0 {
		i = slices.Index(u.calls[id], e.SourceEventSeqs[0])
	}
	if i < 0 {
		return fmt.Errorf("%s: it is made from event %d, which is not the open call %q: a line is missing or comes twice", e.Type, e.SourceEventSeqs[0], id)
	}
	if open := u.calls[id]; len(open) > 0 {
		u.calls[id] = slices.Delete(open, i, i+1)
	}
	return nil
}

func (u *unnumbered) noAnswer() error {
	return fmt.Errorf("the answer that began with event %d has no %s event: a line is missing", u.chunks[0], TypeAssistantMessage)
}
