package webp

import "math/bits"

// boolWriter is the arithmetic coder of RFC 6386, section 7.
type boolWriter struct {
	out   []byte
	low   uint64 // the low end of the interval, count+24 bits of it not yet out
	rng   uint32 // size of the interval, 128 to 255 between calls
	count int    // bits ready beyond the 24 that a carry may still change
}

func newBoolWriter(capacity int) *boolWriter {
	return &boolWriter{out: make([]byte, 0, capacity), rng: 255, count: -24}
}

// put codes one bit that is false with probability prob/256.
func (w *boolWriter) put(bit bool, prob uint8) {
	split := 1 + (w.rng-1)*uint32(prob)>>8
	if bit {
		w.low += uint64(split)
		w.rng -= split
	} else {
		w.rng = split
	}
	shift := bits.LeadingZeros8(uint8(w.rng))
	w.rng <<= shift
	w.low <<= shift
	w.count += shift
	if w.count >= 0 {
		w.flushByte()
	}
}

// flushByte moves the top byte to the output; a ninth bit is a carry into what
// is out already.
func (w *boolWriter) flushByte() {
	v := w.low >> (24 + w.count)
	w.low &= 1<<(24+w.count) - 1
	if v > 255 {
		i := len(w.out) - 1
		for w.out[i] == 255 {
			w.out[i] = 0
			i--
		}
		w.out[i]++
	}
	w.out = append(w.out, byte(v))
	w.count -= 8
}

// putBits codes the n low bits of v, the highest first, evenly.
func (w *boolWriter) putBits(v uint32, n int) {
	for n--; n >= 0; n-- {
		w.put(v>>n&1 != 0, 128)
	}
}

// bytes ends the coding and returns the output.
func (w *boolWriter) bytes() []byte {
	w.putBits(0, 32)
	return w.out
}
