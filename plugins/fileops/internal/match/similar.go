package match

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Candidate is a place that a failure points to.
type Candidate struct {
	// StartLine and EndLine count from 1 and are both included.
	StartLine int `json:"start_line"`
	EndLine   int `json:"end_line"`
	// Similarity is between 0 and 1: twice the number of character pairs that
	// the place and the text looked for share, by the pairs of both, blanks
	// and confusable characters left aside (the Sørensen–Dice coefficient).
	Similarity float64 `json:"similarity"`
	// Text is the place, cut after maxExcerpt characters.
	Text string `json:"text"`
	// Rivaled tells that another place of as many lines, overlapping this one or
	// next to it, is nearly as similar and not listed.
	Rivaled bool `json:"-"`
}

// rivalry is the similarity that a rival lacks at most.
const rivalry = 0.1

const (
	// maxExcerpt bounds the text of a candidate, in characters.
	maxExcerpt = 600
	// maxNeedle bounds how much of a missing text is compared, in bytes.
	maxNeedle = 8 << 10
	// longLine is where a line is cut into pieces, so that a file of one
	// line has places too.
	longLine = 1 << 10
	// shortlist is how many places are compared exactly.
	shortlist = 24
	// maxCompared and maxUnits bound how much of a file is looked at, in
	// bytes and in lines, so that a miss in a huge one is answered soon.
	maxCompared = 64 << 20
	maxUnits    = 2 << 20
)

// minSimilarity is where a place is no longer worth showing.
const minSimilarity = 0.2

// similar returns the places most like old, best first. The whole text is
// rated by a rough count in one pass; only the best are compared.
func similar(text []byte, old string, limit int) []Candidate {
	if limit <= 0 {
		return nil
	}
	old = clip(old, maxNeedle)
	needle := newProfile(old)
	if needle.total == 0 {
		return nil
	}
	text = text[:min(len(text), maxCompared)]
	units := split(text, len(old))
	height := 1 + strings.Count(strings.Trim(old, "\r\n"), "\n")
	var out []Candidate
	for _, w := range best(text, units, newCoarse(old, needle.total), height) {
		if c := refine(text, units, needle, w, height); c.Similarity >= minSimilarity {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.StartLine, b.StartLine))
	})
	out = slices.CompactFunc(out, func(a, b Candidate) bool { return a.StartLine == b.StartLine && a.Text == b.Text })
	return out[:min(limit, len(out))]
}

// refine compares the windows about w and returns the best of them.
func refine(text []byte, units []unit, needle *profile, w, height int) Candidate {
	var c Candidate
	level := map[int]float64{} // by the first of as many lines as the text has
	for h := height; h <= height+1; h++ {
		for from := max(w-1, 0); from <= min(w+1, len(units)-1); from++ {
			first, last := units[from], units[min(from+h, len(units))-1]
			if len(bytes.TrimSpace(text[first.start:first.end])) == 0 {
				continue // no place worth showing begins with a blank line
			}
			place := text[first.start:last.end]
			s := needle.similarity(newProfile(clip(string(place), 2*maxNeedle)))
			if s = math.Round(s*1000) / 1000; h == height {
				level[first.line] = max(level[first.line], s)
			}
			if s > c.Similarity {
				c = Candidate{StartLine: first.line, EndLine: last.line, Similarity: s, Text: excerpt(place)}
			}
		}
	}
	for line, s := range level {
		c.Rivaled = c.Rivaled || line != c.StartLine && s > c.Similarity-rivalry
	}
	return c
}

// unit is a line, without its break, or a piece of a long one.
type unit struct{ start, end, line int }

// split cuts a text into units. A line longer than longLine is cut into pieces
// of the given length.
func split(text []byte, length int) []unit {
	length = max(length, 32)
	units := make([]unit, 0, min(1+bytes.Count(text, []byte{'\n'}), maxUnits))
	line := 1
	for at := 0; at < len(text) && len(units) < maxUnits; line++ {
		end := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n
		}
		for start := at; ; {
			stop := end
			if end-at > longLine {
				stop = min(end, start+length)
			}
			for stop < end && !utf8.RuneStart(text[stop]) {
				stop--
			}
			units = append(units, unit{start, stop, line})
			if start = stop; start >= end {
				break
			}
		}
		at = end + 1
	}
	return units
}

// best returns the starts of the windows of height units that share most with
// the needle by a rough count, without overlap, at most shortlist.
func best(text []byte, units []unit, needle *coarse, height int) []int {
	rate := func(r rating) float64 { return float64(2*r.hits) / float64(r.size+needle.total) }
	hits, sizes := make([]int32, len(units)), make([]int32, len(units))
	for i, u := range units {
		h, n := needle.rough(text[u.start:u.end])
		hits[i], sizes[i] = int32(h), int32(n)
	}
	var top []rating
	var sum rating
	for i := range units {
		sum.hits += int(hits[i])
		sum.size += int(sizes[i])
		if i >= height {
			sum.hits -= int(hits[i-height])
			sum.size -= int(sizes[i-height])
		}
		if i < height-1 && i < len(units)-1 {
			continue
		}
		r := rating{max(i-height+1, 0), min(sum.hits, needle.total), sum.size}
		if r.hits == 0 {
			continue
		}
		top = keep(top, r, rate, height)
	}
	starts := make([]int, len(top))
	for i, r := range top {
		starts[i] = r.at
	}
	return starts
}

// rating is the rough count of a window: the unit it begins with, the runs of
// bytes it shares with the needle, and how many it has.
type rating struct{ at, hits, size int }

// keep adds a window to the best so far, which stay sorted by their rating.
// Of windows that overlap the better stays.
func keep(top []rating, r rating, rate func(rating) float64, height int) []rating {
	if len(top) == shortlist && rate(r) <= rate(top[len(top)-1]) {
		return top
	}
	for i, t := range top {
		if r.at-t.at < height {
			if rate(t) >= rate(r) {
				return top
			}
			top = slices.Delete(top, i, i+1)
			break
		}
	}
	at, _ := slices.BinarySearchFunc(top, r, func(a, b rating) int { return cmp.Compare(rate(b), rate(a)) })
	top = slices.Insert(top, at, r)
	return top[:min(len(top), shortlist)]
}

// profile counts the pairs of characters of a text, without blanks and breaks.
type profile struct {
	pairs map[[2]rune]int
	total int
}

func newProfile(text string) *profile {
	p := &profile{pairs: make(map[[2]rune]int)}
	var prev rune
	for _, r := range text {
		r = foldRune(r)
		if isBlank(r) || r == '\n' || r == '\r' {
			continue
		}
		if prev != 0 {
			p.pairs[[2]rune{prev, r}]++
			p.total++
		}
		prev = r
	}
	return p
}

// coarse knows which runs of a few bytes, blanks left out, a text has: one bit
// for the hash of each.
type coarse struct {
	bits  [1 << coarseBits / 64]uint64
	width int
	total int
}

const coarseBits = 19

func newCoarse(text string, total int) *coarse {
	// Three bytes tell more than two, but a short text has too few of them.
	c := &coarse{width: 3, total: total}
	if total < 12 {
		c.width = 2
	}
	c.scan([]byte(text), func(h uint32) { c.bits[h>>6] |= 1 << (h & 63) })
	return c
}

// scan calls f with the hash of each run and returns how many bytes count.
func (c *coarse) scan(text []byte, f func(uint32)) (size int) {
	var window uint32
	mask := uint32(1)<<(8*c.width) - 1
	for _, b := range text {
		if b <= ' ' {
			continue
		}
		window = (window<<8 | uint32(b)) & mask
		if size++; size >= c.width {
			f(window * 2654435761 >> (32 - coarseBits)) // Knuth's multiplicative hash
		}
	}
	return size
}

// rough counts the runs of a line that the text has too, and its bytes.
func (c *coarse) rough(line []byte) (hits, size int) {
	size = c.scan(line, func(h uint32) { hits += int(c.bits[h>>6] >> (h & 63) & 1) })
	return hits, size
}

func (p *profile) similarity(q *profile) float64 {
	if p.total+q.total == 0 {
		return 0
	}
	shared := 0
	for pair, n := range p.pairs {
		shared += min(n, q.pairs[pair])
	}
	return float64(2*shared) / float64(p.total+q.total)
}

// clip cuts a text to at most n bytes, at the beginning of a character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func excerpt(text []byte) string { return cut(textOf(text), maxExcerpt) }

// cut shortens a text to n characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// textOf shows bytes with their breaks as LF, without the last.
func textOf(text []byte) string {
	return strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r")
}
