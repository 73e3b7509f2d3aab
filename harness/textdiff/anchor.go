package textdiff

import "sort"

// anchored finds a common subsequence in nearly linear time. Lines that occur
// exactly once on each side, in the same order on both, are anchors; from each
// anchor equal neighbours are kept in both directions; what lies between is
// compared exactly while the work for that lasts, and is given up after.
func anchored(a, b []int32) []pair {
	var kept []pair
	x, y := int32(0), int32(0) // Everything before is settled.
	budget := maxGapWork
	ends := pair{int32(len(a)), int32(len(b))}
	for _, p := range append(anchors(a, b), ends) {
		for x < p.x && y < p.y && a[x] == b[y] {
			kept = append(kept, pair{x, y})
			x++
			y++
		}
		back := int32(0)
		for x < p.x-back && y < p.y-back && a[p.x-back-1] == b[p.y-back-1] {
			back++
		}
		gapA, gapB := a[x:p.x-back], b[y:p.y-back]
		if work := square(len(gapA) + len(gapB)); work <= budget && len(gapA) > 0 && len(gapB) > 0 {
			budget -= work
			kept = exact(kept, gapA, gapB, x, y)
		}
		for i := back; i > 0; i-- {
			kept = append(kept, pair{p.x - i, p.y - i})
		}
		if p == ends {
			break
		}
		kept = append(kept, p)
		x, y = p.x+1, p.y+1
	}
	return kept
}

// square saturates well below overflow, also where int has 32 bits.
func square(n int) int {
	if n > maxExact {
		return maxGapWork + 1
	}
	return n * n
}

// anchors returns the longest list of lines, in ascending order on both sides,
// that occur once in a and once in b.
func anchors(a, b []int32) []pair {
	top := int32(0)
	for _, id := range a {
		top = max(top, id+1)
	}
	countA, countB := make([]int32, top), make([]int32, top)
	at := make([]int32, top)
	for i, id := range a {
		countA[id]++
		at[id] = int32(i)
	}
	for _, id := range b {
		countB[id]++
	}
	// Candidates in the order of b; the answer is a longest ascending
	// subsequence of their places in a. tails[k] is the candidate that ends
	// the ascending run of length k+1 with the smallest place in a.
	var cand []pair
	for i, id := range b {
		if countA[id] == 1 && countB[id] == 1 {
			cand = append(cand, pair{at[id], int32(i)})
		}
	}
	var tails []int32
	prev := make([]int32, len(cand))
	for i, p := range cand {
		k := sort.Search(len(tails), func(k int) bool { return cand[tails[k]].x > p.x })
		prev[i] = -1
		if k > 0 {
			prev[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, int32(i))
		} else {
			tails[k] = int32(i)
		}
	}
	if len(tails) == 0 {
		return nil
	}
	out := make([]pair, len(tails))
	for i, k := tails[len(tails)-1], len(tails)-1; k >= 0; k-- {
		out[k] = cand[i]
		i = prev[i]
	}
	return out
}
