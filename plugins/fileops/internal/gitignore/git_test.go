package gitignore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAgainstGit builds random trees with random ignore files and compares
// every entry with "git check-ignore --no-index", which also names the line
// that decided.
func TestAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	trees := 60
	if testing.Short() {
		trees = 15
	}
	rules, paths := 0, 0
	for seed := range trees {
		r, p := compareTree(t, uint64(seed), seed%4 == 3)
		rules, paths = rules+r, paths+p
	}
	t.Logf("%d patterns, %d paths", rules, paths)
	if rules < 10*trees {
		t.Errorf("only %d patterns were generated", rules)
	}
}

var (
	nameParts    = []string{"a", "b", "ab", "abc", "A", "foo", "Foo", "x.go", "y.log", ".h", "a b", "é", "#x", "!y", "[z]", "a*b", "end ", `back\sl`, "1", "-", "]"}
	patternParts = []string{
		"a", "b", "ab", "c", "A", "foo", "FOO", ".go", ".log", "x", "y", ".h", " ", "é", "1", "-", "]", "z",
		"*", "*", "*", "**", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[A-C]", "[]]", "[!]a]", "[[:alpha:]]", "[[:upper:]]",
		"[[:digit:]-]", "[a-]", "[", "[[:bad:]]", "[[:alpha]", `[\]]`, `[a\-c]`, "[/]", `\*`, `\a`, `\A`, `\ `, `\#`, `\!`, `\`, "#", "!",
	}
)

func randomPattern(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(4) == 0 {
		b.WriteByte('!')
	}
	if r.IntN(5) == 0 {
		b.WriteByte('/')
	}
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteByte('/')
		}
		switch r.IntN(6) {
		case 0:
			b.WriteString("**")
		case 1:
			b.WriteString(nameParts[r.IntN(len(nameParts))])
		default:
			for range 1 + r.IntN(3) {
				b.WriteString(patternParts[r.IntN(len(patternParts))])
			}
		}
	}
	if r.IntN(4) == 0 {
		b.WriteByte('/')
	}
	b.WriteString([]string{"", "", "", " ", "  ", "\t", `\ `, "\r"}[r.IntN(8)])
	return b.String()
}

func randomIgnoreFile(r *rand.Rand) ([]byte, int) {
	var b bytes.Buffer
	if r.IntN(5) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	n := 1 + r.IntN(8)
	for i := range n {
		b.WriteString(randomPattern(r))
		if i < n-1 || r.IntN(2) == 0 {
			b.WriteString([]string{"\n", "\n", "\r\n", "\n\n# comment\n"}[r.IntN(4)])
		}
	}
	return b.Bytes(), n
}

func compareTree(t *testing.T, seed uint64, fold bool) (rules, paths int) {
	r := rand.New(rand.NewPCG(seed, 1))
	root := t.TempDir()
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", fmt.Sprintf("core.ignoreCase=%v", fold)}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "XDG_CONFIG_HOME="+root+"/none", "HOME="+root)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		// Status 1 says that nothing is ignored.
		if err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	git("", "init", "-q")

	files := map[string][]byte{}
	var entries []string
	isDir := map[string]bool{}
	var build func(dir string, depth int)
	build = func(dir string, depth int) {
		if depth == 0 || r.IntN(3) == 0 {
			content, n := randomIgnoreFile(r)
			files[path.Join(dir, ".gitignore")] = content
			rules += n
		}
		for range 3 + r.IntN(4) {
			name := path.Join(dir, nameParts[r.IntN(len(nameParts))])
			if slices.Contains(entries, name) {
				continue
			}
			entries = append(entries, name)
			if depth < 3 && r.IntN(2) == 0 {
				isDir[name] = true
				if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
					t.Fatal(err)
				}
				build(name, depth+1)
			} else if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	build("", 0)
	if r.IntN(2) == 0 {
		content, n := randomIgnoreFile(r)
		files[".git/info/exclude"] = content
		rules += n
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	// -z both ways: the names are as odd as the patterns.
	out := git(strings.Join(entries, "\x00")+"\x00", "check-ignore", "--no-index", "--verbose", "--non-matching", "-z", "--stdin")
	want := map[string]string{}
	fields := strings.Split(out, "\x00")
	for i := 0; i+3 < len(fields); i += 4 {
		if fields[i] != "" {
			want[fields[i+3]] = fmt.Sprintf("%s:%s:%s", fields[i], fields[i+1], fields[i+2])
		}
	}

	load := func(name string, kind Kind, into map[Kind]*Rules) {
		if content, ok := files[name]; ok {
			into[kind] = Parse(content, Options{Source: name, FoldCase: fold})
		}
	}
	for _, entry := range entries {
		rootRules := map[Kind]*Rules{}
		load(".gitignore", GitIgnore, rootRules)
		load(".git/info/exclude", Exclude, rootRules)
		dir := Root(rootRules)
		got := ""
		parts := strings.Split(entry, "/")
		for i, name := range parts {
			last := i == len(parts)-1
			m := dir.Explain(name, !last || isDir[entry])
			if m.Line > 0 && (m.Ignored || last) {
				got = fmt.Sprintf("%s:%d:%s", m.Source, m.Line, m.Pattern)
			}
			if m.Ignored || last {
				if ignored := dir.Ignored(name, !last || isDir[entry]); ignored != m.Ignored {
					t.Errorf("Ignored and Explain disagree on %q", entry)
				}
				break
			}
			below := map[Kind]*Rules{}
			load(path.Join(dir.Path(), name, ".gitignore"), GitIgnore, below)
			dir = dir.Enter(name, below)
		}
		if got != want[entry] {
			t.Errorf("seed %d, fold %v: %q (dir %v): got %q, git says %q", seed, fold, entry, isDir[entry], got, want[entry])
		}
		paths++
	}
	return rules, paths
}
