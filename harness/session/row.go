package session

import (
	"fmt"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// row is a packed run of deltas as read from a log.
type row struct {
	of           deltaOf
	seq0, time0  int64
	given        numbering
	dt           []int64
	pieces       [][]byte // raw JSON strings
	piecesLength int
	// extra and dataExtra are the fields this version does not know, of the row
	// and of its data.
	extra     jsonx.Extra
	dataExtra []jsonx.Field
}

// rowOf reads a row. The fields it does not know stay with the first event, so
// that they are not lost.
func rowOf(kind *deltaKind, fields []jsonx.Field) (r row, err error) {
	r.of.kind = kind
	var data []jsonx.Field
	for _, f := range fields {
		switch f.Name {
		case "type":
		case "seq0":
			r.given.seq = true
			err = readField(f, &r.seq0)
		case "time0":
			r.given.time = true
			err = readField(f, &r.time0)
		case "data":
			data, err = jsonx.Split(nil, f.Value)
		default:
			r.extra = jsonx.Keep(r.extra, f)
		}
		if err != nil {
			return r, err
		}
	}
	return r, r.readData(data)
}

// readData reads the data of a row, whose kind is known.
func (r *row) readData(data []jsonx.Field) (err error) {
	kind := r.of.kind
	have := map[string]bool{}
	for _, f := range data {
		have[f.Name] = true
		switch f.Name {
		case "turn":
			err = wholeNumber(f, &r.of.turn)
		case "step":
			err = wholeNumber(f, &r.of.step)
		case "index":
			err = wholeNumber(f, &r.of.index)
		case "dt":
			err = readField(f, &r.dt)
		case kind.pieces:
			err = r.readPieces(f)
		case "id", "name":
			switch {
			case kind.row != "tool-call-chunks":
				r.dataExtra = append(r.dataExtra, f)
			case f.Value[0] != '"':
				err = fmt.Errorf("the field %q of a %s row is not a string", f.Name, kind.row)
			case f.Name == "id":
				r.of.rawID = string(f.Value)
			default:
				r.of.name = string(f.Value)
			}
		default:
			r.dataExtra = append(r.dataExtra, f)
		}
		if err != nil {
			return err
		}
	}
	return r.check(have)
}

// check wants data with these fields to be a run of deltas.
func (r *row) check(have map[string]bool) error {
	kind := r.of.kind
	for _, name := range []string{"turn", "step", "index"} {
		if !have[name] {
			return fmt.Errorf("the field %q of a %s row's data is missing", name, kind.row)
		}
	}
	switch {
	case !have["dt"] || !have[kind.pieces]:
		return fmt.Errorf("a %s row needs the fields %q and %q in its data", kind.row, "dt", kind.pieces)
	case len(r.pieces) == 0:
		return fmt.Errorf("a %s row has no pieces", kind.row)
	case len(r.dt) != len(r.pieces)-1:
		return fmt.Errorf("a %s row of %d pieces needs %d time steps and has %d", kind.row, len(r.pieces), len(r.pieces)-1, len(r.dt))
	}
	return nil
}

func (r *row) readPieces(f jsonx.Field) error {
	r.pieces = make([][]byte, 0, len(r.dt)+1)
	for p, err := range jsonx.Elements(f.Value) {
		if err != nil {
			return fmt.Errorf("the field %q: %w", f.Name, err)
		}
		if p[0] != '"' {
			return fmt.Errorf("the field %q: piece %d is not a string", f.Name, len(r.pieces))
		}
		r.pieces = append(r.pieces, p)
		r.piecesLength += len(p)
	}
	return nil
}

// events unpacks the row into the events it was made of. Their data shares one
// buffer.
func (r *row) events(dst []Event) []Event {
	// 96 bytes hold what surrounds a piece, unless numbers are very long.
	size := r.piecesLength + len(r.pieces)*(96+len(r.of.rawID)+len(r.of.name))
	buf := make([]byte, 0, size)
	time := r.time0
	for i, piece := range r.pieces {
		if i > 0 {
			time += r.dt[i-1]
		}
		start := len(buf)
		buf = r.of.appendDelta(buf, piece)
		dst = append(dst, Event{
			Type: TypeAssistantChunk,
			Seq:  r.seq0 + int64(i),
			Time: time,
			Data: buf[start:len(buf):len(buf)],
		})
	}
	first := &dst[len(dst)-len(r.pieces)]
	first.Extra = r.extra
	for _, f := range r.dataExtra {
		// The data has fields already, and ends in a brace.
		o := append(first.Data[:len(first.Data)-1:len(first.Data)-1], ',')
		o = append(append(jsonx.AppendString(o, f.Name), ':'), f.Value...)
		first.Data = append(o, '}')
	}
	return dst
}
