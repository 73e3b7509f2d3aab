package session

import (
	"fmt"
	"slices"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/internal/jsonx"
	"github.com/bridle-go/bridle/harness/llm"
)

// logOnly reports whether an event says itself that no fold depends on it: by
// the field "logOnly", or by a surface operation that leaves the list of
// messages alone.
func logOnly(e Event) bool {
	return e.SurfaceOp == SurfaceNone || e.SurfaceOp == "log-only" || string(e.Extra["logOnly"]) == "true"
}

// accept reports why a log cannot hold the event: an unknown type that is
// not ignorable, or a body without what its type needs. The decoded body is
// nil where no fold needs it.
func accept(e Event, extra []string) (body any, err error) {
	if e.SurfaceOp != "" && e.SurfaceOp != SurfaceAppend && !logOnly(e) && !e.Ignorable {
		return nil, &errs.Error{Code: UnknownEvent, Message: fmt.Sprintf(
			"the surface operation %q of the %s event is unknown here, so the messages would not be what they were", e.SurfaceOp, e.Type)}
	}
	switch e.Type {
	case TypeTurnStart:
		return need(e, new(TurnStart), "turn")
	case TypeTurnEnd:
		return need(e, new(TurnEnd), "turn", "reason")
	case TypeStepStart:
		return need(e, new(StepStart), "turn", "step")
	case TypeStepEnd:
		return need(e, new(StepEnd), "turn", "step")
	case TypeUserMessage:
		return need(e, new(llm.Message), "content", "role")
	case TypeAssistantChunk:
		// Deltas are by far the most events of a log, and their form is checked
		// without decoding them.
		if _, _, ok := parseDelta(e.Data); ok {
			return nil, nil
		}
		_, err := need(e, new(AssistantChunk), "turn", "step", "chunk")
		return nil, err
	case TypeAssistantMessage:
		return need(e, new(AssistantMessage), "turn", "step", "message")
	case TypeToolCall:
		return need(e, new(ToolCall), "turn", "step", "callId", "name", "arguments")
	case TypeToolResult:
		return need(e, new(ToolResult), "turn", "step", "message")
	case TypeRequestHeader:
		return need(e, new(RequestHeader), "header")
	case TypeRequestContext:
		return need(e, new(RequestContext), "provider", "model")
	case TypeApprovalPolicy:
		return need(e, new(ApprovalPolicy))
	case TypeSandboxMode:
		body, err := need(e, new(SandboxMode), "mode")
		if err == nil && !body.(*SandboxMode).Mode.Valid() {
			// A mode that is not understood must not be taken for another one.
			return nil, fmt.Errorf("%s: the mode %q is unknown", e.Type, body.(*SandboxMode).Mode)
		}
		return body, err
	case TypeTitle:
		return need(e, new(Title), "title")
	case TypeInboxSpliced:
		return need(e, new(InboxSpliced), "target", "start", "inserted")
	case TypeObserved:
		return need(e, new(Observed), "key", "state")
	case TypeApprovalAsked, TypeApprovalDecided, TypeEndSeed:
		return nil, nil
	}
	if e.Ignorable || logOnly(e) || slices.Contains(extra, e.Type) {
		return nil, nil
	}
	return nil, &errs.Error{Code: UnknownEvent, Message: fmt.Sprintf(
		"the event type %q is unknown here and not marked ignorable, so what it means for the session would be lost", e.Type)}
}

// need decodes the event's data into body and reports a missing field.
func need(e Event, body any, names ...string) (any, error) {
	fields, err := jsonx.Split(nil, e.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Type, err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(fields, func(f jsonx.Field) bool { return f.Name == name && string(f.Value) != "null" }) {
			return nil, fmt.Errorf("%s: the field %q of its data is missing", e.Type, name)
		}
	}
	if err := e.Decode(body); err != nil {
		return nil, err
	}
	return body, nil
}
