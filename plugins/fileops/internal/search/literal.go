package search

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// finder locates the next occurrence of a text in a buffer.
type finder interface {
	// next returns where the first occurrence at or after from begins, or -1.
	next(buf []byte, from int) int
	// reset has to be called before a new buffer; the places asked for in one
	// buffer must not go backwards.
	reset()
	// fork returns an independent finder of the same text.
	fork() finder
	// width is the length of the occurrence that begins at i.
	width(buf []byte, i int) int
}

// exact finds one text byte for byte, by the rarest of its bytes.
type exact struct {
	text  []byte
	rare  int // index of the rarest byte
	next2 int // index of the second rarest, checked first
}

func newExact(text string) *exact {
	e := &exact{text: []byte(text)}
	for i := range e.text {
		if rankOf(e.text[i]) < rankOf(e.text[e.rare]) {
			e.rare = i
		}
	}
	e.next2 = e.rare
	for i := range e.text {
		if e.next2 == e.rare || i != e.rare && rankOf(e.text[i]) < rankOf(e.text[e.next2]) {
			e.next2 = i
		}
	}
	return e
}

func (e *exact) reset()                {}
func (e *exact) fork() finder          { return e }
func (e *exact) width([]byte, int) int { return len(e.text) }

func (e *exact) next(buf []byte, from int) int {
	rare, second := e.text[e.rare], e.text[e.next2]
	misses := 0
	for i := from + e.rare; i < len(buf); i++ {
		k := bytes.IndexByte(buf[i:], rare)
		if k < 0 {
			return -1
		}
		i += k
		start := i - e.rare
		if len(buf)-start < len(e.text) {
			return -1
		}
		if buf[start+e.next2] == second && bytes.Equal(buf[start:start+len(e.text)], e.text) {
			return start
		}
		// Where the rarest byte turns out to be common, the library's search,
		// which compares several bytes at once, does better.
		if misses++; misses > 8+(i-from)>>4 {
			k := bytes.Index(buf[start+1:], e.text)
			if k < 0 {
				return -1
			}
			return start + 1 + k
		}
	}
	return -1
}

// folded finds one text without regard to case, by simple Unicode folding.
// It looks for the first bytes of all forms of one character of the text and
// compares around each place.
type folded struct {
	text   []rune // each the least of its orbit
	offset int    // bytes from the start of a match to the anchor
	leads  []byte // first bytes of the anchor's forms
	places []int  // next place of each lead in the buffer, -1 unknown
}

// newFolded returns nil when no character of text makes a good anchor.
func newFolded(text string) *folded {
	f := &folded{}
	best, offset := 0.0, 0
	fixed := true // whether all characters so far have one width
	for _, r := range text {
		forms := orbit(r)
		f.text = append(f.text, forms[0])
		if fixed {
			var leads []byte
			share := 0.0
			for _, form := range forms {
				lead := utf8.AppendRune(nil, form)[0]
				if !slices.Contains(leads, lead) {
					leads = append(leads, lead)
					share += byteShare(lead)
				}
			}
			if len(leads) <= 3 && (f.leads == nil || share < best) {
				f.leads, f.offset, best = leads, offset, share
			}
		}
		offset += utf8.RuneLen(r)
		for _, form := range forms {
			fixed = fixed && utf8.RuneLen(form) == utf8.RuneLen(r)
		}
	}
	if f.leads == nil {
		return nil
	}
	f.reset()
	return f
}

func (f *folded) reset() {
	f.places = f.places[:0]
	for range f.leads {
		f.places = append(f.places, -1)
	}
}

func (f *folded) fork() finder {
	c := *f
	c.places = nil
	c.reset()
	return &c
}

func (f *folded) next(buf []byte, from int) int {
	at := from + f.offset
	for {
		least := len(buf)
		for k, lead := range f.leads {
			if f.places[k] < at {
				f.places[k] = len(buf)
				if at < len(buf) {
					if n := bytes.IndexByte(buf[at:], lead); n >= 0 {
						f.places[k] = at + n
					}
				}
			}
			least = min(least, f.places[k])
		}
		if least == len(buf) {
			return -1
		}
		if start := least - f.offset; f.width(buf, start) >= 0 {
			return start
		}
		at = least + 1
	}
}

// width is -1 where the text does not stand at i.
func (f *folded) width(buf []byte, i int) int {
	start := i
	for _, want := range f.text {
		if i >= len(buf) {
			return -1
		}
		r, size := rune(buf[i]), 1
		if r >= 0x80 {
			if r, size = utf8.DecodeRune(buf[i:]); r == utf8.RuneError && size == 1 {
				return -1
			}
		}
		if r != want && foldLeast(r) != want {
			return -1
		}
		i += size
	}
	return i - start
}

// foldLeast is the least character that r folds to.
func foldLeast(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r
	}
	if 'a' <= r && r <= 'z' {
		// The orbits of k and s have a member above ASCII; capitals are the
		// least in each.
		return r - ('a' - 'A')
	}
	if r < 0x80 {
		return r
	}
	return orbit(r)[0]
}

// orbit lists the characters that are equal to r under simple folding, the
// least first.
func orbit(r rune) []rune {
	out := []rune{r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// anyOf finds the first of several texts.
type anyOf struct {
	finders []finder
	places  []int
	asked   bool
}

func newAnyOf(finders []finder) *anyOf {
	return &anyOf{finders: finders, places: make([]int, len(finders))}
}

func (a *anyOf) reset() {
	a.asked = false
	for _, f := range a.finders {
		f.reset()
	}
}

func (a *anyOf) fork() finder {
	c := newAnyOf(make([]finder, len(a.finders)))
	for i, f := range a.finders {
		c.finders[i] = f.fork()
	}
	return c
}

func (a *anyOf) next(buf []byte, from int) int {
	least := -1
	for i, f := range a.finders {
		if !a.asked || a.places[i] >= 0 && a.places[i] < from {
			a.places[i] = f.next(buf, from)
		}
		if p := a.places[i]; p >= 0 && (least < 0 || p < least) {
			least = p
		}
	}
	a.asked = true
	return least
}

func (a *anyOf) width(buf []byte, i int) int {
	for k, f := range a.finders {
		if a.places[k] == i {
			return f.width(buf, i)
		}
	}
	return 0
}
