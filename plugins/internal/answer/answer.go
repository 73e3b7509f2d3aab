// Package answer turns what a model server streams into the chunks of package
// llm and keeps their promises: blocks are numbered in the order of their
// start, every delta of a call carries its id and name, every block is closed
// by one that carries it whole, and one finish ends it all.
package answer

import (
	"encoding/json"
	"iter"
	"strings"

	"github.com/bridle-go/bridle/harness/llm"
)

// MaxCalls bounds the tool calls of one answer, whose number a server chooses.
const MaxCalls = 256

// Writer writes one answer. It is not safe for concurrent use.
type Writer struct {
	yield func(llm.Chunk, error) bool
	left  bool // the consumer has

	next  int // index of the next block
	open  *prose
	calls []*Call
}

// prose is an open text or reasoning block.
type prose struct {
	kind      llm.BlockType
	index     int
	text      strings.Builder
	signature strings.Builder
}

// New returns a writer to yield, the function of an iter.Seq2.
func New(yield func(llm.Chunk, error) bool) *Writer { return &Writer{yield: yield} }

// Stream returns an answer that write writes. An error of it ends the answer.
func Stream(write func(*Writer) error) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		w := New(yield)
		if err := write(w); err != nil {
			w.Fail(err)
		}
	}
}

// Left reports whether the consumer has ended the iteration; then everything
// that is written goes nowhere.
func (w *Writer) Left() bool { return w.left }

func (w *Writer) send(c llm.Chunk) {
	if !w.left && !w.yield(c, nil) {
		w.left = true
	}
}

func (w *Writer) start(kind llm.BlockType) int {
	i := w.next
	w.next++
	w.send(llm.Chunk{Type: llm.BlockStart, Index: i, BlockType: kind})
	return i
}

func (w *Writer) end(index int, b llm.Block) {
	w.send(llm.Chunk{Type: llm.BlockEnd, Index: index, Block: &b})
}

// Text continues the text block, or begins one.
func (w *Writer) Text(s string) {
	if s != "" {
		w.begin(llm.TextBlock).text.WriteString(s)
		w.send(llm.Chunk{Type: llm.TextDelta, Index: w.open.index, Text: s})
	}
}

// Reasoning continues the reasoning block, or begins one.
func (w *Writer) Reasoning(s string) {
	if s != "" {
		w.begin(llm.ReasoningBlock).text.WriteString(s)
		w.send(llm.Chunk{Type: llm.ReasoningDelta, Index: w.open.index, Text: s})
	}
}

// Sign adds to the signature of the reasoning block, or begins one that has
// nothing else.
func (w *Writer) Sign(s string) {
	if s != "" {
		w.begin(llm.ReasoningBlock).signature.WriteString(s)
	}
}

// Whole writes a block that comes in one piece and has no text to stream.
func (w *Writer) Whole(b llm.Block) {
	w.EndProse()
	w.end(w.start(b.Type), b)
}

// begin returns the open block of that kind. One of the other kind is closed.
func (w *Writer) begin(kind llm.BlockType) *prose {
	if w.open != nil && w.open.kind == kind {
		return w.open
	}
	w.EndProse()
	w.open = &prose{kind: kind, index: w.start(kind)}
	return w.open
}

// EndProse closes the open text or reasoning block, if there is one.
func (w *Writer) EndProse() {
	if p := w.open; p != nil {
		w.open = nil
		w.end(p.index, llm.Block{Type: p.kind, Text: p.text.String(), Signature: p.signature.String()})
	}
}

// Call is a tool call that is being written.
type Call struct {
	w        *Writer
	index    int
	id, name string
	args     strings.Builder
	ended    bool
}

// Call begins a tool call. Calls may be written side by side.
func (w *Writer) Call(id, name string) *Call {
	w.EndProse()
	c := &Call{w: w, index: w.start(llm.ToolCallBlock), id: id, name: name}
	w.calls = append(w.calls, c)
	return c
}

// Add continues the arguments.
func (c *Call) Add(arguments string) {
	if arguments != "" && !c.ended {
		c.args.WriteString(arguments)
		c.w.send(llm.Chunk{Type: llm.ToolCallDelta, Index: c.index, ID: c.id, Name: c.name, ArgumentsDelta: arguments})
	}
}

// Empty reports whether the arguments have not begun.
func (c *Call) Empty() bool { return c.args.Len() == 0 }

// Whole reports whether the arguments are one complete JSON object.
func (c *Call) Whole() bool { return isObject(c.args.String()) }

// End closes the call. A call without arguments has the arguments {}: that is
// how many servers say it of a tool that takes none.
func (c *Call) End() {
	if c.ended {
		return
	}
	if strings.TrimSpace(c.args.String()) == "" {
		c.Add("{}")
	}
	c.ended = true
	c.w.end(c.index, llm.ToolCall(c.id, c.name, c.args.String()))
}

// Finish closes what is open and ends the answer. The usage may be nil.
//
// Where the model was stopped before it was done, a call whose arguments are
// no complete object yet stays open: closing it would make it one that can be
// run, and one that was cut before its first argument would even look valid.
func (w *Writer) Finish(kind llm.FinishKind, message string, u *llm.Usage) {
	w.EndProse()
	stopped := kind != llm.FinishStop && kind != llm.FinishToolCalls
	for _, c := range w.calls {
		if !stopped || c.Whole() {
			c.End()
		}
	}
	if !stopped {
		// Servers disagree on the reason when there are calls; the calls decide.
		kind = llm.FinishStop
		if len(w.calls) > 0 {
			kind = llm.FinishToolCalls
		}
	}
	if u != nil {
		w.send(llm.Chunk{Type: llm.UsageChunk, Usage: u})
	}
	w.send(llm.Chunk{Type: llm.FinishChunk, Reason: &llm.FinishReason{Kind: kind, Message: message}})
}

// Fail ends the answer with an error. What is open stays open.
func (w *Writer) Fail(err error) {
	if !w.left {
		w.left = true
		w.yield(llm.Chunk{}, err)
	}
}

func isObject(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}
