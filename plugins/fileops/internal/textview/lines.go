package textview

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// line is a kept line, without its line feed.
type line struct {
	text []byte
	full bool  // text is all of it
	at   int64 // characters before it
}

// lineWindow keeps the lines of a window, as far as they can be shown.
type lineWindow struct {
	start, end int // end 0: not given
	preview    bool
	keep       int // lines to keep

	lines []line
	chars int // kept so far
	done  bool
	open  bool // the last kept line goes on in the next block
}

func newLineWindow(req Request) *lineWindow {
	w := &lineWindow{start: max(1, req.StartLine), end: req.EndLine, keep: MaxLines}
	w.preview = req.StartLine == 0 && req.EndLine == 0
	if w.end > 0 {
		w.keep = min(w.keep, w.end-w.start+1)
	}
	return w
}

func (w *lineWindow) block(b []byte, at position) {
	if w.done {
		return
	}
	whole, from := b, 0
	if skip := w.start - 1 - at.lines; len(w.lines) == 0 && skip > 0 {
		if from = lineIndex(b, skip); from < 0 {
			return
		}
	}
	for b = b[from:]; len(b) > 0 && !w.done; {
		text, rest, ended := bytes.Cut(b, []byte{'\n'})
		if !w.open {
			if len(w.lines) == w.keep {
				w.done = true
				return
			}
			pos := len(whole) - len(b)
			w.lines = append(w.lines, line{at: at.chars + int64(chars(whole[:pos])), full: true})
			w.open = true
		}
		w.extend(text)
		if ended {
			w.open = false
			w.chars++
			w.done = w.chars > MaxChars
		}
		b = rest
	}
}

// extend adds to the last kept line what may still be shown of it.
func (w *lineWindow) extend(text []byte) {
	l := &w.lines[len(w.lines)-1]
	if room := MaxChars - w.chars; chars(text) > room {
		// One character more shows that there is more, and one that a block
		// has cut is completed by nothing.
		text = text[:charIndex(text, int64(max(room, 0)))]
		l.full, w.done = false, true
	}
	l.text = append(l.text, text...)
	w.chars += chars(text)
}

// lineIndex is the index after line feed number n, or -1.
func lineIndex(b []byte, n int) int {
	if bytes.Count(b, []byte{'\n'}) < n {
		return -1
	}
	at := 0
	for range n {
		at += bytes.IndexByte(b[at:], '\n') + 1
	}
	return at
}

func (w *lineWindow) finish(t totals, v *View) error {
	if w.start > 1 && w.start > t.lines {
		return &RangeError{"start_line", int64(max(1, t.lines)), fmt.Sprintf("%d is beyond the end of the file (%d lines)", w.start, t.lines)}
	}
	lines := w.lines
	preview := w.preview && t.lines > MaxLines
	if preview {
		lines = lines[:min(len(lines), PreviewLines)]
	}
	shown, cut := v.number(lines, w.start, t)
	if cut {
		return nil
	}
	v.EOF = v.EndLine == t.lines
	last := t.lines
	if w.end > 0 {
		last = min(last, w.end)
	}
	if v.EndLine == last {
		return nil
	}
	v.NextLine = v.EndLine + 1
	switch {
	case shown < len(lines):
		v.Reason = HitChars
	case preview && shown == PreviewLines:
		v.Reason = Preview
	case shown == MaxLines:
		v.Reason = HitLines
	default:
		v.Reason = HitChars
	}
	return nil
}

// number renders lines, the first of which has the number start, as far as
// they fit, and returns how many did. If not even the first does, it is cut,
// and a character cursor leads on.
func (v *View) number(lines []line, start int, t totals) (shown int, cut bool) {
	width := len(strconv.Itoa(t.lines))
	v.StartLine, v.EndLine = start, start-1
	var b strings.Builder
	used := 0
	for i, l := range lines {
		text, hidden := bare(l, start+i)
		n := width + 1 + chars(text)
		if i > 0 {
			n++
		}
		if used+n > MaxChars || !l.full {
			if i > 0 {
				break
			}
			room := int64(MaxChars - width - 1)
			text = text[:charIndex(text, room)]
			fmt.Fprintf(&b, "%*d %s", width, start, text)
			v.Content, v.EndLine = b.String(), start
			v.Reason = LineTooLong
			v.NextChar = l.at + int64(hidden+chars(text))
			return 1, true
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%*d %s", width, start+i, text)
		used += n
		v.EndLine++
		shown++
	}
	v.Content = b.String()
	return shown, false
}

// bare is the text of a line as it is shown, and the number of characters
// before it that are not.
func bare(l line, number int) ([]byte, int) {
	text, hidden := l.text, 0
	if l.full {
		text = bytes.TrimSuffix(text, []byte{'\r'})
	}
	if rest, ok := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); ok && number == 1 {
		text, hidden = rest, 1
	}
	return text, hidden
}

// tailWindow reads the end of the file again when the pass has told where
// that is.
type tailWindow struct {
	file        io.ReaderAt
	asked, want int
}

func (*tailWindow) block([]byte, position) {}

func (w *tailWindow) finish(t totals, v *View) error {
	if t.lines == 0 {
		v.EOF, v.StartLine = true, 1
		return nil
	}
	// Everything that can be shown lies within this many bytes of the end,
	// unless the last line alone is longer; then its beginning is shown.
	const reach = MaxChars*utf8.UTFMax + 2
	from, tooLong := max(0, t.bytes-reach), false
	if t.lastLine.bytes < from {
		from, tooLong = t.lastLine.bytes, true
	}
	buf := make([]byte, min(t.bytes-from, reach))
	if n, err := w.file.ReadAt(buf, from); n < len(buf) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("the file changed while it was read: %w", err)
	}
	if tooLong {
		v.number([]line{{text: wholeChars(buf), at: t.lastLine.chars}}, t.lines, t)
		return nil
	}
	lines, reason := w.last(buf, from == 0, t)
	if len(lines) == 0 {
		text := bytes.TrimSuffix(buf[t.lastLine.bytes-from:], []byte{'\n'})
		v.number([]line{{text: text, full: true, at: t.lastLine.chars}}, t.lines, t)
		return nil
	}
	v.number(lines, t.lines-len(lines)+1, t)
	v.EOF, v.Reason = true, reason
	if reason == Whole && w.asked > len(lines) && v.StartLine > 1 {
		v.Reason = HitLines
	}
	return nil
}

// last takes as many of the last lines of buf, the end of the file, as are
// wanted and fit. whole tells that buf is all of the file.
func (w *tailWindow) last(buf []byte, whole bool, t totals) (lines []line, reason Reason) {
	body := bytes.TrimSuffix(buf, []byte{'\n'})
	width := len(strconv.Itoa(t.lines))
	for used, more := 0, true; more && len(lines) < w.want; {
		k := bytes.LastIndexByte(body, '\n')
		if k < 0 && !whole {
			reason = HitChars
			break
		}
		l := line{text: body[k+1:], full: true}
		text, _ := bare(l, t.lines-len(lines))
		cost := width + 1 + chars(text)
		if len(lines) > 0 {
			cost++
		}
		if used += cost; used > MaxChars {
			reason = HitChars
			break
		}
		lines = append(lines, l)
		if more = k >= 0; more {
			body = body[:k]
		}
	}
	slices.Reverse(lines)
	return lines, reason
}
