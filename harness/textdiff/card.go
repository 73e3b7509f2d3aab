package textdiff

import (
	"fmt"
	"strings"
)

// cardContext is the number of context lines on each side of a card.
const cardContext = 3

// Card is one hunk of a change as tools report it, for people and for replay.
//
// Both texts are the lines of the hunk, context included, joined by line feeds
// and without the final one. OldText is null when there was no text before.
// NewText is "" when nothing is left.
//
// Cards carry no positions. They are applied in order: a card replaces the
// first occurrence of its OldText, searched for from the line behind the
// previous card's place. A null OldText makes NewText the whole text, and an
// empty NewText makes the whole text empty. [Cards] takes care that this gives
// the new text to the byte:
//
//   - Context is three lines, and more where the old text with three lines
//     occurs earlier, too.
//   - A final line feed that only one of the texts has is part of that text:
//     "a" to "a\n" is the card "a", "a\n".
//   - A text that becomes one empty line is not mistaken for no text at all:
//     "a\n" to "\n" is the card "a\n", "\n".
//
// One thing cannot be told from the cards: whether a text that was inserted
// into nothing ends in a line feed.
type Card struct {
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
}

// Cards returns what turns before into after, one card per hunk. Equal texts
// give an empty list that is not nil, so that it is [] in JSON. The texts of
// the cards share memory with before and after.
func Cards(path, before, after string) []Card {
	a, b := newSides(before, after)
	all := groups(a, b, changes(a, b), cardContext)
	cards := make([]Card, 0, len(all))
	done := 0 // Line of the old text where the previous card ends.
	for i, g := range all {
		stop := a.total
		if i+1 < len(all) {
			stop = all[i+1].a0
		}
		card := Card{Path: path}
		for {
			oldText, newText := cardTexts(a.slice(g.a0, g.a1), b.slice(g.b0, g.b1))
			card.OldText, card.NewText = &oldText, newText
			if before == "" {
				card.OldText = nil
			}
			at := a.offset(g.a0)
			if g.a0 == done || strings.Index(before[a.offset(done):at+len(oldText)], oldText) == at-a.offset(done) {
				break
			}
			// Doubling bounds the number of tries; with all the lines from
			// the previous card's end the place is certain.
			lead := min(g.a1-g.a0, g.a0-done)
			trail := min(g.a1-g.a0, stop-g.a1)
			g.a0, g.b0, g.a1, g.b1 = g.a0-lead, g.b0-lead, g.a1+trail, g.b1+trail
		}
		done = g.a1
		cards = append(cards, card)
	}
	return cards
}

// cardTexts takes the final line feed off whole lines where that loses
// nothing.
func cardTexts(oldText, newText string) (string, string) {
	o, oldEnds := strings.CutSuffix(oldText, "\n")
	n, newEnds := strings.CutSuffix(newText, "\n")
	switch {
	case newText == "":
		return o, n
	case n != "" && (oldText == "" || oldEnds && newEnds):
		return o, n
	default:
		return oldText, newText
	}
}

// ApplyCards carries out cards on the text they were made from and returns the
// new text; see [Card] for how and for what it cannot know. A card that has no
// place gives an error that wraps [ErrMismatch] and names the card, counted
// from 1.
func ApplyCards(before string, cards []Card) (string, error) {
	var out strings.Builder
	at := 0
	for i, c := range cards {
		if c.OldText == nil || c.NewText == "" {
			whole := ""
			if c.OldText != nil {
				whole = *c.OldText
			}
			if len(cards) != 1 || before != whole && before != whole+"\n" {
				return "", fmt.Errorf("card %d replaces the whole text: %w", i+1, ErrMismatch)
			}
			return c.NewText, nil
		}
		from := strings.Index(before[at:], *c.OldText)
		if from < 0 {
			return "", fmt.Errorf("card %d of %d: %w", i+1, len(cards), ErrMismatch)
		}
		out.WriteString(before[at : at+from])
		out.WriteString(c.NewText)
		at += from + len(*c.OldText)
		if i+1 < len(cards) && at < len(before) && before[at] == '\n' {
			out.WriteByte('\n')
			at++
		}
	}
	out.WriteString(before[at:])
	return out.String(), nil
}
