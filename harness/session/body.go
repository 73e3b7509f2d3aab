package session

import (
	"encoding/json"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
	"github.com/bridle-go/bridle/harness/llm"
)

// The core event types.
const (
	TypeTurnStart        = "turn/start"
	TypeTurnEnd          = "turn/end"
	TypeStepStart        = "step/start"
	TypeStepEnd          = "step/end"
	TypeUserMessage      = "user/message"
	TypeAssistantChunk   = "assistant/chunk"
	TypeAssistantMessage = "assistant/message"
	TypeToolCall         = "tool/call"
	TypeToolResult       = "tool/result"
	TypeRequestHeader    = "request/header"
	TypeRequestContext   = "request/context"
	TypeApprovalAsked    = "approval/asked"
	TypeApprovalDecided  = "approval/decided"
	TypeApprovalPolicy   = "approval/policy"
	TypeSandboxMode      = "sandbox/mode"
	TypeTitle            = "session/title"
	TypeInboxSpliced     = "agent/inbox/spliced"
	TypeEndSeed          = "session/end-seed"
	// TypeObserved is not a core type: it is written ignorable.
	TypeObserved = "fs/observed"
)

// TurnStart opens a turn.
type TurnStart struct {
	Turn int `json:"turn"`
}

// Event returns the event to append.
func (b TurnStart) Event() Event {
	o := jsonx.Begin(nil)
	o.Int("turn", int64(b.Turn))
	return Event{Type: TypeTurnStart, Data: o.End()}
}

// The reasons why a turn ended.
const (
	EndCompleted = "completed"
	// EndAborted means that the caller cancelled the turn.
	EndAborted = "aborted"
	// EndInterrupted means that the process ended within the turn; the next
	// one to open the log wrote it.
	EndInterrupted = "interrupted"
	EndError       = "error"
	// EndMaxSteps means that the turn used up the steps it was allowed.
	EndMaxSteps = "max-steps"
)

// EndReason says why a turn ended.
type EndReason struct {
	Kind string
	// Message and Code tell an error apart; they are "" otherwise.
	Message string
	Code    string
	// Extra holds fields this version does not know.
	Extra map[string]json.RawMessage
}

// TurnEnd closes a turn.
type TurnEnd struct {
	Turn   int       `json:"turn"`
	Reason EndReason `json:"reason"`
}

// Event returns the event to append.
func (b TurnEnd) Event() Event {
	o := jsonx.Begin(nil)
	o.Int("turn", int64(b.Turn))
	r := jsonx.Begin(o.Key("reason"))
	r.String("kind", b.Reason.Kind)
	if b.Reason.Message != "" {
		r.String("message", b.Reason.Message)
	}
	if b.Reason.Code != "" {
		r.String("code", b.Reason.Code)
	}
	r.Extras(b.Reason.Extra)
	o.Set(r.End())
	return Event{Type: TypeTurnEnd, Data: o.End()}
}

// UnmarshalJSON reads a reason and keeps what it does not know.
func (r *EndReason) UnmarshalJSON(data []byte) error {
	fields, err := jsonx.Split(nil, data)
	if err != nil {
		return err
	}
	*r = EndReason{}
	for _, f := range fields {
		var to *string
		switch f.Name {
		case "kind":
			to = &r.Kind
		case "message":
			to = &r.Message
		case "code":
			to = &r.Code
		default:
			r.Extra = jsonx.Keep(r.Extra, f)
			continue
		}
		if err := readField(f, to); err != nil {
			return err
		}
	}
	return nil
}

// StepStart opens a step.
type StepStart struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// Event returns the event to append.
func (b StepStart) Event() Event {
	o := begin(b.Turn, b.Step)
	return Event{Type: TypeStepStart, Data: o.End()}
}

// StepEnd closes a step.
type StepEnd struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// Event returns the event to append.
func (b StepEnd) Event() Event {
	o := begin(b.Turn, b.Step)
	return Event{Type: TypeStepEnd, Data: o.End()}
}

func begin(turn, step int) jsonx.Object {
	o := jsonx.Begin(nil)
	o.Int("turn", int64(turn))
	o.Int("step", int64(step))
	return o
}

// UserMessage returns the event that puts a message in front of the model:
// what a person said, or a plugin's snapshot.
func UserMessage(m llm.Message) Event {
	return Event{Type: TypeUserMessage, Data: m.AppendJSON(nil), SurfaceOp: SurfaceAppend}
}

// AssistantChunk is one piece of a streamed answer.
type AssistantChunk struct {
	Turn  int       `json:"turn"`
	Step  int       `json:"step"`
	Chunk llm.Chunk `json:"chunk"`
}

// Event returns the event to append.
func (b AssistantChunk) Event() Event {
	o := begin(b.Turn, b.Step)
	o.Set(b.Chunk.AppendJSON(o.Key("chunk")))
	return Event{Type: TypeAssistantChunk, Data: o.End()}
}

// AssistantMessage is a model's whole answer.
type AssistantMessage struct {
	Turn    int         `json:"turn"`
	Step    int         `json:"step"`
	Message llm.Message `json:"message"`
	// Usage is nil where the provider reported none.
	Usage *llm.Usage `json:"usage"`
}

// Event returns the event to append; chunks are the numbers of the chunk
// events that the message was made from.
func (b AssistantMessage) Event(chunks []int64) Event {
	o := begin(b.Turn, b.Step)
	o.Set(b.Message.AppendJSON(o.Key("message")))
	if b.Usage != nil {
		o.Set(b.Usage.AppendJSON(o.Key("usage")))
	}
	return Event{Type: TypeAssistantMessage, Data: o.End(), SourceEventSeqs: chunks, SurfaceOp: SurfaceAppend}
}

// ToolCall tells that a call was handed to its tool. A call without this
// event never began.
type ToolCall struct {
	Turn      int    `json:"turn"`
	Step      int    `json:"step"`
	CallID    string `json:"callId"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Event returns the event to append.
func (b ToolCall) Event() Event {
	o := begin(b.Turn, b.Step)
	o.String("callId", b.CallID)
	o.String("name", b.Name)
	o.String("arguments", b.Arguments)
	return Event{Type: TypeToolCall, Data: o.End()}
}

// ResultError tells programs what failed, beside the text for the model.
type ResultError struct {
	Name string `json:"name"`
	Code string `json:"code"`
}

// ToolResult is what came of a call.
type ToolResult struct {
	Turn    int         `json:"turn"`
	Step    int         `json:"step"`
	Message llm.Message `json:"message"`
	// Meta is the tool's presentation metadata, one JSON value, or nil.
	Meta json.RawMessage `json:"meta"`
	// Error is nil where the call succeeded.
	Error *ResultError `json:"error"`
}

// Event returns the event to append; call is the number of the tool/call
// event, or negative for a call that never began.
func (b ToolResult) Event(call int64) Event {
	o := begin(b.Turn, b.Step)
	o.Set(b.Message.AppendJSON(o.Key("message")))
	if b.Meta != nil {
		o.Raw("meta", b.Meta)
	}
	if b.Error != nil {
		e := jsonx.Begin(o.Key("error"))
		e.String("name", b.Error.Name)
		e.String("code", b.Error.Code)
		o.Set(e.End())
	}
	ev := Event{Type: TypeToolResult, Data: o.End(), SurfaceOp: SurfaceAppend}
	if call >= 0 {
		ev.SourceEventSeqs = []int64{call}
	}
	return ev
}

// ResultMessage returns the message of a tool result.
func ResultMessage(id, callID string, isError bool, content ...llm.Block) llm.Message {
	return llm.Message{
		Role:    llm.User,
		Source:  llm.Source{Kind: llm.FromTool, CallID: callID},
		Content: []llm.Block{llm.ToolResult(callID, isError, content...)},
		ID:      id,
	}
}

// Title names the session for people.
type Title struct {
	Title string `json:"title"`
	// MessageSeqs numbers the messages the title was made from.
	MessageSeqs []int64     `json:"messageSeqs"`
	Source      TitleSource `json:"source"`
}

// TitleSource says who made a title: "user", "model", or "fallback" for one
// cut from the first message.
type TitleSource struct {
	Kind string `json:"kind"`
}

// Event returns the event to append.
func (b Title) Event() Event {
	o := jsonx.Begin(nil)
	o.String("title", b.Title)
	o.Ints("messageSeqs", b.MessageSeqs)
	s := jsonx.Begin(o.Key("source"))
	s.String("kind", b.Source.Kind)
	o.Set(s.End())
	return Event{Type: TypeTitle, Data: o.End()}
}

// InboxTarget names one of the queues of an inbox.
type InboxTarget string

// The queues of an inbox.
const (
	// NextTurn holds follow-ups: each claim begins a turn.
	NextTurn InboxTarget = "next-turn"
	// NextStep holds steering input, which joins at the next step.
	NextStep InboxTarget = "next-step"
)

// InboxSpliced changes a queue of the inbox: RemovedCount messages from Start
// on leave it and the inserted ones take their place.
type InboxSpliced struct {
	Target       InboxTarget   `json:"target"`
	Start        int           `json:"start"`
	RemovedCount int           `json:"removedCount"`
	Inserted     []llm.Message `json:"inserted"`
}

// Event returns the event to append.
func (b InboxSpliced) Event() Event {
	o := jsonx.Begin(nil)
	o.String("target", string(b.Target))
	o.Int("start", int64(b.Start))
	if b.RemovedCount > 0 {
		o.Int("removedCount", int64(b.RemovedCount))
	}
	buf := append(o.Key("inserted"), '[')
	for i, m := range b.Inserted {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = m.AppendJSON(buf)
	}
	o.Set(append(buf, ']'))
	return Event{Type: TypeInboxSpliced, Data: o.End()}
}

// The states of an observed file.
const (
	ObservedPresent = "present"
	ObservedAbsent  = "absent"
)

// Observed tells what the session knows of one file, so that a resumed
// session need not read it again. It is ignorable.
type Observed struct {
	// Key is the provider's opaque key of the target.
	Key string `json:"key"`
	// Path is its display path.
	Path string `json:"path"`
	// State is "present" or "absent".
	State string `json:"state"`
	// Version is the freshness token of a present file, else "".
	Version string `json:"version"`
}

// Event returns the event to append.
func (b Observed) Event() Event {
	o := jsonx.Begin(nil)
	o.String("key", b.Key)
	o.String("path", b.Path)
	o.String("state", b.State)
	optional(&o, "version", b.Version)
	return Event{Type: TypeObserved, Data: o.End(), Ignorable: true}
}

// EndSeed ends the part of a log that was copied from another session.
type EndSeed struct {
	// From is the session it was copied from.
	From string `json:"from"`
	// Seq is the number of the last event that was copied.
	Seq int64 `json:"seq"`
}

// Event returns the event to append.
func (b EndSeed) Event() Event {
	o := jsonx.Begin(nil)
	o.String("from", b.From)
	o.Int("seq", b.Seq)
	return Event{Type: TypeEndSeed, Data: o.End()}
}
