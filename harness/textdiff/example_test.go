package textdiff_test

import (
	"fmt"

	"github.com/bridle-go/bridle/harness/textdiff"
)

func ExampleUnified() {
	text, _ := textdiff.Unified("a/list.txt", "b/list.txt", "alpha\nbeta\ngamma\n", "alpha\nBETA\ngamma", 3, 0)
	fmt.Print(text)
	// Output:
	// --- a/list.txt
	// +++ b/list.txt
	// @@ -1,3 +1,3 @@
	//  alpha
	// -beta
	// -gamma
	// +BETA
	// +gamma
	// \ No newline at end of file
}

func ExampleCards() {
	before, after := "keep\ndrop\nkeep2\n", "keep\nkeep2\n"
	cards := textdiff.Cards("list.txt", before, after)
	for _, c := range cards {
		fmt.Printf("%q -> %q\n", *c.OldText, c.NewText)
	}
	again, err := textdiff.ApplyCards(before, cards)
	fmt.Println(again == after, err)
	// Output:
	// "keep\ndrop\nkeep2" -> "keep\nkeep2"
	// true <nil>
}

func ExampleChangedRanges() {
	ranges := textdiff.ChangedRanges("a\nb\nc\nd\n", "a\nB\nc\nd\ne\nf\n")
	fmt.Println(textdiff.FormatRanges(ranges, 10))
	// Output:
	// lines 2, 5-6
}
