// Package vp8l is the lossless coding of WebP (RFC 9649, 3): it decodes row by row,
// and encodes.
//
// A row is finished as soon as its pixels are read: copies reach back a bounded
// number of pixels, which a ring holds, and the transforms look one row up at
// most. So a picture of any size costs the ring, at most four megabytes, and the
// small pictures that steer the transforms, a sixteenth of it each; never the
// whole. The memory of the prefix codes, which a hostile file could multiply, has
// a bound of its own.
//
// The encoder subtracts green, predicts from the neighbours and looks for copies.
// It counts in integers alone, so that the same picture gives the same bytes on
// every machine.
package vp8l

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrTruncated reports data that ends before the last pixel.
var ErrTruncated = errors.New("vp8l: truncated")

// FormatError reports damage.
type FormatError string

func (e FormatError) Error() string { return "vp8l: " + string(e) }

func damaged(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}

// maxDistance is the furthest that a copy reaches back, in pixels: the largest
// value of the last distance code less the 120 that name neighbours.
const maxDistance = 1<<20 - 120

// Reader gives the rows of a picture.
type Reader struct {
	bits       bitReader
	w, h, y    int
	transforms []transform
	codedW     int
	main       image
	row        []uint32
}

// Header reads the size of a picture from its first five bytes.
func Header(data []byte) (w, h int, err error) {
	if len(data) < 5 {
		return 0, 0, ErrTruncated
	}
	if data[0] != 0x2f {
		return 0, 0, damaged("no signature")
	}
	v := uint32(data[1]) | uint32(data[2])<<8 | uint32(data[3])<<16 | uint32(data[4])<<24
	if v>>29 != 0 {
		return 0, 0, damaged("unknown version %d", v>>29)
	}
	return int(v&0x3fff) + 1, int(v>>14&0x3fff) + 1, nil
}

// NewReader reads what precedes the pixels of a picture that begins with its
// header.
func NewReader(data []byte) (*Reader, error) {
	w, h, err := Header(data)
	if err != nil {
		return nil, err
	}
	return NewHeadless(data[5:], w, h)
}

// NewHeadless is NewReader for data without a header, as alpha is stored.
func NewHeadless(data []byte, w, h int) (*Reader, error) {
	r := &Reader{bits: bitReader{data: data}, w: w, h: h, codedW: w}
	for seen := 0; r.bits.read(1) == 1; {
		kind := int(r.bits.read(2))
		if seen>>kind&1 == 1 {
			return nil, damaged("a transform occurs twice")
		}
		seen |= 1 << kind
		t, err := r.readTransform(kind)
		if err != nil {
			return nil, err
		}
		r.transforms = append(r.transforms, t)
	}
	if err := r.main.init(&r.bits, r.codedW, h, true); err != nil {
		return nil, err
	}
	r.row = make([]uint32, w)
	return r, nil
}

// Next returns the next row, each pixel as alpha, red, green, blue from the top
// bits down. It is valid until the next call.
func (r *Reader) Next() ([]uint32, error) {
	if r.y == r.h {
		return nil, damaged("a row too many")
	}
	if err := r.main.readRow(&r.bits, r.y, r.row[:r.codedW]); err != nil {
		return nil, err
	}
	for i := len(r.transforms) - 1; i >= 0; i-- {
		r.transforms[i].invert(r.row, r.y)
	}
	r.y++
	return r.row, nil
}

// image is the entropy coded pixels of the picture or of a part that steers it.
type image struct {
	w, h      int
	cacheBits uint
	cache     []uint32
	tileBits  uint
	tilesX    int
	tiles     []uint16 // code group of each tile, nil for one group
	groups    []group
	ring      []uint32
	pos       int // pixels read
}

// init reads the codes of an image. Only the main one may have several groups.
func (m *image) init(b *bitReader, w, h int, main bool) error {
	m.w, m.h = w, h
	if b.read(1) == 1 {
		m.cacheBits = uint(b.read(4))
		if m.cacheBits < 1 || m.cacheBits > 11 {
			return damaged("a colour cache of %d bits", m.cacheBits)
		}
		m.cache = make([]uint32, 1<<m.cacheBits)
	}
	groups := 1
	if main && b.read(1) == 1 {
		m.tileBits = uint(b.read(3)) + 2
		m.tilesX = tiles(w, m.tileBits)
		which, err := readImage(b, m.tilesX, tiles(h, m.tileBits))
		if err != nil {
			return err
		}
		m.tiles = make([]uint16, len(which))
		for i, p := range which {
			m.tiles[i] = uint16(p >> 8)
			groups = max(groups, int(m.tiles[i])+1)
		}
	}
	var err error
	m.groups, err = readGroups(b, groups, len(m.cache))
	if err != nil {
		return err
	}
	// A row may be read ahead by one copy.
	size := min(w*h, maxDistance+120)
	m.ring = make([]uint32, 1<<bits.Len(uint(size-1)))
	return nil
}

// tiles is the number of tiles of 1<<bits pixels on a side.
func tiles(side int, bits uint) int { return (side + 1<<bits - 1) >> bits }

// readImage reads a whole image that steers a transform or the choice of codes.
func readImage(b *bitReader, w, h int) ([]uint32, error) {
	var m image
	if err := m.init(b, w, h, false); err != nil {
		return nil, err
	}
	out := make([]uint32, w*h)
	for y := range h {
		if err := m.readRow(b, y, out[y*w:(y+1)*w]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readRow reads until row y is complete and copies it to dst.
func (m *image) readRow(b *bitReader, y int, dst []uint32) error {
	mask := len(m.ring) - 1
	end, total := (y+1)*m.w, m.w*m.h
	x := m.pos - y*m.w
	g := &m.groups[0]
	tileMask := -1
	if m.tiles != nil {
		tileMask = 1<<m.tileBits - 1
	}
	for pos := m.pos; pos < end; {
		if m.tiles != nil && (x&tileMask == 0 || pos == m.pos) {
			g = &m.groups[m.tiles[y>>m.tileBits*m.tilesX+x>>m.tileBits]]
		}
		b.fill()
		green := b.symbol(&g.codes[0])
		switch {
		case green < 256:
			red := b.symbol(&g.codes[1])
			blue := b.symbol(&g.codes[2])
			b.fill()
			alpha := b.symbol(&g.codes[3])
			p := uint32(alpha)<<24 | uint32(red)<<16 | uint32(green)<<8 | uint32(blue)
			m.ring[pos&mask] = p
			m.remember(p)
			pos++
			x++
		case green < 256+24:
			length := int(b.extended(green - 256))
			b.fill()
			code := b.symbol(&g.codes[4])
			b.fill()
			distance := m.distance(int(b.extended(code)))
			if distance > pos || length > total-pos {
				return damaged("a copy from outside the picture")
			}
			for i := range length {
				p := m.ring[(pos+i-distance)&mask]
				m.ring[(pos+i)&mask] = p
				m.remember(p)
			}
			pos += length
			x += length
			if m.tiles != nil && pos < end {
				// The tile may have changed on the way.
				g = &m.groups[m.tiles[y>>m.tileBits*m.tilesX+x>>m.tileBits]]
			}
		default:
			p := m.cache[green-256-24]
			m.ring[pos&mask] = p
			pos++
			x++
		}
		if pos >= end {
			m.pos = pos
		}
	}
	if b.overrun() {
		return ErrTruncated
	}
	for i := range dst {
		dst[i] = m.ring[(y*m.w+i)&mask]
	}
	return nil
}

// remember enters a pixel in the colour cache.
func (m *image) remember(p uint32) {
	if m.cache != nil {
		m.cache[p*0x1e35a7bd>>(32-m.cacheBits)] = p
	}
}

// near are the neighbours that the first 120 distance codes name: columns to the
// left and rows up (RFC 9649, 4.2.2).
var near = [120][2]int8{
	{0, 1}, {1, 0}, {1, 1}, {-1, 1}, {0, 2}, {2, 0}, {1, 2}, {-1, 2},
	{2, 1}, {-2, 1}, {2, 2}, {-2, 2}, {0, 3}, {3, 0}, {1, 3}, {-1, 3},
	{3, 1}, {-3, 1}, {2, 3}, {-2, 3}, {3, 2}, {-3, 2}, {0, 4}, {4, 0},
	{1, 4}, {-1, 4}, {4, 1}, {-4, 1}, {3, 3}, {-3, 3}, {2, 4}, {-2, 4},
	{4, 2}, {-4, 2}, {0, 5}, {3, 4}, {-3, 4}, {4, 3}, {-4, 3}, {5, 0},
	{1, 5}, {-1, 5}, {5, 1}, {-5, 1}, {2, 5}, {-2, 5}, {5, 2}, {-5, 2},
	{4, 4}, {-4, 4}, {3, 5}, {-3, 5}, {5, 3}, {-5, 3}, {0, 6}, {6, 0},
	{1, 6}, {-1, 6}, {6, 1}, {-6, 1}, {2, 6}, {-2, 6}, {6, 2}, {-6, 2},
	{4, 5}, {-4, 5}, {5, 4}, {-5, 4}, {3, 6}, {-3, 6}, {6, 3}, {-6, 3},
	{0, 7}, {7, 0}, {1, 7}, {-1, 7}, {5, 5}, {-5, 5}, {7, 1}, {-7, 1},
	{4, 6}, {-4, 6}, {6, 4}, {-6, 4}, {2, 7}, {-2, 7}, {7, 2}, {-7, 2},
	{3, 7}, {-3, 7}, {7, 3}, {-7, 3}, {5, 6}, {-5, 6}, {6, 5}, {-6, 5},
	{8, 0}, {4, 7}, {-4, 7}, {7, 4}, {-7, 4}, {8, 1}, {8, 2}, {6, 6},
	{-6, 6}, {8, 3}, {5, 7}, {-5, 7}, {7, 5}, {-7, 5}, {8, 4}, {6, 7},
	{-6, 7}, {7, 6}, {-7, 6}, {8, 5}, {7, 7}, {-7, 7}, {8, 6}, {8, 7},
}

// distance turns a distance value into pixels back in reading order.
func (m *image) distance(v int) int {
	if v > len(near) {
		return v - len(near)
	}
	n := near[v-1]
	return max(1, int(n[0])+int(n[1])*m.w)
}
