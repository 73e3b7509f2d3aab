package jpeg

import "math/bits"

// encoder writes the levels of three planes.
type encoder struct {
	w, h   int
	planes [3]*plane
	factor int // luma blocks in a unit, on each side
	out    []byte
	acc    uint64 // bits not yet written, at the bottom
	n      int
}

// code is one Huffman code.
type code struct {
	bits   uint32
	length uint8
}

// table is a fitted Huffman table: counts of codes by length, the symbols in
// code order, and the codes by symbol.
type table struct {
	counts  [17]byte
	symbols []byte
	codes   [256]code
}

func (e *encoder) write(luma, chroma *[64]int32) []byte {
	// Tables by class and component kind: luma or chroma.
	var counts [2][2][257]int
	e.walk(func(p *plane, symbol byte, ac int, _ uint32, _ int) {
		counts[ac][kindOf(p)][symbol]++
	})
	var tables [2][2]*table
	for ac := range 2 {
		for kind := range 2 {
			tables[ac][kind] = fit(&counts[ac][kind])
		}
	}

	e.out = make([]byte, 0, len(e.planes[0].levels)/4+1024)
	e.out = append(e.out, 0xff, 0xd8)
	e.segment(0xe0, []byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"))
	for i, q := range []*[64]int32{luma, chroma} {
		body := []byte{byte(i)}
		for _, at := range zigzag {
			body = append(body, byte(q[at]))
		}
		e.segment(0xdb, body)
	}
	f := byte(e.factor<<4 | e.factor)
	e.segment(0xc0, []byte{8, byte(e.h >> 8), byte(e.h), byte(e.w >> 8), byte(e.w), 3,
		1, f, 0, 2, 0x11, 1, 3, 0x11, 1})
	for ac := range 2 {
		for kind := range 2 {
			t := tables[ac][kind]
			body := append([]byte{byte(ac<<4 | kind)}, t.counts[1:]...)
			e.segment(0xc4, append(body, t.symbols...))
		}
	}
	e.segment(0xda, []byte{3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0})
	e.walk(func(p *plane, symbol byte, ac int, extra uint32, size int) {
		c := tables[ac][kindOf(p)].codes[symbol]
		e.put(c.bits<<size|extra, int(c.length)+size)
	})
	if e.n%8 != 0 {
		e.put(1<<(8-e.n%8)-1, 8-e.n%8) // padding is ones: T.81, F.1.2.3
	}
	e.flush()
	return append(e.out, 0xff, 0xd9)
}

func kindOf(p *plane) int {
	if p.chroma {
		return 1
	}
	return 0
}

func (e *encoder) segment(marker byte, body []byte) {
	n := len(body) + 2
	e.out = append(e.out, 0xff, marker, byte(n>>8), byte(n))
	e.out = append(e.out, body...)
}

// walk visits all symbols in coding order, with their extra bits.
func (e *encoder) walk(emit func(p *plane, symbol byte, ac int, extra uint32, size int)) {
	unit := 8 * e.factor
	unitsX, unitsY := (e.w+unit-1)/unit, (e.h+unit-1)/unit
	var last [3]int16
	for y := range unitsY {
		for x := range unitsX {
			for i, p := range e.planes {
				n := 1
				if i == 0 {
					n = e.factor
				}
				for by := range n {
					for bx := range n {
						at := (y*n+by)*p.blocksX + x*n + bx
						b := (*[64]int16)(p.levels[at*64:])
						end := p.last[at]
						diff := b[0] - last[i]
						last[i] = b[0]
						extra, size := magnitude(diff)
						emit(p, byte(size), 0, extra, size)
						run := 0
						for _, v := range b[1 : end+1] {
							if v == 0 {
								run++
								continue
							}
							for ; run > 15; run -= 16 {
								emit(p, 0xf0, 1, 0, 0)
							}
							extra, size := magnitude(v)
							emit(p, byte(run<<4|size), 1, extra, size)
							run = 0
						}
						if end < 63 {
							emit(p, 0, 1, 0, 0)
						}
					}
				}
			}
		}
	}
}

// magnitude is the form of T.81, F.1.2.1: the number of bits, and the value, less
// one where it is negative.
func magnitude(v int16) (extra uint32, size int) {
	m := int32(v)
	sign := m >> 31
	size = bits.Len32(uint32((m ^ sign) - sign))
	return uint32(m+sign) & (1<<size - 1), size
}

// put appends n bits, 27 at most.
func (e *encoder) put(v uint32, n int) {
	e.acc = e.acc<<n | uint64(v)
	e.n += n
	if e.n >= 32 {
		e.flush()
	}
}

// flush writes the whole bytes, a zero after each that looks like a marker.
func (e *encoder) flush() {
	for e.n >= 8 {
		e.n -= 8
		b := byte(e.acc >> e.n)
		e.out = append(e.out, b)
		if b == 0xff {
			e.out = append(e.out, 0)
		}
	}
}

// fit makes an optimal table of codes of at most 16 bits, by the procedure of
// T.81, K.2. A reserved symbol keeps the code of all ones free.
func fit(counts *[257]int) *table {
	size := codeSizes(counts)
	lengths := limited(&size)
	t := &table{}
	for l := 1; l < len(size); l++ {
		for s := range 256 {
			if size[s] == l {
				t.symbols = append(t.symbols, byte(s))
			}
		}
	}
	next, k := uint32(0), 0
	for l := 1; l <= 16; l++ {
		t.counts[l] = byte(lengths[l])
		for range lengths[l] {
			t.codes[t.symbols[k]] = code{next, uint8(l)}
			next++
			k++
		}
		next <<= 1
	}
	return t
}

// codeSizes returns how long the code of each symbol is, the reserved one
// included, without a limit (figure K.1).
func codeSizes(counts *[257]int) (size [257]int) {
	freq := *counts
	freq[256] = 1
	var next [257]int
	for i := range next {
		next[i] = -1
	}
	for {
		// The two rarest trees; of equals the one with the larger symbol.
		a, b := -1, -1
		for i, f := range freq {
			switch {
			case f == 0:
			case a < 0 || f <= freq[a]:
				a, b = i, a
			case b < 0 || f <= freq[b]:
				b = i
			}
		}
		if b < 0 {
			break
		}
		freq[a] += freq[b]
		freq[b] = 0
		for size[a]++; next[a] >= 0; size[a]++ {
			a = next[a]
		}
		next[a] = b
		for size[b]++; next[b] >= 0; size[b]++ {
			b = next[b]
		}
	}
	return size
}

// limited returns how many codes have each length, of at most 16 bits and without
// the reserved one (figures K.2 and K.3).
func limited(size *[257]int) (lengths [258]int) {
	for _, s := range size {
		if s > 0 {
			lengths[s]++
		}
	}
	// Codes longer than 16 bits move up: a pair of them gives its prefix to one,
	// and a shorter code makes room for the other and itself.
	for i := len(lengths) - 1; i > 16; i-- {
		for lengths[i] > 0 {
			j := i - 2
			for lengths[j] == 0 {
				j--
			}
			lengths[i] -= 2
			lengths[i-1]++
			lengths[j+1] += 2
			lengths[j]--
		}
	}
	for i := 16; i > 0; i-- {
		if lengths[i] > 0 {
			lengths[i]-- // the reserved symbol has one of the longest
			break
		}
	}
	return lengths
}
