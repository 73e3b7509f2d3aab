package anthropic

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/internal/dialog"
	"github.com/bridle-go/bridle/plugins/internal/endpoint"
)

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a content block of any type. Fields that a type must have even
// when they are empty are pointers.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Source    *source         `json:"source,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []block         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64, as encoding/json has it
}

type cacheControl struct {
	Type string `json:"type"`
}

type toolSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cacheControl   `json:"cache_control,omitempty"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int64  `json:"budget_tokens"`
}

// encode returns the body of a request and the names of its tools.
func (a *Adapter) encode(ctx context.Context, r llm.Request) ([]byte, *dialog.Names, error) {
	info, err := a.ResolveModel(r.Model)
	if err != nil {
		return nil, nil, err
	}
	entries, names, err := dialog.Arrange(ctx, r, dialog.Form{Limits: info.Media})
	if err != nil {
		return nil, nil, err
	}
	messages := convert(r, entries)
	var mark *cacheControl
	if !a.cfg.NoCache {
		mark = &cacheControl{"ephemeral"}
		markTail(messages, mark)
	}
	max := a.maxTokens(r, info)

	var body endpoint.Body
	body.Set("model", r.Model)
	body.Set("max_tokens", max)
	if strings.TrimSpace(r.System) != "" {
		body.Set("system", []block{{Type: "text", Text: r.System, Cache: mark}})
	}
	tools, declared := schemas(r, entries, names)
	if len(tools) > 0 {
		// Tools come before the system prompt in the cached prefix, so the mark
		// there covers them.
		if strings.TrimSpace(r.System) == "" {
			tools[len(tools)-1].Cache = mark
		}
		body.Set("tools", tools)
	}
	if declared {
		body.Set("tool_choice", map[string]string{"type": "none"})
	}
	body.Set("messages", messages)
	budget := a.budget(r, max)
	if budget > 0 && mayThink(messages) {
		body.Set("thinking", thinking{"enabled", budget})
	} else if t := r.Options.Temperature; t != nil {
		// With reasoning the API allows no temperature but its default.
		body.Set("temperature", *t)
	}
	body.Set("stream", true)
	body.Merge(a.cfg.Extra)
	body.Merge(r.Options.Extra)
	data, err := body.Encode()
	return data, names, err
}

// maxTokens returns the bound on the answer. One above the model's own is
// refused, so it is lowered.
func (a *Adapter) maxTokens(r llm.Request, info llm.ModelInfo) int64 {
	n := r.Options.MaxOutputTokens
	switch {
	case n <= 0 && info.MaxOutputTokens > 0:
		return min(info.MaxOutputTokens, maxDefault)
	case n <= 0:
		n = defaultMaxTokens
		if b := a.cfg.ThinkingBudgets[r.Options.ReasoningEffort]; b > 0 {
			n += b
		}
		return n
	case info.MaxOutputTokens > 0:
		return min(n, info.MaxOutputTokens)
	}
	return n
}

// budget returns the tokens that may go into reasoning, or 0 for none. The
// answer needs some that do not.
func (a *Adapter) budget(r llm.Request, max int64) int64 {
	b := min(a.cfg.ThinkingBudgets[r.Options.ReasoningEffort], max-minBudget)
	if b < minBudget {
		return 0
	}
	return b
}

// schemas returns the tools of a request. History with calls is refused when
// no tools are declared; then those it names are, and the second result is
// set: none of them may be called.
func schemas(r llm.Request, entries []dialog.Entry, names *dialog.Names) (tools []toolSchema, declared bool) {
	for _, t := range r.Tools {
		schema := json.RawMessage(dialog.PairSurrogates(string(t.InputSchema)))
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		tools = append(tools, toolSchema{Name: names.Wire(t.Name), Description: t.Description, InputSchema: schema})
	}
	if len(tools) > 0 {
		return tools, false
	}
	for _, e := range entries {
		for _, p := range e.Parts {
			if p.Type == llm.ToolCallBlock && !slices.ContainsFunc(tools, func(t toolSchema) bool { return t.Name == p.Name }) {
				tools = append(tools, toolSchema{Name: p.Name, InputSchema: json.RawMessage(`{"type":"object"}`)})
			}
		}
	}
	return tools, len(tools) > 0
}

// convert brings the entries into alternating messages.
func convert(r llm.Request, entries []dialog.Entry) []message {
	var out []message
	add := func(role string, blocks []block) {
		switch last := len(out) - 1; {
		case len(blocks) == 0:
		case last >= 0 && out[last].Role == role:
			out[last].Content = append(out[last].Content, blocks...)
		default:
			out = append(out, message{role, blocks})
		}
	}
	for _, e := range entries {
		switch e.Kind {
		case dialog.AnswerEntry:
			add("assistant", answerBlocks(r, e))
		default:
			add("user", blocks(e.Parts))
		}
	}
	return out
}

// answerBlocks converts an answer. Reasoning goes back only to the model whose
// signature it has, and not at the end of a message, where it is refused.
func answerBlocks(r llm.Request, e dialog.Entry) []block {
	own := e.Provider == r.Provider && e.Model == r.Model
	var out []block
	for _, p := range e.Parts {
		switch p.Type {
		case llm.ReasoningBlock:
			switch data := p.Block.Extra[RedactedField]; {
			case !own:
			case data != nil:
				out = append(out, block{Type: "redacted_thinking", Data: data})
			case p.Block.Signature != "":
				out = append(out, block{Type: "thinking", Thinking: &p.Block.Text, Signature: p.Block.Signature})
			}
		case llm.ToolCallBlock:
			out = append(out, block{Type: "tool_use", ID: p.ID, Name: p.Name, Input: json.RawMessage(p.Arguments)})
		default:
			out = append(out, blocks([]dialog.Part{p})...)
		}
	}
	for len(out) > 0 && reasons(out[len(out)-1]) {
		out = out[:len(out)-1]
	}
	return out
}

func blocks(parts []dialog.Part) []block {
	var out []block
	for _, p := range parts {
		switch p.Type {
		case llm.TextBlock:
			out = append(out, block{Type: "text", Text: p.Text})
		case llm.ImageBlock:
			out = append(out, block{Type: "image", Source: &source{"base64", string(p.Image.MediaType), p.Image.Data}})
		case llm.ToolResultBlock:
			out = append(out, block{Type: "tool_result", ToolUseID: p.ID, Content: blocks(p.Content), IsError: p.IsError})
		}
	}
	return out
}

func reasons(b block) bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

// markTail marks the ends of the last two user messages: the last for the next
// request, and the one before because that is where the request before this
// one put it.
func markTail(messages []message, mark *cacheControl) {
	left := 2
	for i := len(messages) - 1; i >= 0 && left > 0; i-- {
		if m := messages[i]; m.Role == "user" {
			m.Content[len(m.Content)-1].Cache = mark
			left--
		}
	}
}

// mayThink reports whether reasoning may be asked for. In the middle of a
// turn, which is what follows the last message of the user that is more than
// results, it must have been on from the beginning.
func mayThink(messages []message) bool {
	begin := 0
	for i, m := range messages {
		if m.Role == "user" && !slices.ContainsFunc(m.Content, func(b block) bool { return b.Type == "tool_result" }) {
			begin = i
		}
	}
	for _, m := range messages[begin:] {
		if m.Role == "assistant" {
			return reasons(m.Content[0])
		}
	}
	return true
}
