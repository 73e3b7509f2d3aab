package search

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"
)

// Match is one matching line, or one match over several lines.
type Match struct {
	// Line and Column are where the match begins, from 1; columns count
	// characters.
	Line, Column int
	// EndLine is the line of the last character.
	EndLine int
	// Text is the line, or lines, without the final line ending, cut to about
	// [MaxShown] bytes around the beginning of the match. Cut tells that it
	// was.
	Text string
	Cut  bool
	// Found is the matched text, cut to [MaxShown] bytes as well.
	Found string
	// Before and After are the lines around it, cut in the same way.
	Before, After []string
}

// MaxShown bounds each shown line in bytes: minified files have lines of
// megabytes.
const MaxShown = 2000

const (
	// sniff is the number of bytes at the start of a file in which a NUL
	// makes it binary, as for reading text files.
	sniff = 8192
	// firstRead is the size of a worker's buffer. Most files fit in whole.
	firstRead = 128 << 10
	// streamRead is the size of the buffer for files that do not.
	streamRead = 512 << 10
	// heavy is the number of steps, bytes times instructions, up to which
	// package regexp may run without looking for cancellation: some tenths
	// of a second at worst.
	heavy = 1 << 25
	// worthMissing is the number of bytes that a text which every match must
	// contain has to spare for each time it stands in a line without one.
	worthMissing = 80
)

// found is what was found in one file.
type found struct {
	count   int
	matches []Match
	bytes   int64
	binary  bool
	partial bool // the byte limit cut the file short
	err     error
}

// scanner searches one file after another. It belongs to one goroutine.
type scanner struct {
	p       *Pattern
	literal finder
	before  finder
	dfa     *dfa
	buf     []byte
	stream  int    // size of the buffer for files that do not fit
	large   []byte // that buffer, once there was one

	content   bool // matches are wanted, not only their number
	context   int
	maxBytes  int64
	big       chan struct{} // held while a buffer is very large
	holdsBig  bool
	misses    int // candidates of before that did not match
	passed    int // bytes that before has spared the automaton
	checkedTo int // how far the current buffer is known to hold no NUL
}

func newScanner(p *Pattern, o Options, big chan struct{}) *scanner {
	s := &scanner{p: p, stream: streamRead, content: o.Mode == Content, context: o.Context, maxBytes: o.MaxScannedBytes, big: big}
	if p.literal != nil {
		s.literal = p.literal.fork()
	}
	if p.before != nil {
		s.before = p.before.fork()
	}
	if p.dfa != nil {
		s.dfa = p.dfa.fork()
	}
	s.buf = make([]byte, firstRead)
	return s
}

// file searches a file whose first bytes are in data and the others, if any,
// in rest. At most want matches are collected.
func (s *scanner) file(ctx context.Context, data []byte, rest io.Reader, want int) found {
	var f found
	if bytes.IndexByte(data[:min(len(data), sniff)], 0) >= 0 {
		f.binary, f.bytes = true, int64(len(data))
		return f
	}
	limit := s.maxBytes
	if int64(len(data)) > limit {
		data, rest, f.partial = data[:limit], nil, true
	}
	w := window{s: s, rest: rest, left: limit - int64(len(data)), line: 1}
	w.buf = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	defer w.release()
	if s.p.lines {
		s.lines(ctx, &w, &f, want)
	} else {
		s.whole(ctx, &w, &f, want)
	}
	f.bytes = limit - w.left
	f.partial = f.partial || w.cut
	if f.binary {
		f.count, f.matches = 0, nil
	}
	return f
}

// lines searches line by line, window by window.
func (s *scanner) lines(ctx context.Context, w *window, f *found, want int) {
	for {
		end, last, err := w.fill(ctx, s.context)
		if err != nil {
			f.err = err
			return
		}
		s.newBuffer()
		buf := w.buf[:end]
		for from := w.start; from < end; {
			if ctx.Err() != nil {
				f.err = ctx.Err()
				return
			}
			m, ok := s.next(ctx, buf, from)
			if !ok {
				break
			}
			if s.isBinary(w.buf) {
				f.binary = true
				return
			}
			f.count++
			if s.content {
				f.matches = append(f.matches, w.match(m, s.context))
				if len(f.matches) >= want {
					return
				}
			}
			from = m.next
		}
		if last {
			return
		}
		w.advance(end, s.context)
	}
}

// isBinary reports a NUL in the buffer. Only files with matches pay for it.
func (s *scanner) isBinary(buf []byte) bool {
	if s.checkedTo >= len(buf) {
		return false
	}
	at := bytes.IndexByte(buf[s.checkedTo:], 0)
	s.checkedTo = len(buf)
	return at >= 0
}

func (s *scanner) newBuffer() {
	s.checkedTo = 0
	if s.literal != nil {
		s.literal.reset()
	}
	if s.before != nil {
		s.before.reset()
	}
}

// span is a match in a buffer: the line or lines it is in and its own bounds.
// Without content the bounds of the match itself are not computed.
type span struct {
	lineStart, lineEnd int // lineEnd is before the line feed
	start, end         int
	next               int // where the following line begins
}

// next finds the first matching line at or after from, where a line begins.
func (s *scanner) next(ctx context.Context, buf []byte, from int) (span, bool) {
	if s.literal != nil {
		at := s.literal.next(buf, from)
		if at < 0 {
			return span{}, false
		}
		if !s.content {
			// Only where to go on is of interest.
			return span{next: lineEnd(buf, at)}, true
		}
		m := lineAround(buf, from, at)
		m.start, m.end = at, at+s.literal.width(buf, at)
		return m, true
	}
	for lines := 0; from < len(buf); lines++ {
		if lines&255 == 255 && ctx.Err() != nil {
			return span{}, false
		}
		m, verified, ok := s.candidate(buf, from)
		if !ok {
			return span{}, false
		}
		if verified && !s.content {
			return m, true
		}
		if s.verify(ctx, buf, &m) {
			return m, true
		}
		from = m.next
	}
	return span{}, false
}

// candidate finds the next line that may match, by the cheapest means that
// has proved itself so far. verified tells that it does match.
func (s *scanner) candidate(buf []byte, from int) (m span, verified, ok bool) {
	for s.before != nil && (s.misses < 1000 || s.passed > worthMissing*s.misses) {
		at := s.before.next(buf, from)
		if at < 0 {
			return span{}, false, false
		}
		m = lineAround(buf, from, at)
		if s.dfa.useless() {
			return m, false, true
		}
		if s.dfa.find(buf[m.lineStart:m.lineEnd], 0) >= 0 {
			return m, sure(buf, m), true
		}
		s.misses++
		s.passed += m.next - from
		from = m.next
	}
	if from >= len(buf) {
		return span{}, false, false
	}
	if s.dfa.useless() {
		return lineAround(buf, from, from), false, true
	}
	at := s.dfa.find(buf, from)
	if at < 0 || at == len(buf) && buf[at-1] == '\n' {
		// The second is a match in the empty line after the last line feed,
		// which is no line.
		return span{}, false, false
	}
	m = lineAround(buf, from, at)
	return m, sure(buf, m), true
}

// sure tells that there is no CR in the line: the automaton takes each for a
// possible end of the line.
func sure(buf []byte, m span) bool {
	return bytes.IndexByte(buf[m.lineStart:m.lineEnd], '\r') < 0
}

// verify settles whether the line of m matches, and where.
func (s *scanner) verify(ctx context.Context, buf []byte, m *span) bool {
	line := buf[m.lineStart:m.lineEnd]
	if !s.p.keepCR {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	loc := find(ctx, s.p.re, s.p.size, line)
	if loc == nil {
		return false
	}
	m.start, m.end = m.lineStart+loc[0], m.lineStart+loc[1]
	return true
}

// lineAround is the line that the byte at belongs to; a line feed belongs to
// the line that it ends. The line begins at or after from.
func lineAround(buf []byte, from, at int) span {
	m := span{lineStart: from}
	if k := bytes.LastIndexByte(buf[from:at], '\n'); k >= 0 {
		m.lineStart = from + k + 1
	}
	if k := bytes.IndexByte(buf[at:], '\n'); k >= 0 {
		m.lineEnd, m.next = at+k, at+k+1
	} else {
		m.lineEnd, m.next = len(buf), len(buf)
	}
	return m
}

// lineEnd is where the line after the one with the byte at begins.
func lineEnd(buf []byte, at int) int {
	if k := bytes.IndexByte(buf[at:], '\n'); k >= 0 {
		return at + k + 1
	}
	return len(buf)
}

// shown cuts the text buf[start:end] to MaxShown bytes for showing, keeping
// what stands around focus.
func shown(buf []byte, start, end, focus int) (string, bool) {
	if end > start && buf[end-1] == '\r' {
		end--
	}
	if end-start <= MaxShown {
		return string(buf[start:end]), false
	}
	from := start
	if focus-start > MaxShown/2 {
		from = min(focus-MaxShown/4, end-MaxShown)
		for n := 0; n < utf8.UTFMax-1 && from > start && !utf8.RuneStart(buf[from]); n++ {
			from--
		}
	}
	to := min(end, from+MaxShown)
	for n := 0; n < utf8.UTFMax-1 && to > from && to < end && !utf8.RuneStart(buf[to]); n++ {
		to--
	}
	return string(buf[from:to]), true
}
