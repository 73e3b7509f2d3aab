package session

import (
	"encoding/json"
	"slices"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/sandbox"
)

// maxObservations bounds the observations a fold keeps. The files observed
// longest ago go first; forgetting one costs a read, never a wrong change.
const maxObservations = 4096

// State is the folds of a log: a pure function of its events, kept up event
// by event. The zero value is the state of an empty log. It is not safe for
// concurrent use; a [Session] guards its own.
type State struct {
	events int64

	surface []llm.Message
	pending []pendingCall
	chunks  []rawChunk

	header    *RequestHeader
	rawHeader json.RawMessage
	context   *RequestContext
	mode      sandbox.Mode
	policy    approval.Mode
	title     string
	snapshot  *llm.Message

	observed map[string]Observed
	order    []string // keys of observed, oldest first

	inbox map[InboxTarget][]llm.Message

	turn, step         int // the open ones, or 0
	lastTurn, lastStep int
	turns, steps       int
	claimed            []claim

	// mayRetry is the config's; nil means the default.
	mayRetry func(name, arguments string) bool
}

// pendingCall is a call of the newest answer that has no result.
type pendingCall struct {
	call llm.Block
	seq  int64 // of the tool/call event, or -1
}

// rawChunk is a chunk of an answer that is not whole yet.
type rawChunk struct {
	seq  int64
	data json.RawMessage
}

// claim is a message that left the inbox in the open turn and is not yet in
// front of the model.
type claim struct {
	target  InboxTarget
	message llm.Message
}

// Apply adds one event to the folds. An event that a log cannot hold is an
// error, and changes nothing.
func (s *State) Apply(e Event) error {
	body, err := accept(e, nil)
	if err != nil {
		return err
	}
	s.apply(e, body)
	return nil
}

// apply adds an accepted event.
func (s *State) apply(e Event, body any) {
	s.events++
	if e.LogOnly() {
		return
	}
	switch b := body.(type) {
	case nil:
		if e.Type == TypeAssistantChunk {
			s.chunks = append(s.chunks, rawChunk{e.Seq, e.Data})
		}
	case *TurnStart:
		s.turn, s.lastTurn, s.lastStep = b.Turn, b.Turn, 0
		s.turns++
	case *TurnEnd:
		s.turn, s.step = 0, 0
		s.chunks, s.claimed = nil, nil
	case *StepStart:
		s.step, s.lastStep = b.Step, b.Step
		s.steps++
		s.chunks = nil
	case *StepEnd:
		s.step = 0
		s.chunks = nil
	case *llm.Message:
		s.surface = append(s.surface, *b)
		if b.Source.Kind == llm.FromPlugin && b.Source.Form == SnapshotForm {
			s.snapshot = b
		}
		s.claimed = slices.DeleteFunc(s.claimed, func(c claim) bool { return c.message.ID == b.ID })
	case *AssistantMessage:
		s.answer(b)
	case *ToolCall:
		for i := range s.pending {
			if s.pending[i].call.ID == b.CallID && s.pending[i].seq < 0 {
				s.pending[i].seq = e.Seq
				break
			}
		}
	case *ToolResult:
		s.result(b)
	case *RequestHeader:
		s.header, s.rawHeader = b, e.Data
	case *RequestContext:
		s.context = b
	case *ApprovalPolicy:
		s.policy = b.Policy
	case *SandboxMode:
		s.mode = b.Mode
	case *Title:
		s.title = b.Title
	case *Observed:
		s.observe(*b)
	case *InboxSpliced:
		s.splice(b)
	}
}

func (s *State) answer(b *AssistantMessage) {
	s.chunks = nil
	s.surface = append(s.surface, b.Message)
	s.pending = nil
	for _, call := range b.Message.ToolCalls() {
		s.pending = append(s.pending, pendingCall{call: call, seq: -1})
	}
}

func (s *State) result(b *ToolResult) {
	s.surface = append(s.surface, b.Message)
	for _, block := range b.Message.Content {
		if block.Type != llm.ToolResultBlock {
			continue
		}
		for i, p := range s.pending {
			if p.call.ID == block.ToolCallID {
				s.pending = slices.Delete(s.pending, i, i+1)
				break
			}
		}
	}
}

func (s *State) observe(o Observed) {
	if s.observed == nil {
		s.observed = map[string]Observed{}
	}
	if _, known := s.observed[o.Key]; known {
		// An agent looks again at what it looked at last, so the search from
		// the end is short.
		for i := len(s.order) - 1; i >= 0; i-- {
			if s.order[i] == o.Key {
				s.order = slices.Delete(s.order, i, i+1)
				break
			}
		}
	}
	s.observed[o.Key] = o
	s.order = append(s.order, o.Key)
	if len(s.order) > maxObservations {
		delete(s.observed, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

// splice changes a queue. Bounds outside the queue are cut to it, as an array
// splice does.
func (s *State) splice(b *InboxSpliced) {
	if s.inbox == nil {
		s.inbox = map[InboxTarget][]llm.Message{}
	}
	queue := s.inbox[b.Target]
	start := min(max(b.Start, 0), len(queue))
	end := min(start+max(b.RemovedCount, 0), len(queue))
	// A turn claims its input before its first step, and a step may claim
	// steering; any other removal takes a message back.
	if s.turn > 0 && len(b.Inserted) == 0 && (b.Target == NextStep || s.lastStep == 0) {
		for _, m := range queue[start:end] {
			s.claimed = append(s.claimed, claim{b.Target, m})
		}
	}
	queue = slices.Concat(queue[:start], b.Inserted, queue[end:])
	if len(queue) == 0 {
		delete(s.inbox, b.Target)
		return
	}
	s.inbox[b.Target] = queue
}

// Len returns the number of events.
func (s *State) Len() int64 { return s.events }

// RequestHeader returns the latest request header, or false.
func (s *State) RequestHeader() (RequestHeader, bool) {
	if s.header == nil {
		return RequestHeader{}, false
	}
	return *s.header, true
}

// RawRequestHeader returns the data of the latest request/header event as it
// is in the log, or nil.
func (s *State) RawRequestHeader() json.RawMessage { return s.rawHeader }

// RequestContext returns the latest request context, or false.
func (s *State) RequestContext() (RequestContext, bool) {
	if s.context == nil {
		return RequestContext{}, false
	}
	return *s.context, true
}

// SnapshotForm is the form of a plugin's message that supersedes the earlier
// ones, such as the runtime context.
const SnapshotForm = "snapshot"

// Snapshot returns the last snapshot that was put in front of the model, or
// false.
func (s *State) Snapshot() (llm.Message, bool) {
	if s.snapshot == nil {
		return llm.Message{}, false
	}
	return *s.snapshot, true
}

// SandboxMode returns the mode of the last sandbox/mode event, or "".
func (s *State) SandboxMode() sandbox.Mode { return s.mode }

// ApprovalPolicy returns the policy of the last approval/policy event, or "".
func (s *State) ApprovalPolicy() approval.Mode { return s.policy }

// Title returns the session's title, or "".
func (s *State) Title() string { return s.title }

// Observations returns what the session knows of files, the longest known
// first. At most 4096 are kept.
func (s *State) Observations() []Observed {
	out := make([]Observed, 0, len(s.order))
	for _, key := range s.order {
		out = append(out, s.observed[key])
	}
	return out
}

// Inbox returns the messages waiting in a queue, in order.
func (s *State) Inbox(target InboxTarget) []llm.Message { return slices.Clone(s.inbox[target]) }

// PendingCalls returns the calls of the newest answer that have no result, in
// order.
func (s *State) PendingCalls() []llm.Block {
	var calls []llm.Block
	for _, p := range s.pending {
		calls = append(calls, p.call)
	}
	return calls
}

// OpenTurn returns the number of the open turn, or 0.
func (s *State) OpenTurn() int { return s.turn }

// OpenStep returns the number of the open step, or 0.
func (s *State) OpenStep() int { return s.step }

// LastTurn returns the number of the turn that began last, or 0.
func (s *State) LastTurn() int { return s.lastTurn }

// LastStep returns the number of the step that began last in the last turn,
// or 0.
func (s *State) LastStep() int { return s.lastStep }

// Turns returns how many turns began.
func (s *State) Turns() int { return s.turns }

// Steps returns how many steps began, in all turns.
func (s *State) Steps() int { return s.steps }
