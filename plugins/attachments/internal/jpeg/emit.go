package jpeg

import "math"

// prepare allocates the samples of one row of units, and its coefficients where
// several scans add to them.
func (d *decoder) prepare() {
	samples := int64(0)
	for i := range d.comps {
		c := &d.comps[i]
		c.strip = make([]byte, c.stripW*c.v*c.ny)
		if d.progressive || len(d.passes) > 1 {
			c.coefs = make([]int16, c.strideX*c.v*64)
		}
		c.weigh(&c.quant)
		samples += 64 * int64(c.blocksX) * int64(c.blocksY)
	}
	d.maxLost = math.MaxInt64
	if d.opt.MaxLoss > 0 {
		d.maxLost = d.opt.MaxLoss * samples
	}
	d.colour = d.chooseColour()
	d.colour.inks = d.opt.Inks
	d.colour.lines = make([][]byte, len(d.comps))
	for i := range d.comps {
		if !d.direct(&d.comps[i]) {
			d.colour.lines[i] = make([]byte, d.outW)
		}
	}
}

// weigh fills the weights of what the block size of a component leaves out. The
// transform keeps energy, so squares of coefficients are squares of samples.
func (c *component) weigh(q *[64]int32) {
	for k, at := range zigzag {
		if int(at&7) >= c.nx || int(at>>3) >= c.ny {
			c.weight[k] = int64(q[at]) * int64(q[at])
		}
	}
}

// direct tells whether a component has one sample for each output pixel across.
func (d *decoder) direct(c *component) bool {
	return c.h*c.nx*d.opt.Scale == 8*d.hMax
}

// kept returns a block of the row of units in work.
func (c *component) kept(x, y int) *[64]int16 {
	return (*[64]int16)(c.coefs[(y*c.strideX+x)*64:])
}

// keptRow gathers a row of units from all scans and transforms it.
func (d *decoder) keptRow(y int) error {
	for i := range d.comps {
		clear(d.comps[i].coefs)
	}
	for _, p := range d.passes {
		if err := p.row(d, y); err != nil {
			return err
		}
	}
	for i := range d.comps {
		c := &d.comps[i]
		if d.progressive && d.opt.MaxLoss > 0 {
			d.passes[0].lost += c.energyLost()
		}
		for by := range c.v {
			for bx := range c.strideX {
				inverse(c.kept(bx, by), &c.quant, 63, c.nx, c.ny, c.strip[by*c.ny*c.stripW+bx*c.nx:], c.stripW)
			}
		}
	}
	return nil
}

// energyLost is the energy of the coefficients of a row that the scale leaves
// out; those of a sequential scan are counted as they are read.
func (c *component) energyLost() (sum int64) {
	for at, v := range c.coefs {
		if w := c.weight[unzigzag[at&63]]; v != 0 && w != 0 {
			sum += w * int64(v) * int64(v)
		}
	}
	return sum
}

// emitStrip converts the current stripes to rows and pushes them.
func (d *decoder) emitStrip() error {
	outH := d.vMax * 8 / d.opt.Scale
	for y := 0; y < outH && d.rowsOut < d.outH; y++ {
		for i := range d.comps {
			c := &d.comps[i]
			src := c.strip[y*c.v*c.ny/outH*c.stripW:][:c.stripW]
			if d.direct(c) {
				d.colour.lines[i] = src[:d.outW]
				continue
			}
			widen(d.colour.lines[i], src, c.h*c.nx, d.hMax*8/d.opt.Scale)
		}
		d.colour.convert(d.sink.Next()[:4*d.outW])
		if err := d.sink.Push(); err != nil {
			return err
		}
		d.rowsOut++
	}
	return nil
}

// widen repeats samples so that have become want across one unit. Repeating is
// what the chroma of the stored picture needs most: where nothing is resized,
// encoding averages the same samples again and so gives them back unchanged.
func widen(dst, src []byte, have, want int) {
	if 2*have == want {
		n := len(dst) / 2
		for i, v := range src[:n] {
			dst[2*i], dst[2*i+1] = v, v
		}
		if len(dst)&1 == 1 {
			dst[len(dst)-1] = src[n]
		}
		return
	}
	for x := range dst {
		dst[x] = src[x*have/want]
	}
}

type colourKind int

const (
	grey colourKind = iota
	ycc
	rgb
	cmyk
	invertedCMYK
	ycck
)

type colourizer struct {
	kind  colourKind
	lines [][]byte
	inks  func(dst, c, m, y, k []byte)
	own   [4][]byte // the ink amounts of a row
}

// chooseColour applies the rules of JFIF and Adobe's APP14: three components
// are YCbCr unless Adobe or the identifiers say RGB; four are CMYK, which Adobe
// stores inverted, or YCCK.
func (d *decoder) chooseColour() colourizer {
	switch len(d.comps) {
	case 1:
		return colourizer{kind: grey}
	case 3:
		ids := [3]byte{d.comps[0].id, d.comps[1].id, d.comps[2].id}
		if !d.jfif && (d.adobe && d.adobeTransform == 0 || !d.adobe && ids == [3]byte{'R', 'G', 'B'}) {
			return colourizer{kind: rgb}
		}
		return colourizer{kind: ycc}
	}
	switch {
	case d.adobe && d.adobeTransform != 0:
		return colourizer{kind: ycck}
	case d.adobe:
		return colourizer{kind: invertedCMYK}
	}
	return colourizer{kind: cmyk}
}

func (c *colourizer) convert(row []byte) {
	n := len(row) / 4
	l0 := c.lines[0][:n]
	if c.kind == grey {
		for x, v := range l0 {
			p := row[4*x : 4*x+4 : 4*x+4]
			p[0], p[1], p[2], p[3] = v, v, v, 255
		}
		return
	}
	l1, l2 := c.lines[1][:n], c.lines[2][:n]
	if c.inks != nil && c.kind >= cmyk {
		c.convertInks(row)
		return
	}
	switch c.kind {
	case ycc:
		yccRow(row, l0, l1, l2)
	case rgb:
		for x, v := range l0 {
			p := row[4*x : 4*x+4 : 4*x+4]
			p[0], p[1], p[2], p[3] = v, l1[x], l2[x], 255
		}
	case ycck:
		// Adobe's double inversion leaves the converted colour to be read as
		// ink, and black inverted.
		yccRow(row, l0, l1, l2)
		for x, k := range c.lines[3][:n] {
			p := row[4*x : 4*x+4 : 4*x+4]
			p[0], p[1], p[2] = scale(255-p[0], k), scale(255-p[1], k), scale(255-p[2], k)
		}
	default:
		flip := byte(255)
		if c.kind == invertedCMYK {
			flip = 0
		}
		for x, k := range c.lines[3][:n] {
			p := row[4*x : 4*x+4 : 4*x+4]
			k ^= flip
			p[0], p[1], p[2], p[3] = scale(l0[x]^flip, k), scale(l1[x]^flip, k), scale(l2[x]^flip, k), 255
		}
	}
}

// convertInks hands the amounts of the four inks on, whichever way they are
// stored.
func (c *colourizer) convertInks(row []byte) {
	n := len(row) / 4
	for i := range c.own {
		if len(c.own[i]) < n {
			c.own[i] = make([]byte, n)
		}
	}
	if c.kind == ycck {
		yccRow(row, c.lines[0][:n], c.lines[1][:n], c.lines[2][:n])
		for x, k := range c.lines[3][:n] {
			c.own[0][x], c.own[1][x], c.own[2][x], c.own[3][x] = row[4*x], row[4*x+1], row[4*x+2], 255-k
		}
	} else {
		flip := byte(0)
		if c.kind == invertedCMYK {
			flip = 255
		}
		for i := range c.own {
			for x, v := range c.lines[i][:n] {
				c.own[i][x] = v ^ flip
			}
		}
	}
	c.inks(row, c.own[0][:n], c.own[1][:n], c.own[2][:n], c.own[3][:n])
}

// scale multiplies two samples as fractions of 255.
func scale(a, b byte) byte {
	return byte((uint32(a)*uint32(b) + 127) / 255)
}

// yccRow converts full-range YCbCr (JFIF 1.02) with 16 bits of fraction.
func yccRow(row, yy, cb, cr []byte) {
	cb, cr = cb[:len(yy)], cr[:len(yy)]
	for x, y := range yy {
		l := int32(y)<<16 + 1<<15
		b, r := int32(cb[x])-128, int32(cr[x])-128
		p := row[4*x : 4*x+4 : 4*x+4]
		p[0] = clamp8((l + 91881*r) >> 16)
		p[1] = clamp8((l - 22554*b - 46802*r) >> 16)
		p[2] = clamp8((l + 116130*b) >> 16)
		p[3] = 255
	}
}
