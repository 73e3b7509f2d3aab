package textedit

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"
)

// Range is a run of bytes of a file, from Start up to End, not included.
// A byte-order mark counts.
type Range struct{ Start, End int }

// Matches returns the places where old occurs in a file, from left to right
// and without overlap. A place never splits a break or a rune and has no part
// in a byte-order mark. An empty needle occurs nowhere. The file must be text.
func Matches(before []byte, old string) iter.Seq[Range] {
	text, skip := body(before)
	s := newSearch(text, old)
	return func(yield func(Range) bool) {
		for r := range s.all() {
			if !yield(Range{r.Start + skip, r.End + skip}) {
				return
			}
		}
	}
}

// body cuts off a byte-order mark and says how long it was.
func body(data []byte) (text []byte, skip int) {
	text, _ = bytes.CutPrefix(data, []byte(bom))
	return text, len(data) - len(text)
}

// style is how the breaks of a text are written.
type style int

const (
	none  style = iota // There are no breaks.
	lf                 // All are LF.
	crlf               // All are CRLF.
	mixed              // There are both.
)

func styleOf(text []byte) style {
	first := bytes.IndexByte(text, '\n')
	switch {
	case first < 0:
		return none
	case first == 0 || text[first-1] != '\r':
		// The usual file; one pass at the speed of memory proves it.
		if bytes.Contains(text[first:], []byte("\r\n")) {
			return mixed
		}
		return lf
	}
	for at := first + 1; ; {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			return crlf
		}
		at += n + 1
		if text[at-2] != '\r' {
			return mixed
		}
	}
}

// search looks for a needle in a text. There are two ways. Where the needle
// can be spelled so that its bytes occur exactly where it matches, the text is
// searched as it is. Otherwise the text is copied with all breaks as LF; then
// whatever is found is a match, and places are translated back.
type search struct {
	text   []byte
	style  style
	needle []byte
	norm   string // The needle with its breaks as LF.
	copied []byte // The text with its breaks as LF, or nil.
}

func newSearch(text []byte, old string) *search {
	s := &search{text: text, style: styleOf(text), norm: NormalizeBreaks(old)}
	s.needle = []byte(s.norm)
	if s.style == none || s.style == lf || !utf8.ValidString(old) {
		return s
	}
	hasBreak := strings.Contains(s.norm, "\n")
	// A needle that ends in a carriage return would also be found in the
	// first half of a CRLF.
	halves := strings.HasSuffix(s.norm, "\r")
	switch {
	case !hasBreak && !halves:
	case s.style == crlf && !halves:
		s.needle = []byte(strings.ReplaceAll(s.norm, "\n", "\r\n"))
	default:
		s.copied = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return s
}

// all yields the matches as ranges of the text.
func (s *search) all() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		// Half a rune could be found inside a whole one.
		if len(s.needle) == 0 || !utf8.Valid(s.needle) {
			return
		}
		hay := s.text
		if s.copied != nil {
			hay = s.copied
		}
		back := translation{s: s}
		for at := 0; ; {
			n := bytes.Index(hay[at:], s.needle)
			if n < 0 {
				return
			}
			start, end := at+n, at+n+len(s.needle)
			at = end
			if !yield(Range{back.to(start), back.to(end)}) {
				return
			}
		}
	}
}

// translation turns ascending positions in the copy into those in the text.
type translation struct {
	s              *search
	inCopy, inText int
}

func (t *translation) to(target int) int {
	if t.s.copied == nil {
		return target
	}
	for t.inCopy < target {
		n := bytes.IndexByte(t.s.copied[t.inCopy:target], '\n')
		if n < 0 {
			t.inText += target - t.inCopy
			t.inCopy = target
			break
		}
		t.inCopy += n
		t.inText = afterBreak(t.s.text, t.inText+n)
		t.inCopy++
	}
	return t.inText
}

// afterBreak returns the position behind the break that begins at at.
func afterBreak(text []byte, at int) int {
	if text[at] == '\r' {
		at++
	}
	return at + 1
}
