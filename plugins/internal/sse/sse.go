// Package sse reads server-sent events, the stream format of
// https://html.spec.whatwg.org/multipage/server-sent-events.html, as language
// model servers use it.
//
// It is a decoder, not a client: reconnecting and the last event id make no
// sense for an answer that is produced once.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Event is one event of a stream.
type Event struct {
	// Name is the value of the event field, or "".
	Name string
	// Data is the data fields joined by line feeds. It is valid until the next
	// event is read.
	Data []byte
	// Cut is set on an event that the end of the stream closed instead of an
	// empty line. The specification discards it, but some servers leave the
	// last empty line out, so it is handed on for the caller to judge.
	Cut bool
}

// ErrTooLong reports an event that exceeds the reader's limit.
var ErrTooLong = errors.New("an event of the stream is too long")

// Reader reads events. It is not safe for concurrent use.
type Reader struct {
	in    *bufio.Reader
	limit int

	line   []byte
	data   []byte
	begun  bool // the stream's first line was read
	skipLF bool // the last line ended with CR, so a LF that follows belongs to it
	err    error
}

// NewReader returns a reader of the events in r. An event's name and data
// together may have limit bytes.
//
// An event is handed out as soon as its empty line has arrived; nothing waits
// for the line after it.
func NewReader(r io.Reader, limit int) *Reader {
	in, ok := r.(*bufio.Reader)
	if !ok {
		in = bufio.NewReaderSize(r, 16<<10)
	}
	return &Reader{in: in, limit: limit}
}

// Next returns the next event that has data or a name. At the end of the
// stream the error is io.EOF; any other error is the one of the source, or
// [ErrTooLong]. Errors stay.
func (r *Reader) Next() (Event, error) {
	if r.err != nil {
		return Event{}, r.err
	}
	var e Event
	r.data = r.data[:0]
	hasData := false
	for {
		err := r.readLine(len(e.Name) + len(r.data))
		if err != nil && (err != io.EOF || len(r.line) == 0) {
			r.err = err
			if err == io.EOF && (hasData || e.Name != "") {
				e.Data, e.Cut = r.data, true
				return e, nil
			}
			return Event{}, err
		}
		if len(r.line) == 0 {
			if hasData || e.Name != "" {
				e.Data = r.data
				return e, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(r.line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.Name = string(value)
		case "data":
			if hasData {
				r.data = append(r.data, '\n')
			}
			hasData = true
			r.data = append(r.data, value...)
		}
		// Comments, which have an empty name, keep the connection alive. id,
		// retry and unknown fields mean nothing here.
	}
}

// readLine reads one line without its end into r.line: up to LF, CR or CRLF.
// With io.EOF comes what the stream ended on.
func (r *Reader) readLine(used int) error {
	r.line = r.line[:0]
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return err
		}
		skip := r.skipLF
		r.skipLF = false
		switch {
		case c == '\n' && skip:
			continue
		case c == '\n' || c == '\r':
			r.skipLF = c == '\r'
			if !r.begun {
				r.begun = true
				r.line = bytes.TrimPrefix(r.line, []byte("\xef\xbb\xbf"))
			}
			return nil
		}
		if used+len(r.line) >= r.limit {
			return fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.limit)
		}
		r.line = append(r.line, c)
	}
}
