package webp

// Kinds of blocks, which have token probabilities of their own (RFC 6386, 13.3).
const (
	kindY  = iota // luma whose first coefficient went to kindY2
	kindY2        // the first coefficients of a macroblock's luma
	kindUV
	kindYFull // luma of a macroblock of 4x4 predictions
)

// bands maps the position of a coefficient to its band; one past the end is
// looked at and not used.
var bands = [17]uint8{0, 1, 2, 3, 6, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 0}

// Extra bits of the large tokens, with the probabilities of each (RFC 6386, 13.2).
var (
	extra3 = []uint8{173, 148, 140}
	extra4 = []uint8{176, 155, 140, 135}
	extra5 = []uint8{180, 157, 141, 134, 130}
	extra6 = []uint8{254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129}
)

// tokenSink takes the decisions of the token tree: node is the index among the
// eleven adaptive probabilities.
type tokenSink interface {
	node(bit bool, kind, band, ctx, node int)
	fixed(bit bool, prob uint8)
}

// tokens walks the levels of one block through the token tree and tells whether
// it has any.
func tokens[S tokenSink](s S, levels []int16, kind, first, ctx int) bool {
	last := 15
	for last >= first && levels[last] == 0 {
		last--
	}
	i := first
	band := int(bands[i])
	s.node(last >= first, kind, band, ctx, 0)
	if last < first {
		return false
	}
	for {
		v := int(levels[i])
		neg := v < 0
		if neg {
			v = -v
		}
		s.node(v != 0, kind, band, ctx, 1)
		i++
		if v == 0 {
			// A zero is never the last, so no end can follow it.
			band, ctx = int(bands[i]), 0
			continue
		}
		s.node(v > 1, kind, band, ctx, 2)
		next := 1
		if v > 1 {
			large(s, v, kind, band, ctx)
			next = 2
		}
		s.fixed(neg, 128)
		band, ctx = int(bands[i]), next
		if i == 16 {
			return true
		}
		s.node(i <= last, kind, band, ctx, 0)
		if i > last {
			return true
		}
	}
}

// large codes a level above one.
func large[S tokenSink](s S, v, kind, band, ctx int) {
	s.node(v > 4, kind, band, ctx, 3)
	if v <= 4 {
		s.node(v > 2, kind, band, ctx, 4)
		if v > 2 {
			s.node(v == 4, kind, band, ctx, 5)
		}
		return
	}
	s.node(v > 10, kind, band, ctx, 6)
	if v <= 10 {
		s.node(v > 6, kind, band, ctx, 7)
		if v <= 6 {
			s.fixed(v == 6, 159)
			return
		}
		s.fixed(v >= 9, 165)
		s.fixed((v-7)&1 != 0, 145)
		return
	}
	s.node(v > 34, kind, band, ctx, 8)
	var rest int
	var probs []uint8
	if v <= 34 {
		s.node(v > 18, kind, band, ctx, 9)
		rest, probs = v-11, extra3
		if v > 18 {
			rest, probs = v-19, extra4
		}
	} else {
		s.node(v > 66, kind, band, ctx, 10)
		rest, probs = v-35, extra5
		if v > 66 {
			rest, probs = v-67, extra6
		}
	}
	for i, p := range probs {
		s.fixed(rest>>(len(probs)-1-i)&1 != 0, p)
	}
}

// counter counts the decisions of each node.
type counter [4][8][3][11][2]uint32

func (c *counter) node(bit bool, kind, band, ctx, node int) {
	if bit {
		c[kind][band][ctx][node][1]++
	} else {
		c[kind][band][ctx][node][0]++
	}
}

func (*counter) fixed(bool, uint8) {}

// writer writes them.
type writer struct {
	w     *boolWriter
	probs *tokenProbs
}

func (w *writer) node(bit bool, kind, band, ctx, node int) {
	w.w.put(bit, w.probs[kind][band][ctx][node])
}

func (w *writer) fixed(bit bool, prob uint8) { w.w.put(bit, prob) }

// fit returns the probabilities that suit the counts where changing them pays
// for itself.
func (c *counter) fit() *tokenProbs {
	probs := defaultTokenProbs
	for i := range c {
		for j := range c[i] {
			for k := range c[i][j] {
				for l, n := range c[i][j][k] {
					old := probs[i][j][k][l]
					if n[0]+n[1] == 0 {
						continue
					}
					better := uint8(max(1, min(255, (uint64(n[0])*256+uint64(n[0]+n[1])/2)/uint64(n[0]+n[1]))))
					p := tokenUpdateProbs[i][j][k][l]
					stay := cost(n, old) + bitCost(false, p)
					move := cost(n, better) + bitCost(true, p) + 8<<8
					if move < stay {
						probs[i][j][k][l] = better
					}
				}
			}
		}
	}
	return &probs
}

func cost(n [2]uint32, p uint8) uint64 {
	return uint64(n[0])*bitCost(false, p) + uint64(n[1])*bitCost(true, p)
}

// bitCost is the length of a decision in 1/256 of a bit.
func bitCost(bit bool, p uint8) uint64 {
	if bit {
		return uint64(logTable[256-int(p)])
	}
	return uint64(logTable[p])
}

// logTable holds -256*log2(i/256), computed on integers: each bit of the
// logarithm comes from squaring.
var logTable = func() (t [257]uint16) {
	for i := 1; i <= 256; i++ {
		x, exp := uint64(i), 0
		for x < 256 {
			x <<= 1
			exp++
		}
		// i/256 = x/256 / 2^exp with x/256 in [1, 2].
		frac := uint64(0)
		m := x << 22 // 30 bits of fraction
		for b := uint64(128); b > 0; b >>= 1 {
			m = m * m >> 30
			if m >= 2<<30 {
				m >>= 1
				frac |= b
			}
		}
		if x == 256 {
			frac = 0
		}
		t[i] = uint16(uint64(exp)*256 - frac)
	}
	t[0] = 256 * 10
	return t
}()
