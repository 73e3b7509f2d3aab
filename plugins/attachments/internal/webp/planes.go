package webp

// planes is a picture as VP8 codes it: luma, and chroma at half the size, padded
// to whole macroblocks by repeating the last samples.
type planes struct {
	w, h     int // of the picture
	mbw, mbh int
	y, u, v  []byte
}

func newPlanes(w, h int) *planes {
	p := &planes{w: w, h: h, mbw: (w + 15) / 16, mbh: (h + 15) / 16}
	n := p.mbw * p.mbh
	p.y, p.u, p.v = make([]byte, 256*n), make([]byte, 64*n), make([]byte, 64*n)
	return p
}

// toPlanes converts to limited-range BT.601 (RFC 9649, 3), with 16 bits of
// fraction. The chroma of four pixels is that of their mean, weighted by alpha:
// what cannot be seen has no say in the colour of what can.
func toPlanes(pix []byte, w, h int) *planes {
	p := newPlanes(w, h)
	stride, cstride := 16*p.mbw, 8*p.mbw
	fill := newFiller(pix, w, h)
	top, bottom := make([]byte, 4*w), make([]byte, 4*w)
	for y := 0; y < h; y += 2 {
		fill.row(top, y)
		fill.row(bottom, min(y+1, h-1))
		p.lumaRow(top, y*stride)
		if y+1 < h {
			p.lumaRow(bottom, (y+1)*stride)
		}
		at := y / 2 * cstride
		for x := 0; x < w; x += 2 {
			x2 := min(x+1, w-1)
			var r, g, b, n int32
			for _, px := range [4][]byte{top[4*x:], top[4*x2:], bottom[4*x:], bottom[4*x2:]} {
				a := int32(px[3]) + 1
				r, g, b, n = r+a*int32(px[0]), g+a*int32(px[1]), b+a*int32(px[2]), n+a
			}
			if n == 4*256 {
				r, g, b = (r+512)>>10, (g+512)>>10, (b+512)>>10
			} else {
				r, g, b = (r+n/2)/n, (g+n/2)/n, (b+n/2)/n
			}
			p.u[at+x/2] = byte((-9719*r - 19081*g + 28800*b + 128<<16 + 1<<15) >> 16)
			p.v[at+x/2] = byte((28800*r - 24116*g - 4684*b + 128<<16 + 1<<15) >> 16)
		}
	}
	pad(p.y, w, h, stride, 16*p.mbh)
	pad(p.u, (w+1)/2, (h+1)/2, cstride, 8*p.mbh)
	pad(p.v, (w+1)/2, (h+1)/2, cstride, 8*p.mbh)
	return p
}

func (p *planes) lumaRow(row []byte, at int) {
	dst := p.y[at : at+len(row)/4]
	for x := range dst {
		px := row[4*x : 4*x+3 : 4*x+3]
		dst[x] = byte((16839*int32(px[0]) + 33059*int32(px[1]) + 6420*int32(px[2]) + 16<<16 + 1<<15) >> 16)
	}
}

func pad(p []byte, w, h, stride, rows int) {
	for y := range h {
		row := p[y*stride : (y+1)*stride]
		for x := w; x < stride; x++ {
			row[x] = row[w-1]
		}
	}
	last := p[(h-1)*stride : h*stride]
	for y := h; y < rows; y++ {
		copy(p[y*stride:(y+1)*stride], last)
	}
}

// filler gives invisible pixels the colour of what is visible near them. Left
// as they are, usually black, they would ring into the visible edge.
type filler struct {
	pix   []byte
	w, h  int
	block int       // row of macroblocks whose means are known, or -1
	means [][3]byte // by macroblock
}

func newFiller(pix []byte, w, h int) *filler {
	return &filler{pix: pix, w: w, h: h, block: -1, means: make([][3]byte, (w+15)/16)}
}

func (f *filler) row(dst []byte, y int) {
	copy(dst, f.pix[4*f.w*y:4*f.w*(y+1)])
	hidden := false
	for i := 3; i < len(dst); i += 4 {
		if dst[i] == 0 {
			hidden = true
			break
		}
	}
	if !hidden {
		return
	}
	if f.block != y/16 {
		f.measure(y / 16)
	}
	for x := range f.w {
		if dst[4*x+3] == 0 {
			copy(dst[4*x:4*x+3], f.means[x/16][:])
		}
	}
}

// measure computes the mean visible colour of each macroblock of a row; one with
// nothing visible takes its left neighbour's, which costs no bits.
func (f *filler) measure(block int) {
	f.block = block
	last := [3]byte{128, 128, 128}
	for i := range f.means {
		var sum [3]int
		n := 0
		for y := 16 * block; y < min(16*block+16, f.h); y++ {
			for x := 16 * i; x < min(16*i+16, f.w); x++ {
				px := f.pix[4*(y*f.w+x):]
				if a := int(px[3]); a > 0 {
					n += a
					sum[0] += a * int(px[0])
					sum[1] += a * int(px[1])
					sum[2] += a * int(px[2])
				}
			}
		}
		if n > 0 {
			last = [3]byte{byte(sum[0] / n), byte(sum[1] / n), byte(sum[2] / n)}
		}
		f.means[i] = last
	}
}

// loss is the sum over the pixels of the mean square difference of what p shows
// from pix, weighted by alpha.
func (p *planes) loss(pix []byte) int64 {
	sum := int64(0)
	for y := range p.h {
		luma := p.y[y*16*p.mbw:]
		u, v := p.u[y/2*8*p.mbw:], p.v[y/2*8*p.mbw:]
		row := pix[4*y*p.w:][:4*p.w]
		for x := range p.w {
			q := row[4*x : 4*x+4 : 4*x+4]
			l := (int32(luma[x])-16)*76309 + 1<<15
			b, r := int32(u[x/2])-128, int32(v[x/2])-128
			dr := int32(clamp8((l+104597*r)>>16)) - int32(q[0])
			dg := int32(clamp8((l-25675*b-53279*r)>>16)) - int32(q[1])
			db := int32(clamp8((l+132201*b)>>16)) - int32(q[2])
			a := int64(q[3])
			sum += int64(dr*dr+dg*dg+db*db) * a * a / (3 * 255 * 255)
		}
	}
	return sum
}
