package webp

// The loop filter of RFC 6386, chapter 15, smooths the edges between blocks.

// filterHeader is what the frame header says of it (9.6).
type filterHeader struct {
	simple    bool
	level     int
	sharpness int
	adjusted  bool
	frame     int // added to the level of every macroblock of a key frame
	sub       int // and to that of one with 4x4 predictions
}

// strength are the limits for one macroblock.
type strength struct {
	limit    int32 // of the difference across an edge inside it, 0 for no filter
	interior int32 // of the differences between neighbours beside an edge
	uneven   int32 // difference from which the samples beside an edge stay
	inner    bool  // whether edges inside are filtered
}

func (h *filterHeader) read(r *boolReader) {
	h.simple = r.flag()
	h.level = r.bits(6)
	h.sharpness = r.bits(3)
	if h.adjusted = r.flag(); !h.adjusted || !r.flag() {
		return
	}
	// By reference frame, of which a key frame has the first, and by mode, of which
	// the first is that of 4x4 predictions.
	for i := range 8 {
		v := r.optional(6)
		switch i {
		case 0:
			h.frame = v
		case 4:
			h.sub = v
		}
	}
}

// strengths computes the limits by segment, and by whether predictions are 4x4.
func (h *filterHeader) strengths(s *segments) (out [4][2]strength) {
	for i := range out {
		for sub := range out[i] {
			level := h.level
			if s.enabled {
				level = s.level[i]
				if !s.absolute {
					level += h.level
				}
			}
			if h.adjusted {
				level += h.frame + sub*h.sub
			}
			out[i][sub] = h.strength(max(0, min(63, level)))
			out[i][sub].inner = sub == 1
		}
	}
	return out
}

func (h *filterHeader) strength(level int) (s strength) {
	if level == 0 {
		return s
	}
	interior := level
	if h.sharpness > 4 {
		interior >>= 2
	} else if h.sharpness > 0 {
		interior >>= 1
	}
	if h.sharpness > 0 {
		interior = min(interior, 9-h.sharpness)
	}
	interior = max(interior, 1)
	s.limit, s.interior = int32(2*level+interior), int32(interior)
	switch {
	case level >= 40:
		s.uneven = 2
	case level >= 15:
		s.uneven = 1
	}
	return s
}

// filterBand filters the macroblocks of the row in work in order: each its left
// edge, the upright edges inside, its upper edge, the level edges inside.
func (f *Frame) filterBand() {
	stride := 16 * f.mbw
	for x, s := range f.filters {
		if s.limit == 0 {
			continue
		}
		luma := 16*stride + 16*x
		if f.filter.simple {
			for i := 0; i < 16; i += 4 {
				if s.filters(i, x > 0) {
					s.simple(f.work.y, luma+i, 1, stride, s.edge(i))
				}
			}
			for i := 0; i < 16; i += 4 {
				if s.filters(i, f.mby > 0) {
					s.simple(f.work.y, luma+i*stride, stride, 1, s.edge(i))
				}
			}
			continue
		}
		chroma := 8*stride/2 + 8*x
		for i := 0; i < 16; i += 4 {
			if s.filters(i, x > 0) {
				s.normal(f.work.y, luma+i, 1, stride, 16, i)
				if i%8 == 0 {
					s.normal(f.work.u, chroma+i/2, 1, stride/2, 8, i)
					s.normal(f.work.v, chroma+i/2, 1, stride/2, 8, i)
				}
			}
		}
		for i := 0; i < 16; i += 4 {
			if s.filters(i, f.mby > 0) {
				s.normal(f.work.y, luma+i*stride, stride, 1, 16, i)
				if i%8 == 0 {
					s.normal(f.work.u, chroma+i/2*stride/2, stride/2, 1, 8, i)
					s.normal(f.work.v, chroma+i/2*stride/2, stride/2, 1, 8, i)
				}
			}
		}
	}
}

// filters tells whether the edge i samples into a macroblock is filtered: the
// first where there is a neighbour.
func (s *strength) filters(i int, neighbour bool) bool {
	if i == 0 {
		return neighbour
	}
	return s.inner
}

// edge is the limit of the difference across the edge i samples into a
// macroblock.
func (s *strength) edge(i int) int32 {
	if i == 0 {
		return s.limit + 4
	}
	return s.limit
}

// simple filters sixteen places along an edge before p[at]: step leads across it,
// along to the next place.
func (s *strength) simple(p []byte, at, step, along int, limit int32) {
	for range 16 {
		p1, p0, q0, q1 := int32(p[at-2*step]), int32(p[at-step]), int32(p[at]), int32(p[at+step])
		if 2*abs(p0-q0)+abs(p1-q1)>>1 <= limit {
			a := clampSigned(3*(q0-p0) + clampSigned(p1-q1))
			p[at-step], p[at] = clamp8(p0+min(a+3, 127)>>3), clamp8(q0-min(a+4, 127)>>3)
		}
		at += along
	}
}

// normal filters n places along the edge i samples into a macroblock. Where the
// samples beside an edge differ much, only the two at the edge change; else two
// on either side, or three at the edge of a macroblock.
func (s *strength) normal(p []byte, at, step, along, n, i int) {
	limit := s.edge(i)
	for range n {
		if p1, p0, q0, q1, ok := s.smooth(p, at, step, limit); ok {
			switch {
			case abs(p1-p0) > s.uneven || abs(q1-q0) > s.uneven:
				a := clampSigned(3*(q0-p0) + clampSigned(p1-q1))
				p[at-step], p[at] = clamp8(p0+min(a+3, 127)>>3), clamp8(q0-min(a+4, 127)>>3)
			case i == 0:
				a := clampSigned(3*(q0-p0) + clampSigned(p1-q1))
				p2, q2 := int32(p[at-3*step]), int32(p[at+2*step])
				d := (27*a + 63) >> 7
				p[at-step], p[at] = clamp8(p0+d), clamp8(q0-d)
				d = (18*a + 63) >> 7
				p[at-2*step], p[at+step] = clamp8(p1+d), clamp8(q1-d)
				d = (9*a + 63) >> 7
				p[at-3*step], p[at+2*step] = clamp8(p2+d), clamp8(q2-d)
			default:
				a := clampSigned(3 * (q0 - p0))
				d := min(a+4, 127) >> 3
				p[at-step], p[at] = clamp8(p0+min(a+3, 127)>>3), clamp8(q0-d)
				d = (d + 1) >> 1
				p[at-2*step], p[at+step] = clamp8(p1+d), clamp8(q1-d)
			}
		}
		at += along
	}
}

// smooth tells whether the samples beside an edge are so alike that what is
// between them is no part of the picture, and returns the four next to it.
func (s *strength) smooth(p []byte, at, step int, limit int32) (p1, p0, q0, q1 int32, ok bool) {
	p1, p0, q0, q1 = int32(p[at-2*step]), int32(p[at-step]), int32(p[at]), int32(p[at+step])
	if 2*abs(p0-q0)+abs(p1-q1)>>1 > limit || abs(p1-p0) > s.interior || abs(q1-q0) > s.interior {
		return p1, p0, q0, q1, false
	}
	p3, p2, q2, q3 := int32(p[at-4*step]), int32(p[at-3*step]), int32(p[at+2*step]), int32(p[at+3*step])
	return p1, p0, q0, q1, abs(p3-p2) <= s.interior && abs(p2-p1) <= s.interior &&
		abs(q2-q1) <= s.interior && abs(q3-q2) <= s.interior
}

func abs(v int32) int32 {
	m := v >> 31
	return (v ^ m) - m
}

// clampSigned brings a difference to eight bits with a sign.
func clampSigned(v int32) int32 { return max(-128, min(127, v)) }
