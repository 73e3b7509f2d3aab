package webp

import (
	"errors"
	"fmt"
)

// ErrTruncated reports a frame that ends before its last block.
var ErrTruncated = errors.New("webp: truncated")

// FormatError reports damage.
type FormatError string

func (e FormatError) Error() string { return "webp: " + string(e) }

func damaged(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}

// Frame decodes a VP8 key frame row by row. It keeps two rows of macroblocks: the
// one in work, and the one above it, which the loop filter still changes. What
// prediction sees is the picture before that filter, so the last row of samples
// of each plane is kept apart.
type Frame struct {
	w, h     int
	mbw, mbh int
	mby      int // of the next row of macroblocks
	y        int // of the next row of samples

	modes  boolReader
	tokens []boolReader // row y of macroblocks is in the partition y modulo their number

	segments  segments
	filter    filterHeader
	quants    [4]quants
	probs     tokenProbs
	skips     bool // macroblocks may be marked as empty
	skipProb  uint8
	strengths [4][2]strength // by segment, and whether its predictions are 4x4

	above   []context // by macroblock
	left    context
	top     band       // one row of samples: the last unfiltered one
	work    band       // two rows of macroblocks
	filters []strength // of the row in work

	mb     blockState
	coeffs [25][16]int32
}

// band is some rows of samples of whole macroblocks.
type band struct{ y, u, v []byte }

func newBand(mbw, rows int) band {
	chroma := 8 * mbw * ((rows + 1) / 2)
	return band{make([]byte, 16*mbw*rows), make([]byte, chroma), make([]byte, chroma)}
}

// segments are groups of macroblocks with a quantizer and a filter of their own
// (RFC 6386, 9.3).
type segments struct {
	enabled   bool
	mapped    bool // each macroblock says which is its
	absolute  bool // the values replace those of the frame
	quantizer [4]int
	level     [4]int
	probs     [3]uint8
}

// quants are the steps of the three kinds of blocks.
type quants struct{ y, y2, uv steps }

// NewFrame reads the headers of a frame.
func NewFrame(data []byte) (*Frame, error) {
	if len(data) < 10 {
		return nil, ErrTruncated
	}
	tag := int(data[0]) | int(data[1])<<8 | int(data[2])<<16
	if tag&1 != 0 || tag>>1&7 > 3 || string(data[3:6]) != "\x9d\x01\x2a" {
		return nil, damaged("no key frame")
	}
	f := &Frame{
		w: int(data[6]) | int(data[7]&0x3f)<<8,
		h: int(data[8]) | int(data[9]&0x3f)<<8,
	}
	if f.w == 0 || f.h == 0 {
		return nil, damaged("%d x %d pixels", f.w, f.h)
	}
	f.mbw, f.mbh = (f.w+15)/16, (f.h+15)/16
	first := tag >> 5
	if len(data)-10 < first {
		return nil, ErrTruncated
	}
	f.modes = newBoolReader(data[10 : 10+first])
	if err := f.header(data[10+first:]); err != nil {
		return nil, err
	}
	f.above = make([]context, f.mbw)
	f.filters = make([]strength, f.mbw)
	f.top = newBand(f.mbw, 1)
	f.work = newBand(f.mbw, 32)
	return f, nil
}

// header reads the frame header (RFC 6386, 9.2 to 9.11). rest is what follows the
// first partition.
func (f *Frame) header(rest []byte) error {
	r := &f.modes
	r.bits(2) // colour space, and whether samples need clamping, which does no harm
	f.segments.read(r)
	f.filter.read(r)
	if err := f.partitions(rest, 1<<r.bits(2)); err != nil {
		return err
	}
	f.readQuants(r)
	r.flag() // whether the probabilities are kept for a next frame
	f.probs = defaultTokenProbs
	for i := range f.probs {
		for j := range f.probs[i] {
			for k := range f.probs[i][j] {
				for l := range f.probs[i][j][k] {
					if r.bit(tokenUpdateProbs[i][j][k][l]) {
						f.probs[i][j][k][l] = uint8(r.bits(8))
					}
				}
			}
		}
	}
	if f.skips = r.flag(); f.skips {
		f.skipProb = uint8(r.bits(8))
	}
	f.strengths = f.filter.strengths(&f.segments)
	if r.short {
		return ErrTruncated
	}
	return nil
}

func (s *segments) read(r *boolReader) {
	s.probs = [3]uint8{255, 255, 255}
	s.absolute = true // where nothing is said, as the reference decoder has it
	if s.enabled = r.flag(); !s.enabled {
		return
	}
	s.mapped = r.flag()
	if r.flag() {
		s.absolute = r.flag()
		for i := range s.quantizer {
			s.quantizer[i] = r.optional(7)
		}
		for i := range s.level {
			s.level[i] = r.optional(6)
		}
	}
	if !s.mapped {
		return
	}
	for i := range s.probs {
		if r.flag() {
			s.probs[i] = uint8(r.bits(8))
		}
	}
}

// partitions splits the tokens: the sizes of all parts but the last come first,
// in three bytes each.
func (f *Frame) partitions(data []byte, n int) error {
	sizes := data
	if len(data) < 3*(n-1) {
		return ErrTruncated
	}
	data = data[3*(n-1):]
	for i := range n {
		size := len(data)
		if i < n-1 {
			size = int(sizes[3*i]) | int(sizes[3*i+1])<<8 | int(sizes[3*i+2])<<16
		}
		if size > len(data) {
			return ErrTruncated
		}
		f.tokens = append(f.tokens, newBoolReader(data[:size]))
		data = data[size:]
	}
	return nil
}

// readQuants reads the quantizer indices (RFC 6386, 9.6) and looks up the steps.
func (f *Frame) readQuants(r *boolReader) {
	base := r.bits(7)
	var delta [5]int // y dc, y2 dc, y2 ac, uv dc, uv ac
	for i := range delta {
		delta[i] = r.optional(4)
	}
	for i := range f.quants {
		q := base
		if f.segments.enabled {
			q = f.segments.quantizer[i]
			if !f.segments.absolute {
				q += base
			}
		}
		at := func(d, most int) int { return max(0, min(most, q+d)) }
		f.quants[i] = quants{
			y:  steps{dcSteps[at(delta[0], 127)], acSteps[at(0, 127)]},
			y2: steps{2 * dcSteps[at(delta[1], 127)], max(8, acSteps[at(delta[2], 127)]*155/100)},
			uv: steps{dcSteps[at(delta[3], 117)], acSteps[at(delta[4], 127)]},
		}
	}
}

// Next writes the next row of w pixels to dst: red, green, blue and an alpha of
// 255.
func (f *Frame) Next(dst []byte) error {
	if f.y == f.h {
		return damaged("a row too many")
	}
	// A row of macroblocks is final when the one below it has been filtered.
	for f.mby <= f.y/16+1 {
		if err := f.nextBand(); err != nil {
			return err
		}
	}
	y, stride := f.y%16, 16*f.mbw
	videoRow(dst[:4*f.w], f.work.y[y*stride:], f.work.u[y/2*stride/2:], f.work.v[y/2*stride/2:])
	f.y++
	return nil
}

// nextBand moves the row of macroblocks in work up and decodes and filters the
// next, if there is one.
func (f *Frame) nextBand() error {
	for _, p := range [3][]byte{f.work.y, f.work.u, f.work.v} {
		copy(p, p[len(p)/2:])
	}
	if f.mby == f.mbh {
		f.mby++
		return nil
	}
	tokens := &f.tokens[f.mby%len(f.tokens)]
	f.left = context{}
	b := band{f.work.y[len(f.work.y)/2:], f.work.u[len(f.work.u)/2:], f.work.v[len(f.work.v)/2:]}
	for x := range f.mbw {
		f.readModes(x)
		empty := f.readCoeffs(tokens, x)
		f.reconstruct(&b, x)
		s := f.strengths[f.mb.segment][index(!f.mb.whole)]
		s.inner = s.inner || !empty
		f.filters[x] = s
		if f.modes.short || tokens.short {
			return ErrTruncated
		}
	}
	copy(f.top.y, b.y[15*16*f.mbw:])
	copy(f.top.u, b.u[7*8*f.mbw:])
	copy(f.top.v, b.v[7*8*f.mbw:])
	if f.filter.level > 0 {
		f.filterBand()
	}
	f.mby++
	return nil
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// videoRow converts a row of limited-range BT.601 samples, which is what WebP
// holds: luma from 16 to 235, chroma from 16 to 240 (RFC 9649, 3). 16 bits of
// fraction.
func videoRow(dst, luma, u, v []byte) {
	n := len(dst) / 4
	luma, u, v = luma[:n], u[:(n+1)/2], v[:(n+1)/2]
	for x, s := range luma {
		l := (int32(s)-16)*76309 + 1<<15
		b, r := int32(u[x/2])-128, int32(v[x/2])-128
		p := dst[4*x : 4*x+4 : 4*x+4]
		p[0] = clamp8((l + 104597*r) >> 16)
		p[1] = clamp8((l - 25675*b - 53279*r) >> 16)
		p[2] = clamp8((l + 132201*b) >> 16)
		p[3] = 255
	}
}
