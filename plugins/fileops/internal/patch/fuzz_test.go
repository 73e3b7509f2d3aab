package patch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// FuzzApply patches any text that parses, at every place it has. Whatever the
// text, nothing panics, the result parses, and the byte-order mark stays.
func FuzzApply(f *testing.F) {
	for _, s := range []string{
		"a: 1\nb:\n- x # c\n- {c: d}\n", "? a\n: b\n? c\n", "--- |\n x\n...\n", "a: &b\n  c: !t d\ne: *b\n", "'a''b'", "- - - a\n    - b\n",
		"a: >-\n  x\n\n  y\n# c\n", "\ufeffa: 1", "[a: b, ? c, {d, e: }]", "k:\r\n  - 1\r\n", "- ! a\n-\n", "{\n  \"a\": [1, 2],\n  \"b\": {}\n}", "a: # c\n  # d\n  b: 1", "x: !!map\n  y: 1", "&a a: &c\n  b",
	} {
		f.Add(s, `"v"`)
		f.Add(s, `{"k": [1, "two\nlines", {}]}`)
	}
	f.Fuzz(func(t *testing.T, src, value string) {
		if _, err := doc.ParseJSON(value); err != nil {
			return
		}
		for _, format := range []Format{JSON, YAML} {
			docs, err := parse(src, format)
			if err != nil || len(docs) == 0 {
				continue
			}
			for _, path := range paths(docs[0].Root, nil, nil) {
				for _, op := range []string{"set", "insert", "append", "remove"} {
					p := Patch{Op: op, Path: formatPointer(path), Value: json.RawMessage(value)}
					got, err := Apply(src, format, []Patch{p})
					if err != nil {
						continue
					}
					if _, err := parse(got, format); err != nil {
						t.Fatalf("%s %q: %v\n%q\n%q", op, p.Path, err, src, got)
					}
					if strings.HasPrefix(src, doc.BOM) != strings.HasPrefix(got, doc.BOM) {
						t.Fatalf("byte-order mark changed: %q %q", src, got)
					}
				}
			}
		}
	})
}

// paths returns pointers to up to 20 places of a tree and beside them.
func paths(n *doc.Node, prefix []string, list [][]string) [][]string {
	if len(list) > 20 {
		return list
	}
	list = append(list, prefix)
	for i, e := range n.Entries {
		token := string(rune('0' + i%10))
		if e.Key != nil {
			token = e.Key.Text
		}
		list = paths(e.Value, append(prefix[:len(prefix):len(prefix)], token), list)
	}
	return append(list, append(prefix[:len(prefix):len(prefix)], "new"))
}
