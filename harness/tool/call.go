package tool

import (
	"encoding/json"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// Agent is who makes a call.
type Agent struct {
	// Session is the conversation the call belongs to.
	Session *session.Session
	// Provider and Model are the agent's own route to a model; the session's
	// latest request header counts before them.
	Provider, Model string
	// View restricts and shadows tools for this agent; nil changes nothing.
	View *View
}

// Call is one call on its way through the pipeline. It is the actor of the
// file events. It must not be changed.
type Call struct {
	ID   string
	Name string
	// Arguments are validated and in canonical form: one JSON object, without
	// white space, keys sorted. Of a call that was refused before that, which
	// [Done] alone tells of, they are as they came, or nil where that is no JSON.
	Arguments json.RawMessage
	// Agent is nil for a call without a session.
	Agent *Agent

	// decoded is Arguments in the tool's own type, where the registry made the
	// call.
	decoded any
}

// Session returns the calling session, or nil.
func (c *Call) Session() *session.Session {
	if c == nil || c.Agent == nil {
		return nil
	}
	return c.Agent.Session
}

// Cwd returns the directory that relative paths of the call start from; ""
// means the filesystem provider's own.
func (c *Call) Cwd() string {
	if s := c.Session(); s != nil {
		return s.Header().Cwd
	}
	return ""
}

// Invocation is a call as the model made it.
type Invocation struct {
	ID   string
	Name string
	// Arguments is the text of a JSON object; "" counts as {}.
	Arguments string
	Agent     *Agent
}

// refused is the call of an invocation that never became one.
func (inv Invocation) refused() *Call {
	call := &Call{ID: inv.ID, Name: inv.Name, Agent: inv.Agent}
	if inv.Arguments == "" {
		call.Arguments = json.RawMessage("{}")
	} else if raw := json.RawMessage(inv.Arguments); json.Valid(raw) {
		call.Arguments = raw
	}
	return call
}

// Result is what came of a call.
type Result struct {
	// Content is what the model sees.
	Content []llm.Block
	IsError bool
	// Error is set on failures that have a code.
	Error *ErrorInfo
	// Value is what the body returned, for callers; the log does not keep it.
	Value any
	// Meta is what the log keeps for presentation; nil for none.
	Meta json.RawMessage
}

// ErrorInfo is how a log names a failure.
type ErrorInfo struct {
	Name string `json:"name"`
	Code string `json:"code"`
}

// ValueJSON returns the value as JSON, nil for none.
func (r Result) ValueJSON() (json.RawMessage, error) {
	if r.Value == nil {
		return nil, nil
	}
	return encode(r.Value)
}

// Text returns the text blocks of the result, joined by line breaks.
func (r Result) Text() string {
	var parts []string
	for _, b := range r.Content {
		if b.Type == llm.TextBlock {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Failure returns the result of a call that failed with err.
func Failure(err error) Result {
	r := Result{IsError: true, Content: []llm.Block{llm.Text("Error: " + err.Error())}}
	if code := errs.CodeOf(err); code != "" {
		r.Error = &ErrorInfo{Name: errorName(code), Code: string(code)}
	}
	return r
}

// errorName is the family of a code, as logs name it.
func errorName(code errs.Code) string {
	switch {
	case strings.HasPrefix(string(code), "FS_"):
		return "FsError"
	case strings.Contains(string(code), "IMAGE"), strings.HasPrefix(string(code), "ATTACHMENT_"):
		return "AttachmentError"
	}
	return "ToolError"
}
