package gitignore_test

import (
	"fmt"

	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
)

// A walk from the root of a repository into the directory logs.
func Example() {
	rules := gitignore.Parse([]byte("*.log\n!keep.log\n/build/\n"), gitignore.Options{Source: ".gitignore"})
	root := gitignore.Root(map[gitignore.Kind]*gitignore.Rules{gitignore.GitIgnore: rules})
	logs := root.Enter("logs", nil)
	fmt.Println(root.Ignored("build", true), logs.Ignored("a.log", false), logs.Ignored("keep.log", false))
	m := logs.Explain("a.log", false)
	fmt.Printf("%s:%d: %s\n", m.Source, m.Line, m.Pattern)
	// Output:
	// true true false
	// .gitignore:1: *.log
}
