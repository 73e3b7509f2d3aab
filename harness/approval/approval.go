// Package approval asks a person, or whoever stands for one, before something
// is done that the deployment does not allow by itself.
//
// A request goes to the answerers, which are waterfall listeners: each may
// decide or pass on. No answerer, or one that fails, makes the outcome
// unavailable; nothing is ever allowed by accident.
package approval

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
)

// Outcome is what came of a request.
type Outcome string

const (
	// AllowedOnce serves exactly the call that asked.
	AllowedOnce Outcome = "allowed-once"
	// Rejected means that somebody said no.
	Rejected Outcome = "rejected"
	// Cancelled means that the call was aborted, or the question withdrawn,
	// before an answer.
	Cancelled Outcome = "cancelled"
	// Unavailable means that nobody could answer.
	Unavailable Outcome = "unavailable"
)

// Mode is a session's approval policy.
type Mode string

const (
	// Ask puts each request to the answerers.
	Ask Mode = "ask"
	// Never rejects each request without asking.
	Never Mode = "never"
)

// Request is one question.
type Request struct {
	// ToolName and CallID name the tool call that asks.
	ToolName string
	CallID   string
	// Reason is one line that says what would be allowed and why.
	Reason string
	// Arguments are the frozen arguments of the call.
	Arguments json.RawMessage
	// Path is the display path of the file the call would change, or "".
	Path string
	// Resolved is where Path leads with every symlink resolved, as it is meant to
	// be shown; "" where that is Path itself or not known. Names in a workspace
	// can be made to lead anywhere, so whoever answers must see it.
	Resolved string
	// Diff returns what would change, as a unified diff computed from the
	// bytes on both sides; nil when there is nothing to show. It is a function
	// because most answerers decide without it.
	Diff func(ctx context.Context) (string, error)
	// Before and After are the SHA-256 in hex of the file's bytes when asked
	// and of the proposed bytes; "" where there are none. They are logged, so
	// that what was approved can be compared with what was done.
	Before, After string
}

// Service decides requests. Implementations may be called concurrently.
type Service interface {
	// Request asks and waits. It returns Cancelled when ctx ends first. The
	// error tells why an outcome is Unavailable or Cancelled; it is nil for
	// AllowedOnce and Rejected.
	//
	// actor is the calling agent, opaque here; the pair approval/asked and
	// approval/decided goes to its session's log. A nil actor is Unavailable.
	Request(ctx context.Context, actor any, r Request) (Outcome, error)
}

// Refusal turns an outcome into the error of a call that was not allowed; it
// is nil for AllowedOnce. what names what was to be done.
func Refusal(o Outcome, what string, cause error) error {
	switch o {
	case AllowedOnce:
		return nil
	case Rejected:
		return errs.Wrap(errs.ApprovalRejected, fmt.Sprintf("%s was not approved; do not retry it unchanged", what), cause)
	case Cancelled:
		return errs.Wrap(errs.ApprovalCancelled, fmt.Sprintf("the approval of %s was cancelled; nothing was done", what), cause)
	}
	msg := fmt.Sprintf("%s needs approval and nobody could give it; nothing was done", what)
	if cause != nil {
		msg += ": " + cause.Error()
	}
	return errs.Wrap(errs.ApprovalUnavailable, msg, cause)
}

// Question is a request on its way to the answerers.
type Question struct {
	Request
	// ID pairs the question with its answer in the session's log.
	ID string
	// SessionID names the session that asks.
	SessionID string
}

// Answer is asked of the answerers. A listener returns an outcome to decide,
// or calls next to leave the question to others; when nobody decides, the
// outcome is Unavailable. A listener returns when ctx ends: the question is
// withdrawn then.
var Answer = event.NewWaterfall[Question, Outcome]("approval/answer")
