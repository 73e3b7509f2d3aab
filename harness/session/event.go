// Package session keeps what happened in a conversation as an append-only log
// of events, which is the only source of truth: the messages a model sees,
// the request header, the sandbox mode, the approval policy, what was
// observed of files and what waits in the inbox are folds of it.
//
// A log is JSON lines. Line 1 is the header, and each further line is an
// event or a row that packs the deltas of one streamed block:
//
//	{"type":"session","version":0,"id":"…","createdAt":1783352084735,"cwd":"/w"}
//	{"type":"turn/start","seq":0,"time":1783352084740,"data":{"turn":1}}
//	{"type":"text-chunks","seq0":5,"time0":1783352085001,"data":{"turn":1,"step":1,"index":0,"dt":[0,31],"texts":["He","llo","."]}}
//
// Times are Unix milliseconds. A turn is what one claimed input leads to; a
// step is one model request with the tool calls of its answer; both count
// from 1, steps anew in each turn.
//
// A [Session] is one open log with its folds. A [Store] keeps sessions:
// [NewMemoryStore] in memory, [NewFileStore] as files. The package runs no
// model and no tool.
package session

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// Version is the format version this package reads and writes.
const Version = 0

// SurfaceOp says what an event does to the list of messages.
type SurfaceOp string

const (
	// SurfaceAppend adds the event's message at the end. It is meant too where
	// an event with a message names no operation.
	SurfaceAppend SurfaceOp = "append"
	// SurfaceNone keeps the event in the log alone.
	SurfaceNone SurfaceOp = "none"
)

// Event is one entry of a log.
type Event struct {
	// Type names what happened, as in "turn/start".
	Type string
	// Seq numbers the events of a log from 0 without a gap. The log assigns it.
	Seq int64
	// Time is when it happened, in Unix milliseconds. The log assigns it.
	Time int64
	// Data is a JSON object whose shape the type decides. It is written as it
	// is, so it must be on one line. An event of a type that is not a core one
	// may have another value, or nil for none.
	Data json.RawMessage
	// SourceEventSeqs numbers the events that this one was made from.
	SourceEventSeqs []int64
	// SurfaceOp is set on events that carry a message.
	SurfaceOp SurfaceOp
	// Ignorable lets a reader that does not know the type pass over the event.
	Ignorable bool
	// Extra holds fields beside these that this version does not know.
	Extra map[string]json.RawMessage
}

// Decode reads the event's data into v, a pointer to one of this package's
// event bodies or to a type of the caller's.
func (e Event) Decode(v any) error {
	if err := json.Unmarshal(e.Data, v); err != nil {
		return fmt.Errorf("%s: %w", e.Type, err)
	}
	return nil
}

// AppendJSON appends the event as one line of a log, without the line break.
func (e Event) AppendJSON(dst []byte) []byte { return e.appendJSON(dst, true) }

func (e Event) appendJSON(dst []byte, numbered bool) []byte {
	o := jsonx.Begin(dst)
	o.String("type", e.Type)
	if numbered {
		o.Int("seq", e.Seq)
		o.Int("time", e.Time)
	}
	if e.Data != nil {
		o.Raw("data", e.Data)
	}
	if e.SourceEventSeqs != nil {
		o.Ints("sourceEventSeqs", e.SourceEventSeqs)
	}
	if e.SurfaceOp != "" {
		o.String("surfaceOp", string(e.SurfaceOp))
	}
	if e.Ignorable {
		o.Bool("ignorable", true)
	}
	o.Extras(e.Extra)
	return o.End()
}

// MarshalJSON returns the event as it stands in a log, except that
// encoding/json escapes more characters than the log does.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// UnmarshalJSON reads an event; see [ParseEvent].
func (e *Event) UnmarshalJSON(data []byte) error {
	parsed, err := ParseEvent(data)
	if err != nil {
		return err
	}
	*e = parsed
	return nil
}

// ParseEvent reads one event that is not a packed row. The number and the
// time may be missing and are zero then. The type must be there.
func ParseEvent(line []byte) (Event, error) {
	if err := jsonx.Check(line); err != nil {
		return Event{}, err
	}
	fields, err := jsonx.Split(nil, line)
	if err != nil {
		return Event{}, err
	}
	e, _, err := eventOf(fields)
	if err != nil {
		return Event{}, err
	}
	e.Data = append(json.RawMessage(nil), e.Data...)
	return e, nil
}

// numbering tells which of an event's numbers its line gave.
type numbering struct{ seq, time bool }

// eventOf makes an event of a line's fields. Its data aliases them.
func eventOf(fields []jsonx.Field) (e Event, given numbering, err error) {
	for _, f := range fields {
		var to any
		switch f.Name {
		case "type":
			to = &e.Type
		case "seq":
			to, given.seq = &e.Seq, true
		case "time":
			to, given.time = &e.Time, true
		case "data":
			e.Data = f.Value
			continue
		case "sourceEventSeqs":
			to = &e.SourceEventSeqs
		case "surfaceOp":
			to = &e.SurfaceOp
		case "ignorable":
			// Only true means something; another value is kept as it is.
			if string(f.Value) == "true" {
				e.Ignorable = true
				continue
			}
			fallthrough
		default:
			e.Extra = jsonx.Keep(e.Extra, f)
			continue
		}
		if err := readField(f, to); err != nil {
			return e, given, err
		}
	}
	if e.Type == "" {
		return e, given, fmt.Errorf("the field %q is missing", "type")
	}
	return e, given, nil
}

// readField decodes one field and names it where that fails. A null is no
// value of any field here.
func readField(f jsonx.Field, to any) error {
	if string(f.Value) == "null" {
		return fmt.Errorf("the field %q is null", f.Name)
	}
	var err error
	switch to := to.(type) {
	case *string:
		*to, err = jsonx.Unquote(f.Value)
	case *int64:
		return wholeNumber(f, to)
	case *[]int64:
		*to, err = wholeNumbers(f)
	default:
		err = json.Unmarshal(f.Value, to)
	}
	if err != nil {
		return fmt.Errorf("the field %q: %w", f.Name, err)
	}
	return nil
}

// wholeNumber reads a whole number in the one spelling that is written again.
func wholeNumber(f jsonx.Field, to *int64) error {
	n, rest, ok := cutInt(f.Value)
	if !ok || len(rest) > 0 {
		return fmt.Errorf("the field %q is %s, not a whole number", f.Name, f.Value)
	}
	*to = n
	return nil
}

// wholeNumbers reads a list of whole numbers. Logs hold very many.
func wholeNumbers(f jsonx.Field) ([]int64, error) {
	out := make([]int64, 0, bytes.Count(f.Value, []byte{','})+1)
	for raw, err := range jsonx.Elements(f.Value) {
		if err != nil {
			return nil, err
		}
		n, rest, ok := cutInt(raw)
		if !ok || len(rest) > 0 {
			return nil, fmt.Errorf("%s is not a whole number", raw)
		}
		out = append(out, n)
	}
	return out, nil
}

// Header is the first line of a log.
type Header struct {
	// ID names the session. A store takes letters, digits, '-', '_' and '.',
	// at most 128 of them, and no '.' in front.
	ID string
	// CreatedAt is in Unix milliseconds.
	CreatedAt int64
	// Cwd is the absolute path of the session's workspace.
	Cwd string
	// Extra holds header fields this package gives no meaning to.
	Extra map[string]json.RawMessage
}

// headerType is the type of a log's first line.
const headerType = "session"

// AppendJSON appends the header as the first line of a log, without the line
// break.
func (h Header) AppendJSON(dst []byte) []byte {
	o := jsonx.Begin(dst)
	o.String("type", headerType)
	o.Int("version", Version)
	o.String("id", h.ID)
	o.Int("createdAt", h.CreatedAt)
	o.String("cwd", h.Cwd)
	o.Extras(h.Extra)
	return o.End()
}

// ParseHeader reads a log's first line. A version other than [Version] is
// refused with both named.
func ParseHeader(line []byte) (Header, error) {
	if err := jsonx.Check(line); err != nil {
		return Header{}, err
	}
	fields, err := jsonx.Split(nil, line)
	if err != nil {
		return Header{}, err
	}
	var h Header
	var kind string
	var version json.RawMessage
	seen := map[string]bool{}
	for _, f := range fields {
		seen[f.Name] = true
		var to any
		switch f.Name {
		case "type":
			to = &kind
		case "version":
			to = &version
		case "id":
			to = &h.ID
		case "createdAt":
			to = &h.CreatedAt
		case "cwd":
			to = &h.Cwd
		default:
			h.Extra = jsonx.Keep(h.Extra, f)
			continue
		}
		if err := readField(f, to); err != nil {
			return Header{}, err
		}
	}
	if kind != headerType {
		return Header{}, fmt.Errorf("it is not a session header: its type is %q, not %q", kind, headerType)
	}
	if string(version) != fmt.Sprint(Version) {
		if version == nil {
			return Header{}, fmt.Errorf("the field %q is missing", "version")
		}
		return Header{}, &VersionError{Found: string(version)}
	}
	for _, name := range []string{"id", "createdAt", "cwd"} {
		if !seen[name] {
			return Header{}, fmt.Errorf("the field %q is missing", name)
		}
	}
	return h, nil
}

// VersionError is the cause when a log has another format version.
type VersionError struct {
	// Found is the version that the log names.
	Found string
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the log has format version %s, and this program reads version %d", e.Found, Version)
}
