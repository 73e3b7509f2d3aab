package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"
)

// window is the part of a file that is in memory.
type window struct {
	s     *scanner
	buf   []byte
	rest  io.Reader // nil at the end of the file
	left  int64     // bytes that may still be read
	cut   bool      // the file went on when left was used up
	start int       // where the part not yet searched begins; a line begins there
	line  int       // the number of that line
	lines int       // up to where line feeds are counted into line
	moved bool      // buf is no longer the scanner's small buffer
}

// bigBuffer is the size beyond which only one worker may hold a buffer.
const bigBuffer = 8 << 20

// fill makes sure that there is something to search, reading on as long as
// needed, and returns up to where: the end of a line that is followed by at
// least context whole lines, or the end of the file, for which last is true.
func (w *window) fill(ctx context.Context, context int) (end int, last bool, err error) {
	for {
		if w.rest == nil {
			return len(w.buf), true, nil
		}
		end := len(w.buf)
		for range context + 1 {
			end = bytes.LastIndexByte(w.buf[w.start:max(end, w.start)], '\n') + w.start
			if end < w.start {
				break
			}
		}
		// end stands on the line feed of the last line to search.
		if end >= w.start {
			return end + 1, false, nil
		}
		if err := w.read(ctx); err != nil {
			return 0, false, err
		}
	}
}

// advance drops what has been searched, except for the context before it.
func (w *window) advance(end, context int) {
	w.countTo(end)
	keep := end
	for range context {
		if keep == 0 {
			break
		}
		keep = bytes.LastIndexByte(w.buf[:keep-1], '\n') + 1
	}
	n := copy(w.buf, w.buf[keep:])
	w.buf = w.buf[:n]
	w.start, w.lines = end-keep, end-keep
}

// countTo brings line to the number of the line that begins at i.
func (w *window) countTo(i int) {
	w.line += bytes.Count(w.buf[w.lines:i], []byte{'\n'})
	w.lines = i
}

// read reads more behind what is there, in a larger buffer if need be.
func (w *window) read(ctx context.Context) error {
	if len(w.buf) == cap(w.buf) || !w.moved {
		size := max(w.s.stream, 2*cap(w.buf))
		if size > bigBuffer && !w.s.holdsBig {
			select {
			case w.s.big <- struct{}{}:
				w.s.holdsBig = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if size > cap(w.s.large) {
			w.s.large = make([]byte, size)
		}
		// The content may be in the large buffer already, at its beginning.
		w.buf = w.s.large[:copy(w.s.large, w.buf)]
		w.moved = true
	}
	space := w.buf[len(w.buf):cap(w.buf)]
	if int64(len(space)) > w.left {
		space = space[:w.left]
	}
	if len(space) == 0 {
		w.rest, w.cut = nil, true
		return nil
	}
	n, err := io.ReadFull(w.rest, space)
	w.buf = w.buf[:len(w.buf)+n]
	w.left -= int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		w.rest = nil
		return nil
	}
	return err
}

// release gives back a very large buffer. One of ordinary size is kept for the
// next file.
func (w *window) release() {
	if w.s.holdsBig {
		w.s.holdsBig, w.s.large = false, nil
		<-w.s.big
	}
}

// match describes a span for the result.
func (w *window) match(m span, context int) Match {
	w.countTo(m.lineStart)
	r := Match{Line: w.line, Column: 1 + utf8.RuneCount(w.buf[m.lineStart:m.start])}
	r.EndLine = r.Line
	if m.end > m.start {
		r.EndLine += bytes.Count(w.buf[m.start:m.end-1], []byte{'\n'})
	}
	r.Text, r.Cut = shown(w.buf, m.lineStart, m.lineEnd, m.start)
	found := w.buf[m.start:m.end]
	if len(found) > MaxShown {
		found = found[:MaxShown]
		for n := 0; n < utf8.UTFMax && !utf8.Valid(found[max(0, len(found)-utf8.UTFMax):]); n++ {
			found = found[:len(found)-1]
		}
	}
	r.Found = string(found)
	at := m.lineStart
	for range context {
		if at == 0 {
			break
		}
		start := bytes.LastIndexByte(w.buf[:at-1], '\n') + 1
		text, _ := shown(w.buf, start, at-1, start)
		r.Before = append(r.Before, text)
		at = start
	}
	reverse(r.Before)
	at = m.next
	for range context {
		if at >= len(w.buf) {
			break
		}
		l := lineAround(w.buf, at, at)
		text, _ := shown(w.buf, l.lineStart, l.lineEnd, l.lineStart)
		r.After = append(r.After, text)
		at = l.next
	}
	return r
}

func reverse(s []string) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
}
