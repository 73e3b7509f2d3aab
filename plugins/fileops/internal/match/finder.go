package match

import "bytes"

// finder looks for a needle by its rarest byte. bytes.Index looks for the
// first one, which in source text is often among the most common.
type finder struct {
	needle []byte
	rare   int
}

// rank orders bytes by how common they are in source text and prose, most
// common first; what is missing here is rarer than all.
const rank = " etaoinsrlcdupmfh\tg_y.b,(v)w=\"\n0k:-1;x/2'A{}TE3SIC4[]85RN9Pj67DOLzqM>B#*FUG<VH&W!+$XK%YJQZ@|\\?^~`"

var rarity = func() (r [256]int) {
	for i := range r {
		r[i] = len(rank) + 1
	}
	for i := range len(rank) {
		r[rank[i]] = i
	}
	return r
}()

func newFinder(needle []byte) finder {
	f := finder{needle: needle}
	for i, c := range needle {
		if rarity[c] > rarity[needle[f.rare]] {
			f.rare = i
		}
	}
	return f
}

// next returns the offset of the first match in text, or -1.
func (f finder) next(text []byte) int {
	rare := f.needle[f.rare]
	misses := 0
	for at := f.rare; at < len(text); at++ {
		n := bytes.IndexByte(text[at:], rare)
		if n < 0 {
			return -1
		}
		at += n
		start := at - f.rare
		if len(text)-start < len(f.needle) {
			return -1
		}
		if bytes.Equal(text[start:start+len(f.needle)], f.needle) {
			return start
		}
		misses++
		if misses > 16+at/64 {
			// The byte is not rare here; bytes.Index has a bound.
			n := bytes.Index(text[start+1:], f.needle)
			if n < 0 {
				return -1
			}
			return start + 1 + n
		}
	}
	return -1
}
