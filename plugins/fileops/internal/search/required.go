package search

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// need is one text of a set of which at least one must occur in every match.
type need struct {
	text string
	fold bool
}

// maxNeeds bounds a set: each member costs a pass over the buffer.
const maxNeeds = 6

// prefilter returns a finder for texts of which one occurs in every match of
// the expression, or nil when there is none that is rare enough to help.
func prefilter(re *syntax.Regexp, lineMode bool) finder {
	set := required(re, lineMode)
	if len(set) == 0 {
		return nil
	}
	var finders []finder
	share := 0.0
	for _, n := range set {
		share += n.share()
		if !n.fold {
			finders = append(finders, newExact(n.text))
			continue
		}
		f := newFolded(n.text)
		if f == nil {
			return nil
		}
		finders = append(finders, f)
	}
	// A candidate costs a look at its line; beyond about one in every second
	// line it is better to look at everything once.
	if share > 0.015 {
		return nil
	}
	if len(finders) == 1 {
		return finders[0]
	}
	return newAnyOf(finders)
}

// share estimates the share of places where the text begins. Bytes of real
// text are far from independent, so only the rarest counts, with a bonus for
// length.
func (n need) share() float64 {
	least := 1.0
	for _, r := range n.text {
		s := 0.0
		forms := []rune{r}
		if n.fold {
			forms = orbit(r)
		}
		for _, form := range forms {
			s += byteShare(utf8.AppendRune(nil, form)[0])
		}
		least = min(least, s)
	}
	return least / float64(len(n.text)*len(n.text))
}

// required finds the best set of texts of which one must occur; nil when
// nothing can be said.
func required(re *syntax.Regexp, lineMode bool) []need {
	switch re.Op {
	case syntax.OpLiteral:
		return literalNeeds(re, lineMode)
	case syntax.OpCharClass:
		var set []need
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if len(set) == 3 || r == utf8.RuneError || lineMode && r == '\n' {
					return nil
				}
				set = append(set, need{text: string(r)})
			}
		}
		return set
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0], lineMode)
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0], lineMode)
		}
	case syntax.OpConcat:
		var best []need
		for _, sub := range re.Sub {
			if set := required(sub, lineMode); better(set, best) {
				best = set
			}
		}
		return best
	case syntax.OpAlternate:
		var all []need
		for _, sub := range re.Sub {
			set := required(sub, lineMode)
			if set == nil {
				return nil
			}
			for _, n := range set {
				if !slices.Contains(all, n) {
					all = append(all, n)
				}
			}
			if len(all) > maxNeeds {
				return nil
			}
		}
		return all
	}
	return nil
}

func literalNeeds(re *syntax.Regexp, lineMode bool) []need {
	for _, r := range re.Rune {
		// U+FFFD also stands for bytes that are not UTF-8, and a text with a
		// line feed is nowhere in a line.
		if r == utf8.RuneError || !utf8.ValidRune(r) || lineMode && r == '\n' {
			return nil
		}
	}
	n := need{text: string(re.Rune)}
	if re.Flags&syntax.FoldCase != 0 {
		for _, r := range re.Rune {
			n.fold = n.fold || len(orbit(r)) > 1
		}
	}
	return []need{n}
}

func better(a, b []need) bool {
	if a == nil || b == nil {
		return a != nil
	}
	total := func(set []need) (s float64) {
		for _, n := range set {
			s += n.share()
		}
		return s
	}
	return total(a) < total(b)
}
