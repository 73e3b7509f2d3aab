package search

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"unicode/utf8"
)

// whole searches a file as one text. At most one match is reported to begin
// in a line: the search goes on at the line after the end of a match. So the
// text that is left always begins a line, and what ^ and \b see is the truth.
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
