package jpeg

import "bytes"

// scanComponent is one component of a scan, its tables and its prediction.
type scanComponent struct {
	c                *component
	dcTable, acTable *huffman
	dc               int32
}

// scanParams are the fields of a scan header that only progressive files use:
// the band of coefficients and the bit position (T.81, G.1.1).
type scanParams struct {
	start, end int
	high, low  uint
}

// pass is one scan on its way through the picture. All scans of a file advance
// together, a row of units at a time, each from where it stands in the file: a
// block depends on the same block of earlier scans and on its own scan alone. So
// no more coefficients are kept than those of one row, however many scans there
// are.
type pass struct {
	scanParams
	comps       []scanComponent
	progressive bool
	bits        bitReader
	eobRun      int32
	restart     int  // units between restart markers, 0 for none
	left        int  // of them, until the next
	marker      byte // the next
	lost        int64
}

// scan reads the header of a scan and passes over its data.
func (d *decoder) scan(seg []byte) error {
	if d.comps == nil {
		return damaged("scan before frame")
	}
	if len(d.passes) == maxScans {
		return damaged("more than %d scans", maxScans)
	}
	if len(seg) < 1 {
		return damaged("empty scan header")
	}
	n := int(seg[0])
	if n < 1 || n > len(d.comps) || len(seg) != 4+2*n {
		return damaged("bad scan header")
	}
	p := &pass{progressive: d.progressive, restart: d.restart, left: d.restart, marker: 0xd0, comps: make([]scanComponent, n)}
	p.scanParams = scanParams{
		start: int(seg[1+2*n]), end: int(seg[2+2*n]),
		high: uint(seg[3+2*n] >> 4), low: uint(seg[3+2*n] & 15),
	}
	if !d.progressive {
		p.scanParams = scanParams{end: 63}
	} else if p.start > p.end || p.end > 63 || p.start == 0 && p.end != 0 ||
		p.start > 0 && n != 1 || p.low > 13 || p.high != 0 && p.high != p.low+1 {
		return damaged("bad progression")
	}
	blocks := 0
	for i := range p.comps {
		c, err := d.scanned(seg[1+2*i], p.comps[:i])
		if err != nil {
			return err
		}
		if p.comps[i], err = d.scanComponent(p, c, seg[2+2*i]); err != nil {
			return err
		}
		blocks += c.h * c.v
	}
	if n > 1 && blocks > 10 {
		return damaged("%d blocks in one unit", blocks)
	}
	d.tablesUsed()
	end := scanEnd(d.data, d.pos)
	p.bits = bitReader{data: d.data[:end], pos: d.pos}
	d.pos = end
	d.passes = append(d.passes, p)
	return nil
}

// scanComponent puts a component together with the tables that a pass reads it
// by, as they are defined now.
func (d *decoder) scanComponent(p *pass, c *component, tables byte) (sc scanComponent, err error) {
	td, ta := tables>>4, tables&15
	if td > 3 || ta > 3 {
		return sc, damaged("bad table in scan")
	}
	sc = scanComponent{c: c, dcTable: d.huff[0][td], acTable: d.huff[1][ta]}
	if p.start == 0 && p.high == 0 && sc.dcTable == nil || p.end > 0 && sc.acTable == nil {
		return sc, damaged("scan without its Huffman table")
	}
	if !d.quantOK[c.tq] {
		return sc, damaged("no quantization table")
	}
	if p.start == 0 {
		if c.seen && !d.progressive {
			return sc, damaged("a second scan of a component")
		}
		if !c.seen {
			// The table may be defined anew for a later component.
			c.quant = d.quant[c.tq]
		}
		c.seen = true
	}
	return sc, nil
}

// scanned finds the component that a scan names, which must not be in it yet.
func (d *decoder) scanned(id byte, before []scanComponent) (*component, error) {
	for i := range d.comps {
		if d.comps[i].id != id {
			continue
		}
		for j := range before {
			if before[j].c == &d.comps[i] {
				return nil, damaged("component twice in one scan")
			}
		}
		return &d.comps[i], nil
	}
	return nil, damaged("scan of an unknown component")
}

// scanEnd returns the position of the marker that ends the scan at pos.
func scanEnd(data []byte, pos int) int {
	for {
		i := bytes.IndexByte(data[pos:], 0xff)
		if i < 0 || pos+i+1 >= len(data) {
			return len(data)
		}
		pos += i
		switch m := data[pos+1]; {
		case m == 0xff:
			pos++
		case m == 0 || m >= 0xd0 && m <= 0xd7:
			pos += 2
		default:
			return pos
		}
	}
}

// row decodes the pass's part of a row of units into the coefficients that the
// components keep for it.
func (p *pass) row(d *decoder, y int) error {
	if len(p.comps) > 1 {
		for x := range d.mcusX {
			if err := p.nextUnit(); err != nil {
				return err
			}
			for i := range p.comps {
				sc := &p.comps[i]
				for by := range sc.c.v {
					for bx := range sc.c.h {
						if err := p.block(sc, sc.c.kept(x*sc.c.h+bx, by)); err != nil {
							return err
						}
					}
				}
			}
			if p.bits.overrun() {
				return damaged("truncated scan")
			}
		}
		return nil
	}
	// A scan of one component has only the blocks that carry samples.
	sc := &p.comps[0]
	for by := 0; by < sc.c.v && y*sc.c.v+by < sc.c.blocksY; by++ {
		for x := range sc.c.blocksX {
			if err := p.nextUnit(); err != nil {
				return err
			}
			if err := p.block(sc, sc.c.kept(x, by)); err != nil {
				return err
			}
			if p.bits.overrun() {
				return damaged("truncated scan")
			}
		}
	}
	return nil
}

// directRow decodes a row of units of a scan that has everything, and transforms
// each block at once.
func (p *pass) directRow(d *decoder) error {
	var block [64]int16
	for x := range d.mcusX {
		if err := p.nextUnit(); err != nil {
			return err
		}
		for i := range p.comps {
			sc := &p.comps[i]
			c := sc.c
			for by := range c.v {
				for bx := range c.h {
					block = [64]int16{}
					last, err := p.sequential(sc, &block)
					if err != nil {
						return err
					}
					at := by*c.ny*c.stripW + (x*c.h+bx)*c.nx
					inverse(&block, &c.quant, last, c.nx, c.ny, c.strip[at:], c.stripW)
				}
			}
		}
		if p.bits.overrun() {
			return damaged("truncated scan")
		}
	}
	return nil
}

// nextUnit passes the restart marker that comes before the next unit, if any.
func (p *pass) nextUnit() error {
	if p.restart == 0 {
		return nil
	}
	if p.left == 0 {
		if err := p.passRestart(); err != nil {
			return err
		}
		p.left = p.restart
	}
	p.left--
	return nil
}

func (p *pass) block(sc *scanComponent, b *[64]int16) error {
	switch {
	case !p.progressive:
		_, err := p.sequential(sc, b)
		return err
	case p.start == 0 && p.high == 0:
		return p.firstDC(sc, b)
	case p.start == 0:
		p.bits.fill()
		if p.bits.bit() {
			b[0] |= 1 << p.low
		}
		return nil
	case p.high == 0:
		return p.firstAC(sc, b)
	default:
		return p.refineAC(sc, b)
	}
}

// passRestart moves past the restart marker that must come now.
func (p *pass) passRestart() error {
	b := &p.bits
	for {
		i := bytes.IndexByte(b.data[b.pos:], 0xff)
		if i < 0 || b.pos+i+1 >= len(b.data) {
			return damaged("missing restart marker")
		}
		b.pos += i + 1
		switch b.data[b.pos] {
		case 0xff:
		case 0:
			b.pos++
		case p.marker:
			b.pos++
			b.reset()
			p.marker = 0xd0 + (p.marker-0xd0+1)&7
			p.eobRun = 0
			for i := range p.comps {
				p.comps[i].dc = 0
			}
			return nil
		default:
			return damaged("missing restart marker")
		}
	}
}
