package search

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"unicode/utf8"
)

// whole searches a file as one text. Like a search by lines it reports a line
// once: the search goes on at the line after the end of a match, except for a
// match that begins in what is left of that line and reaches into others. So
// the text that is left always begins a line, and what ^ and \b see is the
// truth.
func (s *scanner) whole(ctx context.Context, w *window, f *found, want int) {
	for w.rest != nil {
		if err := w.read(ctx); err != nil {
			f.err = err
			return
		}
	}
	s.newBuffer()
	buf := w.buf
	for from := 0; from <= len(buf); {
		if ctx.Err() != nil {
			f.err = ctx.Err()
			return
		}
		if s.before != nil && s.before.next(buf, from) < 0 {
			return
		}
		if !s.dfa.useless() && s.dfa.find(buf, from) < 0 {
			return
		}
		re := s.p.re
		if from > 0 {
			re = s.p.resumed
		}
		loc := find(ctx, re, s.p.size, buf[from:])
		if loc == nil {
			return
		}
		m := blockAround(buf, from, from+loc[0], from+loc[1])
		if m.lineStart == len(buf) && len(buf) > 0 && buf[len(buf)-1] == '\n' {
			return // the empty line after the last line feed is no line
		}
		if s.isBinary(buf) {
			f.binary = true
			return
		}
		for another := true; another; m, another = s.onward(ctx, buf, m) {
			if from = m.next; m.next == len(buf) {
				from++
			}
			if s.tooLong(buf, m) {
				continue
			}
			f.count++
			if s.content {
				f.matches = append(f.matches, w.match(m, s.context))
				if len(f.matches) >= want {
					return
				}
			}
		}
	}
}

// reach is how far beyond a line a match is looked for that begins in the rest
// of it: without a bound, an expression that finds no end there would read the
// remaining file for every line.
const reach = 16 << 10

// onward finds the match that begins after m in its last line and reaches
// further than that, as the second of {...}, {...} does.
func (s *scanner) onward(ctx context.Context, buf []byte, m span) (span, bool) {
	if s.p.onward == nil {
		return m, false
	}
	text := buf[:min(len(buf), m.next+reach)]
	for at := m.end; at < m.lineEnd && ctx.Err() == nil; {
		// The character before tells what ^ and \b see.
		_, size := utf8.DecodeLastRune(buf[:at])
		loc := s.p.onward.FindSubmatchIndex(text[at-size:])
		if size == 0 || loc == nil {
			break
		}
		start, end := at-size+loc[2], at-size+loc[3]
		if end > m.next {
			if end == len(text) && end < len(buf) {
				break // it ends where the text was cut, or nowhere near
			}
			return blockAround(buf, m.lineStart, start, end), true
		}
		at = end
		if end == start {
			_, size := utf8.DecodeRune(buf[at:])
			at += size
		}
	}
	return m, false
}

func (s *scanner) tooLong(buf []byte, m span) bool {
	q := s.p.query
	if q.MaxSpanBytes > 0 && m.end-m.start > q.MaxSpanBytes {
		return true
	}
	if q.MaxSpanLines > 0 && m.end > m.start {
		return 1+bytes.Count(buf[m.start:m.end-1], []byte{'\n'}) > q.MaxSpanLines
	}
	return false
}

// blockAround is the lines that a match covers.
func blockAround(buf []byte, from, start, end int) span {
	m := lineAround(buf, from, start)
	if end > start && end > m.next {
		last := lineAround(buf, from, end-1)
		m.lineEnd, m.next = last.lineEnd, last.next
	}
	m.start, m.end = start, end
	return m
}

// find is re.FindIndex that heeds cancellation where it could take long.
func find(ctx context.Context, re *regexp.Regexp, size int, text []byte) []int {
	if len(text) <= heavy/size {
		return re.FindIndex(text)
	}
	return re.FindReaderIndex(&runes{ctx: ctx, text: text})
}

// runes reads a text by characters until its context ends, and then pretends
// that the text has ended.
type runes struct {
	ctx  context.Context
	text []byte
	read int
}

func (r *runes) ReadRune() (rune, int, error) {
	if r.read&1023 == 0 && r.ctx.Err() != nil || len(r.text) == 0 {
		return 0, 0, io.EOF
	}
	r.read++
	c, size := utf8.DecodeRune(r.text)
	r.text = r.text[size:]
	return c, size, nil
}
