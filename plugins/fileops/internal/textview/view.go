// Package textview cuts windows out of a text file of any size: by lines,
// from the end, by bytes, or by characters.
//
// [Read] goes over the file once, with constant memory, and so knows about
// the whole file what a window alone does not tell: the number of lines and
// characters, the SHA-256, and that all of it is UTF-8. Windows are bounded,
// and one that does not reach the end of the file says where the next begins;
// windows followed to the end give every line, byte or character once.
//
// A line ends in LF or CRLF, neither of which is part of its text, and a last
// line need not end. Characters are Unicode code points. A UTF-8 byte-order
// mark counts as the first character and the first three bytes of a file, but
// is not shown as part of its first line.
package textview

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// The bounds of a window.
const (
	// MaxLines is the most lines of a window.
	MaxLines = 500
	// MaxChars is the most characters of a window of lines, numbers and line
	// ends included.
	MaxChars = 65536
	// MaxBytes is the most bytes of a window of bytes or characters.
	MaxBytes = 1 << 20
	// DefaultSpan is the length of a window of bytes or characters whose
	// length is not given.
	DefaultSpan = 65536
	// PreviewLines is what is shown of a file of more than MaxLines lines when
	// no window is asked for.
	PreviewLines = 200
	// Sniff is the number of bytes at the start of a file in which a NUL
	// makes it no text.
	Sniff = 8192
)

// Mode is the unit of a window.
type Mode string

// The modes.
const (
	Line Mode = "line"
	Byte Mode = "byte"
	Char Mode = "char"
)

// Request asks for one window. The zero value asks for the whole file, or a
// preview where that is long.
type Request struct {
	Mode Mode // Line if empty

	// StartLine and EndLine bound a window of lines, from 1, both included; 0
	// is not given.
	StartLine, EndLine int
	// TailLines asks for the last lines instead.
	TailLines int

	// Offset is where a window of bytes or characters begins, from 0, and
	// Limit its length; 0 is the default.
	Offset, Limit int64
}

// Reason says why a window ends before what was asked for.
type Reason string

// The reasons.
const (
	Whole       Reason = ""
	HitLines    Reason = "max_lines"
	HitChars    Reason = "max_output_chars"
	ByteLimit   Reason = "byte_limit"
	CharLimit   Reason = "char_limit"
	LineTooLong Reason = "line_too_long"
	Preview     Reason = "large_file_preview"
)

// View is a window and what is known of the file.
type View struct {
	Mode Mode
	// Content is the text: in Line mode numbered lines, each with its line
	// feed except for the last, in the other modes just what is there.
	Content string
	// StartLine and EndLine are the lines shown; EndLine is less than
	// StartLine when there are none.
	StartLine, EndLine int
	// Offset, ShownBytes and ShownChars describe a window of bytes or
	// characters.
	Offset                 int64
	ShownBytes, ShownChars int

	TotalBytes, TotalChars int64
	TotalLines             int
	SHA256                 string // in lower-case hex

	// EOF tells that the window reaches the end of the file.
	EOF    bool
	Reason Reason
	// Exactly one of the cursors is positive when there is more to read and
	// the window was cut. NextChar continues inside a line that is too long.
	NextLine           int
	NextByte, NextChar int64
}

// ErrNotText reports a NUL byte near the start or bytes that are not UTF-8.
var ErrNotText = errors.New("not a UTF-8 text file")

// RangeError reports a window that begins beyond the end of the file, or in
// the middle of a character.
type RangeError struct {
	// Field is the part of the request: "start_line", "offset_bytes" or
	// "offset_chars".
	Field string
	// Nearest is a value that would do.
	Nearest int64
	Reason  string
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s %s; use %d", e.Field, e.Reason, e.Nearest)
}

// Read returns the window of a file of the given size, which is the number of
// bytes to read at most; a negative size reads to the end.
func Read(ctx context.Context, file io.ReaderAt, size int64, req Request) (View, error) {
	v, _, err := ReadAgain(ctx, file, size, req, nil)
	return v, err
}

// ReadAgain is Read for a file about which something may be known already:
// with facts it reads the window alone. It returns the facts, also with a
// [RangeError].
func ReadAgain(ctx context.Context, file io.ReaderAt, size int64, req Request, facts *Facts) (View, *Facts, error) {
	if req.Mode == "" {
		req.Mode = Line
	}
	var c window
	switch {
	case req.Mode == Byte:
		c = &byteWindow{offset: req.Offset, limit: span(req.Limit)}
	case req.Mode == Char:
		c = &charWindow{offset: req.Offset, limit: span(req.Limit)}
	case req.TailLines > 0:
		c = &tailWindow{file: file, asked: req.TailLines, want: min(req.TailLines, MaxLines)}
	default:
		c = newLineWindow(req)
	}
	var err error
	if facts != nil {
		err = facts.window(ctx, file, c)
	} else {
		facts, err = pass(ctx, file, size, c)
	}
	if err != nil {
		return View{}, nil, err
	}
	t := facts.t
	v := View{Mode: req.Mode, TotalBytes: t.bytes, TotalChars: t.chars, TotalLines: t.lines, SHA256: t.sha256}
	if err := c.finish(t, &v); err != nil {
		return View{}, facts, err
	}
	return v, facts, nil
}

func span(limit int64) int64 {
	if limit <= 0 {
		return DefaultSpan
	}
	return min(limit, MaxBytes)
}
