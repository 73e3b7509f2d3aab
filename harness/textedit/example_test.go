package textedit_test

import (
	"errors"
	"fmt"

	"github.com/bridle-go/bridle/harness/textedit"
)

func ExampleApply() {
	file := []byte("one\r\ntwo  \nthree")
	got, err := textedit.Apply(file, "one\ntwo", "1\n2", false)
	fmt.Printf("%q %v\n", got.After, err)

	_, err = textedit.Apply(file, "e", "E", false)
	var ambiguous *textedit.AmbiguousError
	if errors.As(err, &ambiguous) {
		fmt.Println(ambiguous.Count, ambiguous.Lines)
	}
	// Output:
	// "1\r\n2  \nthree" <nil>
	// 3 [1 3]
}
