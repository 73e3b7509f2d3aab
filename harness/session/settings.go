package session

import (
	"encoding/json"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/internal/jsonx"
	"github.com/bridle-go/bridle/harness/sandbox"
)

// RequestHeader is the part of the requests that stays the same until the
// next event of this kind.
type RequestHeader struct {
	Header RequestHead `json:"header"`
	// Reason says why it was written: "initial", or what changed.
	Reason string `json:"reason"`
}

// RequestHead is the fixed part of a request.
type RequestHead struct {
	Config RequestConfig `json:"config"`
	// System is the system prompt, a JSON string.
	System json.RawMessage `json:"system"`
	// Tools is the list of tool schemas, a JSON array.
	Tools json.RawMessage `json:"tools"`
}

// RequestConfig is the route of a request and its options.
type RequestConfig struct {
	Provider string
	Model    string
	// Extra holds the options.
	Extra map[string]json.RawMessage
}

// UnmarshalJSON reads a route and keeps the options.
func (c *RequestConfig) UnmarshalJSON(data []byte) error {
	fields, err := jsonx.Split(nil, data)
	if err != nil {
		return err
	}
	*c = RequestConfig{}
	for _, f := range fields {
		var to *string
		switch f.Name {
		case "provider":
			to = &c.Provider
		case "model":
			to = &c.Model
		default:
			c.Extra = jsonx.Keep(c.Extra, f)
			continue
		}
		if err := readField(f, to); err != nil {
			return err
		}
	}
	return nil
}

// Event returns the event to append.
func (b RequestHeader) Event() Event {
	o := jsonx.Begin(nil)
	h := jsonx.Begin(o.Key("header"))
	c := jsonx.Begin(h.Key("config"))
	c.String("provider", b.Header.Config.Provider)
	c.String("model", b.Header.Config.Model)
	c.Extras(b.Header.Config.Extra)
	h.Set(c.End())
	if b.Header.System != nil {
		h.Raw("system", b.Header.System)
	}
	if b.Header.Tools != nil {
		h.Raw("tools", b.Header.Tools)
	}
	o.Set(h.End())
	o.String("reason", b.Reason)
	return Event{Type: TypeRequestHeader, Data: o.End()}
}

// RequestContext names the route of the requests that follow.
type RequestContext struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Event returns the event to append.
func (b RequestContext) Event() Event {
	o := jsonx.Begin(nil)
	o.String("provider", b.Provider)
	o.String("model", b.Model)
	return Event{Type: TypeRequestContext, Data: o.End()}
}

// SandboxMode sets the session's sandbox mode.
type SandboxMode struct {
	Mode sandbox.Mode `json:"mode"`
}

// Event returns the event to append.
func (b SandboxMode) Event() Event {
	o := jsonx.Begin(nil)
	o.String("mode", string(b.Mode))
	return Event{Type: TypeSandboxMode, Data: o.End()}
}

// ApprovalPolicy sets the session's approval policy.
type ApprovalPolicy struct {
	Policy approval.Mode `json:"policy"`
}

// UnmarshalJSON reads a policy, which some writers call mode.
func (b *ApprovalPolicy) UnmarshalJSON(data []byte) error {
	var v struct{ Policy, Mode approval.Mode }
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	b.Policy = v.Policy
	if b.Policy == "" {
		b.Policy = v.Mode
	}
	return nil
}

// Event returns the event to append.
func (b ApprovalPolicy) Event() Event {
	o := jsonx.Begin(nil)
	o.String("policy", string(b.Policy))
	return Event{Type: TypeApprovalPolicy, Data: o.End()}
}

// ApprovalAsked tells that somebody was asked. ApprovalDecided with the same
// id answers it.
type ApprovalAsked struct {
	ID       string `json:"id"`
	CallID   string `json:"callId"`
	ToolName string `json:"toolName"`
	Reason   string `json:"reason"`
	// Path is the display path of the file the call would change, or "".
	Path string `json:"path"`
	// Resolved is where Path leads through symlinks; "" where that is Path itself.
	Resolved string `json:"resolved"`
	// Before and After are SHA-256 in hex of the file's bytes when asked and
	// of the proposed bytes; "" where there are none.
	Before string `json:"before"`
	After  string `json:"after"`
}

// Event returns the event to append.
func (b ApprovalAsked) Event() Event {
	o := jsonx.Begin(nil)
	o.String("id", b.ID)
	o.String("callId", b.CallID)
	o.String("toolName", b.ToolName)
	o.String("reason", b.Reason)
	optional(&o, "path", b.Path)
	optional(&o, "resolved", b.Resolved)
	optional(&o, "before", b.Before)
	optional(&o, "after", b.After)
	return Event{Type: TypeApprovalAsked, Data: o.End()}
}

// ApprovalDecided tells what came of a question.
type ApprovalDecided struct {
	ID      string           `json:"id"`
	CallID  string           `json:"callId"`
	Outcome approval.Outcome `json:"outcome"`
	// Reason says why a question could not be answered, or "".
	Reason string `json:"reason"`
}

// Event returns the event to append.
func (b ApprovalDecided) Event() Event {
	o := jsonx.Begin(nil)
	o.String("id", b.ID)
	o.String("callId", b.CallID)
	o.String("outcome", string(b.Outcome))
	optional(&o, "reason", b.Reason)
	return Event{Type: TypeApprovalDecided, Data: o.End()}
}

func optional(o *jsonx.Object, name, value string) {
	if value != "" {
		o.String(name, value)
	}
}
