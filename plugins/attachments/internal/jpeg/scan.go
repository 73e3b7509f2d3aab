package jpeg

import "bytes"

type scanComponent struct {
	c      *component
	dc, ac *huffman
}

// scanParams are the fields of a scan header that only progressive files use:
// the band of coefficients and the bit position (T.81, G.1.1).
type scanParams struct {
	start, end int
	high, low  uint
}

func (d *decoder) scan(seg []byte) error {
	if d.comps == nil {
		return damaged("scan before frame")
	}
	if d.scans++; d.scans > maxScans {
		return damaged("more than %d scans", maxScans)
	}
	if len(seg) < 1 {
		return damaged("empty scan header")
	}
	n := int(seg[0])
	if n < 1 || n > len(d.comps) || len(seg) != 4+2*n {
		return damaged("bad scan header")
	}
	p := scanParams{
		start: int(seg[1+2*n]), end: int(seg[2+2*n]),
		high: uint(seg[3+2*n] >> 4), low: uint(seg[3+2*n] & 15),
	}
	if !d.progressive {
		p = scanParams{end: 63}
	} else if p.start > p.end || p.end > 63 || p.start == 0 && p.end != 0 ||
		p.start > 0 && n != 1 || p.low > 13 || p.high != 0 && p.high != p.low+1 {
		return damaged("bad progression")
	}
	scs := make([]scanComponent, n)
	blocks := 0
	for i := range scs {
		for j := range d.comps {
			if d.comps[j].id == seg[1+2*i] {
				scs[i].c = &d.comps[j]
			}
		}
		if scs[i].c == nil {
			return damaged("scan of an unknown component")
		}
		for j := range i {
			if scs[j].c == scs[i].c {
				return damaged("component twice in one scan")
			}
		}
		td, ta := seg[2+2*i]>>4, seg[2+2*i]&15
		if td > 3 || ta > 3 {
			return damaged("bad table in scan")
		}
		scs[i].dc, scs[i].ac = &d.huff[0][td], &d.huff[1][ta]
		if p.start == 0 && p.high == 0 && !scs[i].dc.ok || p.end > 0 && !scs[i].ac.ok {
			return damaged("scan without its Huffman table")
		}
		if !d.quantOK[scs[i].c.tq] {
			return damaged("no quantization table")
		}
		if p.start == 0 {
			scs[i].c.seen = true
		}
		blocks += scs[i].c.h * scs[i].c.v
	}
	if n > 1 && blocks > 10 {
		return damaged("%d blocks in one unit", blocks)
	}
	keep := d.progressive || n != len(d.comps)
	if keep || d.comps[0].coefs != nil {
		if err := d.keepCoefs(); err != nil {
			return err
		}
		return d.entropy(scs, p, nil)
	}
	if d.rowsOut > 0 {
		return damaged("a second scan of everything")
	}
	if err := d.prepare(); err != nil {
		return err
	}
	return d.entropy(scs, p, d.emitStrip)
}

// keepCoefs allocates the coefficients of the whole picture.
func (d *decoder) keepCoefs() error {
	if d.comps[0].coefs != nil {
		return nil
	}
	if d.rowsOut > 0 {
		return damaged("a second scan of everything")
	}
	total := int64(0)
	for i := range d.comps {
		c := &d.comps[i]
		total += int64(c.strideX) * int64(d.mcusY*c.v) * 64 * 2
	}
	if d.opt.MaxMemory > 0 && total > d.opt.MaxMemory {
		return ErrTooMuchMemory
	}
	for i := range d.comps {
		c := &d.comps[i]
		c.coefs = make([]int16, c.strideX*d.mcusY*c.v*64)
	}
	return nil
}

// entropy decodes the data of one scan. With emit, each row of units is
// transformed at once and given to emit; otherwise the coefficients are kept.
func (d *decoder) entropy(scs []scanComponent, p scanParams, emit func() error) error {
	d.bits = bitReader{data: d.data, pos: d.pos}
	d.resetPrediction()
	unitsX, unitsY := d.mcusX, d.mcusY
	single := len(scs) == 1
	if single {
		unitsX, unitsY = scs[0].c.blocksX, scs[0].c.blocksY
	}
	next := byte(0xd0)
	left := d.restart
	var block [64]int16
	for y := range unitsY {
		for x := range unitsX {
			if d.restart > 0 && left == 0 {
				if err := d.passRestart(next); err != nil {
					return err
				}
				next = 0xd0 + (next-0xd0+1)&7
				left = d.restart
			}
			left--
			for i := range scs {
				sc := &scs[i]
				h, v := sc.c.h, sc.c.v
				if single {
					h, v = 1, 1
				}
				for by := range v {
					for bx := range h {
						if emit != nil {
							block = [64]int16{}
							last, err := d.sequential(sc, &block)
							if err != nil {
								return err
							}
							at := by*sc.c.ny*sc.c.stripW + (x*h+bx)*sc.c.nx
							inverse(&block, &d.quant[sc.c.tq], last, sc.c.nx, sc.c.ny, sc.c.strip[at:], sc.c.stripW)
							continue
						}
						at := ((y*v+by)*sc.c.strideX + x*h + bx) * 64
						if err := d.kept(sc, p, (*[64]int16)(sc.c.coefs[at:])); err != nil {
							return err
						}
					}
				}
			}
			if d.bits.overrun() {
				return damaged("truncated scan")
			}
		}
		if emit != nil {
			if d.lost > d.maxLost {
				return ErrTooSharp
			}
			if err := emit(); err != nil {
				return err
			}
		}
	}
	d.pos = d.bits.pos
	return nil
}

func (d *decoder) kept(sc *scanComponent, p scanParams, b *[64]int16) error {
	switch {
	case !d.progressive:
		*b = [64]int16{}
		_, err := d.sequential(sc, b)
		return err
	case p.start == 0 && p.high == 0:
		return d.firstDC(sc, p, b)
	case p.start == 0:
		d.bits.fill()
		if d.bits.bit() {
			b[0] |= 1 << p.low
		}
		return nil
	case p.high == 0:
		return d.firstAC(sc, p, b)
	default:
		return d.refineAC(sc, p, b)
	}
}

func (d *decoder) resetPrediction() {
	for i := range d.comps {
		d.comps[i].dc = 0
	}
	d.eobRun = 0
}

// passRestart moves past the restart marker that must come now.
func (d *decoder) passRestart(want byte) error {
	b := &d.bits
	i := bytes.IndexByte(b.data[b.pos:], 0xff)
	for i >= 0 && b.pos+i+1 < len(b.data) && (b.data[b.pos+i+1] == 0 || b.data[b.pos+i+1] == 0xff) {
		skip := b.pos + i + 1
		if b.data[skip] == 0 {
			skip++
		}
		j := bytes.IndexByte(b.data[skip:], 0xff)
		if j < 0 {
			i = -1
			break
		}
		i = skip + j - b.pos
	}
	if i < 0 || b.pos+i+1 >= len(b.data) || b.data[b.pos+i+1] != want {
		return damaged("missing restart marker")
	}
	b.pos += i + 2
	b.reset()
	d.resetPrediction()
	return nil
}

func (d *decoder) dcDiff(h *huffman) (int32, error) {
	size, ok := d.bits.symbol(h)
	if !ok || size > 15 {
		return 0, damaged("bad Huffman code")
	}
	if size == 0 {
		return 0, nil
	}
	return d.bits.receive(int(size)), nil
}

// sequential decodes one block of a sequential scan in natural order and
// returns the zigzag index of its last coefficient.
func (d *decoder) sequential(sc *scanComponent, b *[64]int16) (int, error) {
	bits := &d.bits
	bits.fill() // 57 bits: more than a code and its value take
	diff, err := d.dcDiff(sc.dc)
	if err != nil {
		return 0, err
	}
	sc.c.dc += diff
	b[0] = int16(sc.c.dc)
	last := 0
	ac := sc.ac
	for k := 1; k < 64; k++ {
		if bits.n < 32 {
			bits.fill()
		}
		rs, ok := bits.symbol(ac)
		if !ok {
			return 0, damaged("bad Huffman code")
		}
		run, size := int(rs>>4), int(rs&15)
		if size == 0 {
			if run != 15 {
				break
			}
			k += 15
			continue
		}
		k += run
		if k > 63 {
			return 0, damaged("too many coefficients")
		}
		v := bits.receive(size)
		b[zigzag[k]] = int16(v)
		d.lost += sc.c.weight[k] * int64(v) * int64(v)
		last = k
	}
	return last, nil
}

func (d *decoder) firstDC(sc *scanComponent, p scanParams, b *[64]int16) error {
	d.bits.fill()
	diff, err := d.dcDiff(sc.dc)
	if err != nil {
		return err
	}
	sc.c.dc += diff
	b[0] = int16(sc.c.dc << p.low)
	return nil
}

func (d *decoder) firstAC(sc *scanComponent, p scanParams, b *[64]int16) error {
	if d.eobRun > 0 {
		d.eobRun--
		return nil
	}
	for k := p.start; k <= p.end; k++ {
		d.bits.fill()
		rs, ok := d.bits.symbol(sc.ac)
		if !ok {
			return damaged("bad Huffman code")
		}
		run, size := int(rs>>4), int(rs&15)
		if size == 0 {
			if run == 15 {
				k += 15
				continue
			}
			d.eobRun = 1<<run - 1
			if run > 0 {
				d.eobRun += d.bits.take(run)
			}
			return nil
		}
		k += run
		if k > p.end {
			return damaged("too many coefficients")
		}
		b[zigzag[k]] = int16(d.bits.receive(size) << p.low)
	}
	return nil
}

// refineAC adds one bit to the coefficients of a band (T.81, G.1.2.3).
func (d *decoder) refineAC(sc *scanComponent, p scanParams, b *[64]int16) error {
	bit := int16(1) << p.low
	k := p.start
	if d.eobRun == 0 {
		for k <= p.end {
			d.bits.fill()
			rs, ok := d.bits.symbol(sc.ac)
			if !ok {
				return damaged("bad Huffman code")
			}
			run, size := int(rs>>4), int(rs&15)
			value := int16(0)
			switch size {
			case 0:
				if run != 15 {
					d.eobRun = 1 << run
					if run > 0 {
						d.eobRun += d.bits.take(run)
					}
				}
			case 1:
				value = -bit
				if d.bits.bit() {
					value = bit
				}
			default:
				return damaged("bad refinement")
			}
			if d.eobRun > 0 {
				break
			}
			k = d.refineNonZero(b, k, p.end, run, bit)
			if k > p.end && value != 0 {
				return damaged("too many coefficients")
			}
			if value != 0 {
				b[zigzag[k]] = value
			}
			k++
		}
	}
	if d.eobRun > 0 {
		d.eobRun--
		d.refineNonZero(b, k, p.end, 64, bit)
	}
	return nil
}

// refineNonZero refines the coefficients that are not zero from k on, passes
// over run zeros and returns the index of the zero after them.
func (d *decoder) refineNonZero(b *[64]int16, k, end, run int, bit int16) int {
	for ; k <= end; k++ {
		u := zigzag[k]
		if b[u] == 0 {
			if run == 0 {
				return k
			}
			run--
			continue
		}
		if d.bits.n < 16 {
			d.bits.fill()
		}
		if d.bits.bit() && b[u]&bit == 0 {
			if b[u] >= 0 {
				b[u] += bit
			} else {
				b[u] -= bit
			}
		}
	}
	return k
}
