package webp

// The transforms of RFC 6386, chapter 14, and their forward counterparts. The
// inverse ones must match a decoder's bit for bit, since later blocks are
// predicted from their results.

// forwardDCT transforms the differences of a 4x4 block.
func forwardDCT(src, pred []byte, stride, predStride int, out *[16]int32) {
	var t [16]int32
	for i := range 4 {
		s, p := src[i*stride:i*stride+4:i*stride+4], pred[i*predStride:i*predStride+4:i*predStride+4]
		d0, d1 := int32(s[0])-int32(p[0]), int32(s[1])-int32(p[1])
		d2, d3 := int32(s[2])-int32(p[2]), int32(s[3])-int32(p[3])
		a, b, c, d := d0+d3, d1+d2, d1-d2, d0-d3
		t[4*i] = (a + b) << 3
		t[4*i+2] = (a - b) << 3
		t[4*i+1] = (c*2217 + d*5352 + 256) >> 9
		t[4*i+3] = (d*2217 - c*5352 + 256) >> 9
	}
	// Rows are in units of 1/8; the basis has a norm of 2 a side and the inverse
	// divides by 8, which leaves another half.
	for i := range 4 {
		a, b, c, d := t[i]+t[12+i], t[4+i]+t[8+i], t[4+i]-t[8+i], t[i]-t[12+i]
		out[i] = (a + b + 8) >> 4
		out[8+i] = (a - b + 8) >> 4
		out[4+i] = (c*2217 + d*5352 + 1<<15) >> 16
		out[12+i] = (d*2217 - c*5352 + 1<<15) >> 16
	}
}

// inverseDCT adds the inverse transform of in to pred and writes dst.
func inverseDCT(in *[16]int32, pred []byte, predStride int, dst []byte, stride int) {
	mul1 := func(x int32) int32 { return x + x*20091>>16 }
	mul2 := func(x int32) int32 { return x * 35468 >> 16 }
	var t [16]int32
	for i := range 4 {
		a, b := in[i]+in[8+i], in[i]-in[8+i]
		c := mul2(in[4+i]) - mul1(in[12+i])
		d := mul1(in[4+i]) + mul2(in[12+i])
		t[i], t[4+i], t[8+i], t[12+i] = a+d, b+c, b-c, a-d
	}
	for i := range 4 {
		v := t[4*i : 4*i+4 : 4*i+4]
		a, b := v[0]+v[2], v[0]-v[2]
		c := mul2(v[1]) - mul1(v[3])
		d := mul1(v[1]) + mul2(v[3])
		p, o := pred[i*predStride:i*predStride+4:i*predStride+4], dst[i*stride:i*stride+4:i*stride+4]
		o[0] = clamp8(int32(p[0]) + (a+d+4)>>3)
		o[1] = clamp8(int32(p[1]) + (b+c+4)>>3)
		o[2] = clamp8(int32(p[2]) + (b-c+4)>>3)
		o[3] = clamp8(int32(p[3]) + (a-d+4)>>3)
	}
}

// walsh multiplies by the Walsh-Hadamard matrix on both sides.
func walsh(in *[16]int32) (out [16]int32) {
	var t [16]int32
	for i := range 4 {
		a, b := in[i]+in[12+i], in[4+i]+in[8+i]
		c, d := in[4+i]-in[8+i], in[i]-in[12+i]
		t[i], t[4+i], t[8+i], t[12+i] = a+b, c+d, a-b, d-c
	}
	for i := range 4 {
		a, b := t[4*i]+t[4*i+3], t[4*i+1]+t[4*i+2]
		c, d := t[4*i+1]-t[4*i+2], t[4*i]-t[4*i+3]
		out[4*i], out[4*i+1], out[4*i+2], out[4*i+3] = a+b, c+d, a-b, d-c
	}
	return out
}

func forwardWalsh(in *[16]int32) [16]int32 {
	out := walsh(in)
	for i := range out {
		out[i] = (out[i] + 1) >> 1
	}
	return out
}

func inverseWalsh(in *[16]int32) [16]int32 {
	out := walsh(in)
	for i := range out {
		out[i] = (out[i] + 3) >> 3
	}
	return out
}

func clamp8(v int32) byte {
	if uint32(v) <= 255 {
		return byte(v)
	}
	if v < 0 {
		return 0
	}
	return 255
}

// steps are the quantizer steps of one kind of block: of its first coefficient
// and of the others.
type steps struct{ dc, ac int32 }

func (s steps) at(i int) int32 {
	if i == 0 {
		return s.dc
	}
	return s.ac
}

// zigzag maps the coding order of coefficients to their place in a block.
var zigzag = [16]uint8{0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15}

// maxLevel is the largest level that the tokens can say: 67 and 11 more bits.
const maxLevel = 2047

// quantize rounds coefficients to levels in coding order and replaces them by
// what the decoder will see. Rounding leans towards zero, where levels are cheap.
// It tells whether any level is not zero.
func quantize(c *[16]int32, first int, s steps, levels []int16) bool {
	any := false
	for i := first; i < 16; i++ {
		at := zigzag[i]
		step := s.at(i)
		v := c[at]
		neg := v < 0
		if neg {
			v = -v
		}
		bias := step * 3 / 8
		if i == 0 {
			bias = step / 2
		}
		level := min((v+bias)/step, maxLevel)
		if neg {
			level = -level
		}
		levels[i] = int16(level)
		c[at] = level * step
		any = any || level != 0
	}
	return any
}
