package deploy

import "github.com/bridle-go/bridle/harness/near"

// suggestion ends a message about a word that does not exist.
func suggestion(word string, candidates []string) string {
	if meant := near.Miss(word, candidates); meant != "" {
		return `; did you mean "` + meant + `"?`
	}
	return ""
}
