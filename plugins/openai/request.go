package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/internal/dialog"
	"github.com/bridle-go/bridle/plugins/internal/endpoint"
)

type message struct {
	Role             string     `json:"role"`
	Content          any        `json:"content"` // string, []part or nil
	ReasoningContent *string    `json:"reasoning_content,omitempty"`
	Reasoning        *string    `json:"reasoning,omitempty"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function callBody `json:"function"`
}

type callBody struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type toolSchema struct {
	Type     string     `json:"type"`
	Function schemaBody `json:"function"`
}

type schemaBody struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// encode returns the body of a request and the names of its tools.
func (a *Adapter) encode(ctx context.Context, r llm.Request) ([]byte, *dialog.Names, error) {
	info, err := a.ResolveModel(r.Model)
	if err != nil {
		return nil, nil, err
	}
	entries, names, err := dialog.Arrange(ctx, r, dialog.Form{ID: a.traits.callID, Limits: info.Media})
	if err != nil {
		return nil, nil, err
	}
	var body endpoint.Body
	body.Set("model", r.Model)
	body.Set("messages", a.messages(r, entries))
	if len(r.Tools) > 0 {
		var tools []toolSchema
		for _, t := range r.Tools {
			schema := json.RawMessage(dialog.PairSurrogates(string(t.InputSchema)))
			if len(schema) == 0 {
				schema = json.RawMessage(`{"type":"object","properties":{}}`)
			}
			tools = append(tools, toolSchema{"function", schemaBody{names.Wire(t.Name), t.Description, schema}})
		}
		body.Set("tools", tools)
	}
	if n := r.Options.MaxOutputTokens; n > 0 {
		body.Set(a.traits.maxTokens, n)
	}
	if t := r.Options.Temperature; t != nil {
		body.Set("temperature", *t)
	}
	if e := r.Options.ReasoningEffort; e != "" {
		body.Set("reasoning_effort", e)
	}
	body.Set("stream", true)
	if a.traits.usage {
		body.Set("stream_options", map[string]bool{"include_usage": true})
	}
	body.Merge(a.cfg.Extra)
	body.Merge(r.Options.Extra)
	data, err := body.Encode()
	return data, names, err
}

func (a *Adapter) messages(r llm.Request, entries []dialog.Entry) []message {
	var out []message
	if strings.TrimSpace(r.System) != "" {
		out = append(out, message{Role: "system", Content: r.System})
	}
	// user adds what a user says; where turns must alternate it continues what
	// the user said before.
	var said []part
	user := func(parts []part) {
		last := len(out) - 1
		if a.traits.alternate && last >= 0 && out[last].Role == "user" {
			said = append(said, parts...)
			out[last].Content = content(said)
			return
		}
		said = parts
		out = append(out, message{Role: "user", Content: content(parts)})
	}
	for _, e := range entries {
		switch e.Kind {
		case dialog.UserEntry:
			user(convert(e.Parts))
		case dialog.AnswerEntry:
			if m, ok := a.answer(r, e); ok {
				out = append(out, m)
			}
		case dialog.ResultsEntry:
			var pictures []part
			for _, p := range e.Parts {
				text, images := result(p)
				out = append(out, message{Role: "tool", Content: text, ToolCallID: p.ID})
				if len(images) > 0 {
					pictures = append(pictures, part{Type: "text", Text: fmt.Sprintf("From the result of the call %s:", p.ID)})
					pictures = append(pictures, images...)
				}
			}
			if len(pictures) > 0 {
				user(pictures)
			}
		}
	}
	return out
}

// answer converts an answer. One of which nothing may be sent is none.
func (a *Adapter) answer(r llm.Request, e dialog.Entry) (message, bool) {
	m := message{Role: "assistant"}
	var text, reasoning strings.Builder
	for _, p := range e.Parts {
		switch p.Type {
		case llm.TextBlock:
			text.WriteString(p.Text)
		case llm.ReasoningBlock:
			if e.Provider == r.Provider {
				reasoning.WriteString(p.Text)
			}
		case llm.ToolCallBlock:
			m.ToolCalls = append(m.ToolCalls, toolCall{p.ID, "function", callBody{p.Name, p.Arguments}})
		}
	}
	if text.Len() > 0 {
		m.Content = text.String()
	}
	if text.Len() == 0 && len(m.ToolCalls) == 0 {
		return m, false
	}
	send := a.traits.sendReasoning
	if send == ReasoningAlways && reasoning.Len() > 0 || send == ReasoningToolCalls && len(m.ToolCalls) > 0 {
		// Beside calls the field goes even when it is empty, as after an answer
		// of another provider: what is refused is its absence.
		s := reasoning.String()
		if a.traits.reasoning == "reasoning" {
			m.Reasoning = &s
		} else {
			m.ReasoningContent = &s
		}
	}
	return m, true
}

// result returns the text of a tool's result, and its images, for which the
// protocol has no place there.
func result(p dialog.Part) (string, []part) {
	var texts []string
	var images []part
	for _, c := range p.Content {
		if c.Type == llm.TextBlock {
			texts = append(texts, c.Text)
		} else {
			images = append(images, convert([]dialog.Part{c})...)
		}
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, "\n"), images
	case len(images) > 0:
		return "(see the next message)", images
	}
	return "(no output)", nil
}

func convert(parts []dialog.Part) []part {
	var out []part
	for _, p := range parts {
		switch p.Type {
		case llm.TextBlock:
			out = append(out, part{Type: "text", Text: p.Text})
		case llm.ImageBlock:
			out = append(out, part{Type: "image_url", ImageURL: &imageURL{
				"data:" + string(p.Image.MediaType) + ";base64," + base64.StdEncoding.EncodeToString(p.Image.Data)}})
		}
	}
	return out
}

// content returns parts as the protocol has them: texts alone are a string,
// because servers exist that understand no list.
func content(parts []part) any {
	var texts []string
	for _, p := range parts {
		if p.ImageURL != nil {
			return parts
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}
