package vp8l

// transform undoes one transform of the picture on its rows, from the first on.
type transform interface {
	invert(row []uint32, y int)
}

// Kinds of transforms, as stored.
const (
	predictorKind = iota
	colourKind
	greenKind
	paletteKind
)

// readTransform reads what a transform needs.
func (r *Reader) readTransform(kind int) (transform, error) {
	switch kind {
	case predictorKind, colourKind:
		bits := uint(r.bits.read(3)) + 2
		tilesX := tiles(r.codedW, bits)
		steer, err := readImage(&r.bits, tilesX, tiles(r.h, bits))
		if err != nil {
			return nil, err
		}
		g := grid{w: r.codedW, bits: bits, tilesX: tilesX, steer: steer}
		if kind == predictorKind {
			return &predictor{grid: g, above: make([]uint32, r.codedW+1)}, nil
		}
		return &colour{g}, nil
	case greenKind:
		return &green{w: r.codedW}, nil
	}
	n := int(r.bits.read(8)) + 1
	colours, err := readImage(&r.bits, n, 1)
	if err != nil {
		return nil, err
	}
	t := &palette{w: r.w}
	for i, c := range colours {
		if i > 0 {
			c = add(c, t.colours[i-1])
		}
		t.colours[i] = c
	}
	// Few colours are packed, several indices into one green sample.
	switch {
	case n <= 2:
		t.bits = 3
	case n <= 4:
		t.bits = 2
	case n <= 16:
		t.bits = 1
	}
	r.codedW = tiles(r.w, t.bits)
	return t, nil
}

// grid is a picture with one pixel for each tile of the rows it steers.
type grid struct {
	w      int
	bits   uint
	tilesX int
	steer  []uint32
}

func (g *grid) row(y int) []uint32 {
	return g.steer[y>>g.bits*g.tilesX:][:g.tilesX]
}

// green undoes the subtraction of green from red and blue.
type green struct{ w int }

func (t *green) invert(row []uint32, _ int) {
	for i, p := range row[:t.w] {
		g := p >> 8 & 0xff
		row[i] = p&0xff00ff00 | (p&0x00ff00ff+g<<16+g)&0x00ff00ff
	}
}

// colour undoes the prediction of red by green and of blue by both.
type colour struct{ grid }

func (t *colour) invert(row []uint32, y int) {
	steer := t.row(y)
	for i, p := range row[:t.w] {
		s := steer[i>>t.bits]
		g := int32(int8(p >> 8))
		red := p>>16&0xff + uint32(int32(int8(s))*g>>5)
		blue := p&0xff + uint32(int32(int8(s>>8))*g>>5)
		blue += uint32(int32(int8(s>>16)) * int32(int8(red)) >> 5)
		row[i] = p&0xff00ff00 | red&0xff<<16 | blue&0xff
	}
}

// palette replaces indices by colours.
type palette struct {
	w       int
	bits    uint
	colours [256]uint32 // beyond those stored, nothing
}

func (t *palette) invert(row []uint32, _ int) {
	// From the end, so that what is packed is read before it is overwritten.
	width := uint(8) >> t.bits
	per := 1<<t.bits - 1
	for x := t.w - 1; x >= 0; x-- {
		index := row[x>>t.bits] >> 8 & 0xff
		row[x] = t.colours[index>>(width*uint(x&per))&(1<<width-1)]
	}
}

// predictor adds to each pixel what is expected from its neighbours.
type predictor struct {
	grid
	above []uint32 // the row above, and the first pixel of this row behind it
}

func (t *predictor) invert(row []uint32, y int) {
	row = row[:t.w]
	defer copy(t.above, row)
	if y == 0 {
		row[0] = add(row[0], 0xff000000)
		for x := 1; x < len(row); x++ {
			row[x] = add(row[x], row[x-1])
		}
		return
	}
	row[0] = add(row[0], t.above[0])
	t.above[t.w] = row[0]
	steer := t.row(y)
	for x := 1; x < len(row); {
		end := min(len(row), (x>>t.bits+1)<<t.bits)
		predict(int(steer[x>>t.bits]>>8&15), row[x-1:end], t.above[x-1:end+1])
		x = end
	}
}

// predict undoes one mode over a part of a row. Both rows begin one pixel to the
// left of it; the one above ends one to the right.
func predict(mode int, row, above []uint32) {
	above = above[:len(row)+1]
	left := row[0]
	for i := 1; i < len(row); i++ {
		topLeft, top, topRight := above[i-1], above[i], above[i+1]
		var p uint32
		switch mode {
		case 1:
			p = left
		case 2:
			p = top
		case 3:
			p = topRight
		case 4:
			p = topLeft
		case 5:
			p = mean(mean(left, topRight), top)
		case 6:
			p = mean(left, topLeft)
		case 7:
			p = mean(left, top)
		case 8:
			p = mean(topLeft, top)
		case 9:
			p = mean(top, topRight)
		case 10:
			p = mean(mean(left, topLeft), mean(top, topRight))
		case 11:
			p = nearer(left, top, topLeft)
		case 12:
			p = gradient(left, top, topLeft)
		case 13:
			p = halfGradient(mean(left, top), topLeft)
		default:
			p = 0xff000000
		}
		left = add(row[i], p)
		row[i] = left
	}
}

// add adds the four samples of two pixels, each modulo 256.
func add(a, b uint32) uint32 {
	return (a&0xff00ff00+b&0xff00ff00)&0xff00ff00 | (a&0x00ff00ff+b&0x00ff00ff)&0x00ff00ff
}

// mean averages the samples of two pixels, rounding down.
func mean(a, b uint32) uint32 {
	return (a^b)&0xfefefefe>>1 + a&b
}

// nearer is the one of left and top that is nearer to left + top - topLeft.
func nearer(left, top, topLeft uint32) uint32 {
	d := int32(0)
	for s := uint(0); s < 32; s += 8 {
		l, t, tl := int32(left>>s&0xff), int32(top>>s&0xff), int32(topLeft>>s&0xff)
		d += abs(t-tl) - abs(l-tl)
	}
	if d < 0 {
		return left
	}
	return top
}

func gradient(left, top, topLeft uint32) (out uint32) {
	for s := uint(0); s < 32; s += 8 {
		v := int32(left>>s&0xff) + int32(top>>s&0xff) - int32(topLeft>>s&0xff)
		out |= clamp(v) << s
	}
	return out
}

func halfGradient(m, topLeft uint32) (out uint32) {
	for s := uint(0); s < 32; s += 8 {
		a, b := int32(m>>s&0xff), int32(topLeft>>s&0xff)
		// Division rounds toward zero here.
		out |= clamp(a+(a-b)/2) << s
	}
	return out
}

func clamp(v int32) uint32 { return uint32(max(0, min(255, v))) }

func abs(v int32) int32 {
	m := v >> 31
	return (v ^ m) - m
}
