package session

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/internal/jsonx"
	"github.com/bridle-go/bridle/harness/llm"
)

// LogOnly reports whether the event says itself that no fold depends on it: by
// a field "logOnly" that is true, by a field beside its data whose value is that
// word, or by a surface operation that leaves the list of messages alone.
// Writers spell the word with and without a hyphen.
func (e Event) LogOnly() bool {
	if e.SurfaceOp == SurfaceNone || isLogOnly(string(e.SurfaceOp)) {
		return true
	}
	for name, value := range e.Extra {
		if isLogOnly(name) && string(value) == "true" || isLogOnly(strings.Trim(string(value), `"`)) {
			return true
		}
	}
	return false
}

// withoutHyphens is made once, since every event of a log is asked about.
var withoutHyphens = strings.NewReplacer("-", "", "_", "")

func isLogOnly(word string) bool {
	return strings.EqualFold(withoutHyphens.Replace(word), "logOnly")
}

// accept reports why a log cannot hold the event: an unknown type that is
// not ignorable, or a body without what its type needs. The decoded body is
// nil where no fold needs it.
func accept(e Event, extra []string) (body any, err error) {
	if e.SurfaceOp != "" && e.SurfaceOp != SurfaceAppend && !e.LogOnly() && !e.Ignorable {
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
		return nil, hasBody(e)
	}
	if e.Ignorable || e.LogOnly() || slices.Contains(extra, e.Type) {
		return nil, nil
	}
	return nil, &errs.Error{Code: UnknownEvent, Message: fmt.Sprintf(
		"the event type %q is unknown here and not marked ignorable, so what it means for the session would be lost", e.Type)}
}

// need decodes the event's data into body and reports a missing field.
func need(e Event, body any, names ...string) (any, error) {
	if err := hasBody(e); err != nil {
		return nil, err
	}
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

// hasBody reports why an event of a core type has no body. What other events
// carry is their owner's.
func hasBody(e Event) error {
	switch {
	case e.Data == nil:
		return fmt.Errorf("%s: the field %q is missing", e.Type, "data")
	case !bytes.HasPrefix(bytes.TrimLeft(e.Data, " \t\r\n"), []byte("{")):
		return fmt.Errorf("%s: the field %q is not an object", e.Type, "data")
	}
	return nil
}
