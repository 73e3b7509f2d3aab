// Package near finds the word that somebody probably meant.
package near

import "unicode/utf8"

// Miss returns the candidate closest to word, or "" when none is close: the
// edit distance, with a swap of neighbours as one edit, must be at most a
// third of the word's length and at least one edit is always forgiven. Of
// equally close ones the first wins.
func Miss(word string, candidates []string) string {
	limit := max(1, utf8.RuneCountInString(word)/3)
	best, distance := "", limit+1
	for _, c := range candidates {
		if d := edits([]rune(word), []rune(c)); d < distance {
			best, distance = c, d
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
