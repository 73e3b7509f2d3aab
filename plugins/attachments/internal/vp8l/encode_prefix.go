package vp8l

import (
	"math/bits"
	"slices"
)

// code is a prefix code, its first bit the lowest.
type code struct {
	bits   uint16
	length uint8
}

// fit makes codes of at most limit bits. A single symbol takes none; where there
// is no symbol at all, the first stands in.
func fit(counts []int32, limit int) []code {
	lengths := make([]uint8, len(counts))
	var used []int
	for s, n := range counts {
		if n > 0 {
			used = append(used, s)
		}
	}
	codes := make([]code, len(counts))
	if len(used) == 0 {
		used = []int{0}
	}
	if len(used) == 1 {
		codes[used[0]].length = single
		return codes
	}
	// Rare symbols are taken for more common ones until no code is too long; in the
	// end all are equal.
	for least := int32(1); !treeLengths(counts, used, least, limit, lengths); least *= 2 {
	}
	var count, start [maxLength + 2]int
	for _, l := range lengths {
		count[l]++
	}
	for l := 1; l <= maxLength; l++ {
		start[l+1] = (start[l] + count[l]) << 1
	}
	for s, l := range lengths {
		if l > 0 {
			codes[s] = code{bits.Reverse16(uint16(start[l])) >> (16 - l), l}
			start[l]++
		}
	}
	return codes
}

// single marks the only symbol of a code.
const single = 255

// treeLengths fills in the depths of Huffman's tree over counts of least at
// least, and tells whether none exceeds the limit.
func treeLengths(counts []int32, used []int, least int32, limit int, lengths []uint8) bool {
	type node struct {
		weight      int64
		left, right int // -1 for a symbol
		symbol      int
	}
	leaves := make([]node, 0, 2*len(used))
	for _, s := range used {
		leaves = append(leaves, node{int64(max(counts[s], least)), -1, -1, s})
	}
	slices.SortStableFunc(leaves, func(a, b node) int { return int(min(1, max(-1, a.weight-b.weight))) })
	// Two queues: the leaves in order, and the trees, which come about in order.
	nodes := leaves
	leaf, tree, trees := 0, len(leaves), len(leaves)
	take := func() int {
		if tree == len(nodes) || leaf < trees && nodes[leaf].weight <= nodes[tree].weight {
			leaf++
			return leaf - 1
		}
		tree++
		return tree - 1
	}
	for len(nodes) < 2*len(used)-1 {
		a := take()
		b := take()
		nodes = append(nodes, node{nodes[a].weight + nodes[b].weight, a, b, 0})
	}
	depth := make([]int, len(nodes))
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		if n.left < 0 {
			if depth[i] > limit {
				return false
			}
			lengths[n.symbol] = uint8(depth[i])
			continue
		}
		depth[n.left], depth[n.right] = depth[i]+1, depth[i]+1
	}
	return true
}

// lengths writes the lengths of a code, and turns the mark of a single symbol into
// no bits.
func (b *bitWriter) lengths(codes []code) {
	var used []int
	for s, c := range codes {
		if c.length > 0 {
			used = append(used, s)
		}
	}
	if used[0] < 256 && len(used) == 1 || len(used) == 2 && used[1] < 256 {
		b.put(1, 1)
		b.put(uint32(len(used)-1), 1)
		if used[0] <= 1 {
			b.put(0, 1)
			b.put(uint32(used[0]), 1)
		} else {
			b.put(1, 1)
			b.put(uint32(used[0]), 8)
		}
		if len(used) == 2 {
			b.put(uint32(used[1]), 8)
		}
	} else {
		b.fullLengths(codes)
	}
	if len(used) == 1 {
		codes[used[0]].length = 0
	}
}

// run is a length or a repetition with the value of its extra bits.
type run struct{ symbol, extra uint8 }

// extraBits of the repetitions: the length before, a few zeros, many zeros.
var extraBits = [19]uint{16: 2, 17: 3, 18: 7}

// lengthRuns returns the lengths of codes as runs.
func lengthRuns(codes []code) []run {
	var runs []run
	previous := uint8(8)
	for i := 0; i < len(codes); {
		l := codes[i].length
		if l == single {
			l = 1
		}
		n := 1
		for i+n < len(codes) && codes[i+n].length == codes[i].length {
			n++
		}
		i += n
		if l != 0 && l != previous {
			runs = append(runs, run{symbol: l})
			previous = l
			n--
		}
		for n > 0 {
			switch {
			case l == 0 && n >= 11:
				k := min(n, 138)
				runs = append(runs, run{18, uint8(k - 11)})
				n -= k
			case l == 0 && n >= 3:
				runs = append(runs, run{17, uint8(n - 3)})
				n = 0
			case l != 0 && n >= 3:
				k := min(n, 6)
				runs = append(runs, run{16, uint8(k - 3)})
				n -= k
			default:
				runs = append(runs, run{symbol: l})
				n--
			}
		}
	}
	return runs
}

// fullLengths writes the lengths of codes, by a code of their own.
func (b *bitWriter) fullLengths(codes []code) {
	runs := lengthRuns(codes)
	counts := make([]int32, 19)
	for _, r := range runs {
		counts[r.symbol]++
	}
	meta := fit(counts, 7)
	n := 4
	for i, s := range lengthOrder {
		if meta[s].length > 0 {
			n = max(n, i+1)
		}
	}
	b.put(0, 1)
	b.put(uint32(n-4), 4)
	for _, s := range lengthOrder[:n] {
		l := meta[s].length
		if l == single {
			l, meta[s].length = 1, 0
		}
		b.put(uint32(l), 3)
	}
	b.put(0, 1) // lengths for the whole alphabet
	for _, r := range runs {
		b.put(uint32(meta[r.symbol].bits), uint(meta[r.symbol].length))
		b.put(uint32(r.extra), extraBits[r.symbol])
	}
}
