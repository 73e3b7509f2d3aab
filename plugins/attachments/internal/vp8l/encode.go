package vp8l

import "math/bits"

// bitWriter writes bits from the lowest of each byte on.
type bitWriter struct {
	out []byte
	acc uint64
	n   uint
}

// put appends the lowest n bits of v, which has no others; n is 32 at most.
func (b *bitWriter) put(v uint32, n uint) {
	b.acc |= uint64(v) << b.n
	for b.n += n; b.n >= 8; b.n -= 8 {
		b.out = append(b.out, byte(b.acc))
		b.acc >>= 8
	}
}

func (b *bitWriter) bytes() []byte {
	if b.n > 0 {
		b.put(0, 8-b.n)
	}
	return b.out
}

// Encode codes w by h pixels, each as alpha, red, green, blue from the top bits
// down, with the header before them. The pixels are changed.
func Encode(pixels []uint32, w, h int) []byte {
	alpha := uint32(0)
	for _, p := range pixels {
		if p>>24 != 0xff {
			alpha = 1
			break
		}
	}
	// Green predicts red and blue well enough in nearly all pictures.
	for i, p := range pixels {
		g := p >> 8 & 0xff
		pixels[i] = sub(p, g<<16|g)
	}
	return smaller(pixels, w, h, func() *bitWriter {
		b := &bitWriter{}
		b.put(0x2f, 8)
		b.put(uint32(w-1), 14)
		b.put(uint32(h-1), 14)
		b.put(alpha, 1)
		b.put(0, 3)
		b.put(1, 1)
		b.put(greenKind, 2)
		return b
	})
}

// EncodeHeadless is Encode for samples that travel as green, without a header, as
// alpha is stored.
func EncodeHeadless(samples []byte, w, h int) []byte {
	pixels := make([]uint32, len(samples))
	for i, v := range samples {
		pixels[i] = 0xff000000 | uint32(v)<<8
	}
	return smaller(pixels, w, h, func() *bitWriter { return &bitWriter{} })
}

// smaller codes the pixels with prediction and, where they turn out to repeat
// much, without it, which disturbs repetitions.
func smaller(pixels []uint32, w, h int, begin func() *bitWriter) []byte {
	b := begin()
	b.predicted(append([]uint32(nil), pixels...), w, h)
	out := b.bytes()
	if 8*len(out) > w*h {
		return out
	}
	b = begin()
	b.put(0, 1) // no transform
	b.image(pixels, w, true)
	if plain := b.bytes(); len(plain) < len(out) {
		return plain
	}
	return out
}

// tileBits is the size of the tiles that choose a predictor: 16 pixels a side.
const tileBits = 4

// modes are the predictors that are tried. The others win too rarely to be worth
// the time.
var modes = [...]int{1, 2, 7, 11, 12}

// predicted writes the predictor transform and the pixels left by it.
func (b *bitWriter) predicted(pixels []uint32, w, h int) {
	b.put(1, 1)
	b.put(predictorKind, 2)
	b.put(tileBits-2, 3)
	tilesX, tilesY := tiles(w, tileBits), tiles(h, tileBits)
	chosen := make([]uint32, tilesX*tilesY)
	for i := range chosen {
		mode := bestMode(pixels, w, h, i%tilesX<<tileBits, i/tilesX<<tileBits)
		chosen[i] = 0xff000000 | uint32(mode)<<8
	}
	b.image(append([]uint32(nil), chosen...), tilesX, false)
	b.put(0, 1) // no more transforms

	// From the end, so that all that predicts is still there.
	for y := h - 1; y >= 0; y-- {
		for x := w - 1; x >= 0; x-- {
			i := y*w + x
			var p uint32
			switch {
			case i == 0:
				p = 0xff000000
			case y == 0:
				p = pixels[i-1]
			case x == 0:
				p = pixels[i-w]
			default:
				p = expected(int(chosen[y>>tileBits*tilesX+x>>tileBits]>>8&15), pixels[i-1], pixels[i-w], pixels[i-w-1])
			}
			pixels[i] = sub(pixels[i], p)
		}
	}
	b.image(pixels, w, true)
}

func expected(mode int, left, top, topLeft uint32) uint32 {
	switch mode {
	case 1:
		return left
	case 2:
		return top
	case 7:
		return mean(left, top)
	case 11:
		return nearer(left, top, topLeft)
	default:
		return gradient(left, top, topLeft)
	}
}

// bestMode returns the predictor that leaves least in every other row of a tile.
func bestMode(pixels []uint32, w, h, x0, y0 int) int {
	best, least := modes[0], int32(-1)
	for _, mode := range modes {
		cost := int32(0)
		for y := max(1, y0+1); y < min(h, y0+1<<tileBits); y += 2 {
			for x := max(1, x0); x < min(w, x0+1<<tileBits); x++ {
				i := y*w + x
				r := sub(pixels[i], expected(mode, pixels[i-1], pixels[i-w], pixels[i-w-1]))
				cost += abs(int32(int8(r))) + abs(int32(int8(r>>8))) + abs(int32(int8(r>>16))) + abs(int32(int8(r>>24)))
			}
			if least >= 0 && cost >= least {
				break
			}
		}
		if least < 0 || cost < least {
			best, least = mode, cost
		}
	}
	return best
}

// sub is the inverse of add.
func sub(a, b uint32) uint32 {
	return (0x00ff00ff+a&0xff00ff00-b&0xff00ff00)&0xff00ff00 | (0xff00ff00+a&0x00ff00ff-b&0x00ff00ff)&0x00ff00ff
}

// piece is a run of pixels as they are, and a copy behind it, of no length at the
// end.
type piece struct{ literals, length, distance int32 }

// image writes pixels with one group of codes and without a colour cache, which
// prediction makes useless.
func (b *bitWriter) image(pixels []uint32, w int, main bool) {
	b.put(0, 1) // no cache
	if main {
		b.put(0, 1) // one group
	}
	pieces := match(pixels, w)
	named := map[int]uint32{}
	m := image{w: w}
	for v := len(near); v >= 1; v-- {
		named[m.distance(v)] = uint32(v)
	}
	distanceValue := func(d int32) uint32 {
		if v, ok := named[int(d)]; ok {
			return v
		}
		return uint32(d) + uint32(len(near))
	}
	var counts [5][]int32
	for i, n := range alphabets {
		counts[i] = make([]int32, n)
	}
	visit := func(literal func(p uint32), copied func(length, distance uint32)) {
		at := 0
		for _, p := range pieces {
			for _, v := range pixels[at : at+int(p.literals)] {
				literal(v)
			}
			at += int(p.literals + p.length)
			if p.length > 0 {
				copied(uint32(p.length), distanceValue(p.distance))
			}
		}
	}
	visit(func(p uint32) {
		counts[0][p>>8&0xff]++
		counts[1][p>>16&0xff]++
		counts[2][p&0xff]++
		counts[3][p>>24]++
	}, func(length, distance uint32) {
		l, _, _ := split(length)
		d, _, _ := split(distance)
		counts[0][256+l]++
		counts[4][d]++
	})
	var codes [5][]code
	for i := range codes {
		codes[i] = fit(counts[i], maxLength)
		b.lengths(codes[i])
	}
	emit := func(c code) { b.put(uint32(c.bits), uint(c.length)) }
	visit(func(p uint32) {
		emit(codes[0][p>>8&0xff])
		emit(codes[1][p>>16&0xff])
		emit(codes[2][p&0xff])
		emit(codes[3][p>>24])
	}, func(length, distance uint32) {
		l, extra, n := split(length)
		emit(codes[0][256+l])
		b.put(extra, n)
		d, extra, n := split(distance)
		emit(codes[4][d])
		b.put(extra, n)
	})
}

// split turns a length or distance into its code and extra bits; see
// bitReader.extended.
func split(v uint32) (code, extra uint32, n uint) {
	if v <= 4 {
		return v - 1, 0, 0
	}
	v--
	high := uint(bits.Len32(v)) - 1
	n = high - 1
	return uint32(2*high) + v>>n&1, v & (1<<n - 1), n
}

const (
	minCopy   = 4
	maxCopy   = 4096
	hashBits  = 15
	chainTail = 8 // places tried for a copy
)

// match finds repetitions: greedily, the longest of the last places that begin the
// same.
func match(pixels []uint32, w int) []piece {
	head := make([]int32, 1<<hashBits)
	for i := range head {
		head[i] = -1
	}
	chain := make([]int32, len(pixels))
	hash := func(i int) uint32 {
		return (pixels[i]*0x9e3779b1 ^ pixels[i+1]*0x85ebca6b ^ pixels[i+2]*0xc2b2ae35) * 0x27d4eb2f >> (32 - hashBits)
	}
	enter := func(i int) {
		if i+2 < len(pixels) {
			k := hash(i)
			chain[i], head[k] = head[k], int32(i)
		}
	}
	same := func(a, b int) int {
		n := 0
		for limit := min(maxCopy, len(pixels)-b); n < limit && pixels[a+n] == pixels[b+n]; n++ {
		}
		return n
	}
	var out []piece
	start := 0
	for i := 0; i < len(pixels); {
		length, distance := 0, 0
		try := func(at int) {
			if n := same(at, i); n > length {
				length, distance = n, i-at
			}
		}
		if i > 0 {
			try(i - 1)
		}
		if i >= w {
			try(i - w)
		}
		if i+2 < len(pixels) && length < 64 {
			at := head[hash(i)]
			for range chainTail {
				if at < 0 || i-int(at) > maxDistance || length >= 256 {
					break
				}
				try(int(at))
				at = chain[at]
			}
		}
		if length < minCopy {
			enter(i)
			i++
			continue
		}
		out = append(out, piece{int32(i - start), int32(length), int32(distance)})
		// Of a long run, the beginning is enough to find it again.
		for k := range min(length, 32) {
			enter(i + k)
		}
		i += length
		start = i
	}
	return append(out, piece{literals: int32(len(pixels) - start)})
}
