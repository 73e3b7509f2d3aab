package vfs

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DisplayName returns a path or name as people and models may see it: control
// characters, characters that change the direction of text or are invisible,
// and bytes that are not UTF-8 are written as escapes, so that a name cannot
// pass for another or forge a line of output. Joiners (U+200C, U+200D) between
// letters or signs beyond ASCII stay, and one variation selector behind such a
// sign: Persian words, Han names and many emoji have them.
// Other names come back as they are.
func DisplayName(name string) string {
	if plain(name) {
		return name
	}
	var b strings.Builder
	before := utf8.RuneError
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		after, _ := utf8.DecodeRuneInString(name[i+size:])
		switch {
		case joiner(r) && (joinable(before) || selector(before)) && joinable(after), selects(r, before):
			b.WriteString(name[i : i+size])
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x`)
			b.WriteString(hexByte(name[i]))
		case hidden(r):
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteString(name[i : i+size])
		}
		i += size
		before = r
	}
	return b.String()
}

func plain(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < ' ' || c >= 0x7f {
			return utf8.ValidString(name) && strings.IndexFunc(name, hidden) < 0
		}
	}
	return true
}

// hidden reports whether r does not show itself: a control, format or private
// character, a line or paragraph separator, or one of the letters and marks that
// Unicode has rendered as nothing, such as the Hangul fillers
// (Default_Ignorable_Code_Point). Format characters (Cf) include all that change
// direction.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func selector(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

// selects reports whether r is a variation selector behind something that has
// variants: the two of emoji behind a sign, the others behind a Han character.
func selects(r, before rune) bool {
	switch {
	case !selector(r) || !joinable(before):
		return false
	case r == '\ufe0e' || r == '\ufe0f':
		return unicode.IsSymbol(before) || unicode.IsPunct(before)
	}
	return unicode.Is(unicode.Han, before)
}

func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joinable reports whether r is something that a joiner may join.
func joinable(r rune) bool { return r > unicode.MaxASCII && r != utf8.RuneError && !hidden(r) }

func hexByte(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// quote puts a displayed path in double quotes.
func quote(path string) string { return `"` + DisplayName(path) + `"` }
