package jpeg

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// plane is one component on its way into a file: the levels of its blocks in
// zigzag order, row of blocks by row of blocks, padded to whole units.
type plane struct {
	blocksX, blocksY int
	levels           []int16
	last             []uint8 // of each block, the index of its last level that is not zero
	chroma           bool
	loss             int64 // mean square of what rounding took away, in thousandths
}

// maxChromaLoss is the mean square of what halving the chroma may take away, in
// squared steps. Photographs lose one or two; coloured text and drawings lose
// more, and keep their chroma whole.
const maxChromaLoss = 6

// Weights of the mean square errors of Cb and Cr in that of red, green and blue,
// in thousandths; luma has one. They are the squares of the factors of JFIF's
// conversion, over three.
const cbWeight, crWeight = 1086, 825

// finerSteps are the bounds tried on the quantizer steps of a picture that loses
// too much. Rounding to a step has a mean square of a twelfth of its square at
// most, so the last of them loses 16 whatever the picture.
var finerSteps = []int32{24, 16, 12, 8}

// Params are the parameters of Encode.
type Params struct {
	// Quality goes from 1 to 100 on the scale of the Independent JPEG Group, which
	// scales the example tables of T.81, annex K.
	Quality int
	// MaxLoss bounds the mean square error over red, green and blue. Where the
	// tables of Quality lose more, as they do in noise and in fine coloured print,
	// chroma is kept whole and the coarse steps are made finer until they do not, at
	// worst down to a step of 8. Zero means no bound.
	MaxLoss int
}

// Encode writes a baseline file of w by h opaque pixels of red, green, blue and
// an unused byte, packed. The Huffman tables are fitted to the picture. Chroma is
// halved on both sides unless that would show.
func Encode(pix []byte, w, h int, p Params) ([]byte, error) {
	if w < 1 || h < 1 || w > 65535 || h > 65535 || len(pix) != 4*w*h {
		return nil, fmt.Errorf("jpeg: %d bytes for %d x %d pixels", len(pix), w, h)
	}
	if p.Quality < 1 || p.Quality > 100 {
		return nil, fmt.Errorf("jpeg: quality %d is not between 1 and 100", p.Quality)
	}
	luma, chroma := scaleTable(&lumaTable, p.Quality), scaleTable(&chromaTable, p.Quality)
	full := toYCC(pix, w, h)
	halving := full.chromaLoss()
	subsampled := halving <= maxChromaLoss
	planes := full.transform(subsampled, &luma, &chroma)
	if p.MaxLoss > 0 {
		bound := 1000 * int64(p.MaxLoss)
		if subsampled && loss(&planes)+halving*(cbWeight+crWeight) > bound {
			subsampled = false
			planes = full.transform(false, &luma, &chroma)
		}
		for _, step := range finerSteps {
			if loss(&planes) <= bound {
				break
			}
			bounded(&luma, step)
			bounded(&chroma, step)
			planes = full.transform(false, &luma, &chroma)
		}
	}
	e := &encoder{w: w, h: h, planes: planes, factor: 1}
	if subsampled {
		e.factor = 2
	}
	return e.write(&luma, &chroma), nil
}

func loss(planes *[3]*plane) int64 {
	return planes[0].loss + (planes[1].loss*cbWeight+planes[2].loss*crWeight)/1000
}

func bounded(table *[64]int32, step int32) {
	for i, v := range table {
		table[i] = min(v, step)
	}
}

// samples is a picture in full-range YCbCr (JFIF 1.02), padded to 16 on each side by
// repeating its last samples.
type samples struct {
	w, h      int // padded
	real      int // samples of the picture itself
	y, cb, cr []byte
}

// parallel runs f over the halves of n rows: two cores are what there is to win.
func parallel(n, step int, f func(from, to int)) {
	half := n / 2 / step * step
	if half == 0 {
		f(0, n)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { f(0, half) })
	f(half, n)
	wg.Wait()
}

func toYCC(pix []byte, w, h int) *samples {
	p := &samples{w: (w + 15) &^ 15, h: (h + 15) &^ 15, real: w * h}
	n := p.w * p.h
	p.y, p.cb, p.cr = make([]byte, n), make([]byte, n), make([]byte, n)
	parallel(p.h, 1, func(from, to int) {
		for y := from; y < to; y++ {
			row := pix[4*w*min(y, h-1):][:4*w]
			ly, lb, lr := p.y[y*p.w:][:p.w], p.cb[y*p.w:][:p.w], p.cr[y*p.w:][:p.w]
			for x := range w {
				s := row[4*x : 4*x+3 : 4*x+3]
				r, g, b := int32(s[0]), int32(s[1]), int32(s[2])
				ly[x] = byte((19595*r + 38470*g + 7471*b + 1<<15) >> 16)
				lb[x] = clamp8((-11056*r - 21712*g + 32768*b + 257<<15) >> 16)
				lr[x] = clamp8((32768*r - 27440*g - 5328*b + 257<<15) >> 16)
			}
			for x := w; x < p.w; x++ {
				ly[x], lb[x], lr[x] = ly[w-1], lb[w-1], lr[w-1]
			}
		}
	})
	return p
}

// chromaLoss is the mean square of the difference between the chroma and its
// means of four, in a large picture over every fourth row of them.
func (p *samples) chromaLoss() int64 {
	sum, n := int64(0), int64(0)
	step := 2
	if p.h > 512 {
		step = 8
	}
	for y := 0; y+1 < p.h; y += step {
		for _, c := range [2][]byte{p.cb, p.cr} {
			top, bottom := c[y*p.w:][:p.w], c[(y+1)*p.w:][:p.w]
			for x := 0; x+1 < p.w; x += 2 {
				a, b, c, d := int32(top[x]), int32(top[x+1]), int32(bottom[x]), int32(bottom[x+1])
				m := (a + b + c + d + 2) >> 2
				sum += int64((a-m)*(a-m) + (b-m)*(b-m) + (c-m)*(c-m) + (d-m)*(d-m))
			}
		}
		n += 4 * int64(p.w)
	}
	return sum / max(1, n)
}

func halve(src []byte, w, h int) []byte {
	out := make([]byte, w/2*(h/2))
	parallel(h/2, 1, func(from, to int) {
		for y := from; y < to; y++ {
			top, bottom := src[2*y*w:][:w], src[(2*y+1)*w:][:w]
			dst := out[y*(w/2):][:w/2]
			for x := range dst {
				dst[x] = byte((int32(top[2*x]) + int32(top[2*x+1]) + int32(bottom[2*x]) + int32(bottom[2*x+1]) + 2) >> 2)
			}
		}
	})
	return out
}

// transform gives the quantized blocks of the three components.
func (p *samples) transform(subsampled bool, luma, chroma *[64]int32) [3]*plane {
	cw, ch, cb, cr, real := p.w, p.h, p.cb, p.cr, p.real
	if subsampled {
		cb, cr = halve(p.cb, p.w, p.h), halve(p.cr, p.w, p.h)
		cw, ch, real = cw/2, ch/2, (real+3)/4
	}
	return [3]*plane{
		newPlane(p.y, p.w, p.h, p.real, luma, false),
		newPlane(cb, cw, ch, real, chroma, true),
		newPlane(cr, cw, ch, real, chroma, true),
	}
}

// newPlane quantizes w by h samples, of which real are of the picture.
func newPlane(src []byte, w, h, real int, q *[64]int32, chroma bool) *plane {
	p := &plane{blocksX: w / 8, blocksY: h / 8, levels: make([]int16, w*h), last: make([]uint8, w*h/64), chroma: chroma}
	// Coefficients come times eight; dividing is multiplying with the reciprocal.
	var reciprocal, half [64]uint64
	for k, at := range zigzag {
		reciprocal[k] = 1<<32/uint64(8*q[at]) + 1
		half[k] = uint64(4 * q[at])
	}
	// In a large picture every other row of blocks tells the loss of all.
	every := 1
	if p.blocksY > 64 {
		every = 2
	}
	var lost atomic.Int64
	parallel(p.blocksY, 1, func(from, to int) {
		var c [64]int32
		sum := int64(0)
		for by := from; by < to; by++ {
			for bx := range p.blocksX {
				forward(src[by*8*w+bx*8:], w, &c)
				n := by*p.blocksX + bx
				out := (*[64]int16)(p.levels[n*64:])
				last := 0
				for k, at := range zigzag {
					v := c[at]
					sign := v >> 31
					m := uint64((v ^ sign) - sign)
					level := int32((m + half[k]) * reciprocal[k] >> 32)
					out[k] = int16((level ^ sign) - sign)
					if level != 0 {
						last = k
					}
				}
				p.last[n] = uint8(last)
				if by%every == 0 {
					for k, at := range zigzag {
						d := int64(c[at] - 8*q[at]*int32(out[k]))
						sum += d * d
					}
				}
			}
		}
		lost.Add(sum)
	})
	// The transform keeps energy, so squares of coefficients, which come times eight,
	// are squares of samples.
	// Padding loses little and must not make up for the picture.
	measured := real * ((p.blocksY + every - 1) / every) / p.blocksY
	p.loss = lost.Load() / 64 * 1000 / int64(max(1, measured))
	return p
}

// forward is the forward transform of a block, times eight.
func forward(src []byte, stride int, out *[64]int32) {
	// Rows keep two bits of fraction.
	const rowShift, colShift = fracBits + 1 - 2, fracBits + 1 + 2 - 3
	for y := range 8 {
		s := src[y*stride:][:8]
		f := func(i int) int32 { return int32(s[i]) - 128 }
		e0, e2, e4, e6, o1, o3, o5, o7 := butterflyForward(f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7))
		const half = 1 << (rowShift - 1)
		o := out[8*y : 8*y+8 : 8*y+8]
		o[0], o[1], o[2], o[3] = (e0+half)>>rowShift, (o1+half)>>rowShift, (e2+half)>>rowShift, (o3+half)>>rowShift
		o[4], o[5], o[6], o[7] = (e4+half)>>rowShift, (o5+half)>>rowShift, (e6+half)>>rowShift, (o7+half)>>rowShift
	}
	for x := range 8 {
		e0, e2, e4, e6, o1, o3, o5, o7 := butterflyForward(out[x], out[8+x], out[16+x], out[24+x], out[32+x], out[40+x], out[48+x], out[56+x])
		const half = 1 << (colShift - 1)
		out[x], out[8+x], out[16+x], out[24+x] = (e0+half)>>colShift, (o1+half)>>colShift, (e2+half)>>colShift, (o3+half)>>colShift
		out[32+x], out[40+x], out[48+x], out[56+x] = (e4+half)>>colShift, (o5+half)>>colShift, (e6+half)>>colShift, (o7+half)>>colShift
	}
}

func butterflyForward(f0, f1, f2, f3, f4, f5, f6, f7 int32) (e0, e2, e4, e6, o1, o3, o5, o7 int32) {
	a0, a1, a2, a3 := f0+f7, f1+f6, f2+f5, f3+f4
	b0, b1, b2, b3 := f0-f7, f1-f6, f2-f5, f3-f4
	e0, e4 = (a0+a1+a2+a3)*c4, (a0-a1-a2+a3)*c4
	e2, e6 = (a0-a3)*c2+(a1-a2)*c6, (a0-a3)*c6-(a1-a2)*c2
	o1 = b0*c1 + b1*c3 + b2*c5 + b3*c7
	o3 = b0*c3 - b1*c7 - b2*c1 - b3*c5
	o5 = b0*c5 - b1*c1 + b2*c7 + b3*c3
	o7 = b0*c7 - b1*c5 + b2*c3 - b3*c1
	return
}

// The example quantization tables of T.81, K.1, in natural order.
var (
	lumaTable = [64]int32{
		16, 11, 10, 16, 24, 40, 51, 61,
		12, 12, 14, 19, 26, 58, 60, 55,
		14, 13, 16, 24, 40, 57, 69, 56,
		14, 17, 22, 29, 51, 87, 80, 62,
		18, 22, 37, 56, 68, 109, 103, 77,
		24, 35, 55, 64, 81, 104, 113, 92,
		49, 64, 78, 87, 103, 121, 120, 101,
		72, 92, 95, 98, 112, 100, 103, 99,
	}
	chromaTable = [64]int32{
		17, 18, 24, 47, 99, 99, 99, 99,
		18, 21, 26, 66, 99, 99, 99, 99,
		24, 26, 56, 99, 99, 99, 99, 99,
		47, 66, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99,
	}
)

func scaleTable(t *[64]int32, quality int) (out [64]int32) {
	percent := int32(200 - 2*quality)
	if quality < 50 {
		percent = int32(5000 / quality)
	}
	for i, v := range t {
		out[i] = max(1, min(255, (v*percent+50)/100))
	}
	return out
}
