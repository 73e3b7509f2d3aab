package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/tool"
)

// diff draws the hunks of a change. A diff card without hunks tells of a
// change whose text before is not known, or of a new file.
func (r *Renderer) diff(c tool.Card, before *string) {
	added, removed := 0, 0
	hunks := make([]hunk, len(c.Diffs))
	for i, d := range c.Diffs {
		hunks[i] = newHunk(d)
		a, m := textdiff.Stat(hunks[i].old, hunks[i].new)
		added, removed = added+a, removed+m
	}
	if len(hunks) == 0 {
		r.title(c.Title, "")
		r.text(Readable(c.Text))
		return
	}
	r.title(c.Title, r.out.Paint(term.Green, fmt.Sprintf("+%d", added))+" "+r.out.Paint(term.Red, fmt.Sprintf("-%d", removed)))
	starts := locate(before, c.Diffs)
	shift := 0 // new line numbers minus old ones
	for i, h := range hunks {
		if i > 0 {
			r.line(r.out.Paint(term.Dim, "   ⋯"), "")
		}
		at := 0
		if starts != nil {
			at = starts[i]
		}
		r.hunk(h, at, at+shift)
		a, m := textdiff.Stat(h.old, h.new)
		shift += a - m
	}
}

// Content returns what is inside of the envelope that the file tools put their
// results into, for models; other text comes back as it is.
func Content(text string) string {
	_, inside, opened := strings.Cut(text, "<content>\n")
	inside, _, closed := strings.Cut(inside, "\n</content>")
	if !opened || !closed {
		return text
	}
	return inside
}

// Readable returns what a result's text says to a person: what is inside of
// the envelope, and JSON over several lines.
func Readable(text string) string {
	text = Content(text)
	if !strings.HasPrefix(text, "{") {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// hunk is a card's two texts with the line feeds that cards leave out, so
// that they can be compared.
type hunk struct{ old, new string }

func newHunk(c textdiff.Card) hunk {
	var h hunk
	if c.OldText != nil {
		h.old = *c.OldText
	}
	h.new = c.NewText
	// Where exactly one of the texts ends in a line feed, the other has none;
	// else the card has cut it from both.
	oldEnds, newEnds := strings.HasSuffix(h.old, "\n"), strings.HasSuffix(h.new, "\n")
	if h.new != "\n" && (oldEnds == newEnds || h.old == "" || h.new == "") {
		h.old, h.new = terminated(h.old), terminated(h.new)
	}
	return h
}

func terminated(text string) string {
	if text == "" {
		return ""
	}
	return text + "\n"
}

// TextBefore returns the text that a change was made from, where the value of
// its result has it, else nil.
func TextBefore(r tool.Result) *string {
	value, err := r.ValueJSON()
	if err != nil {
		return nil
	}
	var v struct {
		Before *string `json:"before"`
	}
	if json.Unmarshal(value, &v) != nil {
		return nil
	}
	return v.Before
}

// locate returns the number of the first line of each card in the text they
// were made from, or nil where that is not known.
func locate(before *string, cards []textdiff.Card) []int {
	if before == nil {
		return nil
	}
	starts := make([]int, len(cards))
	at, line := 0, 1
	for i, c := range cards {
		if c.OldText == nil {
			starts[i] = 1
			continue
		}
		from := strings.Index((*before)[at:], *c.OldText)
		if from < 0 {
			return nil
		}
		line += strings.Count((*before)[at:at+from], "\n")
		starts[i] = line
		line += strings.Count(*c.OldText, "\n")
		at += from + len(*c.OldText)
	}
	return starts
}

// DiffLine is a line of a change, safe to show.
type DiffLine struct {
	// Sign is ' ' for a line of the context, '-' for one that went, and '+' for
	// one that came.
	Sign byte
	// Number counts the line in the text after the change, or in the one before
	// for a line that went; 0 where that is not known.
	Number int
	Text   string
	// From and To are the bytes of Text in which the line differs from the one
	// whose place it took; equal where that says nothing.
	From, To int
	// Unended tells that a line that went or came has no line feed.
	Unended bool
}

// DiffLines returns the lines of a hunk as a tool reports it. They are not
// numbered.
func DiffLines(c textdiff.Card) []DiffLine { return newHunk(c).lines(0, 0) }

// lines returns the lines of a hunk whose texts begin at the given lines; 0
// for not known.
func (h hunk) lines(oldLine, newLine int) []DiffLine {
	var out []DiffLine
	old := lines(h.old)
	done := 0
	context := func(to int) {
		for ; done < to; done++ {
			out = append(out, DiffLine{Sign: ' ', Number: newLine, Text: visible(old[done])})
			oldLine, newLine = next(oldLine), next(newLine)
		}
	}
	changed := func(sign byte, number int, line, other string) {
		l := DiffLine{Sign: sign, Number: number, Text: visible(line), Unended: !strings.HasSuffix(line, "\n")}
		mark := differing(l.Text, visible(other))
		l.From, l.To = mark.from, mark.to
		out = append(out, l)
	}
	for _, c := range textdiff.Hunks(h.old, h.new, 0) {
		start := c.OldStart - 1
		if c.OldLines == 0 {
			start = c.OldStart
		}
		context(start)
		gone, come := lines(c.OldText), lines(c.NewText)
		for i, l := range gone {
			changed('-', oldLine, l, counterpart(gone, come, i))
			oldLine = next(oldLine)
		}
		for i, l := range come {
			changed('+', newLine, l, counterpart(come, gone, i))
			newLine = next(newLine)
		}
		done = start + len(gone)
	}
	context(len(old))
	return out
}

// DiffText returns the hunks of a unified diff, whose numbers are those of its
// headers.
func DiffText(diff string) [][]DiffLine {
	var hunks [][]DiffLine
	var gone, come, oldLine, newLine int // lines left of the hunk, and their numbers
	for text := range strings.Lines(diff) {
		text = strings.TrimRight(text, "\r\n")
		if gone <= 0 && come <= 0 {
			if at, ok := hunkHeader(text); ok {
				oldLine, gone, newLine, come = at[0], at[1], at[2], at[3]
				hunks = append(hunks, nil)
				continue
			}
		}
		if len(hunks) == 0 || text == "" {
			continue // the names of the files
		}
		h := &hunks[len(hunks)-1]
		l := DiffLine{Sign: text[0], Number: newLine, Text: term.Visible(text[1:])}
		switch {
		case text[0] == '\\' && len(*h) > 0:
			(*h)[len(*h)-1].Unended = true
			continue
		case text[0] == '-' && gone > 0:
			l.Number = oldLine
			gone, oldLine = gone-1, oldLine+1
		case text[0] == '+' && come > 0:
			come, newLine = come-1, newLine+1
		case text[0] == ' ' && gone > 0 && come > 0:
			gone, oldLine, come, newLine = gone-1, oldLine+1, come-1, newLine+1
		default:
			continue
		}
		*h = append(*h, l)
	}
	return hunks
}

// hunkHeader reads "@@ -1,2 +1 @@": first line and number of lines of both
// sides, where 1 is left out.
func hunkHeader(text string) (at [4]int, ok bool) {
	m := hunkPattern.FindStringSubmatch(text)
	if m == nil {
		return at, false
	}
	for i := range at {
		at[i] = 1
		if m[i+1] != "" {
			n, err := strconv.Atoi(m[i+1])
			if err != nil {
				return at, false
			}
			at[i] = n
		}
	}
	return at, true
}

var hunkPattern = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// hunk draws one hunk.
func (r *Renderer) hunk(h hunk, oldLine, newLine int) { r.diffLines(h.lines(oldLine, newLine)) }

func (r *Renderer) diffLines(lines []DiffLine) {
	for _, l := range lines {
		var s term.Style
		switch l.Sign {
		case '-':
			s = term.Red
		case '+':
			s = term.Green
		}
		sign := string(l.Sign)
		if s != "" {
			sign = r.out.Paint(s, sign)
		}
		r.styled(r.number(l.Number, sign), s, l.Text, span{l.From, l.To})
		if l.Unended {
			r.line(r.number(0, " "), r.out.Paint(term.Dim, `(no line feed at the end of the file)`))
		}
	}
}

// counterpart returns the line that took the place of lines[i], where as many
// lines came as went.
func counterpart(lines, others []string, i int) string {
	if len(lines) != len(others) {
		return ""
	}
	return others[i]
}

func (r *Renderer) number(n int, sign string) string {
	text := "    "
	if n > 0 {
		text = fmt.Sprintf("%4d", n)
	}
	return r.out.Paint(term.Dim, text) + sign + r.out.Paint(term.Dim, bar) + " "
}

func next(line int) int {
	if line == 0 {
		return 0
	}
	return line + 1
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

func visible(line string) string { return term.Visible(strings.TrimSuffix(line, "\n")) }

// span is a part of a line, in bytes.
type span struct{ from, to int }

// differing returns the part of line that other has not, or nothing where
// they have too little in common for a mark to help.
func differing(line, other string) span {
	from := 0
	for from < len(line) && from < len(other) {
		a, size := utf8.DecodeRuneInString(line[from:])
		b, _ := utf8.DecodeRuneInString(other[from:])
		if a != b {
			break
		}
		from += size
	}
	to, end := len(line), len(other)
	for to > from && end > from {
		a, size := utf8.DecodeLastRuneInString(line[from:to])
		b, _ := utf8.DecodeLastRuneInString(other[from:end])
		if a != b {
			break
		}
		to, end = to-size, end-size
	}
	blanks := len(line) - len(strings.TrimLeft(line, " "))
	if common := len(line) - (to - from) - min(blanks, from); common < len(strings.TrimSpace(line))/3 || common == 0 {
		return span{}
	}
	return span{from, to}
}
