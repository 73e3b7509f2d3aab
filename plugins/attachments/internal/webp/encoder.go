package webp

import "errors"

// macroblock is what the decisions left of one macroblock: modes and levels.
type macroblock struct {
	whole  bool // one luma prediction of 16x16; else sixteen of 4x4
	mode   uint8
	sub    [16]uint8
	chroma uint8
	skip   bool // no level is other than zero
	// levels of 16 luma blocks, 8 chroma blocks and the block of first luma
	// coefficients, in coding order.
	levels [25][16]int16
}

type encoder struct {
	src, rec    *planes
	mbs         []macroblock
	y, y2, uv   steps
	index       int   // of the quantizer
	lambda      int32 // squared error that one bit is worth, times 256
	modesAbove  []uint8
	modesLeft   [4]uint8
	scratchY    [2][256]byte
	nonZeroUp   [][9]bool
	nonZeroLeft [9]bool
}

// quantizerIndex maps a quality to the quantizer: fine enough at 85 that text and
// edges keep their shape, since what is encoded here is looked at by a model.
func quantizerIndex(quality int) int {
	return min(127, (100-quality)*(100-quality+60)/110)
}

func newEncoder(src *planes, quality int) *encoder {
	e := &encoder{src: src, rec: newPlanes(src.w, src.h), index: quantizerIndex(quality)}
	e.mbs = make([]macroblock, src.mbw*src.mbh)
	e.modesAbove = make([]uint8, 4*src.mbw)
	q := e.index
	e.y = steps{dcSteps[q], acSteps[q]}
	e.y2 = steps{2 * dcSteps[q], max(8, acSteps[q]*155/100)}
	e.uv = steps{dcSteps[min(q, 117)], acSteps[q]}
	e.lambda = max(64, acSteps[q]*acSteps[q]*256/20)
	return e
}

func (e *encoder) encode() ([]byte, error) {
	for y := range e.src.mbh {
		e.modesLeft = [4]uint8{}
		for x := range e.src.mbw {
			e.macroblock(x, y)
		}
	}
	return e.write()
}

// macroblock decides on one macroblock and reconstructs it.
func (e *encoder) macroblock(mbx, mby int) {
	mb := &e.mbs[mby*e.src.mbw+mbx]
	whole := e.tryWhole(mbx, mby, mb)
	if whole > 0 {
		e.trySub(mbx, mby, mb, whole)
	}
	e.chroma(mbx, mby, mb)
	mb.skip = true
	for i := range mb.levels {
		if i == 24 && !mb.whole {
			break
		}
		if mb.levels[i] != ([16]int16{}) {
			mb.skip = false
			break
		}
	}
	above := e.modesAbove[4*mbx : 4*mbx+4]
	if mb.whole {
		for i := range 4 {
			above[i], e.modesLeft[i] = mb.mode, mb.mode
		}
		return
	}
	for i := range 4 {
		above[i], e.modesLeft[i] = mb.sub[12+i], mb.sub[4*i+3]
	}
}

// around gathers the samples over and before a block of a plane, with those that
// the format puts outside the picture: 127 above, 129 to the left.
func around(p []byte, stride, size, bx, by int, above, left []byte) (corner byte) {
	at := by*size*stride + bx*size
	for i := range size {
		above[i], left[i] = 127, 129
	}
	corner = 127
	if by > 0 {
		copy(above[:size], p[at-stride:])
		corner = 129
	}
	if bx > 0 {
		for i := range size {
			left[i] = p[at+i*stride-1]
		}
		if by > 0 {
			corner = p[at-stride-1]
		}
	}
	return corner
}

// score is the measure of a choice: squared error, and bits in 1/256 at the price
// of lambda.
func (e *encoder) score(distortion, rate int32) int32 {
	return distortion + int32(int64(rate)*int64(e.lambda)>>16)
}

// tryWhole codes the luma with the best prediction of 16x16 and returns the
// score, or 0 where nothing better can be had.
func (e *encoder) tryWhole(mbx, mby int, mb *macroblock) int32 {
	stride := 16 * e.src.mbw
	at := mby*16*stride + mbx*16
	src := e.src.y[at:]
	var above, left [16]byte
	corner := around(e.rec.y, stride, 16, mbx, mby, above[:], left[:])
	best, bestErr := 0, int32(-1)
	pred, other := &e.scratchY[0], &e.scratchY[1]
	for mode := range numModes {
		predictWhole(mode, 16, above[:], left[:], corner, mbx == 0, mby == 0, other[:])
		if d := distance(src, stride, other[:], 16, 16); bestErr < 0 || d < bestErr {
			best, bestErr = mode, d
			pred, other = other, pred
		}
	}
	mb.whole, mb.mode = true, uint8(best)
	var coefs [16][16]int32
	var firsts [16]int32
	for i := range 16 {
		o := i/4*4*stride + i%4*4
		forwardDCT(src[o:], pred[i/4*64+i%4*4:], stride, 16, &coefs[i])
		firsts[i] = coefs[i][0]
	}
	y2 := forwardWalsh(&firsts)
	mb.levels[24] = [16]int16{}
	quantize(&y2, 0, e.y2, mb.levels[24][:])
	firsts = inverseWalsh(&y2)
	rate := roughRate(mb.levels[24][:]) + 2*256
	for i := range 16 {
		mb.levels[i] = [16]int16{}
		quantize(&coefs[i], 1, e.y, mb.levels[i][:])
		rate += roughRate(mb.levels[i][:])
		coefs[i][0] = firsts[i]
		o := i/4*4*stride + i%4*4
		inverseDCT(&coefs[i], pred[i/4*64+i%4*4:], 16, e.rec.y[at+o:], stride)
	}
	d := distance(src, stride, e.rec.y[at:], stride, 16)
	if bestErr < 256*4 && d <= bestErr {
		// Flat: sixteen modes would cost more than they could save.
		return 0
	}
	return e.score(d, rate)
}

// trySub codes the luma as sixteen blocks of 4x4 and keeps that where it scores
// below limit.
func (e *encoder) trySub(mbx, mby int, mb *macroblock, limit int32) {
	stride := 16 * e.src.mbw
	at := mby*16*stride + mbx*16
	saved := *mb
	var savedRec [256]byte
	for y := range 16 {
		copy(savedRec[16*y:16*y+16], e.rec.y[at+y*stride:])
	}
	mb.whole = false
	mb.levels[24] = [16]int16{}
	var upRight [4]byte
	e.aboveRight(mbx, mby, &upRight)
	total := e.score(0, 256)
	var pred [16]byte
	for i := range 16 {
		bx, by := i%4, i/4
		o := at + by*4*stride + bx*4
		edge := e.edge(mbx, mby, bx, by, &upRight)
		up, before := e.modesAbove[4*mbx+bx], e.modesLeft[by]
		if by > 0 {
			up = mb.sub[i-4]
		}
		if bx > 0 {
			before = mb.sub[i-1]
		}
		probs := &subModeProbs[up][before]
		bestMode, bestScore := 0, int32(-1)
		var bestPred [16]byte
		for mode := range numSubModes {
			predictSub(mode, edge, &pred)
			s := e.score(distance(e.src.y[o:], stride, pred[:], 4, 4), subModeRate(mode, probs))
			if bestScore < 0 || s < bestScore {
				bestMode, bestScore, bestPred = mode, s, pred
			}
		}
		mb.sub[i] = uint8(bestMode)
		var c [16]int32
		forwardDCT(e.src.y[o:], bestPred[:], stride, 4, &c)
		mb.levels[i] = [16]int16{}
		quantize(&c, 0, e.y, mb.levels[i][:])
		inverseDCT(&c, bestPred[:], 4, e.rec.y[o:], stride)
		rate := subModeRate(bestMode, probs) + roughRate(mb.levels[i][:])
		total += e.score(distance(e.src.y[o:], stride, e.rec.y[o:], stride, 4), rate)
		if total >= limit {
			*mb = saved
			for y := range 16 {
				copy(e.rec.y[at+y*stride:at+y*stride+16], savedRec[16*y:])
			}
			return
		}
	}
}

// aboveRight gathers the four samples over and beyond the macroblock, which all
// its rows of blocks use (RFC 6386, 12.3).
func (e *encoder) aboveRight(mbx, mby int, out *[4]byte) {
	*out = [4]byte{127, 127, 127, 127}
	if mby == 0 {
		return
	}
	row := e.rec.y[(mby*16-1)*16*e.src.mbw:]
	for i := range out {
		out[i] = row[min(mbx*16+16+i, 16*e.src.mbw-1)]
	}
}

// edge gathers the frame of a 4x4 block from what is reconstructed.
func (e *encoder) edge(mbx, mby, bx, by int, upRight *[4]byte) *edge {
	stride := 16 * e.src.mbw
	x, y := mbx*16+bx*4, mby*16+by*4
	out := new(edge)
	rec := e.rec.y
	for i := range 4 {
		if x > 0 {
			out[3-i] = rec[(y+i)*stride+x-1]
		} else {
			out[3-i] = 129
		}
	}
	switch {
	case y == 0:
		out[4] = 127
	case x == 0:
		out[4] = 129
	default:
		out[4] = rec[(y-1)*stride+x-1]
	}
	for i := range 8 {
		switch {
		case i >= 4 && bx == 3:
			out[5+i] = upRight[i-4]
		case y == 0:
			out[5+i] = 127
		default:
			out[5+i] = rec[(y-1)*stride+x+i]
		}
	}
	return out
}

// chroma codes both chroma planes with one mode.
func (e *encoder) chroma(mbx, mby int, mb *macroblock) {
	stride := 8 * e.src.mbw
	at := mby*8*stride + mbx*8
	var above, left [2][8]byte
	var corner [2]byte
	srcs, recs := [2][]byte{e.src.u, e.src.v}, [2][]byte{e.rec.u, e.rec.v}
	for p := range 2 {
		corner[p] = around(recs[p], stride, 8, mbx, mby, above[p][:], left[p][:])
	}
	var best [2][64]byte
	bestErr := int32(-1)
	for mode := range numModes {
		var pred [2][64]byte
		d := int32(0)
		for p := range 2 {
			predictWhole(mode, 8, above[p][:], left[p][:], corner[p], mbx == 0, mby == 0, pred[p][:])
			d += distance(srcs[p][at:], stride, pred[p][:], 8, 8)
		}
		if bestErr < 0 || d < bestErr {
			mb.chroma, bestErr, best = uint8(mode), d, pred
		}
	}
	for p := range 2 {
		for i := range 4 {
			o := at + i/2*4*stride + i%2*4
			pred := best[p][i/2*32+i%2*4:]
			var c [16]int32
			forwardDCT(srcs[p][o:], pred, stride, 8, &c)
			levels := &mb.levels[16+4*p+i]
			quantize(&c, 0, e.uv, levels[:])
			inverseDCT(&c, pred, 8, recs[p][o:], stride)
		}
	}
}

// distance is the squared error between two square blocks.
func distance(a []byte, strideA int, b []byte, strideB, size int) int32 {
	sum := int32(0)
	for y := range size {
		ra, rb := a[y*strideA:y*strideA+size], b[y*strideB:y*strideB+size]
		for x, v := range ra {
			d := int32(v) - int32(rb[x])
			sum += d * d
		}
	}
	return sum
}

// roughRate estimates the bits of a block's levels in 1/256: the magnitude of
// each, a sign, and the zeros up to the last.
func roughRate(levels []int16) int32 {
	rate, run := int32(0), int32(0)
	for _, v := range levels {
		if v == 0 {
			run++
			continue
		}
		if v < 0 {
			v = -v
		}
		rate += 3*256 + run*160
		run = 0
		for ; v > 1; v >>= 1 {
			rate += 400
		}
	}
	return rate + 128
}

var errTooLarge = errors.New("webp: the first partition is too large")
