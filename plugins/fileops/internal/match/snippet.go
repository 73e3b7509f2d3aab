package match

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Snippet is a piece of the text after an edit, around what was changed.
type Snippet struct {
	// StartLine and EndLine are the lines shown, from 1, both included.
	StartLine int `json:"start_line"`
	EndLine   int `json:"end_line"`
	// Text holds the lines, each with its number: right-aligned, one space,
	// then the line.
	Text string `json:"content"`
}

const (
	// MaxSnippets bounds the snippets of one edit.
	MaxSnippets = 50
	// maxSnippetLines bounds the lines of one snippet; the middle of a
	// longer one is left out.
	maxSnippetLines = 80
	// maxSnippetLine bounds a line, in characters.
	maxSnippetLine = 400
)

// Snippets returns the lines around the changes with context lines before and
// after, where they touch joined into one. more is the number of changes that
// are not shown because there are too many.
func Snippets(after []byte, changes []Range, context int) (snippets []Snippet, more int) {
	if len(changes) == 0 || len(after) == 0 {
		return nil, 0
	}
	lines := lineTable(after)
	context = max(context, 0)
	type span struct{ from, to int }
	var spans []span
	for i, c := range changes {
		// An end just behind a break belongs to the line of that break.
		from, to := lines.line(c.Start), lines.line(max(c.Start, c.End-1))
		s := span{max(from-context, 1), min(to+context, len(lines.starts))}
		if n := len(spans); n > 0 && s.from <= spans[n-1].to+1 {
			spans[n-1].to = max(spans[n-1].to, s.to)
			continue
		}
		if len(spans) == MaxSnippets {
			more = len(changes) - i
			break
		}
		spans = append(spans, s)
	}
	for _, s := range spans {
		snippets = append(snippets, Snippet{StartLine: s.from, EndLine: s.to, Text: numbered(after, lines, s.from, s.to)})
	}
	return snippets, more
}

func numbered(text []byte, lines lineIndex, from, to int) string {
	var b strings.Builder
	width := len(strconv.Itoa(to))
	for n := from; n <= to; n++ {
		if to-from >= maxSnippetLines && n == from+maxSnippetLines/2 {
			b.WriteString(strings.Repeat(" ", width) + " …\n")
			n = to - maxSnippetLines/2 + 1
		}
		line := bytes.TrimSuffix(text[lines.start(n):lines.end(n)], []byte("\r"))
		line = bytes.TrimSuffix(line, []byte("\n"))
		fmt.Fprintf(&b, "%*d %s", width, n, cut(string(line), maxSnippetLine))
		if n < to {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
