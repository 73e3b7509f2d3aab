// Package near finds the word that somebody probably meant, for errors that
// say so.
package near

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxWord bounds the characters of a word that is looked at. A longer one is
// no misspelling of anything.
const maxWord = 100

// Miss returns the candidate closest to word, or "" when none is close. One
// that differs in case alone is taken at once. Otherwise the edit distance,
// case aside and with a swap of neighbours as one edit, must be at most a third
// of the word's length; one edit is always forgiven. Of equally close
// candidates the first wins.
func Miss(word string, candidates []string) string {
	if i := slices.IndexFunc(candidates, func(c string) bool { return strings.EqualFold(c, word) }); i >= 0 {
		return candidates[i]
	}
	length := utf8.RuneCountInString(word)
	if length > maxWord {
		return ""
	}
	best, least := "", max(1, length/3)+1
	w := []rune(strings.ToLower(word))
	for _, c := range candidates {
		if utf8.RuneCountInString(c) > maxWord {
			continue
		}
		if d := edits(w, []rune(strings.ToLower(c))); d < least {
			best, least = c, d
		}
	}
	return best
}

// edits is the optimal string alignment distance.
func edits(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
