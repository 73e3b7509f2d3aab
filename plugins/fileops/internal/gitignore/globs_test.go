package gitignore

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGlobs(t *testing.T) {
	tests := []struct {
		name     string
		patterns []string
		use      Use
		match    string // a trailing slash marks a directory
		miss     string
	}{
		{"extension", []string{"*.rs"}, IncludeFiles, "a.rs d/a.rs", "a.rss a.go"},
		{"extension without the star", []string{".rs"}, IncludeFiles, "a.rs d/a.rs .rs", "a.go ars"},
		{"dotfile that is no extension", []string{".rs.x"}, IncludeFiles, ".rs.x", "a.rs.x"},
		{"braces", []string{"*.{ts,tsx}"}, IncludeFiles, "a.ts a.tsx", "a.js"},
		{"path", []string{"src/**/*.go"}, IncludeFiles, "src/a.go src/x/y/a.go", "a.go x/src/a.go"},
		{"dot slash is the root", []string{"./a.go"}, IncludeFiles, "a.go", "d/a.go"},
		{"directory keeps its files", []string{"src/"}, IncludeFiles, "src/a x/src/b/c", "src a/src.go"},
		{"directories only", []string{"*/"}, IncludeEntries, "a/ a/b/", "a a/b"},
		{"directories only, short", []string{"/"}, IncludeEntries, "a/ a/b/", "a a/b"},
		{"negation", []string{"*.go", "!*_test.go"}, IncludeFiles, "a.go", "a_test.go"},
		{"negations alone", []string{"!*.md"}, IncludeFiles, "a.go", "a.md"},
		{"hash is no comment", []string{"#x"}, IncludeFiles, "#x", "x"},
		{"exclude below", []string{"target/**"}, ExcludeEntries, "target/ target/a", "target x/target/ x/target/a"},
		{"exclude below anywhere", []string{"**/target/**"}, ExcludeEntries, "target/ x/target/ x/target/a", "x"},
		{"exclude with a way back", []string{"target/**", "!target/keep"}, ExcludeEntries, "target/a", "target/ target/keep"},
		{"exclude all", []string{"**"}, ExcludeEntries, "a b/", ""},
		{"exclude name", []string{"*.bak"}, ExcludeEntries, "a.bak d/a.bak", "a"},
		{"no list", nil, ExcludeEntries, "", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := NewGlobs(tt.patterns, tt.use)
			if err != nil {
				t.Fatal(err)
			}
			check := func(paths string, want bool) {
				for p := range strings.FieldsSeq(paths) {
					name, isDir := strings.CutSuffix(p, "/")
					if got := g.Match(name, isDir); got != want {
						t.Errorf("%q on %q: got %v, want %v", tt.patterns, p, got, want)
					}
				}
			}
			check(tt.match, true)
			check(tt.miss, false)
		})
	}
}

func TestGlobsRefuse(t *testing.T) {
	for _, p := range []string{"", "!", "a\x00", "[a", `a\`, strings.Repeat("{a,b}", 10)} {
		_, err := NewGlobs([]string{"ok", p}, IncludeFiles)
		var pe *PatternError
		if !errors.As(err, &pe) || pe.Index != 1 || pe.Pattern != p {
			t.Errorf("NewGlobs(%q): error %v, want a PatternError for entry 1", p, err)
		}
	}
}

func TestName(t *testing.T) {
	tests := []struct{ pattern, match, miss string }{
		{"*.rs", "a.rs .rs", "a.go"},
		{"?", "a é", "ab"},
		{"[é-ü]x", "üx", "ax"},
		{"[!a]*", "b bc", "a ab"},
		{"{a,b{c,d}}.go", "a.go bc.go bd.go", "b.go"},
		{"{a}", "{a}", "a"},
		{"{a", "{a", "a"},
		{`\{a,b\}`, "{a,b}", "a"},
		{"[{]x", "{x", "x"},
		{"a**b", "axxb ab", "a"},
	}
	for _, tt := range tests {
		n, err := NewName(tt.pattern)
		if err != nil {
			t.Errorf("NewName(%q): %v", tt.pattern, err)
			continue
		}
		for name := range strings.FieldsSeq(tt.match) {
			if !n.Match(name) {
				t.Errorf("%q does not match %q", tt.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(tt.miss) {
			if n.Match(name) {
				t.Errorf("%q matches %q", tt.pattern, name)
			}
		}
	}
	for _, p := range []string{"", "a/b", "[a", strings.Repeat("{a,b}", 20)} {
		if _, err := NewName(p); err == nil {
			t.Errorf("NewName(%q) succeeds", p)
		}
	}
}

func TestExpandBraces(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"a", []string{"a"}},
		{"{a,b}", []string{"a", "b"}},
		{"x{a,}y", []string{"xay", "xy"}},
		{"{a,b}{1,2}", []string{"a1", "a2", "b1", "b2"}},
		{"{a,{b,c}d}", []string{"a", "bd", "cd"}},
		{"{x{a,b}}", []string{"{xa}", "{xb}"}},
		{"{a,b", []string{"{a,b"}},
		{"a,b}", []string{"a,b}"}},
		{`{a\,b}`, []string{`{a\,b}`}},
		{"{[,],b}", []string{"[,]", "b"}},
	}
	for _, tt := range tests {
		got, ok := expandBraces(tt.in, 100)
		if !ok {
			t.Errorf("expandBraces(%q) gives up", tt.in)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("expandBraces(%q) (-want +got):\n%s", tt.in, d)
		}
	}
	if _, ok := expandBraces(strings.Repeat("{a,b,c}", 300), 1000); ok {
		t.Error("a product of 3^300 is accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a\n!b/\n[[:x]\n{a,{b,c}"), "a/b")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		if len(data) > 1000 || len(path) > 1000 {
			return
		}
		for _, fold := range []bool{false, true} {
			Root(map[Kind]*Rules{GitIgnore: Parse(data, Options{FoldCase: fold})}).Explain(path, true)
		}
		if g, err := NewGlobs([]string{string(data)}, IncludeFiles); err == nil {
			g.Match(path, false)
		}
		if n, err := NewName(string(data)); err == nil {
			n.Match(path)
		}
	})
}
