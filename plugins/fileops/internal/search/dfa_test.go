package search

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// expressions are the corpus of the equivalence tests: every construct, with
// the corners that a byte machine gets wrong first.
var expressions = []string{
	`a`, `abc`, `^a`, `a$`, `^$`, `^`, `$`, ``, `a*`, `a+b`, `(ab)+`, `a|b|cd`, `[a-c]x`, `[^a]`, `.`, `.*a`, `a.c`,
	`\bfoo\b`, `\Bo`, `\w+ \w+`, `\s+$`, `\d{2,3}`, `(?i)straße`, `(?i)k`, `(?i)s+`, `é`, `[é-ü]`, `[^é]`, `\pL+`, `\PL`, `\p{Greek}`,
	`\x{FFFD}`, `[^\x{FFFD}]`, `\Aa`, `a\z`, `(?m)^a$`, `(?s).a`, `a\r`, `\r$`, `x*$`, `(a|ab)(c|bcd)`, `a{0,2}b{2}`, `(?:a?){8}a`, `[[:^alpha:]]+`,
	`日本`, `[日-本]`, `.日`, `\x00`, `(?U)a+`, `\b`, `\B`, `a\b`, `^\b`, `[A-Z]+_[A-Z]+`, `func \w+\(`, `\w+\s*=\s*"[^"]*"`, `(x+x+)+y`, `a\n`, `[\n]`, `\s`,
}

var alphabet = []string{"a", "b", "c", "x", "o", "foo", " ", "_", "1", "é", "ü", "日", "本", "K", "ſ", "ß", "k", "s", "A", "\r", "\x80", "\xff", "\xc3", "�", "\x00", "=", "\"", "func ", "(", "Ω"}

func randomText(r *rand.Rand, n int) []byte {
	var b bytes.Buffer
	for range n {
		if r.IntN(6) == 0 {
			b.WriteString([]string{"\n", "\r\n"}[r.IntN(2)])
		} else {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
	}
	return b.Bytes()
}

func parse(t testing.TB, expr string) (*regexp.Regexp, *syntax.Prog, *syntax.Regexp) {
	t.Helper()
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		t.Skip("not an expression")
	}
	re = re.Simplify()
	prog, err := syntax.Compile(re)
	if err != nil {
		t.Skip("too large")
	}
	compiled, err := regexp.Compile(expr)
	if err != nil {
		t.Skip("not an expression")
	}
	return compiled, prog, re
}

// checkLines compares the lines that the dfa finds with what regexp says of
// each line alone.
func checkLines(t testing.TB, expr string, text []byte, d *dfa, re *regexp.Regexp) {
	t.Helper()
	from := 0
	for from < len(text) {
		end := bytes.IndexByte(text[from:], '\n')
		next := from + end + 1
		if end < 0 {
			end, next = len(text)-from, len(text)
		}
		line := text[from : from+end]
		at := d.find(text, from)
		// A text that ends in a line feed has no line after it.
		within := at >= 0 && at <= from+end && !(at == len(text) && end < 0)
		bare := bytes.TrimSuffix(line, []byte{'\r'})
		if want := re.Match(line); want && !within {
			t.Fatalf("%q on line %q of %q: regexp finds a match, the automaton does not", expr, line, text)
		} else if within && !want && !re.Match(bare) && !bytes.Contains(line, []byte{'\r'}) {
			t.Fatalf("%q on line %q of %q: the automaton finds a match, regexp does not", expr, line, text)
		} else if re.Match(bare) && !within {
			t.Fatalf("%q on line %q of %q without its CR: regexp finds a match, the automaton does not", expr, line, text)
		}
		from = next
	}
}

// checkText compares the whole text outside line mode: whether there is a
// match at all, and that none can end later than where the automaton says
// that the first has ended.
func checkText(t testing.TB, expr string, text []byte, d *dfa, re *regexp.Regexp) {
	t.Helper()
	at := d.find(text, 0)
	if got, want := at >= 0, re.Match(text); got != want {
		t.Fatalf("%q on %q: automaton %v, regexp %v", expr, text, got, want)
	}
}

func TestDFAEqualsRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for _, expr := range expressions {
		re, prog, _ := parse(t, expr)
		lines, whole := newDFA(prog, true), newDFA(prog, false)
		for range rounds {
			text := randomText(r, r.IntN(60))
			checkLines(t, expr, text, lines, re)
			checkText(t, expr, text, whole, re)
		}
	}
}

func TestDFACacheIsBounded(t *testing.T) {
	// Every position of the last 12 doubles the states.
	_, prog, _ := parse(t, `[ab]*a[ab]{12}c`)
	re := regexp.MustCompile(`[ab]*a[ab]{12}c`)
	d := newDFA(prog, true)
	r := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for range 300_000 {
		b.WriteByte("ab"[r.IntN(2)])
	}
	text := b.String()
	if d.find([]byte(text), 0) >= 0 {
		t.Error("a match where there is none")
	}
	if d.resets == 0 || len(d.states) > maxStates+2 {
		t.Errorf("resets = %d, states = %d", d.resets, len(d.states))
	}
	if !d.useless() {
		t.Errorf("after %d resets the automaton still counts as useful", d.resets)
	}
	if got, want := d.find([]byte(text+"c"), 0) >= 0, re.MatchString(text+"c"); got != want {
		t.Errorf("after resets: automaton %v, regexp %v", got, want)
	}
}

// TestPrefilterIsNecessary proves that a prefilter never hides a match.
func TestPrefilterIsNecessary(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, expr := range expressions {
		re, _, tree := parse(t, expr)
		set := required(tree, false)
		for range 40 {
			text := randomText(r, 30)
			if !re.Match(text) || set == nil {
				continue
			}
			found := false
			for _, n := range set {
				f := finder(newExact(n.text))
				if n.fold {
					f = newFolded(n.text)
				}
				found = found || f.next(text, 0) >= 0
			}
			if !found {
				t.Fatalf("%q matches %q, which has none of %v", expr, text, set)
			}
		}
	}
}

// TestFinders compares every finder with a search by brute force.
func TestFinders(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		text := randomText(r, 50)
		needle := string(randomText(r, 1+r.IntN(3)))
		if f := newExact(needle); f.next(text, 0) != bytes.Index(text, []byte(needle)) {
			t.Fatalf("exact %q in %q: %d, want %d", needle, text, f.next(text, 0), bytes.Index(text, []byte(needle)))
		}
		needle = strings.ToValidUTF8(needle, "x")
		if strings.Contains(needle, "�") {
			continue
		}
		f := newFolded(needle)
		if f == nil {
			continue
		}
		want := regexp.MustCompile(`(?i)`+regexp.QuoteMeta(needle)).FindAllIndex(text, -1)
		from := 0
		for _, w := range want {
			at := f.next(text, from)
			if at != w[0] || f.width(text, at) != w[1]-w[0] {
				t.Fatalf("folded %q in %q from %d: %d, want %v", needle, text, from, at, w)
			}
			from = w[1]
		}
		if at := f.next(text, from); at >= 0 {
			t.Fatalf("folded %q in %q from %d: %d, want none", needle, text, from, at)
		}
	}
}

func FuzzDFA(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, expr := range expressions {
		f.Add(expr, randomText(r, 20))
	}
	f.Fuzz(func(t *testing.T, expr string, text []byte) {
		if len(expr) > 60 || len(text) > 500 {
			return
		}
		re, prog, tree := parse(t, expr)
		if len(prog.Inst) > 500 {
			return
		}
		checkLines(t, expr, text, newDFA(prog, true), re)
		checkText(t, expr, text, newDFA(prog, false), re)
		if pre := prefilter(tree, false); pre != nil && re.Match(text) && pre.next(text, 0) < 0 {
			t.Fatalf("%q matches %q, which the prefilter rejects", expr, text)
		}
	})
}
