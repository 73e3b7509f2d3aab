package gitignore

import (
	"fmt"
	"strings"
	"testing"
)

// TestPatterns is the readable account of what one pattern matches. A path
// that ends in '/' is a directory.
func TestPatterns(t *testing.T) {
	tests := []struct {
		pattern string
		match   string // separated by blanks
		miss    string
	}{
		{"foo", "foo foo/ a/foo a/b/foo/", "foox xfoo Foo"},
		{"foo/", "foo/ a/foo/", "foo a/foo"},
		{"/foo", "foo foo/", "a/foo"},
		{"a/foo", "a/foo", "foo b/a/foo a/b/foo"},
		{"a/foo/", "a/foo/", "a/foo"},
		{"*.log", "x.log .log a/b.log x.y.log", "xlog x.log2"},
		{"*log", "log xlog a/x.log", "logx"},
		{"a*", "a ab a/", "ba"},
		{"a*c", "ac abc abbc", "abcd a/c"},
		{"a?c", "abc", "ac abbc a/c"},
		{"?", "x", "xy é"},
		{"??", "xy é", "x"},
		{"a/*", "a/b a/.b a/b/", "a/b/c"},
		{"a/*/c", "a/b/c", "a/c a/b/b/c"},
		{"a/**", "a/b a/b/c a/b/", "a a/"},
		{"**/a", "a b/a b/c/a", "ab"},
		{"**/a/b", "a/b c/a/b", "a/c/b"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb"},
		{"a/**b", "a/b a/xb", "a/x/b"},
		{"a/x**/b", "a/xy/b a/x/b a/xy/z/b a/x/z/b", "a/b"},
		{"**", "a a/b", ""},
		{"**/", "a/ a/b/", "a a/b"},
		{"a**b/c", "axb/c ab/c", "a/b/c"},
		{"[ab]", "a b", "c ab"},
		{"[!ab]", "c", "a b"},
		{"[^ab]", "c", "a b"},
		{"[a-c]x", "ax cx", "dx"},
		{"[]-]", "] -", "a"},
		{"[a-]", "a -", "b"},
		{`[\]]`, "]", `\`},
		{`[a\-c]`, "a - c", "b"},
		{"[[:digit:]]x", "1x", "ax"},
		{"[![:upper:]]", "a 1", "A"},
		{"[[:nope:]]", "", "n : p"},
		{"[a", "", "[a a"},
		{"a/[/]b", "", "a//b a/b"},
		{`\#a`, "#a", "a"},
		{`\!a`, "!a", "a"},
		{"#a", "", "#a a"},
		{`a\`, "", `a a\`},
		{`a\*`, "a*", "ab"},
		{`\a`, "a", `\a`},
		{"a ", "a", ""},
		{`a\ `, "", "a"},
		{"a\t", "", "a"},
		{"a\r", "", "a"},
		{"/", "", "a a/"},
		{"//a", "", "a"},
		{"a//b", "", "a/b"},
		{"", "", "a"},
		{"{a,b}", "{a,b}", "a b"},
	}
	for _, tt := range tests {
		rules := Parse([]byte(tt.pattern+"\n"), Options{})
		if tt.pattern == "a\r" {
			// A CR counts as content unless the line feed follows.
			rules = Parse([]byte("a\rx\n"), Options{})
		}
		check := func(paths string, want bool) {
			for path := range strings.FieldsSeq(paths) {
				name, isDir := strings.CutSuffix(path, "/")
				leaf := name[strings.LastIndexByte(name, '/')+1:]
				if got := rules.find(name, leaf, isDir) != nil; got != want {
					t.Errorf("pattern %q, path %q: match = %v, want %v", tt.pattern, path, got, want)
				}
			}
		}
		check(tt.match, true)
		check(tt.miss, false)
	}
}

func TestParseFile(t *testing.T) {
	rules := Parse([]byte("\xef\xbb\xbfbom\r\n# comment\r\n\r\n!neg \r\nlast"), Options{Source: ".gitignore"})
	root := Root(map[Kind]*Rules{GitIgnore: rules})
	for name, want := range map[string]Match{
		"bom":       {Ignored: true, Source: ".gitignore", Line: 1, Pattern: "bom"},
		"neg":       {Ignored: false, Source: ".gitignore", Line: 4, Pattern: "!neg"},
		"last":      {Ignored: true, Source: ".gitignore", Line: 5, Pattern: "last"},
		"# comment": {},
	} {
		if got := root.Explain(name, false); got != want {
			t.Errorf("Explain(%q) = %+v, want %+v", name, got, want)
		}
	}
	if rules.Len() != 3 {
		t.Errorf("Len = %d, want 3", rules.Len())
	}
}

func TestLastLineWins(t *testing.T) {
	// One pattern of each group of the index, each overruling the one before.
	lines := []string{"a.log", "!*.log", "a*", "!/a.log", "a.log/", "!a.?og", "*.log"}
	for n := 1; n <= len(lines); n++ {
		root := Root(map[Kind]*Rules{GitIgnore: Parse([]byte(strings.Join(lines[:n], "\n")), Options{})})
		want := !strings.HasPrefix(lines[n-1], "!")
		if lines[n-1] == "a.log/" {
			want = false // for a file, the line before stays in force
		}
		if got := root.Ignored("a.log", false); got != want {
			t.Errorf("after %q: ignored = %v, want %v", lines[:n], got, want)
		}
	}
}

func TestDirPrecedence(t *testing.T) {
	parse := func(s string) *Rules { return Parse([]byte(s), Options{}) }
	root := Root(map[Kind]*Rules{
		Exclude:   parse("e\n*.x\n"),
		GitIgnore: parse("!keep.x\nout/\n*.tmp\n/src/deep/only\n"),
		Ignore:    parse("!forced.tmp\n"),
	})
	src := root.Enter("src", map[Kind]*Rules{GitIgnore: parse("!a.tmp\nforced.tmp\n/b\n")})
	deep := src.Enter("deep", nil)
	out := root.Enter("out", map[Kind]*Rules{GitIgnore: parse("!*\n")})
	tests := []struct {
		dir  *Dir
		name string
		want bool
	}{
		{root, "e", true},
		{root, "a.x", true},
		{root, "keep.x", false},
		{root, "a.tmp", true},
		{src, "a.tmp", false},
		{deep, "a.tmp", false},
		{src, "c.tmp", true},
		{src, "forced.tmp", false}, // .ignore above .gitignore at any depth
		{src, "b", true},
		{deep, "b", false},
		{deep, "only", true},
		{src, "only", false},
		{out, "anything", true}, // nothing is included again below out/
		{root.EnterExplicit("out", nil), "anything", false},
		{root.EnterRepository("nested", nil), "a.tmp", false},
	}
	for _, tt := range tests {
		if got := tt.dir.Ignored(tt.name, false); got != tt.want {
			t.Errorf("Ignored(%s/%s) = %v, want %v", tt.dir.Path(), tt.name, got, tt.want)
		}
	}
}

// TestHostilePatterns proves the bound on the work: with backtracking over
// every star these run for longer than the universe has.
func TestHostilePatterns(t *testing.T) {
	long := strings.Repeat("a", 4000)
	deep := strings.Repeat("a/", 2000) + "a"
	for _, pattern := range []string{
		strings.Repeat("*a", 1000) + "b",
		strings.Repeat("**/*a/", 500) + "b",
		strings.Repeat("**/", 1000) + "b",
		strings.Repeat("*/", 1000) + strings.Repeat("*a*", 500) + "/b",
		strings.Repeat("[a-z]*", 1000) + "/x",
		strings.Repeat("?*", 1500) + "/x",
		"x/" + strings.Repeat(`**\/a`, 500),
		strings.Repeat("[", 1<<20),
		"[" + strings.Repeat("[:", 1<<20) + "]",
	} {
		rules := Parse([]byte(pattern), Options{FoldCase: true})
		for _, name := range []string{long, deep} {
			rules.find(name, name[strings.LastIndexByte(name, '/')+1:], false)
		}
	}
}

func BenchmarkIgnored(b *testing.B) {
	var file strings.Builder
	for i := range 200 {
		fmt.Fprintf(&file, "name%d\n*.ext%d\n/path/to/%d\n", i, i, i)
	}
	file.WriteString("build-*/\n**/gen/*.go\n")
	dir := Root(map[Kind]*Rules{GitIgnore: Parse([]byte(file.String()), Options{})})
	for _, name := range []string{"a", "b", "c", "d"} {
		dir = dir.Enter(name, nil)
	}
	for b.Loop() {
		dir.Ignored("some_file.go", false)
	}
}
