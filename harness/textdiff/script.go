package textdiff

import "github.com/sergi/go-diff/diffmatchpatch"

const (
	// maxExact is the largest number of lines, both sides together, for which
	// a shortest script is looked for at any price. Lines that occur on one
	// side only do not count: no script can keep them. Time grows with the
	// square in the worst cases: 10 000 random letters a side take 0.7 s.
	maxExact = 20_000

	// maxGapWork bounds the sum, over all gaps between anchors, of the
	// squared number of lines in the gap.
	maxGapWork = maxExact * maxExact

	// maxLines is the largest number of differing lines on one side that are
	// looked at one by one. Below it the tables take some 60 bytes a line.
	maxLines = 1 << 20
)

// change says that lines a0 to a1 of the old text became lines b0 to b1 of the
// new one. Lines count from 0 over the whole text; the ends are not included.
type change struct{ a0, a1, b0, b1 int }

// pair is a line kept: x in the old text, y in the new one.
type pair struct{ x, y int32 }

// changes returns what turns a into b, in order. Between two changes there is
// at least one kept line.
func changes(a, b *side) []change {
	n, m := a.middle(), b.middle()
	switch {
	case n == 0 && m == 0:
		return nil
	case n == 0 || m == 0 || n > maxLines || m > maxLines:
		return []change{{a.first, a.first + n, b.first, b.first + m}}
	}
	s := newSymbols(a, b)
	kept := s.expand(match(s.a, s.b))
	return slide(a, b, gaps(kept, a, b))
}

// symbols are the middles of both sides as numbers, equal for equal lines, and
// only those lines that occur on both sides.
type symbols struct {
	a, b         []int32
	aLine, bLine []int32 // the line each number stands for
}

func newSymbols(a, b *side) *symbols {
	ids := make(map[string]int32)
	all := make([]int32, a.middle())
	for i := range all {
		line := a.line(i)
		id, ok := ids[line]
		if !ok {
			id = int32(len(ids))
			ids[line] = id
		}
		all[i] = id
	}
	s := &symbols{}
	shared := make([]bool, len(ids))
	for i := range b.middle() {
		if id, ok := ids[b.line(i)]; ok {
			shared[id] = true
			s.b = append(s.b, id)
			s.bLine = append(s.bLine, int32(i))
		}
	}
	for i, id := range all {
		if shared[id] {
			s.a = append(s.a, id)
			s.aLine = append(s.aLine, int32(i))
		}
	}
	return s
}

// expand turns positions among the shared lines into lines of the middles.
func (s *symbols) expand(kept []pair) []pair {
	for i, p := range kept {
		kept[i] = pair{s.aLine[p.x], s.bLine[p.y]}
	}
	return kept
}

// match returns a common subsequence of a and b: a longest one where that is
// affordable.
func match(a, b []int32) []pair {
	if len(a)+len(b) <= maxExact {
		return exact(nil, a, b, 0, 0)
	}
	return anchored(a, b)
}

// exact appends a longest common subsequence of a and b to kept; x and y are
// added to its positions.
func exact(kept []pair, a, b []int32, x, y int32) []pair {
	if len(a) == 0 || len(b) == 0 {
		return kept
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // A deadline would make the result depend on load.
	ra, rb := runes(a, b)
	for _, d := range dmp.DiffMainRunes(ra, rb, false) {
		n := int32(0)
		for range d.Text {
			n++
		}
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			x += n
		case diffmatchpatch.DiffInsert:
			y += n
		default:
			for range n {
				kept = append(kept, pair{x, y})
				x++
				y++
			}
		}
	}
	return kept
}

// runes spells numbers as runes. They are numbered anew so that they stay
// below the surrogates, which a string cannot hold: there are at most maxExact
// different ones.
func runes(a, b []int32) (ra, rb []rune) {
	seen := make(map[int32]rune)
	spell := func(ids []int32) []rune {
		out := make([]rune, len(ids))
		for i, id := range ids {
			r, ok := seen[id]
			if !ok {
				r = rune(len(seen) + 1)
				seen[id] = r
			}
			out[i] = r
		}
		return out
	}
	return spell(a), spell(b)
}

// gaps returns the changes between the kept lines.
func gaps(kept []pair, a, b *side) []change {
	var out []change
	x, y := 0, 0
	add := func(x1, y1 int) {
		if x < x1 || y < y1 {
			out = append(out, change{a.first + x, a.first + x1, b.first + y, b.first + y1})
		}
	}
	for _, p := range kept {
		add(int(p.x), int(p.y))
		x, y = int(p.x)+1, int(p.y)+1
	}
	add(a.middle(), b.middle())
	return out
}

// slide moves each pure insertion and deletion as far down as the part that
// differs allows and joins it with the change it runs into, so that one result stands for all the
// scripts that differ only in where a repeated line was put.
func slide(a, b *side, list []change) []change {
	aEnd, bEnd := a.first+a.middle(), b.first+b.middle()
	out := make([]change, 0, len(list))
	// From the last to the first; out is in reverse order meanwhile.
	for i := len(list) - 1; i >= 0; i-- {
		c := list[i]
		aStop, bStop := aEnd, bEnd
		if len(out) > 0 {
			aStop, bStop = out[len(out)-1].a0, out[len(out)-1].b0
		}
		if c.a0 == c.a1 || c.b0 == c.b1 {
			for c.a1 < aStop && c.b1 < bStop && sameAcross(a, b, c) {
				c.a0, c.a1, c.b0, c.b1 = c.a0+1, c.a1+1, c.b0+1, c.b1+1
			}
		}
		if len(out) > 0 && c.a1 == aStop && c.b1 == bStop {
			next := &out[len(out)-1]
			next.a0, next.b0 = c.a0, c.b0
			continue
		}
		out = append(out, c)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// sameAcross reports whether the first line of a one-sided change equals the
// line that follows it.
func sameAcross(a, b *side, c change) bool {
	if c.a0 == c.a1 {
		return b.line(c.b0-b.first) == b.line(c.b1-b.first)
	}
	return a.line(c.a0-a.first) == a.line(c.a1-a.first)
}
