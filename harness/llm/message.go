// Package llm holds what the harness and language models say to each other:
// messages and their content blocks, the chunks of a streamed answer, what is
// known of a model, and the adapters that reach one.
//
// The JSON of every type here is the form used in session logs, byte for
// byte: AppendJSON writes it, and a field that this version does not know is
// kept in Extra and written after the known ones.
//
// The package talks to no model itself; an [Adapter] does, and the [Registry]
// finds the adapter of a route, which is a provider id and a model id.
package llm

import (
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// Role says who speaks in a message. Tool results speak as the user.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// SourceKind says where a message came from.
type SourceKind string

// The kinds of sources.
const (
	// FromUser is what a person or the calling program said.
	FromUser SourceKind = "user"
	// FromModel is a model's answer.
	FromModel SourceKind = "model"
	// FromTool is the result of a tool call.
	FromTool SourceKind = "tool"
	// FromPlugin is what a plugin added, such as a snapshot of the runtime
	// context.
	FromPlugin SourceKind = "plugin"
)

// Source says where a message came from.
type Source struct {
	Kind SourceKind
	// Plugin, Form and Sections describe a plugin's message. A snapshot
	// supersedes the earlier snapshots of the same plugin.
	Plugin   string
	Form     string
	Sections []Section
	// Provider and Model are the route of a model's answer.
	Provider string
	Model    string
	// CallID names the call whose result this is.
	CallID string
	// Extra holds fields this version does not know.
	Extra map[string]json.RawMessage
}

// Section is one named part of a plugin's message.
type Section struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Message is one entry of a conversation.
type Message struct {
	Role    Role
	Content []Block
	Source  Source
	// ID names the message within its session.
	ID string
	// Extra holds fields this version does not know.
	Extra map[string]json.RawMessage
}

// ToolCalls returns the tool call blocks of m in order.
func (m Message) ToolCalls() []Block {
	var calls []Block
	for _, b := range m.Content {
		if b.Type == ToolCallBlock {
			calls = append(calls, b)
		}
	}
	return calls
}

// Text returns the text blocks of m, one after the other.
func (m Message) Text() string {
	var text string
	for _, b := range m.Content {
		if b.Type == TextBlock {
			text += b.Text
		}
	}
	return text
}

// AppendJSON appends the message as it stands in a session log. The order of
// the fields there depends on who speaks.
func (m Message) AppendJSON(dst []byte) []byte {
	o := jsonx.Begin(dst)
	role := func() { o.String("role", string(m.Role)) }
	content := func() { o.Set(AppendBlocks(o.Key("content"), m.Content)) }
	source := func() { o.Set(m.Source.AppendJSON(o.Key("source"))) }
	switch {
	case m.Role == Assistant:
		role()
		content()
		source()
	case m.Source.Kind == FromTool:
		source()
		content()
		role()
	default:
		content()
		source()
		role()
	}
	o.String("id", m.ID)
	o.Extras(m.Extra)
	return o.End()
}

// MarshalJSON returns the message as it stands in a session log, except that
// encoding/json escapes more characters than the log does.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// UnmarshalJSON reads a message. Role, content, source and id must be there.
func (m *Message) UnmarshalJSON(data []byte) error {
	fields, err := jsonx.Split(nil, data)
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	*m = Message{}
	for _, f := range fields {
		var to any
		switch f.Name {
		case "role":
			to = &m.Role
		case "content":
			to = &m.Content
		case "source":
			to = &m.Source
		case "id":
			to = &m.ID
		default:
			m.Extra = jsonx.Keep(m.Extra, f)
			continue
		}
		if err := readField("message", f, to); err != nil {
			return err
		}
	}
	for _, name := range []string{"role", "content", "source", "id"} {
		if !hasField(fields, name) {
			return fmt.Errorf("message: the field %q is missing", name)
		}
	}
	if m.Role != User && m.Role != Assistant {
		return fmt.Errorf("message: the role %q is unknown", m.Role)
	}
	return nil
}

// AppendJSON appends the source as it stands in a session log.
func (s Source) AppendJSON(dst []byte) []byte {
	o := jsonx.Begin(dst)
	o.String("kind", string(s.Kind))
	for _, f := range []struct{ name, value string }{
		{"plugin", s.Plugin}, {"form", s.Form},
	} {
		if f.value != "" {
			o.String(f.name, f.value)
		}
	}
	if s.Sections != nil {
		buf := append(o.Key("sections"), '[')
		for i, sec := range s.Sections {
			if i > 0 {
				buf = append(buf, ',')
			}
			so := jsonx.Begin(buf)
			so.String("name", sec.Name)
			so.String("text", sec.Text)
			buf = so.End()
		}
		o.Set(append(buf, ']'))
	}
	for _, f := range []struct{ name, value string }{
		{"provider", s.Provider}, {"model", s.Model}, {"callId", s.CallID},
	} {
		if f.value != "" {
			o.String(f.name, f.value)
		}
	}
	o.Extras(s.Extra)
	return o.End()
}

// MarshalJSON returns the source as it stands in a session log, except that
// encoding/json escapes more characters than the log does.
func (s Source) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads a source; its kind must be there.
func (s *Source) UnmarshalJSON(data []byte) error {
	fields, err := jsonx.Split(nil, data)
	if err != nil {
		return fmt.Errorf("message source: %w", err)
	}
	*s = Source{}
	for _, f := range fields {
		var to any
		switch f.Name {
		case "kind":
			to = &s.Kind
		case "plugin":
			to = &s.Plugin
		case "form":
			to = &s.Form
		case "sections":
			to = &s.Sections
		case "provider":
			to = &s.Provider
		case "model":
			to = &s.Model
		case "callId":
			to = &s.CallID
		default:
			s.Extra = jsonx.Keep(s.Extra, f)
			continue
		}
		if err := readField("message source", f, to); err != nil {
			return err
		}
	}
	if s.Kind == "" {
		return fmt.Errorf("message source: the field %q is missing", "kind")
	}
	return nil
}
