package textdiff

import "strings"

// side is one of the two texts, with lines split only where the texts differ.
type side struct {
	text string
	// first is the number of lines before the middle, the part that differs.
	first int
	// starts has the offset of each line of the middle, and the middle's end.
	starts []int
	// total counts the lines of the whole text.
	total int
}

// middle is the number of lines in the part that differs.
func (s *side) middle() int { return len(s.starts) - 1 }

// line returns line i of the middle, counted from 0.
func (s *side) line(i int) string { return s.text[s.starts[i]:s.starts[i+1]] }

// offset returns where line i of the whole text begins, counted from 0; for
// total and more it is the end of the text. Outside the middle it walks, which
// is cheap because context is short.
func (s *side) offset(i int) int {
	switch last := s.first + s.middle(); {
	case i < s.first:
		at := s.starts[0]
		for n := s.first - i; n > 0; n-- {
			at = strings.LastIndexByte(s.text[:at-1], '\n') + 1
		}
		return at
	case i <= last:
		return s.starts[i-s.first]
	default:
		at := s.starts[s.middle()]
		for n := i - last; n > 0 && at < len(s.text); n-- {
			at = lineEnd(s.text, at)
		}
		return at
	}
}

// slice returns lines lo to hi of the whole text, hi not included.
func (s *side) slice(lo, hi int) string { return s.text[s.offset(lo):s.offset(hi)] }

// lineEnd returns the offset behind the line that begins at from.
func lineEnd(text string, from int) int {
	if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(text)
}

// countLines counts the lines of a text.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// newSides trims the common head and tail of the texts and splits the rest.
func newSides(before, after string) (a, b *side) {
	head := commonPrefix(before, after)
	head = strings.LastIndexByte(before[:head], '\n') + 1
	tail := commonSuffix(before[head:], after[head:])
	aEnd, bEnd := len(before)-tail, len(after)-tail
	if !lineStart(before, aEnd) || !lineStart(after, bEnd) {
		step := lineEnd(before, aEnd) - aEnd
		aEnd, bEnd = aEnd+step, bEnd+step
	}
	first := strings.Count(before[:head], "\n")
	last := countLines(before[aEnd:])
	return newSide(before, head, aEnd, first, last), newSide(after, head, bEnd, first, last)
}

func newSide(text string, lo, hi, first, last int) *side {
	s := &side{text: text, first: first}
	n := countLines(text[lo:hi])
	s.starts = make([]int, 0, n+1)
	for at := lo; at < hi; at = lineEnd(text[:hi], at) {
		s.starts = append(s.starts, at)
	}
	s.starts = append(s.starts, hi)
	s.total = first + n + last
	return s
}

func lineStart(text string, at int) bool { return at == 0 || text[at-1] == '\n' }

// block is how many bytes are compared at once while looking for the first
// difference. Comparing strings is many times faster than a loop over bytes.
const block = 4096

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i+block <= n && a[i:i+block] == b[i:i+block] {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func commonSuffix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i+block <= n && a[len(a)-i-block:len(a)-i] == b[len(b)-i-block:len(b)-i] {
		i += block
	}
	for i < n && a[len(a)-i-1] == b[len(b)-i-1] {
		i++
	}
	return i
}
