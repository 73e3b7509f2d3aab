package picture

import (
	"context"

	"github.com/bridle-go/bridle/plugins/attachments/internal/icc"
)

// raster is a picture in memory: packed rows of red, green, blue and alpha, 8
// bits each, alpha not multiplied in.
type raster struct {
	w, h int
	pix  []byte
}

func newRaster(w, h int) *raster { return &raster{w: w, h: h, pix: make([]byte, 4*w*h)} }

func (r *raster) row(y int) []byte { return r.pix[4*r.w*y : 4*r.w*(y+1)] }

// consumer takes rows from top to bottom. It may not keep them.
type consumer interface {
	take(row []byte)
}

// stripBytes is the size of the pieces in which rows cross from the goroutine
// that decodes to the one that resamples: large enough that the crossing costs
// nothing, small enough to stay in the cache.
const stripBytes = 256 << 10

// sink carries rows from a decoder to a consumer on another goroutine, so that
// inflating or entropy decoding and resampling share two cores.
type sink struct {
	interrupted func() error // the context's
	rowLen      int
	strip       []byte // rows written so far
	used        int
	full        chan []byte
	free        chan []byte
	done        chan struct{}
	failed      error
	convert     *icc.Transform
}

// newSink starts the goroutine that feeds the consumer. close must be called.
func newSink(ctx context.Context, width, height int, convert *icc.Transform, to consumer) *sink {
	s := &sink{interrupted: ctx.Err, rowLen: 4 * width, convert: convert,
		full: make(chan []byte, 2), free: make(chan []byte, 3), done: make(chan struct{})}
	rows := min(max(1, stripBytes/s.rowLen), height)
	for range 3 {
		s.free <- make([]byte, rows*s.rowLen)
	}
	s.strip = <-s.free
	go func() {
		defer close(s.done)
		defer func() {
			// A panic of ours must not take the process with it; the picture is
			// refused instead.
			if r := recover(); r != nil {
				s.failed = invalid("the image could not be processed: %v", r)
			}
		}()
		for strip := range s.full {
			for i := 0; i < len(strip); i += s.rowLen {
				row := strip[i : i+s.rowLen]
				if s.convert != nil {
					s.convert.Row(row)
				}
				to.take(row)
			}
			s.free <- strip[:cap(strip)]
		}
	}()
	return s
}

// Next returns the buffer for the next row.
func (s *sink) Next() []byte { return s.strip[s.used : s.used+s.rowLen] }

// Push hands over the row in the buffer of the last Next.
func (s *sink) Push() error {
	s.used += s.rowLen
	if s.used+s.rowLen > len(s.strip) {
		return s.flush()
	}
	return nil
}

func (s *sink) flush() error {
	if err := s.interrupted(); err != nil {
		return err
	}
	if err := s.send(); err != nil {
		return err
	}
	select {
	case s.strip = <-s.free:
		return nil
	case <-s.done:
		return s.failed
	}
}

func (s *sink) send() error {
	select {
	case s.full <- s.strip[:s.used]:
		s.used = 0
		return nil
	case <-s.done:
		return s.failed
	}
}

// close passes on what is left and waits for the consumer.
func (s *sink) close() error {
	if s.used > 0 {
		_ = s.send() // s.failed tells below
	}
	close(s.full)
	<-s.done
	return s.failed
}

// discard is the consumer for a picture that only has to be decodable.
type discard struct{}

func (discard) take([]byte) {}

// whole is the consumer that keeps every row.
type whole struct {
	to *raster
	y  int
}

func (w *whole) take(row []byte) {
	copy(w.to.row(w.y), row)
	w.y++
}
