package picture

import (
	"math"

	"github.com/disintegration/imaging"
)

// Fixed point of the resampler. Weights have weightBits of fraction. A sample
// enters as colour times alpha, at most 255*255, and stands between the two
// passes in units of 1/midUnit of a sample.
const (
	weightBits = 14
	midUnit    = 64
)

// taps are the source samples of one output sample and their weights.
type taps struct {
	first   int
	weights []int64
}

// lanczosTaps computes the weights for dst samples out of src. extent is the
// length of the source in its own samples where its last one is cut: a picture
// decoded at a half may end in half a pixel. The filter is imaging's Lanczos of
// three lobes. Weights are rounded to integers that sum to one exactly, so flat
// areas stay flat, and the sums over samples are integers: a fused
// multiply-add, which some processors have, cannot change them.
func lanczosTaps(src, dst int, extent float64) []taps {
	out := make([]taps, dst)
	ratio := extent / float64(dst)
	scale := max(ratio, 1)
	radius := math.Ceil(scale * imaging.Lanczos.Support)
	for i := range out {
		if src == dst && extent == float64(src) {
			out[i] = taps{i, []int64{1 << weightBits}}
			continue
		}
		centre := (float64(i)+0.5)*ratio - 0.5
		first := max(0, int(math.Ceil(centre-radius)))
		last := min(src-1, int(math.Floor(centre+radius)))
		w := make([]float64, last-first+1)
		sum := 0.0
		for j := range w {
			w[j] = imaging.Lanczos.Kernel((float64(first+j) - centre) / scale)
			sum += w[j]
		}
		t := taps{first, make([]int64, len(w))}
		total, biggest := int64(0), 0
		for j := range w {
			t.weights[j] = int64(math.Round(w[j] / sum * (1 << weightBits)))
			total += t.weights[j]
			if t.weights[j] > t.weights[biggest] {
				biggest = j
			}
		}
		t.weights[biggest] += 1<<weightBits - total
		out[i] = trim(t)
	}
	return out
}

// trim drops zero weights at the ends.
func trim(t taps) taps {
	for len(t.weights) > 1 && t.weights[0] == 0 {
		t.weights, t.first = t.weights[1:], t.first+1
	}
	for len(t.weights) > 1 && t.weights[len(t.weights)-1] == 0 {
		t.weights = t.weights[:len(t.weights)-1]
	}
	return t
}

// resampler shrinks a picture row by row. Each source row is filtered across,
// then added with its weight to every output row that it touches; an output row
// is finished when its last source row has come. So memory is a few output rows,
// and time is linear in the source.
//
// Two samples share a 64-bit integer, one in each half: a multiplication by a
// weight serves both, and the halves never overflow into one another further
// than the sign, which split undoes.
type resampler struct {
	out        *raster
	across     []taps
	down       []taps
	y          int // of the next source row
	first, end int // output rows in work
	pairs      []int64
	line       []int64
	sums       [][]int64 // by output row modulo len(sums)
}

func newResampler(srcW, srcH, dstW, dstH int, extentW, extentH float64) *resampler {
	r := &resampler{
		out:    newRaster(dstW, dstH),
		across: lanczosTaps(srcW, dstW, extentW),
		down:   lanczosTaps(srcH, dstH, extentH),
		pairs:  make([]int64, 2*srcW),
		line:   make([]int64, 2*dstW),
	}
	// As many output rows are in work as windows overlap.
	overlap, open := 1, 0
	for i := range r.down {
		for r.down[open].first+len(r.down[open].weights) <= r.down[i].first {
			open++
		}
		overlap = max(overlap, i-open+1)
	}
	r.sums = make([][]int64, overlap+1)
	for i := range r.sums {
		r.sums[i] = make([]int64, 2*dstW)
	}
	return r
}

func (r *resampler) take(row []byte) {
	// Leading output rows whose window has passed are done already.
	for r.end < len(r.down) && r.down[r.end].first <= r.y {
		clear(r.sums[r.end%len(r.sums)])
		r.end++
	}
	if r.first == r.end {
		r.y++
		return
	}
	r.filterAcross(row)
	for i := r.first; i < r.end; i++ {
		t := &r.down[i]
		if k := r.y - t.first; k < len(t.weights) {
			addScaled(r.sums[i%len(r.sums)], r.line, t.weights[k])
		}
	}
	r.y++
	for r.first < r.end && r.down[r.first].first+len(r.down[r.first].weights) <= r.y {
		finishRow(r.out.row(r.first), r.sums[r.first%len(r.sums)])
		r.first++
	}
}

// filterAcross multiplies alpha in and filters a row horizontally into line.
func (r *resampler) filterAcross(row []byte) {
	pairs := r.pairs[:len(row)/2]
	for i := 0; i+3 < len(row); i += 4 {
		p := row[i : i+4 : i+4]
		a := int64(p[3])
		pairs[i/2] = int64(p[0])*a | int64(p[1])*a<<32
		pairs[i/2+1] = int64(p[2])*a | a*255<<32
	}
	line := r.line
	for x := range r.across {
		t := &r.across[x]
		src := pairs[2*t.first : 2*(t.first+len(t.weights))]
		var s0, s1 int64
		for _, w := range t.weights {
			s0 += w * src[0]
			s1 += w * src[1]
			src = src[2:]
		}
		line[2*x], line[2*x+1] = toMid(s0), toMid(s1)
	}
}

// split separates the two signed sums of a pair.
func split(v int64) (lo, hi int64) {
	lo = int64(int32(v))
	return lo, (v - lo) >> 32
}

func join(lo, hi int64) int64 { return lo + hi<<32 }

// toMid scales a pair of sums over weights of samples times 255 to the units
// between the passes.
func toMid(v int64) int64 {
	lo, hi := split(v)
	return join(divMid(lo), divMid(hi))
}

// divMid divides by 255 * 2^weightBits / midUnit, rounding to nearest.
func divMid(v int64) int64 {
	// 1/255 as 65793/2^24 is exact enough for 31 bits: the error is below a
	// quarter of a unit.
	const shift = 24 + weightBits - 6
	return (v*65793 + 1<<(shift-1)) >> shift
}

func addScaled(sum, line []int64, w int64) {
	line = line[:len(sum)]
	for i := range sum {
		sum[i] += w * line[i]
	}
}

// finishRow rounds the sums of an output row and divides alpha out again.
func finishRow(dst []byte, sums []int64) {
	const shift = weightBits + 6
	const full = 255 << shift
	sums = sums[:len(dst)/2]
	for i := 0; i+3 < len(dst); i += 4 {
		r, g := split(sums[i/2])
		b, a := split(sums[i/2+1])
		p := dst[i : i+4 : i+4]
		if a == full {
			p[0], p[1], p[2], p[3] = round8(r, shift), round8(g, shift), round8(b, shift), 255
			continue
		}
		alpha := round8(a, shift)
		if alpha == 0 {
			p[0], p[1], p[2], p[3] = 0, 0, 0, 0
			continue
		}
		p[0], p[1], p[2], p[3] = divide8(r, a), divide8(g, a), divide8(b, a), alpha
	}
}

func round8(v int64, shift uint) byte {
	return byte(max(0, min(255, (v+1<<(shift-1))>>shift)))
}

// divide8 returns 255 * v / a, rounded.
func divide8(v, a int64) byte {
	return byte(max(0, min(255, (v*255+a/2)/a)))
}
