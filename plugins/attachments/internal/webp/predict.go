package webp

// Prediction modes of whole blocks of 16x16 and of chroma (RFC 6386, 12.2). The
// order is that of modes4x4's first four, which a neighbour of 4x4 blocks sees.
const (
	modeDC = iota
	modeTM
	modeV
	modeH
	numModes
)

// Prediction modes of 4x4 blocks (RFC 6386, 12.3) beyond those four.
const (
	subRD = iota + 4
	subVR
	subLD
	subVL
	subHD
	subHU
	numSubModes
)

// predictWhole predicts a square block of the given size. above has the size
// samples over it, left those before it; corner is the sample over left. x0 and
// y0 tell whether the block is in the first column or row, where the mean leaves
// out what is not there.
func predictWhole(mode, size int, above, left []byte, corner byte, x0, y0 bool, dst []byte) {
	above, left = above[:size], left[:size]
	switch mode {
	case modeDC:
		sum, n := 0, 0
		if !y0 {
			for _, v := range above {
				sum += int(v)
			}
			n += size
		}
		if !x0 {
			for _, v := range left {
				sum += int(v)
			}
			n += size
		}
		mean := byte(128)
		if n > 0 {
			mean = byte((sum + n/2) / n)
		}
		for i := range dst[:size*size] {
			dst[i] = mean
		}
	case modeTM:
		for y := range size {
			base := int32(left[y]) - int32(corner)
			row := dst[y*size : (y+1)*size]
			for x := range row {
				row[x] = clamp8(base + int32(above[x]))
			}
		}
	case modeV:
		for y := range size {
			copy(dst[y*size:(y+1)*size], above)
		}
	case modeH:
		for y := range size {
			row := dst[y*size : (y+1)*size]
			for x := range row {
				row[x] = left[y]
			}
		}
	}
}

// edge is the frame of a 4x4 block: the four samples to the left from the bottom
// up, the corner, and eight above from left to right.
type edge [13]byte

func avg2(a, b byte) byte    { return byte((int(a) + int(b) + 1) >> 1) }
func avg3(a, b, c byte) byte { return byte((int(a) + 2*int(b) + int(c) + 2) >> 2) }

// predictSub predicts a 4x4 block into rows of four.
func predictSub(mode int, e *edge, dst *[16]byte) {
	a := e[5:13] // above
	l := [4]byte{e[3], e[2], e[1], e[0]}
	mid := func(i int) byte { return avg3(e[i-1], e[i], e[i+1]) }
	switch mode {
	case modeDC:
		sum := 4
		for i := range 4 {
			sum += int(a[i]) + int(l[i])
		}
		for i := range dst {
			dst[i] = byte(sum >> 3)
		}
	case modeTM:
		for y := range 4 {
			base := int32(l[y]) - int32(e[4])
			for x := range 4 {
				dst[4*y+x] = clamp8(base + int32(a[x]))
			}
		}
	case modeV:
		for x := range 4 {
			v := mid(5 + x)
			dst[x], dst[4+x], dst[8+x], dst[12+x] = v, v, v, v
		}
	case modeH:
		rows := [4]byte{mid(3), mid(2), mid(1), avg3(l[2], l[3], l[3])}
		for y, v := range rows {
			dst[4*y], dst[4*y+1], dst[4*y+2], dst[4*y+3] = v, v, v, v
		}
	case subRD:
		for y := range 4 {
			for x := range 4 {
				dst[4*y+x] = mid(4 - y + x)
			}
		}
	case subLD:
		for y := range 4 {
			for x := range 4 {
				if i := y + x; i < 6 {
					dst[4*y+x] = avg3(a[i], a[i+1], a[i+2])
				} else {
					dst[4*y+x] = avg3(a[6], a[7], a[7])
				}
			}
		}
	case subVR:
		dst[12], dst[8] = mid(2), mid(3)
		dst[13], dst[4] = mid(4), mid(4)
		dst[9], dst[0] = avg2(e[4], e[5]), avg2(e[4], e[5])
		dst[14], dst[5] = mid(5), mid(5)
		dst[10], dst[1] = avg2(e[5], e[6]), avg2(e[5], e[6])
		dst[15], dst[6] = mid(6), mid(6)
		dst[11], dst[2] = avg2(e[6], e[7]), avg2(e[6], e[7])
		dst[7], dst[3] = mid(7), avg2(e[7], e[8])
	case subVL:
		dst[0], dst[4] = avg2(a[0], a[1]), avg3(a[0], a[1], a[2])
		dst[8], dst[1] = avg2(a[1], a[2]), avg2(a[1], a[2])
		dst[5], dst[12] = avg3(a[1], a[2], a[3]), avg3(a[1], a[2], a[3])
		dst[9], dst[2] = avg2(a[2], a[3]), avg2(a[2], a[3])
		dst[13], dst[6] = avg3(a[2], a[3], a[4]), avg3(a[2], a[3], a[4])
		dst[10], dst[3] = avg2(a[3], a[4]), avg2(a[3], a[4])
		dst[14], dst[7] = avg3(a[3], a[4], a[5]), avg3(a[3], a[4], a[5])
		dst[11], dst[15] = avg3(a[4], a[5], a[6]), avg3(a[5], a[6], a[7])
	case subHD:
		dst[12], dst[13] = avg2(e[0], e[1]), mid(1)
		dst[8], dst[14] = avg2(e[1], e[2]), avg2(e[1], e[2])
		dst[9], dst[15] = mid(2), mid(2)
		dst[10], dst[4] = avg2(e[2], e[3]), avg2(e[2], e[3])
		dst[11], dst[5] = mid(3), mid(3)
		dst[6], dst[0] = avg2(e[3], e[4]), avg2(e[3], e[4])
		dst[7], dst[1] = mid(4), mid(4)
		dst[2], dst[3] = mid(5), mid(6)
	case subHU:
		dst[0], dst[1] = avg2(l[0], l[1]), avg3(l[0], l[1], l[2])
		dst[2], dst[4] = avg2(l[1], l[2]), avg2(l[1], l[2])
		dst[3], dst[5] = avg3(l[1], l[2], l[3]), avg3(l[1], l[2], l[3])
		dst[6], dst[8] = avg2(l[2], l[3]), avg2(l[2], l[3])
		dst[7], dst[9] = avg3(l[2], l[3], l[3]), avg3(l[2], l[3], l[3])
		for _, i := range []int{10, 11, 12, 13, 14, 15} {
			dst[i] = l[3]
		}
	}
}
