package tool

import (
	"encoding/json"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/textwindow"
)

// CardKind tells how a card is drawn.
type CardKind string

// The kinds of card.
const (
	ReadCard    CardKind = "read"
	DiffCard    CardKind = "diff"
	GenericCard CardKind = "generic"
)

// Card presents a call or its result to a person.
type Card struct {
	Kind CardKind `json:"kind"`
	// Title is one line, such as the tool's name and the path.
	Title string `json:"title"`
	// Path is the file the card is about, or "".
	Path string `json:"path,omitempty"`
	// Lang is the language of the text, for highlighting; "" when unknown.
	Lang string `json:"lang,omitempty"`
	// Offset is the number of the first of Lines, and TotalLines that of all
	// lines of the file; for read cards.
	Offset     int    `json:"offset,omitempty"`
	TotalLines int    `json:"totalLines,omitempty"`
	Lines      []Line `json:"lines,omitempty"`
	// Diffs are the hunks of a diff card.
	Diffs []textdiff.Card `json:"diffs,omitempty"`
	// Text is the body of a generic card.
	Text string `json:"text,omitempty"`
	// IsError marks the result of a failed call.
	IsError bool `json:"isError,omitempty"`
}

// Line is a numbered line of text.
type Line = textwindow.Line

// Logged is a result as a log has it.
type Logged struct {
	Content []llm.Block
	IsError bool
	Meta    json.RawMessage
}

// PresentCall returns the card of a call. Arguments that the tool cannot
// present give a generic card.
func (d Definition) PresentCall(arguments string) Card {
	if d.CallCard != nil {
		if card, err := present(func() (Card, error) { return d.CallCard(json.RawMessage(arguments)) }); err == nil {
			return card
		}
	}
	return Card{Kind: GenericCard, Title: d.Name, Text: arguments}
}

// PresentResult returns the card of a result. Failures, and metadata that the
// tool cannot present, give a generic card.
func (d Definition) PresentResult(arguments string, r Logged) Card {
	if d.ResultCard != nil && !r.IsError {
		if card, err := present(func() (Card, error) { return d.ResultCard(json.RawMessage(arguments), r) }); err == nil {
			return card
		}
	}
	return Card{Kind: GenericCard, Title: d.Name, Text: Result{Content: r.Content}.Text(), IsError: r.IsError}
}

// present calls a presenter; what a log holds must not end the program that
// shows it.
func present(card func() (Card, error)) (_ Card, err error) {
	defer event.Caught(&err, errs.ToolFailed, "the presenter")
	return card()
}
