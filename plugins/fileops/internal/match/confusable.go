package match

// confusables maps characters to the ASCII character they are taken for:
// typographic quotes, dashes, special spaces, some CJK punctuation. Full-width
// forms are computed in foldRune.
var confusables = map[rune]rune{
	'\u2018': '\'', '\u2019': '\'', '\u201a': '\'', '\u201b': '\'', '\u2032': '\'', '\u2035': '\'', '\u02bc': '\'', '\u00b4': '\'',
	'\u201c': '"', '\u201d': '"', '\u201e': '"', '\u201f': '"', '\u2033': '"', '\u2036': '"', '\u00ab': '"', '\u00bb': '"',
	'\u2010': '-', '\u2011': '-', '\u2012': '-', '\u2013': '-', '\u2014': '-', '\u2015': '-', '\u2212': '-', '\ufe58': '-', '\ufe63': '-',
	'\u00a0': ' ', '\u2000': ' ', '\u2001': ' ', '\u2002': ' ', '\u2003': ' ', '\u2004': ' ', '\u2005': ' ', '\u2006': ' ',
	'\u2007': ' ', '\u2008': ' ', '\u2009': ' ', '\u200a': ' ', '\u202f': ' ', '\u205f': ' ', '\u3000': ' ',
	'\u3001': ',', '\u3002': '.',
}

// fullWidth is the distance between a full-width form and its ASCII character.
const fullWidth = 0xFEE0

// foldRune returns the ASCII character that r is taken for, or r. Of the
// full-width forms only punctuation is folded, not letters and digits.
func foldRune(r rune) rune {
	if r < 0x80 {
		return r
	}
	if r > 0xFF00 && r < 0xFF5F {
		if a := r - fullWidth; !alphanumeric(a) {
			return a
		}
		return r
	}
	if a, ok := confusables[r]; ok {
		return a
	}
	return r
}

func alphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// foldTarget reports whether another character may be taken for r.
func foldTarget(r rune) bool {
	return r == ' ' || r > ' ' && r < 0x7F && !alphanumeric(r)
}
