package match

import (
	"bytes"
	"fmt"
	"sort"
)

// noMatch explains a miss: what would have matched in a looser way, whether an
// earlier replacement took the text away or the new text is there already, and
// the most similar places. Line numbers are those of the file as it is.
func (e *engine) noMatch(index int, r Replacement) error {
	f := &Failure{Kind: NoMatch, Index: index, Message: "old_content was not found"}
	f.Hint, f.Try = e.hint(index, r)
	f.Candidates = similar(e.before, r.Old, e.options.MaxCandidates)
	return f
}

// hint says what would help, and the argument that would do it.
func (e *engine) hint(index int, r Replacement) (hint, try string) {
	original := engine{before: e.before, counts: e.byteCounts(), text: e.before, lf: bytes.IndexByte(e.before, '\r') < 0}
	at := func(found []Range) int { return lineTable(e.before).line(found[0].Start) }
	if index > 0 {
		if found := original.exact(r.Old); len(found) > 0 {
			return fmt.Sprintf("the file has it on line %d, but an earlier replacement of this call changes that text", at(found)), ""
		}
	}
	if !e.options.IgnoreWhitespace {
		if found := e.loose(r.Old, true, false).all(e.before); len(found) == 1 {
			return fmt.Sprintf("line %d differs from it in blanks only: copy the text from there, or set ignore_whitespace", at(found)), "ignore_whitespace"
		}
	}
	if !e.options.ConfusableFallback {
		if found := e.loose(r.Old, false, true).all(e.before); len(found) == 1 || len(found) > 0 && (e.options.ReplaceAll || e.options.First) {
			return fmt.Sprintf("line %d differs from it in characters that look alike (quotes, dashes, spaces): copy the text from there, or set confusable_fallback", at(found)), "confusable_fallback"
		}
	}
	if len(bytes.TrimSpace([]byte(r.New))) >= minTelling && r.New != r.Old {
		if found := original.exact(r.New); len(found) > 0 {
			return fmt.Sprintf("new_content is already there on line %d", at(found)), ""
		}
	}
	return "", ""
}

// minTelling is the length below which finding the new text says nothing.
const minTelling = 8

// ambiguous lists the first of several matches.
func (e *engine) ambiguous(index int, found []Range, kind Kind, message string) error {
	// Matches are in the order of the text, of which lines are listed once.
	lines := lineTable(e.text)
	shifted := bytes.Count(e.text, []byte{'\n'}) != bytes.Count(e.before, []byte{'\n'})
	f := &Failure{Kind: kind, Index: index, Count: len(found), Message: "old_content " + fmt.Sprintf(message, len(found)) + ", on line"}
	const listed = 20
	if lines.line(found[0].Start) != lines.line(found[len(found)-1].Start) {
		f.Message += "s"
	}
	listing := 0
	for i, r := range found {
		line := lines.line(r.Start)
		if i > 0 && line == lines.line(found[i-1].Start) {
			continue
		}
		if listing == listed {
			f.Message += " and more"
			break
		}
		if listing > 0 {
			f.Message += ","
		}
		f.Message += fmt.Sprintf(" %d", line)
		listing++
	}
	if shifted {
		f.Message += " (counted after the replacements before this one)"
	}
	for i, r := range found {
		if len(f.Candidates) >= e.options.MaxCandidates {
			break
		}
		if i > 0 && lines.line(r.Start) == lines.line(found[i-1].Start) {
			continue // the same lines again
		}
		first, last := lines.line(r.Start), lines.line(max(r.Start, r.End-1))
		f.Candidates = append(f.Candidates, Candidate{
			StartLine: first, EndLine: last, Similarity: 1,
			Text: excerpt(e.text[lines.start(first):lines.end(last)]),
		})
	}
	return f
}

// lineIndex holds the offsets at which lines begin.
type lineIndex struct {
	starts []int
	size   int
}

func lineTable(text []byte) lineIndex {
	starts := make([]int, 1, 1+bytes.Count(text, []byte{'\n'}))
	for at := 0; ; {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			return lineIndex{starts, len(bytes.TrimSuffix(text, []byte{'\n'}))}
		}
		at += n + 1
		if at < len(text) {
			starts = append(starts, at)
		}
	}
}

// line returns the number, from 1, of the line that holds an offset.
func (l lineIndex) line(offset int) int {
	return sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > offset })
}

// start returns the offset of a line, end that behind its last character,
// before a final LF.
func (l lineIndex) start(line int) int { return l.starts[line-1] }

func (l lineIndex) end(line int) int {
	if line < len(l.starts) {
		return l.starts[line] - 1
	}
	return l.size
}
