package llm

import (
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// BlockType tells what a content block holds.
type BlockType string

// The content block types.
const (
	TextBlock       BlockType = "text"
	ReasoningBlock  BlockType = "reasoning"
	ToolCallBlock   BlockType = "tool-call"
	ToolResultBlock BlockType = "tool-result"
	ImageBlock      BlockType = "image"
)

// Block is one piece of a message's content. Which fields count depends on
// its type; the others stay out of its JSON.
type Block struct {
	Type BlockType

	// Text is the content of a text or reasoning block.
	Text string

	// Signature is what a provider wants back beside its own reasoning, opaque
	// to everybody else; "" where it wants nothing.
	Signature string

	// ID, Name and Arguments describe a tool call. Arguments is the text the
	// model produced, which need not be valid JSON.
	ID        string
	Name      string
	Arguments string

	// ToolCallID, Content and IsError describe a tool result. Content holds
	// text and image blocks.
	ToolCallID string
	Content    []Block
	IsError    bool

	// Attachment names the image of an image block.
	Attachment *attachment.Ref

	// Extra holds the fields this version does not know, so that they survive
	// a round trip. Of a block of unknown type it holds everything but the
	// type.
	Extra map[string]json.RawMessage
}

// Text returns a text block.
func Text(s string) Block { return Block{Type: TextBlock, Text: s} }

// Reasoning returns a reasoning block.
func Reasoning(s string) Block { return Block{Type: ReasoningBlock, Text: s} }

// Image returns an image block.
func Image(ref attachment.Ref) Block { return Block{Type: ImageBlock, Attachment: &ref} }

// ToolCall returns a tool call block.
func ToolCall(id, name, arguments string) Block {
	return Block{Type: ToolCallBlock, ID: id, Name: name, Arguments: arguments}
}

// ToolResult returns a tool result block for the call of that id.
func ToolResult(callID string, isError bool, content ...Block) Block {
	return Block{Type: ToolResultBlock, ToolCallID: callID, IsError: isError, Content: content}
}

// AppendJSON appends the block as it stands in a session log.
func (b Block) AppendJSON(dst []byte) []byte {
	o := jsonx.Begin(dst)
	o.String("type", string(b.Type))
	switch b.Type {
	case TextBlock, ReasoningBlock:
		o.String("text", b.Text)
		if b.Signature != "" {
			o.String("signature", b.Signature)
		}
	case ToolCallBlock:
		o.String("id", b.ID)
		o.String("name", b.Name)
		o.String("arguments", b.Arguments)
	case ToolResultBlock:
		o.String("toolCallId", b.ToolCallID)
		o.Set(AppendBlocks(o.Key("content"), b.Content))
		o.Bool("isError", b.IsError)
	case ImageBlock:
		if b.Attachment != nil {
			o.Set(appendRef(o.Key("attachment"), *b.Attachment))
		}
	}
	o.Extras(b.Extra)
	return o.End()
}

// AppendBlocks appends blocks as a JSON array.
func AppendBlocks(dst []byte, blocks []Block) []byte {
	dst = append(dst, '[')
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = b.AppendJSON(dst)
	}
	return append(dst, ']')
}

func appendRef(dst []byte, r attachment.Ref) []byte {
	o := jsonx.Begin(dst)
	o.String("attachmentId", r.ID)
	o.String("mediaType", string(r.MediaType))
	o.Int("bytes", r.Bytes)
	o.Int("width", int64(r.Width))
	o.Int("height", int64(r.Height))
	if r.Name != "" {
		o.String("name", r.Name)
	}
	if d := r.OriginalDimensions; d != nil {
		size := jsonx.Begin(o.Key("originalDimensions"))
		size.Int("width", int64(d.Width))
		size.Int("height", int64(d.Height))
		o.Set(size.End())
	}
	return o.End()
}

// MarshalJSON returns the block as it stands in a session log, except that
// encoding/json escapes more characters than the log does.
func (b Block) MarshalJSON() ([]byte, error) { return b.AppendJSON(nil), nil }

// UnmarshalJSON reads a block. A field of the wrong kind is an error; an
// unknown type or field is kept in Extra.
func (b *Block) UnmarshalJSON(data []byte) error {
	fields, err := jsonx.Split(nil, data)
	if err != nil {
		return fmt.Errorf("content block: %w", err)
	}
	*b = Block{}
	typed := false
	for _, f := range fields {
		if f.Name == "type" {
			typed = true
			if err := readField("content block", f, &b.Type); err != nil {
				return err
			}
		}
	}
	if !typed || b.Type == "" {
		return fmt.Errorf("content block: the field %q is missing", "type")
	}
	for _, f := range fields {
		if f.Name == "type" {
			continue
		}
		to := b.field(f.Name)
		if to == nil {
			b.Extra = jsonx.Keep(b.Extra, f)
			continue
		}
		if err := readField(string(b.Type)+" block", f, to); err != nil {
			return err
		}
	}
	return b.complete(fields)
}

// field returns where the named field of a block of this type goes, or nil.
func (b *Block) field(name string) any {
	switch b.Type {
	case TextBlock, ReasoningBlock:
		switch name {
		case "text":
			return &b.Text
		case "signature":
			return &b.Signature
		}
	case ToolCallBlock:
		switch name {
		case "id":
			return &b.ID
		case "name":
			return &b.Name
		case "arguments":
			return &b.Arguments
		}
	case ToolResultBlock:
		switch name {
		case "toolCallId":
			return &b.ToolCallID
		case "content":
			return &b.Content
		case "isError":
			return &b.IsError
		}
	case ImageBlock:
		if name == "attachment" {
			return &b.Attachment
		}
	}
	return nil
}

// complete reports a field without which a block of its type means nothing.
func (b *Block) complete(fields []jsonx.Field) error {
	var need []string
	switch b.Type {
	case TextBlock, ReasoningBlock:
		need = []string{"text"}
	case ToolCallBlock:
		need = []string{"id", "name", "arguments"}
	case ToolResultBlock:
		need = []string{"toolCallId", "content"}
	case ImageBlock:
		need = []string{"attachment"}
	}
	for _, name := range need {
		if !hasField(fields, name) {
			return fmt.Errorf("%s block: the field %q is missing", b.Type, name)
		}
	}
	return nil
}

// hasField reports whether a field is there and is not null.
func hasField(fields []jsonx.Field, name string) bool {
	for _, f := range fields {
		if f.Name == name {
			return string(f.Value) != "null"
		}
	}
	return false
}

// readField decodes one field and names it where that fails.
func readField(of string, f jsonx.Field, to any) error {
	if s, ok := to.(*string); ok {
		v, err := jsonx.Unquote(f.Value)
		if err != nil {
			return fmt.Errorf("%s: the field %q: %w", of, f.Name, err)
		}
		*s = v
		return nil
	}
	if err := json.Unmarshal(f.Value, to); err != nil {
		return fmt.Errorf("%s: the field %q: %w", of, f.Name, err)
	}
	return nil
}
