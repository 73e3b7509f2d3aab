package picture

import "github.com/bridle-go/bridle/plugins/attachments/internal/icc"

// pngConverter turns the samples of a row into 8-bit red, green, blue, alpha.
type pngConverter struct {
	kind     Kind
	depth    int
	channels int
	palette  [256][4]byte
	// key is the colour that tRNS makes transparent, at full depth.
	keyed bool
	key   [3]uint16
	// transform is set for 16-bit pictures with a profile.
	transform *icc.Transform
	deep      []uint16
}

func newPNGConverter(info *Info) pngConverter {
	f := info.png
	c := pngConverter{kind: info.Kind, depth: info.Depth,
		channels: map[Kind]int{Gray: 1, GrayAlpha: 2, RGB: 3, RGBA: 4, Palette: 1}[info.Kind]}
	switch {
	case c.kind == Palette:
		// An index beyond the palette is black, as the reference library shows it.
		for i := range c.palette {
			c.palette[i] = [4]byte{0, 0, 0, 255}
		}
		for i := range len(f.palette) / 3 {
			copy(c.palette[i][:3], f.palette[3*i:])
		}
		for i, a := range f.trns[:min(len(f.trns), 256)] {
			c.palette[i][3] = a
		}
	case c.kind == Gray && len(f.trns) >= 2:
		c.keyed = true
		c.key[0] = be16(f.trns)
	case c.kind == RGB && len(f.trns) >= 6:
		c.keyed = true
		c.key = [3]uint16{be16(f.trns), be16(f.trns[2:]), be16(f.trns[4:])}
	}
	// What lies above the depth is to be ignored: PNG specification, 11.3.1.1.
	for i := range c.key {
		c.key[i] &= 1<<c.depth - 1
	}
	if c.kind == Gray && c.depth < 8 {
		levels := 1<<c.depth - 1
		for i := range levels + 1 {
			v := byte(i * 255 / levels)
			c.palette[i] = [4]byte{v, v, v, 255}
			if c.keyed && c.key[0] == uint16(i) {
				c.palette[i][3] = 0
			}
		}
	}
	if c.depth == 16 {
		c.transform = info.transform()
	}
	return c
}

func (c *pngConverter) row(dst, src []byte) {
	switch {
	case c.depth < 8:
		mask := byte(1<<c.depth - 1)
		per := 8 / c.depth
		for x := range len(dst) / 4 {
			shift := 8 - c.depth*(x%per+1)
			copy(dst[4*x:4*x+4], c.palette[src[x/per]>>shift&mask][:])
		}
	case c.depth == 16:
		c.row16(dst, src)
	default:
		c.row8(dst, src)
	}
}

func (c *pngConverter) row8(dst, src []byte) {
	n := len(dst) / 4
	switch c.kind {
	case Palette:
		for x, i := range src[:n] {
			copy(dst[4*x:4*x+4], c.palette[i][:])
		}
	case Gray:
		for x, v := range src[:n] {
			p := dst[4*x : 4*x+4 : 4*x+4]
			p[0], p[1], p[2], p[3] = v, v, v, 255
			if c.keyed && uint16(v) == c.key[0] {
				p[3] = 0
			}
		}
	case GrayAlpha:
		for x := range n {
			v := src[2*x]
			p := dst[4*x : 4*x+4 : 4*x+4]
			p[0], p[1], p[2], p[3] = v, v, v, src[2*x+1]
		}
	case RGB:
		src = src[:3*n]
		for x := range n {
			p, s := dst[4*x:4*x+4:4*x+4], src[3*x:3*x+3:3*x+3]
			p[0], p[1], p[2], p[3] = s[0], s[1], s[2], 255
			if c.keyed && uint16(s[0]) == c.key[0] && uint16(s[1]) == c.key[1] && uint16(s[2]) == c.key[2] {
				p[3] = 0
			}
		}
	case RGBA:
		copy(dst, src)
	}
}

// row16 rounds to the nearest 8-bit sample, through the profile where there is
// one.
func (c *pngConverter) row16(dst, src []byte) {
	n := len(dst) / 4
	if len(c.deep) < 4*n {
		c.deep = make([]uint16, 4*n)
	}
	deep := c.deep[:4*n]
	for x := range n {
		p, s := deep[4*x:4*x+4:4*x+4], src[2*c.channels*x:]
		switch c.kind {
		case Gray:
			v := be16(s)
			p[0], p[1], p[2], p[3] = v, v, v, 65535
			if c.keyed && v == c.key[0] {
				p[3] = 0
			}
		case GrayAlpha:
			v := be16(s)
			p[0], p[1], p[2], p[3] = v, v, v, be16(s[2:])
		case RGB:
			p[0], p[1], p[2], p[3] = be16(s), be16(s[2:]), be16(s[4:]), 65535
			if c.keyed && p[0] == c.key[0] && p[1] == c.key[1] && p[2] == c.key[2] {
				p[3] = 0
			}
		case RGBA:
			p[0], p[1], p[2], p[3] = be16(s), be16(s[2:]), be16(s[4:]), be16(s[6:])
		}
	}
	if c.transform != nil {
		c.transform.Row16(dst, deep)
		return
	}
	for i, v := range deep {
		// (v*255 + 32767) / 65535, exact for every v.
		dst[i] = byte((uint32(v)*255 + 32895) >> 16)
	}
}
