package webp

// blockState is what is known of the macroblock in work.
type blockState struct {
	segment int
	skip    bool
	whole   bool // one luma prediction of 16x16; else sixteen of 4x4
	mode    uint8
	sub     [16]uint8
	chroma  uint8
	// coded has a bit for each of the 24 blocks of samples that have coefficients.
	coded uint32
}

// context is what a macroblock's right or lower neighbour depends on: the modes
// of its outer 4x4 blocks, and which of the outer blocks have tokens, four of
// luma, two each of chroma, and that of first coefficients.
type context struct {
	modes [4]uint8
	coded [9]uint8
}

// readModes reads how macroblock x of the row is predicted (RFC 6386, chapter
// 11).
func (f *Frame) readModes(x int) {
	r, mb := &f.modes, &f.mb
	mb.segment = 0
	if f.segments.mapped {
		if p := &f.segments.probs; r.bit(p[0]) {
			mb.segment = 2 + index(r.bit(p[2]))
		} else {
			mb.segment = index(r.bit(p[1]))
		}
	}
	mb.skip = f.skips && r.bit(f.skipProb)
	up, left := &f.above[x].modes, &f.left.modes
	if mb.whole = r.bit(145); mb.whole {
		switch {
		case !r.bit(156):
			mb.mode = modeDC
			if r.bit(163) {
				mb.mode = modeV
			}
		case r.bit(128):
			mb.mode = modeTM
		default:
			mb.mode = modeH
		}
		for i := range 4 {
			up[i], left[i] = mb.mode, mb.mode
		}
	} else {
		for i := range mb.sub {
			u, l := &up[i%4], &left[i/4]
			mode := readSubMode(r, &subModeProbs[*u][*l])
			mb.sub[i], *u, *l = mode, mode, mode
		}
	}
	switch {
	case !r.bit(142):
		mb.chroma = modeDC
	case !r.bit(114):
		mb.chroma = modeV
	case r.bit(183):
		mb.chroma = modeTM
	default:
		mb.chroma = modeH
	}
}

// readSubMode walks the tree of 4x4 modes, whose paths subModePaths lists.
func readSubMode(r *boolReader, p *[9]uint8) uint8 {
	switch {
	case !r.bit(p[0]):
		return modeDC
	case !r.bit(p[1]):
		return modeTM
	case !r.bit(p[2]):
		return modeV
	case !r.bit(p[3]):
		switch {
		case !r.bit(p[4]):
			return modeH
		case !r.bit(p[5]):
			return subRD
		}
		return subVR
	case !r.bit(p[6]):
		return subLD
	case !r.bit(p[7]):
		return subVL
	case !r.bit(p[8]):
		return subHD
	}
	return subHU
}

// readCoeffs reads the coefficients of macroblock x of the row (RFC 6386, chapter
// 13) and multiplies by their steps. It tells whether there are none.
func (f *Frame) readCoeffs(r *boolReader, x int) (empty bool) {
	mb, up, left := &f.mb, &f.above[x].coded, &f.left.coded
	mb.coded = 0
	if mb.skip {
		// The flag of first coefficients stays as it was where the macroblock has
		// none.
		keepUp, keepLeft := up[8], left[8]
		*up, *left = [9]uint8{}, [9]uint8{}
		if !mb.whole {
			up[8], left[8] = keepUp, keepLeft
		}
		return true
	}
	q := &f.quants[mb.segment]
	kind, first := kindYFull, 0
	var firsts [16]int32
	if mb.whole {
		kind, first = kindY, 1
		y2 := &f.coeffs[24]
		*y2 = [16]int32{}
		end := readBlock(r, &f.probs[kindY2], int(up[8]+left[8]), 0, q.y2, y2)
		up[8] = uint8(index(end > 0))
		left[8] = up[8]
		if end > 0 {
			firsts = inverseWalsh(y2)
		}
	}
	for i := range 16 {
		u, l := &up[i%4], &left[i/4]
		*u = f.readSamples(r, i, kind, first, int(*u+*l), q.y, firsts[i])
		*l = *u
	}
	for i := range 8 {
		// Two planes of 2x2 blocks.
		u, l := &up[4+i/4*2+i%2], &left[4+i/4*2+i%4/2]
		*u = f.readSamples(r, 16+i, kindUV, 0, int(*u+*l), q.uv, 0)
		*l = *u
	}
	return mb.coded == 0
}

// readSamples reads a block of samples, whose first coefficient may come from
// elsewhere. It returns the block's context, 1 where it has tokens.
func (f *Frame) readSamples(r *boolReader, i, kind, first, ctx int, s steps, dc int32) uint8 {
	c := &f.coeffs[i]
	*c = [16]int32{}
	end := readBlock(r, &f.probs[kind], ctx, first, s, c)
	if first > 0 {
		c[0] = int32(int16(dc))
	}
	if end > 1 || c[0] != 0 {
		f.mb.coded |= 1 << i
	}
	return uint8(index(end > first))
}

// readBlock reads the tokens of a block from coefficient i on and returns the
// index after the last.
func readBlock(r *boolReader, probs *[8][3][11]uint8, ctx, i int, s steps, out *[16]int32) int {
	step := s.at(i)
	p := &probs[bands[i]][ctx]
	for r.bit(p[0]) {
		// A zero is never the last, so no end can follow it.
		for !r.bit(p[1]) {
			if i++; i == 16 {
				return 16
			}
			p, step = &probs[bands[i]][0], s.ac
		}
		v, next := int32(1), 1
		if r.bit(p[2]) {
			v, next = readLarge(r, p), 2
		}
		if r.flag() {
			v = -v
		}
		out[zigzag[i]] = int32(int16(v * step)) // 16 bits, as others keep them
		if i++; i == 16 {
			return 16
		}
		p, step = &probs[bands[i]][next], s.ac
	}
	return i
}

// readLarge reads a level above one.
func readLarge(r *boolReader, p *[11]uint8) int32 {
	if !r.bit(p[3]) {
		if !r.bit(p[4]) {
			return 2
		}
		return int32(3 + index(r.bit(p[5])))
	}
	if !r.bit(p[6]) {
		if !r.bit(p[7]) {
			return int32(5 + index(r.bit(159)))
		}
		v := 7 + 2*index(r.bit(165))
		return int32(v + index(r.bit(145)))
	}
	base, extra := 11, extra3
	if r.bit(p[8]) {
		base, extra = 35, extra5
		if r.bit(p[10]) {
			base, extra = 67, extra6
		}
	} else if r.bit(p[9]) {
		base, extra = 19, extra4
	}
	rest := 0
	for _, prob := range extra {
		rest = 2*rest + index(r.bit(prob))
	}
	return int32(base + rest)
}

// reconstruct predicts macroblock x of the row and adds what was coded.
func (f *Frame) reconstruct(b *band, x int) {
	if f.mb.whole {
		var above, left [16]byte
		var pred [256]byte
		corner := f.around(b.y, f.top.y, 16, x, above[:], left[:])
		predictWhole(int(f.mb.mode), 16, above[:], left[:], corner, x == 0, f.mby == 0, pred[:])
		for i := range 16 {
			f.addBlock(i, pred[i/4*64+i%4*4:], 16, b.y[i/4*4*16*f.mbw+x*16+i%4*4:], 16*f.mbw)
		}
	} else {
		f.reconstructSub(b, x)
	}
	for p, plane := range [2][]byte{b.u, b.v} {
		var above, left [8]byte
		var pred [64]byte
		corner := f.around(plane, [2][]byte{f.top.u, f.top.v}[p], 8, x, above[:], left[:])
		predictWhole(int(f.mb.chroma), 8, above[:], left[:], corner, x == 0, f.mby == 0, pred[:])
		for i := range 4 {
			f.addBlock(16+4*p+i, pred[i/2*32+i%2*4:], 8, plane[i/2*4*8*f.mbw+x*8+i%2*4:], 8*f.mbw)
		}
	}
}

// around gathers the samples over and before macroblock x in a plane of the row,
// as the function of that name does for a whole plane.
func (f *Frame) around(plane, top []byte, size, x int, above, left []byte) (corner byte) {
	corner = 127
	for i := range size {
		above[i], left[i] = 127, 129
	}
	if f.mby > 0 {
		corner = 129
		copy(above[:size], top[x*size:])
		if x > 0 {
			corner = top[x*size-1]
		}
	}
	if x > 0 {
		for i := range size {
			left[i] = plane[i*size*f.mbw+x*size-1]
		}
	}
	return corner
}

// reconstructSub predicts the luma of macroblock x in blocks of 4x4, each from
// those before it.
func (f *Frame) reconstructSub(b *band, x int) {
	stride := 16 * f.mbw
	// The samples over and beyond the macroblock serve all its rows of blocks
	// (RFC 6386, 12.3); beyond the last one is its last.
	var over [21]byte // corner, sixteen above, four beyond
	for i := range over {
		switch {
		case f.mby == 0:
			over[i] = 127
		case x == 0 && i == 0:
			over[i] = 129
		default:
			over[i] = f.top.y[min(x*16+i-1, stride-1)]
		}
	}
	var pred [16]byte
	for i := range 16 {
		bx, by := i%4, i/4
		at := by*4*stride + x*16 + bx*4
		var e edge
		for k := range 4 {
			if e[3-k] = 129; x > 0 || bx > 0 {
				e[3-k] = b.y[at+k*stride-1]
			}
		}
		switch {
		case by == 0:
			copy(e[4:], over[4*bx:4*bx+9])
		default:
			if e[4] = 129; x > 0 || bx > 0 {
				e[4] = b.y[at-stride-1]
			}
			if bx < 3 {
				copy(e[5:], b.y[at-stride:at-stride+8])
			} else {
				copy(e[5:], b.y[at-stride:at-stride+4])
				copy(e[9:], over[17:])
			}
		}
		predictSub(int(f.mb.sub[i]), &e, &pred)
		f.addBlock(i, pred[:], 4, b.y[at:], stride)
	}
}

// addBlock adds what was coded of a block to its prediction.
func (f *Frame) addBlock(i int, pred []byte, predStride int, dst []byte, stride int) {
	if f.mb.coded>>i&1 != 0 {
		inverseDCT(&f.coeffs[i], pred, predStride, dst, stride)
		return
	}
	for y := range 4 {
		copy(dst[y*stride:y*stride+4], pred[y*predStride:])
	}
}
