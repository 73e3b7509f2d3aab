package jpeg

// zigzag maps the coding order of coefficients to their place in a block
// (T.81, figure A.6).
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10,
	17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34,
	27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36,
	29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46,
	53, 60, 61, 54, 47, 55, 62, 63,
}

// unzigzag is the inverse of zigzag.
var unzigzag = func() (t [64]uint8) {
	for k, at := range zigzag {
		t[at] = uint8(k)
	}
	return t
}()

// Cosines in 13 bits of fraction: cK is cos(K*pi/16).
const (
	fracBits = 13

	c1 = 8035
	c2 = 7568
	c3 = 6811
	c4 = 5793
	c5 = 4551
	c6 = 3135
	c7 = 1598
)

// midBits is the extra precision of the samples between the two passes.
const midBits = 3

// inverse dequantizes a block and writes its samples, nx across and ny down, to
// dst. The inverse transform of n points uses the n lowest frequencies alone:
// that is the picture at n/8 of its size, low-pass filtered by the transform
// itself. last is the zigzag index of the last coefficient that is not zero.
func inverse(b *[64]int16, q *[64]int32, last, nx, ny int, dst []byte, stride int) {
	if last == 0 || nx == 1 && ny == 1 {
		// A flat block: the mean is the first coefficient over eight.
		v := clamp8((int32(b[0])*q[0]+4)>>3 + 128)
		for y := range ny {
			row := dst[y*stride : y*stride+nx]
			for x := range row {
				row[x] = v
			}
		}
		return
	}
	var mid [64]int32 // ny rows of nx columns, row stride 8
	for x := range nx {
		c0 := int32(b[x]) * q[x]
		switch ny {
		case 8:
			col(b, q, x, c0, &mid)
		case 4:
			col4(b, q, x, c0, &mid)
		case 2:
			p, r := c0*c4, int32(b[8+x])*q[8+x]*c4
			mid[x] = (p + r) >> (fracBits - midBits + 1)
			mid[8+x] = (p - r) >> (fracBits - midBits + 1)
		default:
			mid[x] = c0 * c4 >> (fracBits - midBits + 1)
		}
	}
	for y := range ny {
		m := (*[8]int32)(mid[8*y:])
		row := dst[y*stride : y*stride+nx]
		switch nx {
		case 8:
			row8(m, row)
		case 4:
			row4(m, row)
		case 2:
			p, r := m[0]*c4, m[1]*c4
			row[0], row[1] = sample(p+r), sample(p-r)
		default:
			row[0] = sample(m[0] * c4)
		}
	}
}

// butterfly8 is the 8-point inverse transform without its factor of one half:
// sums and differences of an even and an odd part.
func butterfly8(x0, x1, x2, x3, x4, x5, x6, x7 int32) (e0, e1, e2, e3, o0, o1, o2, o3 int32) {
	t0, t1 := (x0+x4)*c4, (x0-x4)*c4
	t2, t3 := x2*c6-x6*c2, x2*c2+x6*c6
	e0, e3 = t0+t3, t0-t3
	e1, e2 = t1+t2, t1-t2
	o0 = x1*c1 + x3*c3 + x5*c5 + x7*c7
	o1 = x1*c3 - x3*c7 - x5*c1 - x7*c5
	o2 = x1*c5 - x3*c1 + x5*c7 + x7*c3
	o3 = x1*c7 - x3*c5 + x5*c3 - x7*c1
	return
}

func col(b *[64]int16, q *[64]int32, x int, c0 int32, mid *[64]int32) {
	const shift = fracBits - midBits + 1
	const half = 1 << (shift - 1)
	if b[8+x]|b[16+x]|b[24+x]|b[32+x]|b[40+x]|b[48+x]|b[56+x] == 0 {
		v := (c0*c4 + half) >> shift
		for i := x; i < 64; i += 8 {
			mid[i] = v
		}
		return
	}
	e0, e1, e2, e3, o0, o1, o2, o3 := butterfly8(c0,
		int32(b[8+x])*q[8+x], int32(b[16+x])*q[16+x], int32(b[24+x])*q[24+x],
		int32(b[32+x])*q[32+x], int32(b[40+x])*q[40+x], int32(b[48+x])*q[48+x],
		int32(b[56+x])*q[56+x])
	mid[x], mid[56+x] = (e0+o0+half)>>shift, (e0-o0+half)>>shift
	mid[8+x], mid[48+x] = (e1+o1+half)>>shift, (e1-o1+half)>>shift
	mid[16+x], mid[40+x] = (e2+o2+half)>>shift, (e2-o2+half)>>shift
	mid[24+x], mid[32+x] = (e3+o3+half)>>shift, (e3-o3+half)>>shift
}

func row8(m *[8]int32, row []byte) {
	row = row[:8]
	if m[1]|m[2]|m[3]|m[4]|m[5]|m[6]|m[7] == 0 {
		v := sample(m[0] * c4)
		for i := range row {
			row[i] = v
		}
		return
	}
	e0, e1, e2, e3, o0, o1, o2, o3 := butterfly8(m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7])
	row[0], row[7] = sample(e0+o0), sample(e0-o0)
	row[1], row[6] = sample(e1+o1), sample(e1-o1)
	row[2], row[5] = sample(e2+o2), sample(e2-o2)
	row[3], row[4] = sample(e3+o3), sample(e3-o3)
}

// butterfly4 is the 4-point transform: its cosines are every second one of the
// 8-point transform.
func butterfly4(x0, x1, x2, x3 int32) (r0, r1, r2, r3 int32) {
	t0, t1 := (x0+x2)*c4, (x0-x2)*c4
	o0, o1 := x1*c2+x3*c6, x1*c6-x3*c2
	return t0 + o0, t1 + o1, t1 - o1, t0 - o0
}

func col4(b *[64]int16, q *[64]int32, x int, c0 int32, mid *[64]int32) {
	const shift = fracBits - midBits + 1
	const half = 1 << (shift - 1)
	r0, r1, r2, r3 := butterfly4(c0, int32(b[8+x])*q[8+x], int32(b[16+x])*q[16+x], int32(b[24+x])*q[24+x])
	mid[x], mid[8+x] = (r0+half)>>shift, (r1+half)>>shift
	mid[16+x], mid[24+x] = (r2+half)>>shift, (r3+half)>>shift
}

func row4(m *[8]int32, row []byte) {
	row = row[:4]
	r0, r1, r2, r3 := butterfly4(m[0], m[1], m[2], m[3])
	row[0], row[1], row[2], row[3] = sample(r0), sample(r1), sample(r2), sample(r3)
}

// sample rounds the sum of the second pass to a sample around 128.
func sample(v int32) byte {
	const shift = fracBits + midBits + 1
	return clamp8((v+1<<(shift-1))>>shift + 128)
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
