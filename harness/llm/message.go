// Package llm holds what the harness and language models say to each other:
// messages and their content blocks, the chunks of a streamed answer, what is
// known of a model, and the adapters that reach one.
//
// The JSON of every type here is the form used in session logs.
package llm

import (
	"encoding/json"

	"github.com/bridle-go/bridle/harness/attachment"
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
// its type.
type Block struct {
	Type BlockType `json:"type"`

	// Text is the content of a text or reasoning block.
	Text string `json:"text,omitempty"`

	// ID, Name and Arguments describe a tool call. Arguments is the text the
	// model produced, which need not be valid JSON.
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`

	// ToolCallID, Content and IsError describe a tool result.
	ToolCallID string  `json:"toolCallId,omitempty"`
	Content    []Block `json:"content,omitempty"`
	IsError    bool    `json:"isError,omitempty"`

	// Attachment names the image of an image block.
	Attachment *attachment.Ref `json:"attachment,omitempty"`

	// Extra holds the fields of a logged block that this version does not
	// know, so that they survive a round trip.
	Extra map[string]json.RawMessage `json:"-"`
}

// Text returns a text block.
func Text(s string) Block { return Block{Type: TextBlock, Text: s} }

// Image returns an image block.
func Image(ref attachment.Ref) Block { return Block{Type: ImageBlock, Attachment: &ref} }
