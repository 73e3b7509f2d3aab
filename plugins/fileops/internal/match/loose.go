package match

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// loose finds a text in a looser way than literally. It does not normalize the
// file: it looks for a run of the text that can only match itself, the anchor,
// and compares outwards from each place where that stands.
type loose struct {
	blanks bool // runs of blanks match each other
	fold   bool // confusable characters match

	want   []rune // what must match, normalized
	anchor string
	at     int // where in want the anchor begins, or the character tried instead
	size   int // its length in want, 0 where there is none
	counts *histogram
	// leading and trailing tell whether the text began or ended with blanks.
	leading, trailing bool
}

// newLoose prepares a search in a text with the given counts of bytes.
func newLoose(old string, blanks, fold bool, counts *histogram) *loose {
	l := &loose{blanks: blanks, fold: fold, counts: counts}
	old = strings.ReplaceAll(old, "\r\n", "\n")
	runes := []rune(old)
	if fold {
		for i, r := range runes {
			runes[i] = foldRune(r)
		}
	}
	if blanks {
		l.leading = len(runes) > 0 && isBlank(runes[0])
		l.trailing = len(runes) > 0 && isBlank(runes[len(runes)-1])
		runes = normalizeBlanks(runes)
	}
	l.want = runes
	l.findAnchor()
	return l
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// normalizeBlanks makes runs of blanks one space, and removes those at the
// beginning and the end of lines.
func normalizeBlanks(runes []rune) []rune {
	var out []rune
	pending := false
	for _, r := range runes {
		switch {
		case isBlank(r):
			pending = len(out) > 0 && out[len(out)-1] != '\n'
		case r == '\n':
			out = append(out, r)
			pending = false
		default:
			if pending {
				out = append(out, ' ')
			}
			out = append(out, r)
			pending = false
		}
	}
	return out
}

// findAnchor takes, of the runs of characters that match nothing but
// themselves, the one that the text has least often by its rarest byte, so that
// few places are compared. Where there is no such run, the rarest character is
// tried wherever it may stand.
func (l *loose) findAnchor() {
	best := -1
	for i := 0; i < len(l.want); {
		j := i
		for j < len(l.want) && l.solid(l.want[j]) {
			j++
		}
		if j > i {
			run := string(l.want[i:j])
			n := l.counts[run[l.counts.rarest(run)]]
			if best < 0 || n < best || n == best && j-i > l.size {
				best, l.at, l.size, l.anchor = n, i, j-i, run
			}
		}
		i = max(j, i+1)
	}
	if l.size > 0 {
		return
	}
	for i, r := range l.want {
		if isBlank(r) || r == '\n' || r == '\r' {
			continue
		}
		if n := l.counts[byte(r)]; best < 0 || n < best {
			best, l.at = n, i
		}
	}
}

func (l *loose) solid(r rune) bool {
	return r != '\n' && r != '\r' && !isBlank(r) && !(l.fold && foldTarget(r))
}

// all returns the places in text, ascending and without overlap.
func (l *loose) all(text []byte) []Range {
	if len(strings.TrimSpace(string(l.want))) == 0 {
		return nil
	}
	low := len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))
	var found []Range
	add := func(r Range, ok bool) {
		if ok && (len(found) == 0 || r.Start >= found[len(found)-1].End) {
			found = append(found, r)
		}
	}
	if l.size == 0 {
		for at := low; at < len(text); {
			r, n := utf8.DecodeRune(text[at:])
			if l.same(r, l.want[l.at]) {
				add(l.from(text, at, at, low))
			}
			at += n
		}
		return found
	}
	find := l.counts.finder(l.anchor)
	for at := low; ; {
		n := find.next(text[at:])
		if n < 0 {
			return found
		}
		at += n
		add(l.from(text, at, at+len(l.anchor), low))
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
}

// from compares outwards from the anchor, which stands at text[start:end].
func (l *loose) from(text []byte, start, end, low int) (Range, bool) {
	end, ok := l.forward(text, end, l.at+l.size)
	if !ok {
		return Range{}, false
	}
	start, ok = l.backward(text, start, l.at, low)
	return Range{Start: start, End: end}, ok
}

func (l *loose) same(r, want rune) bool {
	if l.fold {
		r = foldRune(r)
	}
	return r == want
}

// blankAt returns the length of the blank at the position, or 0.
func (l *loose) blankAt(text []byte, at int) int {
	if at >= len(text) {
		return 0
	}
	r, n := utf8.DecodeRune(text[at:])
	if isBlank(r) || l.fold && foldRune(r) == ' ' {
		return n
	}
	return 0
}

func (l *loose) blankBefore(text []byte, at, low int) int {
	if at <= low {
		return 0
	}
	r, n := utf8.DecodeLastRune(text[low:at])
	if isBlank(r) || l.fold && foldRune(r) == ' ' {
		return n
	}
	return 0
}

func (l *loose) skipBlanks(text []byte, at int) int {
	for n := l.blankAt(text, at); n > 0; n = l.blankAt(text, at) {
		at += n
	}
	return at
}

func (l *loose) skipBlanksBack(text []byte, at, low int) int {
	for n := l.blankBefore(text, at, low); n > 0; n = l.blankBefore(text, at, low) {
		at -= n
	}
	return at
}

// forward matches want[i:] from the position on.
func (l *loose) forward(text []byte, at, i int) (int, bool) {
	for ; i < len(l.want); i++ {
		switch w := l.want[i]; {
		case w == '\n':
			if l.blanks {
				at = l.skipBlanks(text, at)
			}
			if bytes.HasPrefix(text[at:], []byte("\r\n")) {
				at++
			} else if at >= len(text) || text[at] != '\n' {
				return 0, false
			}
			at++
			if l.blanks && i+1 < len(l.want) {
				at = l.skipBlanks(text, at)
			}
		case w == ' ' && l.blanks:
			next := l.skipBlanks(text, at)
			if next == at {
				return 0, false
			}
			at = next
		default:
			r, n := utf8.DecodeRune(text[at:])
			if n == 0 || !l.same(r, w) {
				return 0, false
			}
			at += n
		}
	}
	if l.trailing {
		end := l.skipBlanks(text, at)
		if end == at && end < len(text) && text[end] != '\n' && !bytes.HasPrefix(text[end:], []byte("\r\n")) && l.want[len(l.want)-1] != '\n' {
			return 0, false // the blank separates it from what follows
		}
		at = end
	}
	return at, true
}

// backward matches want[:i] up to the position.
func (l *loose) backward(text []byte, at, i, low int) (int, bool) {
	for i--; i >= 0; i-- {
		switch w := l.want[i]; {
		case w == '\n':
			if l.blanks {
				at = l.skipBlanksBack(text, at, low)
			}
			if at <= low || text[at-1] != '\n' {
				return 0, false
			}
			at--
			if at > low && text[at-1] == '\r' {
				at--
			}
			if l.blanks && i > 0 {
				at = l.skipBlanksBack(text, at, low)
			}
		case w == ' ' && l.blanks:
			next := l.skipBlanksBack(text, at, low)
			if next == at {
				return 0, false
			}
			at = next
		default:
			r, n := utf8.DecodeLastRune(text[low:at])
			if n == 0 || !l.same(r, w) {
				return 0, false
			}
			at -= n
		}
	}
	if l.leading {
		start := l.skipBlanksBack(text, at, low)
		if start == at && start > low && text[start-1] != '\n' && l.want[0] != '\n' {
			return 0, false // the blank separates it from what precedes
		}
		at = start
	}
	return at, true
}
