package session

import (
	"io"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// minRun is the fewest deltas worth a row. A shorter run stays as the events
// it is.
const minRun = 3

// packer writes events as lines and packs runs of deltas into rows. A run is
// deltas of one block, of the same kind and call, that follow each other in
// the log.
type packer struct {
	// bare leaves out numbers and times, as recorded fixtures do.
	bare bool

	of    deltaOf
	run   []Event
	bytes int // of the run's pieces
}

// add appends e's line to dst, or holds e back as part of a run.
func (p *packer) add(dst []byte, e Event) []byte {
	d, piece, ok := packable(e)
	if ok && len(p.run) > 0 && d == p.of && e.Seq == p.run[len(p.run)-1].Seq+1 {
		p.run = append(p.run, e)
		p.bytes += len(piece)
		return dst
	}
	dst = p.flush(dst)
	if !ok {
		return p.line(dst, e)
	}
	p.of, p.bytes = d, len(piece)
	p.run = append(p.run, e)
	return dst
}

// packable reports whether a row can give e back exactly.
func packable(e Event) (d deltaOf, piece []byte, ok bool) {
	if e.Type != TypeAssistantChunk || e.SourceEventSeqs != nil || e.SurfaceOp != "" || e.Ignorable || len(e.Extra) > 0 {
		return d, nil, false
	}
	return parseDelta(e.Data)
}

func (p *packer) line(dst []byte, e Event) []byte {
	return append(e.appendJSON(dst, !p.bare), '\n')
}

// flush appends the lines of the events that were held back.
func (p *packer) flush(dst []byte) []byte {
	switch {
	case len(p.run) == 0:
		return dst
	case len(p.run) < minRun:
		for _, e := range p.run {
			dst = p.line(dst, e)
		}
	default:
		dst = append(p.row(dst), '\n')
	}
	clear(p.run) // let go of the data
	p.run, p.bytes = p.run[:0], 0
	return dst
}

// row appends the run as one row.
func (p *packer) row(dst []byte) []byte {
	o := jsonx.Begin(dst)
	o.String("type", p.of.kind.row)
	if !p.bare {
		o.Int("seq0", p.run[0].Seq)
		o.Int("time0", p.run[0].Time)
	}
	d := jsonx.Begin(o.Key("data"))
	d.Int("turn", p.of.turn)
	d.Int("step", p.of.step)
	d.Int("index", p.of.index)
	dt := make([]int64, 0, len(p.run)-1)
	for i := 1; i < len(p.run); i++ {
		dt = append(dt, p.run[i].Time-p.run[i-1].Time)
	}
	d.Ints("dt", dt)
	if p.of.rawID != "" {
		d.Raw("id", []byte(p.of.rawID))
	}
	if p.of.name != "" {
		d.Raw("name", []byte(p.of.name))
	}
	buf := append(d.Key(p.of.kind.pieces), '[')
	for i, e := range p.run {
		if i > 0 {
			buf = append(buf, ',')
		}
		_, piece, _ := parseDelta(e.Data)
		buf = append(buf, piece...)
	}
	d.Set(append(buf, ']'))
	o.Set(d.End())
	return o.End()
}

// Encoder writes a log to a stream.
type Encoder struct {
	w    io.Writer
	pack packer
	buf  []byte
	err  error
}

// NewEncoder writes the header. A bare log leaves out the numbers and times of
// its events, which a reader then counts up from the header: that is the form
// of recorded fixtures, which do not change when the machine is slower.
func NewEncoder(w io.Writer, h Header, bare bool) *Encoder {
	e := &Encoder{w: w, pack: packer{bare: bare}}
	e.buf = append(h.AppendJSON(nil), '\n')
	return e
}

// Encode writes one event. Events must come in order. Some are held back until
// a later one or [Encoder.Close].
func (e *Encoder) Encode(ev Event) error {
	e.buf = e.pack.add(e.buf, ev)
	if len(e.buf) >= 64<<10 {
		e.write()
	}
	return e.err
}

// Close writes what was held back. It does not close the stream.
func (e *Encoder) Close() error {
	e.buf = e.pack.flush(e.buf)
	e.write()
	return e.err
}

func (e *Encoder) write() {
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
}
