package doc

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// checkTree checks what callers rely on: spans lie inside their parents, in
// order, and every entry has a value.
func checkTree(t *testing.T, src string, n *Node, low, high int) {
	t.Helper()
	if n.Outer() < low || n.Start < n.Outer() || n.End < n.Start || n.End > high {
		t.Fatalf("span %d..%d..%d of a %s is not inside %d..%d\n%q", n.Outer(), n.Start, n.End, n.Kind, low, high, src)
	}
	if (n.Style == Empty) != (n.Start == n.End && n.Kind == Scalar) {
		t.Fatalf("an empty node with a text, or a text without one: %+v\n%q", n, src)
	}
	at := n.Start
	for _, e := range n.Entries {
		if e.Value == nil || (e.Key == nil) != (n.Kind == Sequence) {
			t.Fatalf("entry without value or key in a %s\n%q", n.Kind, src)
		}
		if e.Start < at || e.End() > n.End {
			t.Fatalf("entry %d..%d is out of place in %d..%d\n%q", e.Start, e.End(), at, n.End, src)
		}
		if e.Key != nil {
			checkTree(t, src, e.Key, e.Start, n.End)
		}
		checkTree(t, src, e.Value, e.Start, n.End)
		at = e.End()
	}
}

// FuzzJSON: the parser accepts what encoding/json accepts, but for duplicate
// keys, invalid UTF-8 and depth, and the strings are the same.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+3,"\u00e9\ud83d\ude00",true,false,null]}`, `[]`, ` "x" `, `{"a":1,"a":2}`, `"\ud800"`, "[1,]", "\ufeff1", `"\/\b"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		n, err := ParseJSON(src)
		text := strings.TrimPrefix(src, BOM)
		valid := json.Valid([]byte(text)) && utf8.ValidString(src)
		if err != nil {
			s, ok := AsSyntaxError(err)
			if !ok || s.Line < 1 || s.Column < 1 || s.Offset > len(src) {
				t.Fatalf("bad error %#v", err)
			}
			if valid && !strings.Contains(s.Message, "duplicate") && !strings.Contains(s.Message, "levels deep") {
				t.Fatalf("refused %q: %v", src, err)
			}
			return
		}
		if !valid {
			t.Fatalf("accepted %q", src)
		}
		checkTree(t, src, n, 0, len(src))
		dec := json.NewDecoder(bytes.NewReader([]byte(text)))
		dec.UseNumber()
		var want, got []string
		for {
			token, err := dec.Token()
			if err == io.EOF {
				break
			}
			if s, ok := token.(string); ok {
				want = append(want, s)
			}
		}
		var walk func(n *Node)
		walk = func(n *Node) {
			if n.Style == DoubleQuoted {
				s := n.Text
				if !utf8.ValidString(s) { // an unpaired surrogate
					if err := json.Unmarshal([]byte(src[n.Start:n.End]), &s); err != nil {
						t.Fatal(err)
					}
				}
				got = append(got, s)
			}
			for _, e := range n.Entries {
				if e.Key != nil {
					walk(e.Key)
				}
				walk(e.Value)
			}
		}
		walk(n)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("strings of %q (-want +got)\n%s", src, diff)
		}
	})
}

// FuzzYAML: no input makes the parser panic or hang, spans are sound, and a
// JSON text that is not ambiguous about its keys reads the same in YAML.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{
		"a: 1\nb:\n- x\n- {c: d}\n", "? a\n: b\n", "--- |\n x\n...\n", "&a [*a]", "a: &b\n  c: !t d\n", "%YAML 1.2\n---\n", "'a''b'", "\"a\\\n b\"", "- - - a\n    - b\n", "a: >-\n  x\n\n  y\n# c\n", "\ufeffa: 1", "[a: b, ? c]", "k:\r\n  - 1\r\n", "{a, b: }", "- ! a\n-\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		docs, err := ParseYAML(src)
		if err != nil {
			s, ok := AsSyntaxError(err)
			if !ok || s.Line < 1 || s.Column < 1 || s.Offset > len(src) {
				t.Fatalf("bad error %#v", err)
			}
			return
		}
		low := 0
		for _, d := range docs {
			checkTree(t, src, d.Root, low, len(src))
			low = d.Root.End
		}
	})
}

// TestDeepAndLong: hostile shapes end with an error or soon.
func TestDeepAndLong(t *testing.T) {
	for name, src := range map[string]string{
		"brackets":       strings.Repeat("[", 1<<20),
		"braces":         strings.Repeat("{a: ", 1<<18),
		"dashes":         strings.Repeat("- ", 1<<18),
		"questions":      strings.Repeat("? ", 1<<18),
		"braces in keys": strings.Repeat("{", 5000) + strings.Repeat("}: 1", 5000),
	} {
		if _, err := ParseYAML(src); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, src := range map[string]string{
		"long line":  "a: " + strings.Repeat("x ", 1<<20),
		"many lines": "a: " + strings.Repeat("\n  x", 1<<16),
		"many keys":  strings.Repeat("\n", 1<<16) + manyKeys(1<<16),
		"comments":   strings.Repeat("# c\n", 1<<18),
		"quoted":     "'" + strings.Repeat("x \n ", 1<<18) + "'",
	} {
		if _, err := ParseYAML(src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strings.Repeat("x", i%7) + string(rune('0'+i%10)) + "-" + strings.Repeat("y", i/10000) + itoa(i) + ": v\n")
	}
	return b.String()
}

func itoa(i int) string {
	b, _ := json.Marshal(i)
	return string(b)
}

func BenchmarkParseJSON(b *testing.B) {
	src := "[" + strings.Repeat(`{"id": 12345, "name": "some name", "tags": ["a", "b"], "on": true},`, 80000) + "null]"
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := ParseJSON(src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseYAML(b *testing.B) {
	src := strings.Repeat("- id: 12345\n  name: \"some name\"\n  tags: [a, b] # tags\n  text: |\n    one\n    two\n", 10000)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := ParseYAML(src); err != nil {
			b.Fatal(err)
		}
	}
}
