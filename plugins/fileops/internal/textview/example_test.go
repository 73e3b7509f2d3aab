package textview_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/plugins/fileops/internal/textview"
)

// A range of lines knows about the whole file.
func ExampleRead() {
	text := "alpha\nbeta\ngamma\n"
	v, err := textview.Read(context.Background(), strings.NewReader(text), int64(len(text)), textview.Request{StartLine: 2, EndLine: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\nof %d lines, end of file: %v\n", v.Content, v.TotalLines, v.EOF)
	// Output:
	// 2 beta
	// of 3 lines, end of file: false
}
