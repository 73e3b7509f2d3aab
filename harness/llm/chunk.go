package llm

import (
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// ChunkType tells what a chunk of a streamed answer says.
type ChunkType string

// The chunk types. Every block of an answer is opened by a block-start and
// closed by a block-end that carries it whole; blocks may overlap, which is
// why chunks carry the block's index. A stream ends with one finish.
const (
	BlockStart     ChunkType = "block-start"
	TextDelta      ChunkType = "text-delta"
	ReasoningDelta ChunkType = "reasoning-delta"
	ToolCallDelta  ChunkType = "tool-call-delta"
	BlockEnd       ChunkType = "block-end"
	UsageChunk     ChunkType = "usage"
	FinishChunk    ChunkType = "finish"
)

// FinishKind says why a model stopped.
type FinishKind string

// The reasons to stop.
const (
	FinishStop      FinishKind = "stop"
	FinishToolCalls FinishKind = "tool-calls"
	FinishMaxTokens FinishKind = "max-tokens"
	FinishAborted   FinishKind = "aborted"
	FinishError     FinishKind = "error"
)

// FinishReason says why a model stopped.
type FinishReason struct {
	Kind FinishKind
	// Message says what went wrong when the kind is error, else "".
	Message string
	// Extra holds fields this version does not know.
	Extra map[string]json.RawMessage
}

// Usage counts the tokens of one request. A count that the provider does not
// report is nil, which is not the same as none.
type Usage struct {
	// InputTokens counts the prompt without what was read from a cache.
	InputTokens int64
	// OutputTokens counts the answer, reasoning included.
	OutputTokens int64
	// CacheReadTokens and CacheWriteTokens count the prompt tokens read from
	// and written to the provider's prompt cache.
	CacheReadTokens  *int64
	CacheWriteTokens *int64
	// ReasoningTokens counts the part of the output that is reasoning.
	ReasoningTokens *int64
	// Extra holds fields this version does not know.
	Extra map[string]json.RawMessage
}

// Count returns a pointer to n, for the optional counts of [Usage].
func Count(n int64) *int64 { return &n }

// Chunk is one piece of a streamed answer. Which fields count depends on its
// type; the others stay out of its JSON.
type Chunk struct {
	Type ChunkType
	// Index numbers the block that a block-start, a delta or a block-end is
	// about, from 0 in the order of their starts.
	Index int
	// BlockType is what a block-start opens.
	BlockType BlockType
	// Text is the piece of a text-delta or reasoning-delta.
	Text string
	// ID, Name and ArgumentsDelta are the piece of a tool-call-delta. Every
	// delta of a call repeats its id and name.
	ID             string
	Name           string
	ArgumentsDelta string
	// Block is the whole block of a block-end.
	Block *Block
	// Usage is what a usage chunk reports.
	Usage *Usage
	// Reason is what a finish chunk reports.
	Reason *FinishReason
	// Extra holds fields this version does not know. Of a chunk of unknown
	// type it holds everything but the type.
	Extra map[string]json.RawMessage
}

// AppendJSON appends the chunk as it stands in a session log.
func (c Chunk) AppendJSON(dst []byte) []byte {
	o := jsonx.Begin(dst)
	o.String("type", string(c.Type))
	switch c.Type {
	case BlockStart:
		o.Int("index", int64(c.Index))
		o.String("blockType", string(c.BlockType))
	case TextDelta, ReasoningDelta:
		o.Int("index", int64(c.Index))
		o.String("text", c.Text)
	case ToolCallDelta:
		o.Int("index", int64(c.Index))
		if c.ID != "" {
			o.String("id", c.ID)
		}
		if c.Name != "" {
			o.String("name", c.Name)
		}
		o.String("argumentsDelta", c.ArgumentsDelta)
	case BlockEnd:
		o.Int("index", int64(c.Index))
		if c.Block != nil {
			o.Set(c.Block.AppendJSON(o.Key("block")))
		}
	case UsageChunk:
		if c.Usage != nil {
			o.Set(c.Usage.AppendJSON(o.Key("usage")))
		}
	case FinishChunk:
		if c.Reason != nil {
			o.Set(c.Reason.AppendJSON(o.Key("reason")))
		}
	}
	o.Extras(c.Extra)
	return o.End()
}

// MarshalJSON returns the chunk as it stands in a session log, except that
// encoding/json escapes more characters than the log does.
func (c Chunk) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// UnmarshalJSON reads a chunk. A field that its type needs must be there; an
// unknown type or field is kept in Extra.
func (c *Chunk) UnmarshalJSON(data []byte) error {
	fields, err := jsonx.Split(nil, data)
	if err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	*c = Chunk{}
	for _, f := range fields {
		if f.Name == "type" {
			if err := readField("chunk", f, &c.Type); err != nil {
				return err
			}
		}
	}
	if c.Type == "" {
		return fmt.Errorf("chunk: the field %q is missing", "type")
	}
	for _, f := range fields {
		if f.Name == "type" {
			continue
		}
		to := c.field(f.Name)
		if to == nil {
			c.Extra = jsonx.Keep(c.Extra, f)
			continue
		}
		if err := readField(string(c.Type)+" chunk", f, to); err != nil {
			return err
		}
	}
	for _, name := range chunkNeeds[c.Type] {
		if !hasField(fields, name) {
			return fmt.Errorf("%s chunk: the field %q is missing", c.Type, name)
		}
	}
	return nil
}

var chunkNeeds = map[ChunkType][]string{
	BlockStart:     {"index", "blockType"},
	TextDelta:      {"index", "text"},
	ReasoningDelta: {"index", "text"},
	ToolCallDelta:  {"index", "argumentsDelta"},
	BlockEnd:       {"index", "block"},
	UsageChunk:     {"usage"},
	FinishChunk:    {"reason"},
}

// field returns where the named field of a chunk of this type goes, or nil.
func (c *Chunk) field(name string) any {
	indexed := func(own any, ownName string) any {
		switch name {
		case "index":
			return &c.Index
		case ownName:
			return own
		}
		return nil
	}
	switch c.Type {
	case BlockStart:
		return indexed(&c.BlockType, "blockType")
	case TextDelta, ReasoningDelta:
		return indexed(&c.Text, "text")
	case BlockEnd:
		return indexed(&c.Block, "block")
	case ToolCallDelta:
		switch name {
		case "id":
			return &c.ID
		case "name":
			return &c.Name
		}
		return indexed(&c.ArgumentsDelta, "argumentsDelta")
	case UsageChunk:
		if name == "usage" {
			return &c.Usage
		}
	case FinishChunk:
		if name == "reason" {
			return &c.Reason
		}
	}
	return nil
}

// AppendJSON appends the usage as it stands in a session log.
func (u Usage) AppendJSON(dst []byte) []byte {
	o := jsonx.Begin(dst)
	o.Int("inputTokens", u.InputTokens)
	o.Int("outputTokens", u.OutputTokens)
	for _, f := range []struct {
		name  string
		count *int64
	}{
		{"cacheReadTokens", u.CacheReadTokens},
		{"cacheWriteTokens", u.CacheWriteTokens},
		{"reasoningTokens", u.ReasoningTokens},
	} {
		if f.count != nil {
			o.Int(f.name, *f.count)
		}
	}
	o.Extras(u.Extra)
	return o.End()
}

// MarshalJSON returns the usage as it stands in a session log.
func (u Usage) MarshalJSON() ([]byte, error) { return u.AppendJSON(nil), nil }

// UnmarshalJSON reads a usage.
func (u *Usage) UnmarshalJSON(data []byte) error {
	fields, err := jsonx.Split(nil, data)
	if err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	*u = Usage{}
	for _, f := range fields {
		var to any
		switch f.Name {
		case "inputTokens":
			to = &u.InputTokens
		case "outputTokens":
			to = &u.OutputTokens
		case "cacheReadTokens":
			to = &u.CacheReadTokens
		case "cacheWriteTokens":
			to = &u.CacheWriteTokens
		case "reasoningTokens":
			to = &u.ReasoningTokens
		default:
			u.Extra = jsonx.Keep(u.Extra, f)
			continue
		}
		if err := readField("usage", f, to); err != nil {
			return err
		}
	}
	return nil
}

// AppendJSON appends the reason as it stands in a session log.
func (r FinishReason) AppendJSON(dst []byte) []byte {
	o := jsonx.Begin(dst)
	o.String("kind", string(r.Kind))
	if r.Message != "" {
		o.String("message", r.Message)
	}
	o.Extras(r.Extra)
	return o.End()
}

// MarshalJSON returns the reason as it stands in a session log.
func (r FinishReason) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads a reason; its kind must be there.
func (r *FinishReason) UnmarshalJSON(data []byte) error {
	fields, err := jsonx.Split(nil, data)
	if err != nil {
		return fmt.Errorf("finish reason: %w", err)
	}
	*r = FinishReason{}
	for _, f := range fields {
		var to any
		switch f.Name {
		case "kind":
			to = &r.Kind
		case "message":
			to = &r.Message
		default:
			r.Extra = jsonx.Keep(r.Extra, f)
			continue
		}
		if err := readField("finish reason", f, to); err != nil {
			return err
		}
	}
	if r.Kind == "" {
		return fmt.Errorf("finish reason: the field %q is missing", "kind")
	}
	return nil
}
