package webp

import (
	"encoding/binary"
	"math/bits"
)

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

// boolReader is the decoder of RFC 6386, section 7. Behind the end it gives zeros
// and notes that it did, so that the inner loops need no checks.
type boolReader struct {
	data  []byte
	pos   int
	value uint64 // what was read and not yet decided, 8+n bits
	span  uint64 // size of the interval, 128 to 255 between calls
	n     int    // bits of value below the eight that are compared
	short bool   // more was needed than there is
}

func newBoolReader(data []byte) boolReader {
	return boolReader{data: data, span: 255, n: -8}
}

// bit reads one bit that is false with probability prob/256.
func (r *boolReader) bit(prob uint8) bool {
	if r.n < 0 {
		r.fill()
	}
	split := 1 + (r.span-1)*uint64(prob)>>8
	bit := r.value >= split<<r.n
	if bit {
		r.value -= split << r.n
		r.span -= split
	} else {
		r.span = split
	}
	shift := bits.LeadingZeros8(uint8(r.span))
	r.span <<= shift
	r.n -= shift
	return bit
}

func (r *boolReader) fill() {
	if r.pos+8 <= len(r.data) {
		r.value = r.value<<48 | binary.BigEndian.Uint64(r.data[r.pos:])>>16
		r.pos += 6
		r.n += 48
		return
	}
	var next uint64
	if r.pos < len(r.data) {
		next = uint64(r.data[r.pos])
		r.pos++
	} else {
		r.short = true
	}
	r.value = r.value<<8 | next
	r.n += 8
}

// flag reads a bit of even odds.
func (r *boolReader) flag() bool { return r.bit(128) }

// bits reads a number of n bits, the highest first, each of even odds.
func (r *boolReader) bits(n int) int {
	v := 0
	for range n {
		v <<= 1
		if r.bit(128) {
			v |= 1
		}
	}
	return v
}

// signed reads a magnitude of n bits and its sign.
func (r *boolReader) signed(n int) int {
	v := r.bits(n)
	if r.flag() {
		return -v
	}
	return v
}

// optional reads a number that a flag says is there; else it is zero.
func (r *boolReader) optional(n int) int {
	if !r.flag() {
		return 0
	}
	return r.signed(n)
}
