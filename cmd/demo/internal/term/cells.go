package term

import (
	"unicode"

	"golang.org/x/text/width"
)

// Cells is how many columns of a terminal text takes up that [Visible] or
// [Line] has made safe: two for a character that is wide by Unicode Standard
// Annex #11, none for one that goes onto the character before it.
func Cells(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r < 0x300: // neither wide nor combining
			n++
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		default:
			n++
			if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
				n++
			}
		}
	}
	return n
}
