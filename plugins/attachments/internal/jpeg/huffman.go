package jpeg

import "encoding/binary"

// lutBits is the length of the codes that one table look-up resolves; nearly
// all codes of real files are no longer.
const lutBits = 9

type huffman struct {
	used   bool                 // by a scan that is yet to be decoded
	lut    [1 << lutBits]uint16 // value<<8 | length, 0 where the code is longer
	max    [18]int32            // largest code of each length, -1 where none
	offset [17]int32            // index of a code of this length in vals
	vals   [256]byte
}

func (d *decoder) defineHuffman(seg []byte) error {
	for len(seg) > 0 {
		if len(seg) < 17 {
			return damaged("short Huffman table")
		}
		class, id := seg[0]>>4, seg[0]&15
		if class > 1 || id > 3 {
			return damaged("bad Huffman table")
		}
		h := d.huff[class][id]
		if h == nil || h.used {
			h = &huffman{}
		}
		*h = huffman{}
		d.huff[class][id] = nil
		total := 0
		for _, n := range seg[1:17] {
			total += int(n)
		}
		if total == 0 || total > 256 || len(seg) < 17+total {
			return damaged("Huffman table of %d codes", total)
		}
		copy(h.vals[:], seg[17:17+total])
		code, k := int32(0), int32(0)
		for length := 1; length <= 16; length++ {
			n := int32(seg[length])
			h.offset[length] = k - code
			for range n {
				if length <= lutBits {
					first := code << (lutBits - length)
					for j := range int32(1) << (lutBits - length) {
						if int(first+j) >= len(h.lut) {
							return damaged("oversubscribed Huffman table")
						}
						h.lut[first+j] = uint16(h.vals[k])<<8 | uint16(length)
					}
				}
				code++
				k++
			}
			if code > 1<<length {
				return damaged("oversubscribed Huffman table")
			}
			h.max[length] = -1
			if n > 0 {
				h.max[length] = code - 1
			}
			code <<= 1
		}
		d.huff[class][id] = h
		seg = seg[17+total:]
	}
	return nil
}

// tablesUsed keeps the tables that a scan may refer to from being overwritten.
func (d *decoder) tablesUsed() {
	for class := range d.huff {
		for _, h := range d.huff[class] {
			if h != nil {
				h.used = true
			}
		}
	}
}

// bitReader reads the entropy coded bits of a scan. It stops at a marker and
// then gives zeros, counting them, so that the inner loops need no checks: the
// caller asks overrun once a block.
type bitReader struct {
	data []byte
	pos  int
	acc  uint64 // the next bits, at the top
	n    int    // valid bits in acc
	pad  int    // of those, zeros that are not in the file
}

func (b *bitReader) fill() {
	if b.n <= 56 && b.pos+8 <= len(b.data) {
		v := binary.BigEndian.Uint64(b.data[b.pos:])
		const ones, tops = 0x0101010101010101, 0x8080808080808080
		if (^v-ones)&v&tops == 0 {
			// No byte is 255: as many as fit are taken at once. The bits of the next
			// one that come along are the same when it is taken itself.
			b.acc |= v >> b.n
			k := (64 - b.n) >> 3
			b.pos += k
			b.n += 8 * k
			return
		}
	}
	for b.n <= 56 {
		if b.pos >= len(b.data) {
			b.padByte()
			continue
		}
		c := b.data[b.pos]
		if c == 0xff {
			if b.pos+1 >= len(b.data) || b.data[b.pos+1] != 0 {
				b.padByte()
				continue
			}
			b.pos++
		}
		b.pos++
		b.acc |= uint64(c) << (56 - b.n)
		b.n += 8
	}
}

func (b *bitReader) padByte() {
	b.n += 8
	b.pad += 8
}

// overrun tells whether bits were used that the file does not have.
func (b *bitReader) overrun() bool { return b.pad > b.n }

func (b *bitReader) drop(n int) {
	b.acc <<= uint(n)
	b.n -= n
}

// reset starts over at the current position.
func (b *bitReader) reset() { b.acc, b.n, b.pad = 0, 0, 0 }

// symbol reads one Huffman code. At least 16 bits must be there.
func (b *bitReader) symbol(h *huffman) (byte, bool) {
	if e := h.lut[b.acc>>(64-lutBits)]; e != 0 {
		b.drop(int(e & 255))
		return byte(e >> 8), true
	}
	for length := 1; length <= 16; length++ {
		code := int32(b.acc >> (64 - uint(length)))
		if h.max[length] >= 0 && code <= h.max[length] {
			i := h.offset[length] + code
			if i < 0 {
				return 0, false
			}
			b.drop(length)
			return h.vals[i&255], true
		}
	}
	return 0, false
}

// receive reads a number of size bits in the sign-and-magnitude form of T.81,
// F.2.2.1.
func (b *bitReader) receive(size int) int32 {
	v := int32(b.acc >> (64 - uint(size)))
	b.drop(size)
	if v < 1<<(size-1) {
		v += -1<<size + 1
	}
	return v
}

func (b *bitReader) bit() bool {
	v := b.acc>>63 != 0
	b.drop(1)
	return v
}

// take reads size bits as they are.
func (b *bitReader) take(size int) int32 {
	v := int32(b.acc >> (64 - uint(size)))
	b.drop(size)
	return v
}
