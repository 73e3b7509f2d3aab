package vp8l

import (
	"encoding/binary"
	"math/bits"
)

// bitReader reads bits from the lowest of each byte on. Behind the end it gives
// zeros and counts them, so that the inner loops need no checks.
type bitReader struct {
	data []byte
	pos  int
	acc  uint64
	n    uint // valid bits in acc
	pad  uint // of those and those used already, zeros that are not in the data
}

// fill provides 56 bits at least.
func (b *bitReader) fill() {
	if b.n < 56 {
		b.refill()
	}
}

func (b *bitReader) refill() {
	if b.pos+8 <= len(b.data) {
		b.acc |= binary.LittleEndian.Uint64(b.data[b.pos:]) << b.n
		k := (63 - b.n) >> 3
		b.pos += int(k)
		b.n += 8 * k
		return
	}
	for b.n <= 56 {
		if b.pos < len(b.data) {
			b.acc |= uint64(b.data[b.pos]) << b.n
			b.pos++
		} else if b.pad < 1<<30 {
			b.pad += 8
		}
		b.n += 8
	}
}

// overrun tells whether bits were used that the data does not have.
func (b *bitReader) overrun() bool { return b.pad > b.n }

func (b *bitReader) drop(n uint) {
	b.acc >>= n
	b.n -= n
}

func (b *bitReader) read(n uint) uint32 {
	b.fill()
	v := uint32(b.acc & (1<<n - 1))
	b.drop(n)
	return v
}

// extended reads the extra bits of a length or distance code and returns its
// value; 18 bits must be there.
func (b *bitReader) extended(code uint16) uint32 {
	if code < 4 {
		return uint32(code) + 1
	}
	extra := uint(code-2) >> 1
	offset := (2 + uint32(code)&1) << extra
	v := uint32(b.acc & (1<<extra - 1))
	b.drop(extra)
	return offset + v + 1
}

// Sizes of the alphabets of a group: green with lengths, to which the colour
// cache is added; red, blue, alpha; distances.
var alphabets = [5]int{256 + 24, 256, 256, 256, 40}

const (
	maxLength = 15
	// maxRoot is the length of the codes that one look-up resolves.
	maxRoot = 10
	// maxCodeMemory bounds what the codes of one image may take. The reference
	// encoder makes 2600 groups at most, of about ten kilobytes each; the format
	// allows 65536 of twenty.
	maxCodeMemory = 64 << 20
	codeOverhead  = 160
)

// group are the codes for green, red, blue, alpha and distance.
type group struct{ codes [5]prefix }

// prefix is one prefix code. A look-up by the next bits gives symbol<<4 | length;
// longer codes follow in canonical order.
type prefix struct {
	root []uint16
	mask uint64 // of the bits that the look-up takes
	long *longCodes
}

type longCodes struct {
	first   [maxLength + 2]uint32 // first code of each length
	index   [maxLength + 2]uint32 // of its symbol
	symbols []uint16
}

// symbol reads one symbol; 15 bits must be there.
func (b *bitReader) symbol(p *prefix) uint16 {
	e := p.root[b.acc&p.mask]
	if e == longer {
		return b.longSymbol(p)
	}
	b.acc >>= e & 15
	b.n -= uint(e & 15)
	return e >> 4
}

// longer marks the look-ups of codes beyond the root: a length of 15 is not in it.
const longer = 15

func (b *bitReader) longSymbol(p *prefix) uint16 {
	code := uint32(bits.Reverse16(uint16(b.acc)))
	for length := uint(maxRoot + 1); length <= maxLength; length++ {
		c := code >> (16 - length)
		if n := p.long.index[length+1] - p.long.index[length]; c-p.long.first[length] < n {
			b.drop(length)
			return p.long.symbols[p.long.index[length]+c-p.long.first[length]]
		}
	}
	// Not reached: the code is complete.
	b.drop(maxLength)
	return 0
}

func readGroups(b *bitReader, n, cacheSize int) ([]group, error) {
	groups := make([]group, 0, min(n, 64))
	memory := 0
	lengths := make([]uint8, alphabets[0]+cacheSize)
	for range n {
		var g group
		for i, size := range alphabets {
			if i == 0 {
				size += cacheSize
			}
			clear(lengths)
			if err := readLengths(b, lengths[:size]); err != nil {
				return nil, err
			}
			if err := g.codes[i].build(lengths[:size]); err != nil {
				return nil, err
			}
			memory += g.codes[i].memory()
		}
		if b.overrun() {
			return nil, ErrTruncated
		}
		if memory > maxCodeMemory {
			return nil, damaged("its prefix codes need too much memory")
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// lengthOrder is the order in which the lengths of the code for lengths come.
var lengthOrder = [19]uint8{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// readLengths reads the lengths of the codes of an alphabet.
func readLengths(b *bitReader, out []uint8) error {
	if b.read(1) == 1 {
		return readSymbols(b, out)
	}
	var meta [19]uint8
	n := int(b.read(4)) + 4
	for _, at := range lengthOrder[:n] {
		meta[at] = uint8(b.read(3))
	}
	var code prefix
	if err := code.build(meta[:]); err != nil {
		return err
	}
	limit := len(out)
	if b.read(1) == 1 {
		limit = int(b.read(2+2*uint(b.read(3)))) + 2
		if limit > len(out) {
			return damaged("more code lengths than symbols")
		}
	}
	previous := uint8(8)
	for at := 0; at < len(out) && limit > 0; limit-- {
		b.fill()
		s := b.symbol(&code)
		if s < 16 {
			out[at] = uint8(s)
			at++
			if s != 0 {
				previous = uint8(s)
			}
			continue
		}
		repeat, v := 0, uint8(0)
		switch s {
		case 16:
			repeat, v = int(b.read(2))+3, previous
		case 17:
			repeat = int(b.read(3)) + 3
		default:
			repeat = int(b.read(7)) + 11
		}
		if repeat > len(out)-at {
			return damaged("more code lengths than symbols")
		}
		for range repeat {
			out[at] = v
			at++
		}
	}
	return nil
}

// readSymbols reads the one or two symbols of an alphabet that have codes.
func readSymbols(b *bitReader, out []uint8) error {
	two := b.read(1) == 1
	wide := uint(b.read(1))
	first := b.read(1 + 7*wide)
	if int(first) >= len(out) {
		return damaged("a symbol outside its alphabet")
	}
	out[first] = 1
	if two {
		second := b.read(8)
		if int(second) >= len(out) {
			return damaged("a symbol outside its alphabet")
		}
		out[second] = 1
	}
	return nil
}

// build makes the code from the lengths of its symbols. It must be complete, or
// have a single symbol, which then takes no bits.
func (p *prefix) build(lengths []uint8) error {
	var count [maxLength + 1]int
	used, longest, only := 0, 0, 0
	for s, l := range lengths {
		if l > 0 {
			count[l]++
			used++
			longest = max(longest, int(l))
			only = s
		}
	}
	if used == 0 {
		return damaged("a code without symbols")
	}
	if used == 1 {
		p.root = []uint16{uint16(only) << 4}
		return nil
	}
	var next [maxLength + 2]uint32
	code := uint32(0)
	for l := 1; l <= maxLength; l++ {
		next[l] = code
		code = (code + uint32(count[l])) << 1
	}
	if code != 1<<(maxLength+1) {
		return damaged("an incomplete code")
	}
	root := min(longest, maxRoot)
	p.mask = 1<<root - 1
	p.root = make([]uint16, 1<<root)
	if longest > root {
		p.long = &longCodes{first: next}
		at := uint32(0)
		for l := root + 1; l <= maxLength; l++ {
			p.long.index[l] = at
			at += uint32(count[l])
		}
		p.long.index[maxLength+1] = at
		p.long.symbols = make([]uint16, at)
		for i := range p.root {
			p.root[i] = longer
		}
	}
	first := next
	for s, l := range lengths {
		if l == 0 {
			continue
		}
		c := next[l]
		next[l]++
		if int(l) > root {
			p.long.symbols[p.long.index[l]+c-first[l]] = uint16(s)
			continue
		}
		for i := int(bits.Reverse16(uint16(c)) >> (16 - l)); i < len(p.root); i += 1 << l {
			p.root[i] = uint16(s)<<4 | uint16(l)
		}
	}
	return nil
}

// memory is about the bytes that the code takes.
func (p *prefix) memory() int {
	n := codeOverhead/2 + 2*len(p.root)
	if p.long != nil {
		n += codeOverhead + 2*len(p.long.symbols)
	}
	return n
}
