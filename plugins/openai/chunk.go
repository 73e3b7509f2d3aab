package openai

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/bridle-go/bridle/harness/llm"
)

// chunk is one event of an answer, or a whole answer of a server that does
// not stream. What servers disagree on is kept raw.
type chunk struct {
	ID      json.RawMessage `json:"id"`
	Object  json.RawMessage `json:"object"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"`
	FinishReason *string         `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"`
}

type delta struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Refusal          json.RawMessage `json:"refusal"`
	ToolCalls        []callDelta     `json:"tool_calls"`
	FunctionCall     *functionDelta  `json:"function_call"`
}

type callDelta struct {
	Index    *int            `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function functionDelta   `json:"function"`
}

type functionDelta struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// text returns a JSON string's text, and "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// arguments returns the text of a call's arguments. Some servers give the
// object itself.
func (f functionDelta) arguments() string {
	if len(f.Arguments) > 0 && f.Arguments[0] == '{' {
		var out bytes.Buffer
		if json.Compact(&out, f.Arguments) == nil {
			return out.String()
		}
	}
	return text(f.Arguments)
}

// piece is one text or reasoning of a content list.
type piece struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
}

// pieces calls the functions with the texts of a content, which is a string,
// or a list as Mistral's reasoning models give it.
func pieces(raw json.RawMessage, said, thought func(string)) {
	if s := text(raw); s != "" {
		said(s)
		return
	}
	var list []piece
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, p := range list {
		if p.Type == "thinking" {
			pieces(p.Thinking, thought, thought)
			continue
		}
		said(p.Text)
	}
}

// number is a count that a server may get wrong: what is no number from 0 up
// counts as not reported.
type number struct{ n *int64 }

func (c *number) UnmarshalJSON(data []byte) error {
	var f float64
	c.n = nil
	if json.Unmarshal(data, &f) == nil && f >= 0 && f < math.MaxInt32*1000.0 && string(data) != "null" {
		n := int64(f)
		c.n = &n
	}
	return nil
}

func (c number) or(def int64) int64 {
	if c.n == nil {
		return def
	}
	return *c.n
}

// usage reads the token counts. Wrong ones cost nobody an answer: those that
// cannot be are dropped, and the result is nil without any.
func usage(raw json.RawMessage) *llm.Usage {
	var u struct {
		Prompt     number `json:"prompt_tokens"`
		Completion number `json:"completion_tokens"`
		Hit        number `json:"prompt_cache_hit_tokens"` // DeepSeek
		PromptMore *struct {
			Cached number `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionMore *struct {
			Reasoning number `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil || u.Prompt.n == nil && u.Completion.n == nil {
		return nil
	}
	out := &llm.Usage{InputTokens: u.Prompt.or(0), OutputTokens: u.Completion.or(0)}
	cached := u.Hit
	if cached.n == nil && u.PromptMore != nil {
		cached = u.PromptMore.Cached
	}
	if cached.n != nil && *cached.n <= out.InputTokens {
		out.CacheReadTokens = cached.n
		out.InputTokens -= *cached.n
	}
	if more := u.CompletionMore; more != nil && more.Reasoning.n != nil && *more.Reasoning.n <= out.OutputTokens {
		out.ReasoningTokens = more.Reasoning.n
	}
	return out
}
