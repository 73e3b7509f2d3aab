package match_test

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/plugins/fileops/internal/match"
)

func ExampleApply() {
	before := []byte("func f() {\n\tx := 1\n\ty := \t2\n}\n")
	edits := []match.Replacement{{Old: "x := 1", New: "x := 10"}, {Old: "y := 2", New: "y := 20"}}

	_, err := match.Apply(context.Background(), before, edits, match.Options{})
	fmt.Println(err)

	result, err := match.Apply(context.Background(), before, edits, match.Options{IgnoreWhitespace: true})
	fmt.Println(result.Mode, result.Occurrences, err)
	snippets, _ := match.Snippets(result.After, result.Changes, 0)
	fmt.Println(snippets[0].Text)
	// Output:
	// replacement 1: old_content was not found; line 3 differs from it in blanks only: copy the text from there, or set ignore_whitespace
	// whitespace_normalized 2 <nil>
	// 2 	x := 10
	// 3 	y := 20
}
