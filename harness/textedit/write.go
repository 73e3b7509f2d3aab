package textedit

import (
	"bytes"
	"strings"
)

// writer writes the replacement of a match, with breaks in the style of the
// file.
type writer struct {
	text    []byte
	longest int64 // The length of the longest replacement there can be.

	// fixed is the replacement where it is the same for every match: in all
	// files but those with mixed breaks.
	fixed string
	plan  *plan

	// last remembers the line whose style was looked up last, so that many
	// matches in one long line do not scan it again and again.
	last struct {
		from, to int
		crlf     bool
	}
}

// plan is what happens to a match in a file with mixed breaks. All parts have
// their breaks as LF.
type plan struct {
	head string // Common to needle and new text: stays.
	cut  string // Goes.
	put  string // Comes in its place.
}

func newWriter(s *search, new string) *writer {
	w := &writer{text: s.text}
	norm := NormalizeBreaks(new)
	switch s.style {
	case none:
		w.fixed = new
	case lf:
		w.fixed = norm
	case crlf:
		w.fixed = strings.ReplaceAll(norm, "\n", "\r\n")
	default:
		w.plan = newPlan(s.norm, norm)
		w.longest = int64(len(norm) + strings.Count(norm, "\n"))
		w.last.from, w.last.to = -1, -1
		return w
	}
	w.longest = int64(len(w.fixed))
	return w
}

func newPlan(old, new string) *plan {
	n := min(len(old), len(new))
	head := 0
	for head < n && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < n-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	return &plan{head: old[:head], cut: old[head : len(old)-tail], put: new[head : len(new)-tail]}
}

// replace appends what takes the place of a match.
func (w *writer) replace(out []byte, m Range) []byte {
	if w.plan == nil {
		return append(out, w.fixed...)
	}
	cut := pass(w.text, m.Start, w.plan.head)
	end := pass(w.text, cut, w.plan.cut)
	out = append(out, w.text[m.Start:cut]...)
	at, left := cut, w.plan.cut
	for line := range strings.Lines(w.plan.put) {
		content, ends := strings.CutSuffix(line, "\n")
		out = append(out, content...)
		if !ends {
			break
		}
		var asCRLF bool
		if replaced, rest, ok := strings.Cut(left, "\n"); ok {
			at, left = at+len(replaced), rest
			asCRLF = w.text[at] == '\r'
			at = afterBreak(w.text, at)
		} else {
			left = "" // Its rest must not be searched for every break.
			asCRLF = w.lineIsCRLF(landing(m, cut, end))
		}
		if asCRLF {
			out = append(out, '\r')
		}
		out = append(out, '\n')
	}
	return append(out, w.text[end:m.End]...)
}

// landing returns the position of a byte in the line in which breaks land that
// replace none. The bytes from cut to end of the match are replaced.
func landing(m Range, cut, end int) int {
	switch {
	case end > cut:
		return end - 1
	case cut > m.Start:
		return cut - 1
	default:
		return cut
	}
}

// pass returns the position behind content, which has its breaks as LF, when
// it stands in the text at at.
func pass(text []byte, at int, content string) int {
	for {
		before, after, ok := strings.Cut(content, "\n")
		at += len(before)
		if !ok {
			return at
		}
		at = afterBreak(text, at)
		content = after
	}
}

// lineIsCRLF looks up the break of the line that has the byte at at, or of the
// line before if this one has none. Only a text with breaks is asked.
func (w *writer) lineIsCRLF(at int) bool {
	if w.last.from <= at && at < w.last.to {
		return w.last.crlf
	}
	w.last.from = at
	n := bytes.IndexByte(w.text[at:], '\n')
	if n >= 0 {
		w.last.to = at + n + 1
		n += at
	} else {
		w.last.to = len(w.text)
		n = bytes.LastIndexByte(w.text, '\n')
	}
	w.last.crlf = n > 0 && w.text[n-1] == '\r'
	return w.last.crlf
}
