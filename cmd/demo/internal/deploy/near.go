package deploy

import "unicode/utf8"

// nearest returns the candidate that was probably meant by word, or "" when
// none is close: at most a third of the word, and at least one letter, may
// have to be changed, put in or taken out.
func nearest(word string, candidates []string) string {
	best, limit := "", max(1, utf8.RuneCountInString(word)/3)+1
	for _, c := range candidates {
		if d := distance([]rune(word), []rune(c)); d < limit {
			best, limit = c, d
		}
	}
	return best
}

// distance is the Levenshtein distance.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			above := row[j+1]
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, above+1)
			diagonal = above
		}
	}
	return row[len(b)]
}

// suggestion ends a message about a word that does not exist.
func suggestion(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return `; did you mean "` + near + `"?`
	}
	return ""
}
