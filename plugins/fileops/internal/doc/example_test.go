package doc_test

import (
	"fmt"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

func ExampleParseYAML() {
	const text = "name: demo # the name\nport: 8080\n"
	docs, err := doc.ParseYAML(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range docs[0].Root.Entries {
		fmt.Printf("%s = %q\n", e.Key.Text, text[e.Value.Start:e.Value.End])
	}
	_, err = doc.ParseYAML("a: 1\n b: 2\n")
	fmt.Println(err)
	// Output:
	// name = "demo"
	// port = "8080"
	// line 2, column 3: a mapping is not allowed here: by its indentation this line continues the text that begins on line 1
}
