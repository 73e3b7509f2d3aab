package webp

// write codes the decisions as a key frame (RFC 6386, chapter 9).
func (e *encoder) write() ([]byte, error) {
	var c counter
	skips := 0
	e.eachBlock(func(mb *macroblock) {
		if mb.skip {
			skips++
		}
	}, func(levels []int16, kind, first, ctx int) bool { return tokens(&c, levels, kind, first, ctx) })
	probs := c.fit()

	head := newBoolWriter(1 << 16)
	head.putBits(0, 2) // colour space; samples need clamping
	head.putBits(0, 1) // no segments
	head.putBits(0, 1) // loop filter: normal,
	head.putBits(0, 6) // level 0,
	head.putBits(0, 3) // sharpness 0,
	head.putBits(0, 1) // no adjustments
	head.putBits(0, 2) // one partition of tokens
	head.putBits(uint32(e.index), 7)
	head.putBits(0, 5) // no differences between the quantizers
	head.putBits(0, 1) // probabilities are not kept for a next frame
	for i := range probs {
		for j := range probs[i] {
			for k := range probs[i][j] {
				for l, p := range probs[i][j][k] {
					changed := p != defaultTokenProbs[i][j][k][l]
					head.put(changed, tokenUpdateProbs[i][j][k][l])
					if changed {
						head.putBits(uint32(p), 8)
					}
				}
			}
		}
	}
	head.putBits(1, 1) // macroblocks may be skipped
	n := len(e.mbs)
	skipProb := uint8(max(1, min(255, ((n-skips)*256+n/2)/n)))
	head.putBits(uint32(skipProb), 8)
	e.writeModes(head, skipProb)
	first := head.bytes()
	if len(first) >= 1<<19 {
		return nil, errTooLarge
	}

	body := &writer{newBoolWriter(1 << 18), probs}
	e.eachBlock(func(*macroblock) {}, func(levels []int16, kind, first, ctx int) bool {
		return tokens(body, levels, kind, first, ctx)
	})
	second := body.w.bytes()

	out := make([]byte, 0, 10+len(first)+len(second))
	tag := uint32(len(first))<<5 | 1<<4 // key frame, version 0, shown
	out = append(out, byte(tag), byte(tag>>8), byte(tag>>16), 0x9d, 0x01, 0x2a,
		byte(e.src.w), byte(e.src.w>>8), byte(e.src.h), byte(e.src.h>>8))
	out = append(out, first...)
	return append(out, second...), nil
}

// eachBlock visits the blocks in coding order with the context that their
// neighbours give. code tells whether a block has levels.
func (e *encoder) eachBlock(visit func(*macroblock), code func(levels []int16, kind, first, ctx int) bool) {
	e.nonZeroUp = make([][9]bool, e.src.mbw)
	ctx := func(a, b bool) int {
		n := 0
		if a {
			n++
		}
		if b {
			n++
		}
		return n
	}
	for y := range e.src.mbh {
		e.nonZeroLeft = [9]bool{}
		left := &e.nonZeroLeft
		for x := range e.src.mbw {
			up := &e.nonZeroUp[x]
			mb := &e.mbs[y*e.src.mbw+x]
			visit(mb)
			if mb.skip {
				// Nothing is coded. The flag of first coefficients stays as it was
				// where the macroblock has none.
				keepUp, keepLeft := up[8], left[8]
				*up, *left = [9]bool{}, [9]bool{}
				if !mb.whole {
					up[8], left[8] = keepUp, keepLeft
				}
				continue
			}
			kind, first := kindYFull, 0
			if mb.whole {
				kind, first = kindY, 1
				nz := code(mb.levels[24][:], kindY2, 0, ctx(up[8], left[8]))
				up[8], left[8] = nz, nz
			}
			for i := range 16 {
				u, l := &up[i%4], &left[i/4]
				nz := code(mb.levels[i][:], kind, first, ctx(*u, *l))
				*u, *l = nz, nz
			}
			for i := range 8 {
				// Two planes of 2x2 blocks.
				u, l := &up[4+i/4*2+i%2], &left[4+i/4*2+i%4/2]
				nz := code(mb.levels[16+i][:], kindUV, 0, ctx(*u, *l))
				*u, *l = nz, nz
			}
		}
	}
}

func (e *encoder) writeModes(w *boolWriter, skipProb uint8) {
	above := make([]uint8, 4*e.src.mbw)
	for y := range e.src.mbh {
		var left [4]uint8
		for x := range e.src.mbw {
			mb := &e.mbs[y*e.src.mbw+x]
			up := above[4*x : 4*x+4]
			w.put(mb.skip, skipProb)
			w.put(mb.whole, 145)
			if mb.whole {
				w.put(mb.mode == modeH || mb.mode == modeTM, 156)
				if mb.mode == modeH || mb.mode == modeTM {
					w.put(mb.mode == modeTM, 128)
				} else {
					w.put(mb.mode == modeV, 163)
				}
				for i := range 4 {
					up[i], left[i] = mb.mode, mb.mode
				}
			} else {
				for i, mode := range mb.sub {
					u, l := &up[i%4], &left[i/4]
					writeSubMode(w, int(mode), &subModeProbs[*u][*l])
					*u, *l = mode, mode
				}
			}
			w.put(mb.chroma != modeDC, 142)
			if mb.chroma != modeDC {
				w.put(mb.chroma != modeV, 114)
				if mb.chroma != modeV {
					w.put(mb.chroma == modeTM, 183)
				}
			}
		}
	}
}

// subModePaths are the ways through the tree of 4x4 modes (RFC 6386, 11.2): the
// nodes, and the decisions at them.
var subModePaths = [numSubModes][]struct {
	node int
	bit  bool
}{
	modeDC: {{0, false}},
	modeTM: {{0, true}, {1, false}},
	modeV:  {{0, true}, {1, true}, {2, false}},
	modeH:  {{0, true}, {1, true}, {2, true}, {3, false}, {4, false}},
	subRD:  {{0, true}, {1, true}, {2, true}, {3, false}, {4, true}, {5, false}},
	subVR:  {{0, true}, {1, true}, {2, true}, {3, false}, {4, true}, {5, true}},
	subLD:  {{0, true}, {1, true}, {2, true}, {3, true}, {6, false}},
	subVL:  {{0, true}, {1, true}, {2, true}, {3, true}, {6, true}, {7, false}},
	subHD:  {{0, true}, {1, true}, {2, true}, {3, true}, {6, true}, {7, true}, {8, false}},
	subHU:  {{0, true}, {1, true}, {2, true}, {3, true}, {6, true}, {7, true}, {8, true}},
}

func writeSubMode(w *boolWriter, mode int, probs *[9]uint8) {
	for _, s := range subModePaths[mode] {
		w.put(s.bit, probs[s.node])
	}
}

func subModeRate(mode int, probs *[9]uint8) int32 {
	rate := uint64(0)
	for _, s := range subModePaths[mode] {
		rate += bitCost(s.bit, probs[s.node])
	}
	return int32(rate)
}
