package match

import "bytes"

// histogram counts the bytes of a text.
type histogram [256]int

func count(text []byte) *histogram {
	var h histogram
	for _, c := range text {
		h[c]++
	}
	return &h
}

// rarest returns the index of the byte of needle that the text has least often.
func (h *histogram) rarest(needle string) int {
	rare := 0
	for i := range len(needle) {
		if h[needle[i]] < h[needle[rare]] {
			rare = i
		}
	}
	return rare
}

// finder looks for a needle by its rarest byte. bytes.Index looks for the
// first one, which in source text is often among the most common.
type finder struct {
	needle []byte
	rare   int
}

func (h *histogram) finder(needle string) finder {
	return finder{needle: []byte(needle), rare: h.rarest(needle)}
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
