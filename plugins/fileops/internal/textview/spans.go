package textview

import (
	"fmt"
	"unicode/utf8"
)

// byteWindow keeps the bytes of a window and a few around it, to see whether
// it begins and ends between characters.
type byteWindow struct {
	offset, limit int64
	from          int64 // offset of got[0]
	got           []byte
}

func (w *byteWindow) block(b []byte, at position) {
	from := max(0, w.offset-utf8.UTFMax)
	to := w.offset + w.limit + utf8.UTFMax
	lo, hi := max(from, at.bytes), min(to, at.bytes+int64(len(b)))
	if lo >= hi {
		return
	}
	if w.got == nil {
		w.from = lo
	}
	w.got = append(w.got, b[lo-at.bytes:hi-at.bytes]...)
}

func (w *byteWindow) finish(t totals, v *View) error {
	if w.offset > t.bytes {
		return &RangeError{"offset_bytes", t.bytes, fmt.Sprintf("%d is beyond the end of the file (%d bytes)", w.offset, t.bytes)}
	}
	starts := func(at int64) bool { return at == t.bytes || utf8.RuneStart(w.got[at-w.from]) }
	if !starts(w.offset) {
		nearest := w.offset
		for d := int64(1); nearest == w.offset; d++ {
			if starts(w.offset - d) {
				nearest -= d
			} else if starts(w.offset + d) {
				nearest += d
			}
		}
		return &RangeError{"offset_bytes", nearest, fmt.Sprintf("%d is inside a character", w.offset)}
	}
	end := min(w.offset+w.limit, t.bytes)
	for end > w.offset && !starts(end) {
		end--
	}
	if end == w.offset && end < t.bytes {
		// A limit below the size of one character still makes progress.
		for end++; !starts(end); {
			end++
		}
	}
	v.span(w.got[w.offset-w.from:end-w.from], w.offset, t)
	if v.EOF = end == t.bytes; !v.EOF {
		v.Reason, v.NextByte = ByteLimit, end
	}
	return nil
}

// charWindow keeps the characters of a window.
type charWindow struct {
	offset, limit int64
	got           []byte
	have          int64 // characters begun in got
	started, done bool
}

func (w *charWindow) block(b []byte, at position) {
	if w.done || !w.started && at.chars+int64(len(b)) < w.offset {
		return
	}
	if !w.started {
		b = b[charIndex(b, w.offset-at.chars):]
		w.started = len(b) > 0
	}
	// The bytes that complete a character which an earlier block began are
	// taken even if no more characters are wanted.
	if k := charIndex(b, w.limit-w.have); k < len(b) {
		b, w.done = b[:k], true
	}
	if room := MaxBytes - len(w.got); len(b) > room {
		b, w.done = b[:room], true
	}
	w.got = append(w.got, b...)
	w.have += int64(chars(b))
}

// charIndex is where the character number n of b begins, counted from 0 and
// from the first that begins in b; len(b) if there are no more.
func charIndex(b []byte, n int64) int {
	const step = 256
	i := 0
	for n > step && i+step <= len(b) {
		n -= int64(chars(b[i : i+step]))
		i += step
	}
	for ; i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return len(b)
}

func (w *charWindow) finish(t totals, v *View) error {
	if w.offset > t.chars {
		return &RangeError{"offset_chars", t.chars, fmt.Sprintf("%d is beyond the end of the file (%d characters)", w.offset, t.chars)}
	}
	w.got = wholeChars(w.got)
	v.span(w.got, w.offset, t)
	next := w.offset + int64(v.ShownChars)
	if v.EOF = next == t.chars; v.EOF {
		return nil
	}
	v.NextChar, v.Reason = next, CharLimit
	if int64(v.ShownChars) < w.limit {
		v.Reason = ByteLimit
	}
	return nil
}

func (v *View) span(b []byte, offset int64, t totals) {
	v.Content = string(b)
	v.Offset = offset
	v.ShownBytes, v.ShownChars = len(b), chars(b)
}

// wholeChars drops the beginning of a character that b ends in.
func wholeChars(b []byte) []byte {
	for k := 1; k < utf8.UTFMax && k <= len(b); k++ {
		if utf8.RuneStart(b[len(b)-k]) {
			if !utf8.FullRune(b[len(b)-k:]) {
				return b[:len(b)-k]
			}
			break
		}
	}
	return b
}
