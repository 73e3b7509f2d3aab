// Package dialog brings the messages of a request into a form that providers
// accept.
//
// A log may hold anything: calls that were never answered, results whose call
// was cut away, arguments that are no JSON, blank texts, ids that come twice,
// names of tools that only another provider allows. One such entry must not
// make every later request fail, so each is converted to the nearest thing
// that can be sent. Equal messages come out equal, and messages that are appended
// change how the earlier ones come out only where they bring the result of a
// call that had none: prompt caches depend on it.
package dialog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
)

// Part is one piece of an entry.
type Part struct {
	// Type is text, image, reasoning, tool-call or tool-result.
	Type llm.BlockType
	// Text is the content of a text or reasoning part; a text is never blank.
	Text string
	// Image is the content of an image part.
	Image llm.ImageData
	// Block is the reasoning block that a reasoning part comes from.
	Block llm.Block
	// ID is the id of a call, or of the call that a result belongs to. Name and
	// Arguments, a JSON object, describe a call.
	ID, Name, Arguments string
	// Content, texts and images, and IsError describe a result.
	Content []Part
	IsError bool
}

// Kind says what an entry is.
type Kind uint8

// The kinds of entries. Results follow the answer whose calls they are for,
// one for each call and in their order.
const (
	UserEntry Kind = iota
	AnswerEntry
	ResultsEntry
)

// Entry is one message as it can be sent. It has at least one part.
type Entry struct {
	Kind  Kind
	Parts []Part
	// Provider and Model are the route that an answer came from.
	Provider, Model string
}

// Calls reports whether there are tool calls in e.
func (e Entry) Calls() bool {
	return slices.ContainsFunc(e.Parts, func(p Part) bool { return p.Type == llm.ToolCallBlock })
}

// Form is what differs between providers.
type Form struct {
	// ID gives call ids the form that a provider demands; nil for none.
	ID func(string) string
	// Limits bound the images. One that exceeds them alone becomes a text.
	Limits llm.MediaLimits
}

// Arrange returns the messages of r as entries, which begin and end with one
// that is no answer, and the names of the tools on the wire.
//
// The error is ctx's, or INVALID_ARGS for a request without any content.
func Arrange(ctx context.Context, r llm.Request, form Form) ([]Entry, *Names, error) {
	a := &arranger{ctx: ctx, request: r, form: form, names: new(Names), ids: ids{form: form.ID}}
	for _, t := range r.Tools {
		a.names.Wire(t.Name)
	}
	a.pair()
	for i, m := range r.Messages {
		if m.Role == llm.Assistant {
			a.answer(i, m)
		} else {
			a.user(m)
		}
	}
	if a.err != nil {
		return nil, nil, a.err
	}
	if len(a.out) == 0 {
		return nil, nil, errs.New(errs.InvalidArgs, "the request has no message with any content")
	}
	if a.out[0].Kind == AnswerEntry {
		a.out = slices.Insert(a.out, 0, saying("(The conversation begins with an answer.)"))
	}
	if a.out[len(a.out)-1].Kind == AnswerEntry {
		a.out = append(a.out, saying("Continue."))
	}
	return a.out, a.names, nil
}

func saying(text string) Entry {
	return Entry{Kind: UserEntry, Parts: []Part{{Type: llm.TextBlock, Text: text}}}
}

type arranger struct {
	ctx     context.Context
	request llm.Request
	form    Form
	names   *Names
	ids     ids
	slots   map[int][]slot // the calls of each answer, by its index
	placed  map[*llm.Block]bool
	out     []Entry
	err     error
}

// slot is a call and its result, if it has one.
type slot struct {
	call   llm.Block
	result *llm.Block
}

// pair finds the result of each call. A result belongs to the newest answer
// before it that has a call of its id without a result, and there to the first
// such call: some servers count their ids anew in every answer.
func (a *arranger) pair() {
	a.slots, a.placed = map[int][]slot{}, map[*llm.Block]bool{}
	open := map[string][][]*slot{} // by id: for each answer, the calls without a result
	for i, m := range a.request.Messages {
		if m.Role == llm.Assistant {
			calls := m.ToolCalls()
			a.slots[i] = make([]slot, len(calls))
			here := map[string][]*slot{}
			for j, c := range calls {
				a.slots[i][j].call = c
				here[c.ID] = append(here[c.ID], &a.slots[i][j])
			}
			for id, waiting := range here {
				open[id] = append(open[id], waiting)
			}
			continue
		}
		for j := range m.Content {
			b := &m.Content[j]
			answers := open[b.ToolCallID]
			if b.Type != llm.ToolResultBlock || len(answers) == 0 {
				continue
			}
			last := len(answers) - 1
			s := answers[last][0]
			s.result, a.placed[b] = b, true
			if answers[last] = answers[last][1:]; len(answers[last]) == 0 {
				open[b.ToolCallID] = answers[:last]
			}
		}
	}
}

func (a *arranger) answer(i int, m llm.Message) {
	e := Entry{Kind: AnswerEntry, Provider: m.Source.Provider, Model: m.Source.Model}
	results := Entry{Kind: ResultsEntry}
	next := 0
	for _, b := range m.Content {
		switch b.Type {
		case llm.TextBlock:
			e.Parts = appendText(e.Parts, b.Text)
		case llm.ReasoningBlock:
			e.Parts = append(e.Parts, Part{Type: llm.ReasoningBlock, Text: b.Text, Block: b})
		case llm.ImageBlock:
			if b.Attachment != nil {
				e.Parts = appendText(e.Parts, llm.Placeholder(*b.Attachment, "a model cannot be shown images as its own words"))
			}
		case llm.ToolCallBlock:
			s := a.slots[i][next]
			next++
			id := a.ids.next(b.ID)
			e.Parts = append(e.Parts, Part{Type: llm.ToolCallBlock, ID: id, Name: a.names.Wire(b.Name), Arguments: Arguments(b.Arguments)})
			results.Parts = append(results.Parts, a.result(id, s.result))
		}
	}
	if len(e.Parts) > 0 {
		a.out = append(a.out, e)
	}
	if len(results.Parts) > 0 {
		a.out = append(a.out, results)
	}
}

func (a *arranger) result(id string, b *llm.Block) Part {
	if b == nil {
		return Part{Type: llm.ToolResultBlock, ID: id, IsError: true, Content: []Part{{
			Type: llm.TextBlock, Text: "Error: there is no result of this call; it is not known whether it took effect."}}}
	}
	return Part{Type: llm.ToolResultBlock, ID: id, IsError: b.IsError, Content: a.content(b.Content)}
}

func (a *arranger) user(m llm.Message) {
	e := Entry{Kind: UserEntry}
	for j := range m.Content {
		b := &m.Content[j]
		switch {
		case b.Type != llm.ToolResultBlock:
			e.Parts = append(e.Parts, a.content(m.Content[j:j+1])...)
		case !a.placed[b]:
			if content := a.content(b.Content); len(content) > 0 {
				e.Parts = appendText(e.Parts, "Result of a tool call that is no longer part of the conversation:")
				e.Parts = append(e.Parts, content...)
			}
		}
	}
	if len(e.Parts) > 0 {
		a.out = append(a.out, e)
	}
}

// content converts what a user or a tool says.
func (a *arranger) content(blocks []llm.Block) []Part {
	var parts []Part
	for _, b := range blocks {
		switch {
		case b.Type == llm.TextBlock:
			parts = appendText(parts, b.Text)
		case b.Type == llm.ImageBlock && b.Attachment != nil:
			parts = append(parts, a.image(b))
		default:
			parts = appendText(parts, fmt.Sprintf("[Content of type %q is not included in this request.]", b.Type))
		}
	}
	return parts
}

// image loads an image. One that cannot be had is a text that says so, with
// no more than the code, because the text must be the same in every request.
func (a *arranger) image(b llm.Block) Part {
	text := func(reason string) Part {
		return Part{Type: llm.TextBlock, Text: llm.Placeholder(*b.Attachment, reason)}
	}
	if a.request.Image == nil {
		return text("there is no access to its bytes")
	}
	img, err := a.request.Image(a.ctx, *b.Attachment)
	if a.ctx.Err() != nil {
		a.err = context.Cause(a.ctx)
		return text("")
	}
	if err != nil {
		code := errs.CodeOf(err)
		if code == "" {
			code = errs.AttachmentReadFailed
		}
		return text(fmt.Sprintf("it cannot be read (%s)", code))
	}
	if limit := a.form.Limits.MaxBytes; limit > 0 && int64(len(img.Data)) > limit {
		return text(fmt.Sprintf("this model takes images of at most %d bytes", limit))
	}
	if len(img.Data) == 0 {
		return text("it has no bytes")
	}
	return Part{Type: llm.ImageBlock, Image: img}
}

func appendText(parts []Part, text string) []Part {
	if strings.TrimSpace(text) == "" {
		return parts
	}
	return append(parts, Part{Type: llm.TextBlock, Text: text})
}
