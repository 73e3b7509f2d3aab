// Package textwindow cuts a window of lines out of a text that arrives in
// chunks, and renders it for a model.
//
// Lines end at a line feed; a carriage return right before it is not part of
// the line. A last line without a line feed is a line, so "a" and "a\n" have
// one line each and "" has none. Lines count from 1. Characters are Unicode
// code points.
//
// A window begins at an offset and ends after a number of lines, or earlier
// when its lines reach a number of bytes. Memory depends on these limits and
// not on the text: of a line only what can be shown is kept, and outside the
// window line feeds are counted and nothing else.
package textwindow

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Limits that apply where [Options] say nothing.
const (
	DefaultLimit         = 2000
	DefaultMaxLineLength = 2000
	DefaultMaxBytes      = 50 << 10
)

// Options say which window to build. Values below 1 stand for the defaults.
type Options struct {
	// Offset is the number of the first line; the default is 1.
	Offset int
	// Limit is the greatest number of lines in the window.
	Limit int
	// MaxLineLength is the greatest number of characters shown of a line. A
	// longer line is cut behind them and marked by a suffix that names this
	// number. The carriage return of a CRLF does not count.
	MaxLineLength int
	// MaxBytes is the greatest length of the selected lines, as shown, joined
	// by line feeds. Line numbers do not count. A line that would exceed it
	// is left to the next window. Only a first line is shown all the same:
	// as many of its characters as fit, and the suffix on top.
	MaxBytes int
}

func (o Options) withDefaults() Options {
	fill := func(v *int, def int) {
		if *v < 1 {
			*v = def
		}
	}
	fill(&o.Offset, 1)
	fill(&o.Limit, DefaultLimit)
	fill(&o.MaxLineLength, DefaultMaxLineLength)
	fill(&o.MaxBytes, DefaultMaxBytes)
	return o
}

// Builder takes a text in chunks. It is an io.Writer that never fails. Chunks
// must together be valid UTF-8 and may be cut anywhere; they are not kept.
type Builder struct {
	opts   Options
	suffix string // Marks a line that was cut.

	breaks int  // Line feeds seen.
	open   bool // Something follows the last of them.
	lines  []Line
	size   int  // Bytes in lines, joined.
	full   bool // The window takes no more lines.
	capped bool // It does not because of MaxBytes.

	// The beginning of the current line of the window.
	text  []byte
	chars int  // Characters in text.
	over  bool // The line is longer than MaxLineLength.
	cr    bool // A carriage return behind text may belong to the break.
}

// NewBuilder returns a builder for one text.
func NewBuilder(opts Options) *Builder {
	opts = opts.withDefaults()
	return &Builder{opts: opts, suffix: fmt.Sprintf("... (line truncated to %d chars)", opts.MaxLineLength)}
}

// Build is a builder for a text in memory.
func Build(text string, opts Options) (Window, error) {
	b := NewBuilder(opts)
	// In pieces, so that the text is not copied as a whole.
	buf := make([]byte, min(len(text), 64<<10))
	for text != "" {
		n := copy(buf, text)
		b.Write(buf[:n])
		text = text[n:]
	}
	return b.Window()
}

// Write takes the next chunk. It always accepts all of it.
func (b *Builder) Write(p []byte) (int, error) {
	n := len(p)
	if n == 0 {
		return 0, nil
	}
	b.open = p[n-1] != '\n'
	if skip := b.opts.Offset - 1 - b.breaks; skip > 0 && !b.full {
		found, rest := skipBreaks(p, skip)
		b.breaks += found
		p = rest
	}
	for len(p) > 0 && !b.full {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			b.extend(p)
			return n, nil
		}
		b.extend(p[:i])
		b.endLine()
		b.breaks++
		p = p[i+1:]
	}
	b.breaks += bytes.Count(p, []byte{'\n'})
	return n, nil
}

// skipBreaks returns what follows the n-th line feed of p, and how many it has
// passed. Whole blocks are counted, which is much faster than stopping at each
// line feed.
func skipBreaks(p []byte, n int) (found int, rest []byte) {
	const block = 16 << 10
	for len(p) > 0 && found < n {
		head := p[:min(block, len(p))]
		if c := bytes.Count(head, []byte{'\n'}); found+c < n {
			found += c
			p = p[len(head):]
			continue
		}
		for found < n {
			p = p[bytes.IndexByte(p, '\n')+1:]
			found++
		}
	}
	return found, p
}

// extend adds a piece, without line feeds, to the current line.
func (b *Builder) extend(p []byte) {
	if len(p) == 0 {
		return
	}
	if b.cr {
		b.cr = false
		b.keep([]byte{'\r'})
	}
	if p[len(p)-1] == '\r' {
		b.cr = true
		p = p[:len(p)-1]
	}
	b.keep(p)
}

// keep adds to the text of the line as much as may ever be shown, and one byte
// more when there is more, so that the excess is noticed.
func (b *Builder) keep(p []byte) {
	if b.over {
		return
	}
	if room := b.opts.MaxBytes - len(b.text); len(p)-1 > room {
		p = p[:room+1]
	}
	for i, c := range p {
		if !utf8.RuneStart(c) {
			continue
		}
		if b.chars == b.opts.MaxLineLength {
			b.over = true
			p = p[:i]
			break
		}
		b.chars++
	}
	b.text = append(b.text, p...)
}

// endLine moves the current line to the window, if it fits.
func (b *Builder) endLine() {
	text := string(b.text)
	if b.over {
		text += b.suffix
	}
	cost := len(text)
	if len(b.lines) > 0 {
		cost++ // The line feed between the lines.
	}
	if cost > b.opts.MaxBytes-b.size {
		b.full, b.capped = true, true
		if len(b.lines) > 0 {
			return
		}
		text = string(cutRunes(b.text, b.opts.MaxBytes)) + b.suffix
	}
	b.lines = append(b.lines, Line{Number: b.breaks + 1, Text: text})
	b.size += cost
	if len(b.lines) == b.opts.Limit {
		b.full = true
	}
	b.text, b.chars, b.over, b.cr = b.text[:0], 0, false, false
}

// cutRunes returns the longest beginning of p that has at most n bytes and
// ends between characters.
func cutRunes(p []byte, n int) []byte {
	if len(p) <= n {
		return p
	}
	for n > 0 && !utf8.RuneStart(p[n]) {
		n--
	}
	return p[:n]
}

// Window ends the text and returns the window. Nothing may be written after. A
// first line behind the end is an [*OffsetError]; line 1 of an empty text is
// not.
func (b *Builder) Window() (Window, error) {
	total := b.breaks
	if b.open {
		total++
	}
	if b.opts.Offset > max(total, 1) {
		return Window{}, &OffsetError{Offset: b.opts.Offset, TotalLines: total}
	}
	if b.open && !b.full {
		if b.cr {
			// No line feed came, so it is an ordinary character.
			b.cr = false
			b.keep([]byte{'\r'})
		}
		b.endLine()
		b.full = true
	}
	w := Window{Offset: b.opts.Offset, Lines: b.lines, TotalLines: total}
	if w.Lines == nil {
		w.Lines = []Line{}
	}
	w.Capped = b.capped && w.Next() > 0
	return w, nil
}
