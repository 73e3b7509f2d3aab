// Package render draws the cards of tool calls for a terminal or a plain file.
//
// A card comes from a log or a model, so nothing in it is trusted: every text
// goes through [term.Visible], and only package term makes escape sequences.
package render

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/tool"
)

// Limits of what is drawn; what they leave out is counted in the output.
const (
	// maxLines is how many lines of one card are drawn.
	maxLines = 400
	// maxColumns is how many characters of one line are drawn.
	maxColumns = 1000
)

// bar parts line numbers from text.
const bar = "│"

// Renderer draws cards on an output.
type Renderer struct {
	out   *term.Output
	lines int // drawn of the current card
	more  int // left out of the current card
}

// New returns a renderer.
func New(out *term.Output) *Renderer { return &Renderer{out: out} }

// Card draws a card. before is the text that a diff card's change was made
// from, for line numbers; it may be nil.
func (r *Renderer) Card(c tool.Card, before *string) {
	r.lines, r.more = 0, 0
	switch {
	case c.IsError:
		r.failure(c, "failed")
	case c.Kind == tool.ReadCard:
		r.read(c)
	case c.Kind == tool.DiffCard:
		r.diff(c, before)
	default:
		r.title(c.Title, "")
		r.text(Readable(c.Text))
	}
	r.end()
}

// Failure draws the card of a failed call with the code of its failure.
func (r *Renderer) Failure(c tool.Card, code string) {
	r.lines, r.more = 0, 0
	r.failure(c, term.Line(code))
	r.end()
}

func (r *Renderer) end() {
	if r.more > 0 {
		fmt.Fprintln(r.out, r.out.Paint(term.Dim, "  "+more(r.more, "line")))
	}
}

// title draws the first line of a card: what was done, and a remark.
func (r *Renderer) title(title, remark string) {
	line := r.out.Paint(term.Bold, term.Line(title))
	if remark != "" {
		line += "  " + remark
	}
	fmt.Fprintln(r.out, line)
}

func (r *Renderer) failure(c tool.Card, remark string) {
	r.title(c.Title, r.out.Paint(term.Red, remark))
	for line := range strings.Lines(c.Text) {
		r.line("     "+r.out.Paint(term.Red, bar)+" ", term.Visible(strings.TrimSuffix(line, "\n")))
	}
}

func (r *Renderer) read(c tool.Card) {
	remark := "no lines"
	if n := len(c.Lines); n > 0 {
		remark = fmt.Sprintf("lines %d-%d of %d", c.Lines[0].Number, c.Lines[n-1].Number, c.TotalLines)
	}
	if c.Lang != "" {
		remark += ", " + term.Line(c.Lang)
	}
	r.title(c.Title, r.out.Paint(term.Dim, remark))
	width := 4
	if n := len(c.Lines); n > 0 {
		width = max(width, len(fmt.Sprint(c.Lines[n-1].Number)))
	}
	for _, l := range c.Lines {
		r.line(r.out.Paint(term.Dim, fmt.Sprintf("%*d %s ", width, l.Number, bar)), term.Visible(l.Text))
	}
}

// text draws the body of a card of no particular kind.
func (r *Renderer) text(text string) {
	for line := range strings.Lines(text) {
		r.line("  ", term.Visible(strings.TrimRight(line, "\r\n")))
	}
}

// line draws one line, unless the card has too many. Both parts are safe to
// show, and text has no colour yet.
func (r *Renderer) line(head, text string) {
	r.styled(head, "", text, span{})
}

// styled draws one line in a style, with a part of it marked.
func (r *Renderer) styled(head string, s term.Style, text string, mark span) {
	if r.lines >= maxLines {
		r.more++
		return
	}
	r.lines++
	text, cut := shorten(text)
	mark.to = min(mark.to, len(text))
	mark.from = min(mark.from, mark.to)
	painted := text
	if s != "" {
		painted = r.out.Paint(s, text[:mark.from]) + r.out.Paint(s+";7", text[mark.from:mark.to]) + r.out.Paint(s, text[mark.to:])
	}
	if cut > 0 {
		painted += r.out.Paint(term.Dim, " "+more(cut, "character"))
	}
	fmt.Fprintln(r.out, strings.TrimRight(head+painted, " "))
}

// shorten cuts a line to what is drawn of it, and counts the characters that
// are left out.
func shorten(text string) (string, int) {
	if len(text) <= maxColumns {
		return text, 0
	}
	n := 0
	for i := range text {
		if n == maxColumns {
			return text[:i], utf8.RuneCountInString(text[i:])
		}
		n++
	}
	return text, 0
}

// more tells how much is left out.
func more(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("… and %d more %s", n, what)
}
