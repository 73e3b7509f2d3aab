package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// LineError is the cause when a line of a log cannot be read.
type LineError struct {
	// Line counts from 1, the header.
	Line int
	// Offset is where the line begins, in bytes.
	Offset int64
	// Err is the reason.
	Err error
}

// Error names the line and the reason.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Torn is the end of a log that a crash left half written.
type Torn struct {
	// Line is its number, counted from 1.
	Line int
	// Offset is where it begins: the log is whole up to here.
	Offset int64
	// Bytes is how long it is.
	Bytes int64
	// Reason says why it is no event.
	Reason string
}

// Reader reads a log from a stream, checking each line. It tells a torn last
// line, which is what a crash leaves, from damage, which is an error.
type Reader struct {
	in     *bufio.Reader
	types  []string
	header Header

	line   int
	offset int64 // of the next line
	buf    []byte

	seq   int64     // the next event's
	mode  numbering // whether the lines of this log give numbers and times
	time  int64     // the last event's
	queue []Event
	row   bool // the queue comes from a row, which needs no further check
	check *unnumbered

	torn      *Torn
	unclosed  bool // the last line is whole but for its line break
	err       error
	fields    []jsonx.Field
	lineBegin int64
}

// NewReader reads the header of a log. knownTypes are event types the caller
// understands beside the core ones.
//
// Errors: SESSION_VERSION names both versions, SESSION_CORRUPT names line and
// reason.
func NewReader(r io.Reader, knownTypes ...string) (*Reader, error) {
	rd := &Reader{in: bufio.NewReaderSize(r, 256<<10), types: knownTypes}
	line, last, err := rd.readLine()
	if errors.Is(err, io.EOF) {
		return nil, rd.damage(errors.New("the log is empty: it has no header"))
	}
	if err != nil {
		return nil, err
	}
	h, err := ParseHeader(line)
	if err != nil {
		var version *VersionError
		if last && !errors.As(err, &version) {
			err = fmt.Errorf("the header is cut off or damaged: %w", err)
		}
		return nil, rd.damage(err)
	}
	rd.header, rd.time = h, h.CreatedAt
	rd.unclosed = last && rd.buf[len(rd.buf)-1] != '\n'
	return rd, nil
}

// Header returns the log's first line.
func (r *Reader) Header() Header { return r.header }

// Torn returns the torn last line once [Reader.Next] has returned io.EOF, or
// nil where the log is whole.
func (r *Reader) Torn() *Torn { return r.torn }

// Next returns the next event, or io.EOF at the end or before a torn last
// line. Any other error names a line, has one of the codes SESSION_CORRUPT,
// SESSION_UNKNOWN_EVENT and SESSION_READ_FAILED, and is final.
func (r *Reader) Next() (Event, error) {
	e, _, err := r.next()
	return e, err
}

// next also returns what accept made of the event.
func (r *Reader) next() (Event, any, error) {
	for len(r.queue) == 0 {
		if r.err != nil {
			return Event{}, nil, r.err
		}
		if r.err = r.readEvents(); r.err != nil {
			return Event{}, nil, r.err
		}
	}
	e := r.queue[0]
	r.queue = r.queue[1:]
	var body any
	var err error
	if !r.row {
		body, err = accept(e, r.types)
	}
	if err == nil && r.check != nil {
		err = r.check.follow(e, body)
	}
	if err != nil {
		r.queue = nil
		r.err = r.damage(err)
		return Event{}, nil, r.err
	}
	return e, body, nil
}

// readEvents reads a line into the queue.
func (r *Reader) readEvents() error {
	line, last, err := r.readLine()
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(line)) == 0 {
		// Editors and concatenation leave blank lines; a log has lost nothing by
		// them.
		r.unclosed = last && r.buf[len(r.buf)-1] != '\n'
		return nil
	}
	if err := jsonx.Check(line); err != nil {
		if last {
			r.torn = &Torn{Line: r.line, Offset: r.lineBegin, Bytes: r.offset - r.lineBegin, Reason: err.Error()}
			return io.EOF
		}
		return r.damage(err)
	}
	r.unclosed = last && r.buf[len(r.buf)-1] != '\n'
	// The events alias the line, so each line has its own memory.
	line = append([]byte(nil), line...)
	if r.fields, err = jsonx.Split(r.fields[:0], line); err != nil {
		return r.damage(err)
	}
	kind, err := lineType(r.fields)
	if err != nil {
		return r.damage(err)
	}
	r.queue = r.queue[:0]
	rk := rowKind(kind)
	r.row = rk != nil
	if r.row {
		err = r.unpack(rk)
	} else {
		err = r.single()
	}
	if err != nil {
		return r.damage(err)
	}
	return nil
}

func lineType(fields []jsonx.Field) (string, error) {
	for _, f := range fields {
		if f.Name == "type" && f.Value[0] == '"' {
			return jsonx.Unquote(f.Value)
		}
	}
	return "", fmt.Errorf("the field %q is missing", "type")
}

func (r *Reader) single() error {
	e, given, err := eventOf(r.fields)
	if err != nil {
		return err
	}
	if e.Type == headerType {
		return errors.New("a second header")
	}
	if e.Seq, e.Time, err = r.number(given, e.Seq, e.Time); err != nil {
		return err
	}
	r.seq, r.time = e.Seq+1, e.Time
	r.queue = append(r.queue, e)
	return nil
}

func (r *Reader) unpack(kind *deltaKind) error {
	row, err := rowOf(kind, r.fields)
	if err != nil {
		return err
	}
	if row.seq0, row.time0, err = r.number(row.given, row.seq0, row.time0); err != nil {
		return err
	}
	r.queue = row.events(r.queue)
	end := r.queue[len(r.queue)-1]
	r.seq, r.time = end.Seq+1, end.Time
	return nil
}

// number checks or assigns the number and time of the next event. All lines
// of a log give them, or none does; a line without them counts on from the line before, a millisecond later, so that
// the header's time comes before the first event's.
func (r *Reader) number(given numbering, seq, time int64) (int64, int64, error) {
	if r.seq == 0 {
		r.mode = given
		if !given.seq {
			r.check = &unnumbered{}
		}
	}
	if given != r.mode {
		return 0, 0, fmt.Errorf("the event's number and time are %s and %s, which is not so on the lines before",
			presence(given.seq), presence(given.time))
	}
	if given.seq && seq != r.seq {
		what := "is missing"
		if seq < r.seq {
			what = "comes twice, or out of its place"
		}
		return 0, 0, fmt.Errorf("the event has number %d where %d follows: a line %s", seq, r.seq, what)
	}
	if !given.time {
		time = r.time + 1
	}
	return r.seq, time, nil
}

func presence(given bool) string {
	if given {
		return "present"
	}
	return "missing"
}

// readLine returns the next line without its line break, and whether it is
// the last of the stream. The line is valid until the next call.
func (r *Reader) readLine() (line []byte, last bool, err error) {
	r.buf = r.buf[:0]
	r.lineBegin = r.offset
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			return nil, false, errs.Wrap(ReadFailed, fmt.Sprintf("the log cannot be read: %v", err), err)
		}
		break
	}
	if len(r.buf) == 0 {
		return nil, true, io.EOF
	}
	r.line++
	r.offset += int64(len(r.buf))
	_, peekErr := r.in.Peek(1)
	line = r.buf
	if line[len(line)-1] == '\n' {
		line = line[:len(line)-1]
	}
	return line, peekErr == io.EOF, nil
}

// damage makes an error that names the current line.
func (r *Reader) damage(cause error) error {
	le := &LineError{Line: max(r.line, 1), Offset: r.lineBegin, Err: cause}
	code := Corrupt
	var version *VersionError
	switch {
	case errors.As(cause, &version):
		code = UnsupportedVersion
	case errs.CodeOf(cause) != "":
		code = errs.CodeOf(cause)
	}
	return errs.Wrap(code, "the session log cannot be opened: "+le.Error(), le)
}

// Log is a log that was read as a whole, without a lock and without repair.
type Log struct {
	Header Header
	Events []Event
	// State is the folds of all events.
	State *State
	// Torn is the torn last line, or nil.
	Torn *Torn
}

// Read reads a whole log from a stream; see [NewReader] for the errors.
func Read(r io.Reader, knownTypes ...string) (*Log, error) {
	rd, err := NewReader(r, knownTypes...)
	if err != nil {
		return nil, err
	}
	log := &Log{Header: rd.Header(), State: &State{}}
	for {
		e, body, err := rd.next()
		if err == io.EOF {
			log.Torn = rd.Torn()
			return log, nil
		}
		if err != nil {
			return nil, err
		}
		log.State.apply(e, body)
		log.Events = append(log.Events, e)
	}
}

// ReadFile reads a whole log from a file; the errors name the file.
func ReadFile(path string, knownTypes ...string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		code := ReadFailed
		if errors.Is(err, os.ErrNotExist) {
			code = NotFound
		}
		return nil, &errs.Error{Code: code, Op: "read session log", Path: path, Err: err}
	}
	defer f.Close()
	log, err := Read(f, knownTypes...)
	if err != nil {
		return nil, &errs.Error{Code: errs.CodeOf(err), Op: "read session log", Path: path,
			Message: fmt.Sprintf("%s: %v", path, err), Err: err}
	}
	return log, nil
}

// all yields the reader's events.
func (r *Reader) all() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			e, err := r.Next()
			if err == io.EOF {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
