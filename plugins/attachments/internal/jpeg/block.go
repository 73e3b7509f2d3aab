package jpeg

func (p *pass) dcDiff(h *huffman) (int32, error) {
	size, ok := p.bits.symbol(h)
	if !ok || size > 15 {
		return 0, damaged("bad Huffman code")
	}
	if size == 0 {
		return 0, nil
	}
	return p.bits.receive(int(size)), nil
}

// sequential decodes one block of a sequential scan in natural order and
// returns the zigzag index of its last coefficient.
func (p *pass) sequential(sc *scanComponent, b *[64]int16) (int, error) {
	bits := &p.bits
	bits.fill() // 57 bits: more than a code and its value take
	diff, err := p.dcDiff(sc.dcTable)
	if err != nil {
		return 0, err
	}
	sc.dc += diff
	b[0] = int16(sc.dc)
	last := 0
	ac := sc.acTable
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
		p.lost += sc.c.weight[k] * int64(v) * int64(v)
		last = k
	}
	return last, nil
}

func (p *pass) firstDC(sc *scanComponent, b *[64]int16) error {
	p.bits.fill()
	diff, err := p.dcDiff(sc.dcTable)
	if err != nil {
		return err
	}
	sc.dc += diff
	b[0] = int16(sc.dc << p.low)
	return nil
}

func (p *pass) firstAC(sc *scanComponent, b *[64]int16) error {
	if p.eobRun > 0 {
		p.eobRun--
		return nil
	}
	for k := p.start; k <= p.end; k++ {
		p.bits.fill()
		rs, ok := p.bits.symbol(sc.acTable)
		if !ok {
			return damaged("bad Huffman code")
		}
		run, size := int(rs>>4), int(rs&15)
		if size == 0 {
			if run == 15 {
				k += 15
				continue
			}
			p.eobRun = 1<<run - 1
			if run > 0 {
				p.eobRun += p.bits.take(run)
			}
			return nil
		}
		k += run
		if k > p.end {
			return damaged("too many coefficients")
		}
		b[zigzag[k]] = int16(p.bits.receive(size) << p.low)
	}
	return nil
}

// refineAC adds one bit to the coefficients of a band (T.81, G.1.2.3).
func (p *pass) refineAC(sc *scanComponent, b *[64]int16) error {
	bit := int16(1) << p.low
	k := p.start
	if p.eobRun == 0 {
		for k <= p.end {
			p.bits.fill()
			rs, ok := p.bits.symbol(sc.acTable)
			if !ok {
				return damaged("bad Huffman code")
			}
			run, size := int(rs>>4), int(rs&15)
			value := int16(0)
			switch size {
			case 0:
				if run != 15 {
					p.eobRun = 1 << run
					if run > 0 {
						p.eobRun += p.bits.take(run)
					}
				}
			case 1:
				value = -bit
				if p.bits.bit() {
					value = bit
				}
			default:
				return damaged("bad refinement")
			}
			if p.eobRun > 0 {
				break
			}
			k = p.refineNonZero(b, k, p.end, run, bit)
			if k > p.end && value != 0 {
				return damaged("too many coefficients")
			}
			if value != 0 {
				b[zigzag[k]] = value
			}
			k++
		}
	}
	if p.eobRun > 0 {
		p.eobRun--
		p.refineNonZero(b, k, p.end, 64, bit)
	}
	return nil
}

// refineNonZero refines the coefficients that are not zero from k on, passes
// over run zeros and returns the index of the zero after them.
func (p *pass) refineNonZero(b *[64]int16, k, end, run int, bit int16) int {
	for ; k <= end; k++ {
		u := zigzag[k]
		if b[u] == 0 {
			if run == 0 {
				return k
			}
			run--
			continue
		}
		if p.bits.n < 16 {
			p.bits.fill()
		}
		if p.bits.bit() && b[u]&bit == 0 {
			if b[u] >= 0 {
				b[u] += bit
			} else {
				b[u] -= bit
			}
		}
	}
	return k
}
