package patch_test

import (
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/plugins/fileops/internal/patch"
)

func ExampleApply() {
	const text = `# service
port: 8080   # public
hosts:
- a.example # first
`
	after, err := patch.Apply(text, patch.YAML, []patch.Patch{
		{Op: "set", Path: "/port", Value: json.RawMessage(`9090`)},
		{Op: "append", Path: "/hosts", Value: json.RawMessage(`"b.example"`)},
		{Op: "set", Path: "/tls", Value: json.RawMessage(`{"cert": "c.pem", "hsts": true}`)},
	})
	fmt.Print(after, err, "\n")
	_, err = patch.Apply(text, patch.YAML, []patch.Patch{{Op: "remove", Path: "/hosts/1"}})
	fmt.Println(err)
	// Output:
	// # service
	// port: 9090   # public
	// hosts:
	// - a.example # first
	// - b.example
	// tls:
	//   cert: c.pem
	//   hsts: true
	// <nil>
	// patch 0 (remove "/hosts/1"): "/hosts" has no item 1: it has 1 items, counted from 0
}
