package search

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode/utf8"
)

// find searches buf from a place that begins a line, and the text where that
// is 0. It returns an index that belongs to the line (or, outside line mode,
// the text) by which the first match has ended, or -1. The end of buf ends
// the line and the text.
func (d *dfa) find(buf []byte, from int) int {
	n := uint32(0)
	if from > 0 && !d.lineMode {
		n = d.state(nil, d.normal(prevLine), true)
	}
	s := n << 8
	table := d.table
	for i := from; i < len(buf); {
		v := table[s|uint32(buf[i])]
		if v <= stateMask {
			s = v
			i++
			continue
		}
		size := 1
		if v == reasonNone || v == reasonWide {
			r := rune(buf[i])
			if v == reasonWide {
				r, size = utf8.DecodeRune(buf[i:])
			}
			at := s >> 8
			v = d.transition(at, r)
			if v == reasonNone {
				s = d.restart(at)
				table = d.table
				continue
			}
			table = d.table
		}
		if v&matchBit != 0 {
			return i
		}
		s = v & stateMask
		i += size
		if v&skipBit != 0 {
			i = d.states[s>>8].skip.next(buf, i)
		}
	}
	if d.matchesAtEnd(s >> 8) {
		return len(buf)
	}
	return -1
}

// matchesAtEnd reports whether a match has ended when the text ends in state
// n.
func (d *dfa) matchesAtEnd(n uint32) bool {
	st := &d.states[n]
	if st.atEnd == 0 {
		_, match := d.follow(st.pcs, syntax.EmptyOpContext(prevRune[st.prev], -1), -1)
		st.atEnd = -1
		if match {
			st.atEnd = 1
		}
	}
	return st.atEnd > 0
}

// transition looks the transition up, or computes and keeps it; reasonNone
// says that the cache is full.
func (d *dfa) transition(n uint32, r rune) uint32 {
	if r < 0x80 {
		v, ok := d.step(n, r)
		if !ok {
			return reasonNone
		}
		d.table[n<<8|uint32(r)] = v
		if v&(matchBit|skipBit) == 0 && v>>8 == n {
			d.noteLoop(n)
		}
		return v
	}
	slot := int(n)*len(d.bounds) + d.class(r)
	v := d.wide[slot]
	if v == reasonNone {
		var ok bool
		if v, ok = d.step(n, r); !ok {
			return reasonNone
		}
		d.wide[slot] = v
	}
	return v
}

// restart empties the cache and returns the place of the state that was
// numbered n.
func (d *dfa) restart(n uint32) uint32 {
	pcs, prev := slices.Clone(d.states[n].pcs), d.states[n].prev
	d.resets++
	d.clear()
	return d.state(pcs, prev, true) << 8
}

// class is the index of the class of a rune above ASCII.
func (d *dfa) class(r rune) int {
	return sort.Search(len(d.bounds), func(i int) bool { return d.bounds[i] > r }) - 1
}

// skipper passes over bytes that leave a state where it is.
type skipper struct {
	loops int  // distinct bytes seen to loop
	tried bool // whether the state was examined
	ready bool
	only  int         // the one byte that leaves the state, or -1
	leave *[256]uint8 // 1 for bytes that leave it
}

const (
	// loopsBeforeSkip is the number of distinct looping bytes after which a
	// state's whole row is computed. Most states are left before.
	loopsBeforeSkip = 4
	// maxLeaveShare is the share of ordinary text that may leave a state in
	// which it is still faster to skip than to step.
	maxLeaveShare = 0.12
)

// noteLoop counts the looping bytes of a state. Enough of them make it one to
// skip in: all its transitions are computed, and those that lead to it from
// anywhere are marked.
func (d *dfa) noteLoop(n uint32) {
	if d.states[n].skip.tried {
		return
	}
	d.states[n].skip.loops++
	if d.states[n].skip.loops < loopsBeforeSkip {
		return
	}
	d.states[n].skip.tried = true
	for b := range uint32(0x80) {
		if d.table[n<<8|b] == reasonNone {
			v, ok := d.step(n, rune(b))
			if !ok {
				return
			}
			d.table[n<<8|b] = v
		}
	}
	// Bytes above ASCII are passed over one by one where every character
	// there loops; otherwise each has to be decoded.
	wideLoops, ok := d.wideLoops(n)
	if !ok {
		return
	}
	leave, count, share, only := new([256]uint8), 0, 0.0, -1
	for b := range leave {
		leaves := !wideLoops
		if b < 0x80 {
			leaves = d.table[n<<8|uint32(b)] != n<<8
		}
		if leaves {
			leave[b] = 1
			count++
			only = b
			share += byteShare(byte(b))
		}
	}
	if share > maxLeaveShare {
		return
	}
	if count != 1 {
		only = -1
	}
	sk := &d.states[n].skip
	sk.ready, sk.leave, sk.only = true, leave, only
	for i, v := range d.table {
		if v == n<<8 {
			d.table[i] = v | skipBit
		}
	}
}

// wideLoops reports whether every character above ASCII loops in state n; ok
// is false when the cache is full.
func (d *dfa) wideLoops(n uint32) (loops, ok bool) {
	for c, r := range d.bounds {
		slot := int(n)*len(d.bounds) + c
		if d.wide[slot] == reasonNone {
			v, ok := d.step(n, r)
			if !ok {
				return false, false
			}
			d.wide[slot] = v
		}
		if d.wide[slot] != n<<8 {
			return false, true
		}
	}
	return true, true
}

// next returns the index at or after i of the first byte that leaves the
// state, or len(buf).
func (sk *skipper) next(buf []byte, i int) int {
	if sk.only >= 0 {
		if k := bytes.IndexByte(buf[i:], byte(sk.only)); k >= 0 {
			return i + k
		}
		return len(buf)
	}
	leave := sk.leave
	for ; i+8 <= len(buf); i += 8 {
		w := binary.LittleEndian.Uint64(buf[i:])
		if leave[byte(w)]|leave[byte(w>>8)]|leave[byte(w>>16)]|leave[byte(w>>24)]|
			leave[byte(w>>32)]|leave[byte(w>>40)]|leave[byte(w>>48)]|leave[byte(w>>56)] != 0 {
			break
		}
	}
	for i < len(buf) && leave[buf[i]] == 0 {
		i++
	}
	return i
}
