package llm

import (
	"fmt"
	"strings"
)

// Accumulator puts the chunks of one answer together. The zero value is
// ready. It is not safe for concurrent use.
type Accumulator struct {
	blocks []*building // by index
	usage  *Usage
	reason *FinishReason
}

type building struct {
	kind      BlockType
	text      strings.Builder // or a call's arguments
	id, name  string
	whole     *Block // from the block-end
	beginning bool   // something of it was seen
}

// maxBlocks bounds the index of a block, which a provider chooses.
const maxBlocks = 4096

// Add takes the next chunk. A chunk that cannot follow the ones before it is
// an error and changes nothing. Chunks of unknown type are passed over.
func (a *Accumulator) Add(c Chunk) error {
	if a.reason != nil && c.Type != UsageChunk {
		return fmt.Errorf("a %s chunk follows the finish of the answer", c.Type)
	}
	switch c.Type {
	case UsageChunk:
		if c.Usage != nil {
			u := *c.Usage
			a.usage = &u
		}
		return nil
	case FinishChunk:
		if c.Reason == nil {
			return fmt.Errorf("a finish chunk gives no reason")
		}
		r := *c.Reason
		a.reason = &r
		return nil
	case BlockStart, TextDelta, ReasoningDelta, ToolCallDelta, BlockEnd:
		return a.block(c)
	}
	return nil
}

// kindOf returns the block type that a chunk belongs to.
func kindOf(c Chunk) BlockType {
	switch c.Type {
	case BlockStart:
		return c.BlockType
	case TextDelta:
		return TextBlock
	case ReasoningDelta:
		return ReasoningBlock
	case ToolCallDelta:
		return ToolCallBlock
	}
	return c.Block.Type
}

func (a *Accumulator) block(c Chunk) error {
	if c.Index < 0 || c.Index >= maxBlocks {
		return fmt.Errorf("a %s chunk has the block index %d, which is not in 0 to %d", c.Type, c.Index, maxBlocks-1)
	}
	if c.Type == BlockEnd && c.Block == nil {
		return fmt.Errorf("a block-end chunk carries no block")
	}
	kind := kindOf(c)
	if c.Index < len(a.blocks) && a.blocks[c.Index].beginning {
		b := a.blocks[c.Index]
		switch {
		case c.Type == BlockStart:
			return fmt.Errorf("block %d is started twice", c.Index)
		case b.whole != nil:
			return fmt.Errorf("a %s chunk follows the end of block %d", c.Type, c.Index)
		case b.kind != kind:
			return fmt.Errorf("a %s chunk does not belong to block %d, which is a %s block", c.Type, c.Index, b.kind)
		}
	}
	for len(a.blocks) <= c.Index {
		a.blocks = append(a.blocks, &building{})
	}
	b := a.blocks[c.Index]
	b.beginning, b.kind = true, kind
	switch c.Type {
	case TextDelta, ReasoningDelta:
		b.text.WriteString(c.Text)
	case ToolCallDelta:
		if c.ID != "" {
			b.id = c.ID
		}
		if c.Name != "" {
			b.name = c.Name
		}
		b.text.WriteString(c.ArgumentsDelta)
	case BlockEnd:
		whole := *c.Block
		b.whole = &whole
	}
	return nil
}

// Blocks returns the content of the answer as far as it came: each block as
// its block-end gave it, and an unfinished text or reasoning block as its
// deltas add up. An unfinished tool call is left out, because its arguments
// may be cut and nobody may run it. Blocks without any content are left out
// too.
func (a *Accumulator) Blocks() []Block {
	var out []Block
	for _, b := range a.blocks {
		switch {
		case b.whole != nil:
			if (b.kind != TextBlock && b.kind != ReasoningBlock) || b.whole.Text != "" || b.whole.Signature != "" || b.whole.Extra != nil {
				out = append(out, *b.whole)
			}
		case b.kind == TextBlock || b.kind == ReasoningBlock:
			if b.text.Len() > 0 {
				out = append(out, Block{Type: b.kind, Text: b.text.String()})
			}
		}
	}
	return out
}

// OpenCalls returns the tool calls that were begun and not finished, with the
// arguments as far as they came.
func (a *Accumulator) OpenCalls() []Block {
	var out []Block
	for _, b := range a.blocks {
		if b.kind == ToolCallBlock && b.whole == nil {
			out = append(out, ToolCall(b.id, b.name, b.text.String()))
		}
	}
	return out
}

// Closed reports whether every block that was begun has ended.
func (a *Accumulator) Closed() bool {
	for _, b := range a.blocks {
		if b.beginning && b.whole == nil {
			return false
		}
	}
	return true
}

// Usage returns the last usage that was reported, or nil.
func (a *Accumulator) Usage() *Usage { return a.usage }

// Finish returns why the answer ended, or false while it has not.
func (a *Accumulator) Finish() (FinishReason, bool) {
	if a.reason == nil {
		return FinishReason{}, false
	}
	return *a.reason, true
}
