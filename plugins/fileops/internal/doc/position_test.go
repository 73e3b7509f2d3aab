package doc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline shows the spans of a tree: for each node its kind, style, properties
// and the text it covers.
func outline(src string, n *Node, depth int, b *strings.Builder) {
	style := [...]string{"empty", "plain", "single", "double", "literal", "folded", "block", "flow", "pair"}[n.Style]
	props := ""
	if n.Props != nil {
		props = " " + src[n.Props.Start:n.Props.End]
	}
	fmt.Fprintf(b, "%s%s %s%s %q\n", strings.Repeat("  ", depth), n.Kind, style, props, src[n.Start:n.End])
	for _, e := range n.Entries {
		if e.Key != nil {
			outline(src, e.Key, depth+1, b)
		}
		outline(src, e.Value, depth+1, b)
	}
}

// TestSpans: the bytes that nodes cover, which is what callers splice.
func TestSpans(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"comments and blank lines are outside", "# c\na:   1  # one\n\n# d\nb: x y\n   z # two\n", `
mapping block "a:   1  # one\n\n# d\nb: x y\n   z"
  scalar plain "a"
  scalar plain "1"
  scalar plain "b"
  scalar plain "x y\n   z"
`},
		{"properties are before", "a: &x !t\n  - 1\nb: *x\n", `
mapping block "a: &x !t\n  - 1\nb: *x"
  scalar plain "a"
  sequence block &x !t "- 1"
    scalar plain "1"
  scalar plain "b"
  alias plain "*x"
`},
		{"block scalars end with their last line", "a: |\n  x\n\n# c\nb: >+\n  y\n\nc:\n", `
mapping block "a: |\n  x\n\n# c\nb: >+\n  y\n\nc:"
  scalar plain "a"
  scalar literal "|\n  x"
  scalar plain "b"
  scalar folded ">+\n  y\n"
  scalar plain "c"
  scalar empty ""
`},
		{"flow", "[a: b, {'c': \"d\", e}, ]\n", `
sequence flow "[a: b, {'c': \"d\", e}, ]"
  mapping pair "a: b"
    scalar plain "a"
    scalar plain "b"
  mapping flow "{'c': \"d\", e}"
    scalar single "'c'"
    scalar double "\"d\""
    scalar plain "e"
    scalar empty ""
`},
		{"compact", "- - a\n  - b\n- ? k\n  : v\n", `
sequence block "- - a\n  - b\n- ? k\n  : v"
  sequence block "- a\n  - b"
    scalar plain "a"
    scalar plain "b"
  mapping block "? k\n  : v"
    scalar plain "k"
    scalar plain "v"
`},
		{"CRLF and a byte-order mark", "\ufeffa: |\r\n  x\r\nb: é\r\n", `
mapping block "a: |\r\n  x\r\nb: é"
  scalar plain "a"
  scalar literal "|\r\n  x"
  scalar plain "b"
  scalar plain "é"
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs, err := ParseYAML(c.src)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			b.WriteByte('\n')
			outline(c.src, docs[0].Root, 0, &b)
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPosition(t *testing.T) {
	const src = "\ufeffaé\r\nb\rc\nd"
	for offset, want := range map[int][2]int{0: {1, 1}, 3: {1, 1}, 4: {1, 2}, 6: {1, 3}, 8: {2, 1}, 10: {3, 1}, 12: {4, 1}, 13: {4, 2}, 99: {4, 2}} {
		line, column := Position(src, offset)
		if got := [2]int{line, column}; got != want {
			t.Errorf("Position(%d) = %v, want %v", offset, got, want)
		}
	}
}

func TestResolvePlain(t *testing.T) {
	for text, want := range map[string]string{
		"": "1 ", "~": "1 ", "Null": "1 ", "nULL": "0 nULL", "true": "2 true", "FALSE": "2 false", "yes": "0 yes",
		"0": "3 0", "-0": "3 0", "+12": "3 12", "007": "3 7", "0x1F": "3 31", "0o17": "3 15", "0b1": "0 0b1", "1_000": "0 1_000",
		"12345678901234567890123": "3 12345678901234567890123", "1.": "4 1.", ".5": "4 .5", "-1E+3": "4 -1e+3", ".inf": "4 .inf", "-.INF": "4 -.inf", ".NaN": "4 .nan", "-.nan": "0 -.nan",
		".": "0 .", "1:20": "0 1:20", "2001-01-01": "0 2001-01-01", "0x": "0 0x", "1e": "0 1e",
	} {
		typ, canonical := ResolvePlain(text)
		if got := fmt.Sprintf("%d %s", typ, canonical); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
