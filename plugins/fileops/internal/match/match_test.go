package match

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/textedit"
)

func pairs(texts ...string) []Replacement {
	var list []Replacement
	for i := 0; i < len(texts); i += 2 {
		list = append(list, Replacement{Old: texts[i], New: texts[i+1]})
	}
	return list
}

// TestApply goes through the modes and what they do to bytes.
func TestApply(t *testing.T) {
	ws := Options{IgnoreWhitespace: true}
	conf := Options{ConfusableFallback: true}
	both := Options{IgnoreWhitespace: true, ConfusableFallback: true}
	for _, c := range []struct {
		name string
		in   string
		list []Replacement
		opt  Options
		want string
		mode Mode
		n    int
	}{
		{"in order, each on the result before", "one\ntwo\nthree\n", pairs("one", "1", "1\ntwo", "1\n2"), Options{}, "1\n2\nthree\n", Exact, 2},
		{"replace all", "a b a\n", pairs("a", "cc"), Options{ReplaceAll: true}, "cc b cc\n", Exact, 2},
		{"first of several", "a b a\n", pairs("a", "c"), Options{First: true}, "c b a\n", Exact, 1},
		{"deletion", "a\nb\nc\n", pairs("b\n", ""), Options{}, "a\nc\n", Exact, 1},
		{"nothing changes", "a\n", pairs("a", "a"), Options{}, "a\n", Exact, 1},
		{"CRLF", "\ufeffa\r\nb\r\nc  \r\n", pairs("a\nb", "x\ny\nz"), Options{}, "\ufeffx\r\ny\r\nz\r\nc  \r\n", Exact, 1},
		{"mixed endings", "a\r\nb\nc\r\nd", pairs("b\nc", "1\n2\n3"), Options{}, "a\r\n1\n2\r\n3\r\nd", Exact, 1},
		{"the mark is not text", "\ufeffa\n", pairs("a", "b"), Options{}, "\ufeffb\n", Exact, 1},

		{"blanks: the scenario", "def f():\n\tif  x:\n\t\treturn   1\n", pairs("if x:\n    return 1", "if y:\n\t\treturn 2"), ws, "def f():\n\tif y:\n\t\treturn 2\n", WhitespaceNormalized, 1},
		{"blanks: indentation goes with the text that had some", "{\n\t\ta = 1\n}\n", pairs("    a = 1\n", "\t\ta = 2\n"), ws, "{\n\t\ta = 2\n}\n", WhitespaceNormalized, 1},
		{"blanks: trailing ones stay", "a  =  1  \nb\n", pairs("a = 1", "a = 2"), ws, "a = 2  \nb\n", WhitespaceNormalized, 1},
		{"blanks: trailing ones go with a text that had some", "a  =  1  \t\nb\n", pairs("a = 1 ", "a = 2"), ws, "a = 2\nb\n", WhitespaceNormalized, 1},
		{"blanks: lines of blanks", "a\n \t\nb\n", pairs("a\n\nb", "c"), ws, "c\n", WhitespaceNormalized, 1},
		{"blanks: CRLF", "a \r\n\tb\r\nc\r\n", pairs("a\nb\n", "x\ny\n"), ws, "x\r\ny\r\nc\r\n", WhitespaceNormalized, 1},
		{"blanks: a blank at the edge must be there", "xa  b a  b\n", pairs(" a b", " q"), ws, "xa  b q\n", WhitespaceNormalized, 1},
		{"exact first", "a  b\na b\n", pairs("a b", "c"), ws, "a  b\nc\n", Exact, 1},

		{"look-alikes", "say \u201chi\u201d \u2014 it\u2019s\u00a0ok\uff01\n", pairs("\"hi\" - it's ok!", "bye"), conf, "say bye\n", ConfusableNormalized, 1},
		{"look-alikes in the text looked for", "it's -- \"x\"\n", pairs("it\u2019s \u2013\u2212 \u201cx\u201d", "y"), conf, "y\n", ConfusableNormalized, 1},
		{"look-alikes: all", "\u201ca\u201d \u201ca\u201d\n", pairs(`"a"`, `'b'`), Options{ConfusableFallback: true, ReplaceAll: true}, "'b' 'b'\n", ConfusableNormalized, 2},
		{"look-alikes without an anchor", "x\u2014\u2014y\n", pairs("--", "~"), conf, "x~y\n", ConfusableNormalized, 1},
		{"full-width letters are letters", "\uff41 \uff0c\n", pairs(",", ";"), conf, "\uff41 ;\n", ConfusableNormalized, 1},
		{"both", "\tif\u00a0 x == \u201cy\u201d:\n", pairs(`if x == "y":`, "if z:"), both, "\tif z:\n", ConfusableNormalized, 1},
		{"the loosest mode is told", "a  b\nc\n", pairs("a b", "d", "c", "e"), ws, "d\ne\n", WhitespaceNormalized, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			got, err := Apply(context.Background(), in, c.list, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got.After)); diff != "" {
				t.Errorf("text (-want +got)\n%s", diff)
			}
			if got.Mode != c.mode || got.Occurrences != c.n {
				t.Errorf("got %s %d, want %s %d", got.Mode, got.Occurrences, c.mode, c.n)
			}
			if string(in) != c.in {
				t.Error("the input was changed")
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		list []Replacement
		opt  Options
		kind Kind
		want string
	}{
		{"empty", "a", pairs("", "b"), Options{}, InvalidArguments, "replacement 0: old_content must not be empty"},
		{"NUL in the new text", "a", pairs("a", "b\x00"), Options{}, InvalidArguments, "replacement 0: new_content must be UTF-8 text without NUL"},
		{"binary", "a\x00", pairs("a", "b"), Options{}, NotText, "the file is not UTF-8 text"},
		{"all or nothing", "one\ntwo\n", pairs("one", "1", "four", "4"), Options{}, NoMatch, "replacement 1: old_content was not found"},
		{"taken away", "one\ntwo\n", pairs("one", "1", "one\ntwo", "x"), Options{}, NoMatch, "replacement 1: old_content was not found; the file has it on line 1, but an earlier replacement of this call changes that text"},
		{"several", "a\nb\na\n", pairs("a", "c"), Options{}, Ambiguous, "replacement 0: old_content occurs 2 times, on lines 1, 3"},
		{"several on a line", "a a a\n", pairs("a", "c"), Options{}, Ambiguous, "replacement 0: old_content occurs 3 times, on line 1"},
		{"several after others", "x\na\na\n", pairs("x", "1\n2", "a", "c"), Options{}, Ambiguous, "replacement 1: old_content occurs 2 times, on lines 3, 4 (counted after the replacements before this one)"},
		{"several with blanks, also with replace all", "a  b\na\tb\n", pairs("a b", "c"), Options{IgnoreWhitespace: true, ReplaceAll: true}, AmbiguousWhitespace, "replacement 0: old_content matches 2 places when whitespace is ignored, on lines 1, 2"},
		{"several look-alikes", "\u201ca\u201d\n\u201ca\u201d\n", pairs(`"a"`, "c"), Options{ConfusableFallback: true}, Ambiguous, "replacement 0: old_content occurs 2 times, on lines 1, 2"},
		{"blanks not asked for", "x\na\tb\n", pairs("a b", "c"), Options{}, NoMatch, "replacement 0: old_content was not found; line 2 differs from it in blanks only: copy the text from there, or set ignore_whitespace"},
		{"look-alikes not asked for", "\u2018a\u2019\n", pairs("'a'", "c"), Options{}, NoMatch, "replacement 0: old_content was not found; line 1 differs from it in characters that look alike (quotes, dashes, spaces): copy the text from there, or set confusable_fallback"},
		{"done already", "x\nreturn newValue\n", pairs("return oldValue", "return newValue"), Options{}, NoMatch, "replacement 0: old_content was not found; new_content is already there on line 2"},
		{"only blanks", "a\n", pairs("  \n", "c"), Options{IgnoreWhitespace: true, ConfusableFallback: true}, NoMatch, "replacement 0: old_content was not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Apply(context.Background(), []byte(c.in), c.list, c.opt)
			var f *Failure
			if !errors.As(err, &f) || f.Kind != c.kind || f.Error() != c.want {
				t.Errorf("got %v\nwant %s %s", err, c.kind, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Apply(ctx, []byte("a"), pairs("a", "b"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v", err)
	}
}

// TestCandidates: the place that was meant comes first.
func TestCandidates(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "func handler%d(w http.ResponseWriter, r *http.Request) {\n\twrite(w, %d)\n}\n\n", i, i*7)
	}
	text := b.String()
	old := "func handler1234(w ResponseWriter, r *Request) {\n    write(w, 8638);\n}"
	_, err := Apply(context.Background(), []byte(text), pairs(old, "x"), Options{MaxCandidates: 3})
	var f *Failure
	if !errors.As(err, &f) || len(f.Candidates) != 3 {
		t.Fatalf("got %#v", err)
	}
	best := f.Candidates[0]
	want := Candidate{StartLine: 1234*4 + 1, EndLine: 1234*4 + 3, Similarity: best.Similarity, Text: "func handler1234(w http.ResponseWriter, r *http.Request) {\n\twrite(w, 8638)\n}"}
	if diff := cmp.Diff(want, best); diff != "" || best.Similarity < 0.8 || best.Similarity >= 1 {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for i := 1; i < len(f.Candidates); i++ {
		if f.Candidates[i].Similarity > f.Candidates[i-1].Similarity {
			t.Errorf("candidates are not sorted: %+v", f.Candidates)
		}
	}
	long := strings.Repeat("lorem ipsum;", 100000) + "const answer = 41;" + strings.Repeat("dolor sit;", 100000)
	_, err = Apply(context.Background(), []byte(long), pairs("const answer = 42", "x"), Options{MaxCandidates: 1})
	if !errors.As(err, &f) || len(f.Candidates) != 1 || !strings.Contains(f.Candidates[0].Text, "answer = 41") && f.Candidates[0].StartLine != 1 {
		t.Errorf("in one long line: %v", f.Candidates)
	}
}

func TestSnippets(t *testing.T) {
	text := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	got, err := Apply(context.Background(), []byte(text), pairs("3\n", "", "11", "eleven\nand", "1\n2", "1\n2"), Options{First: true})
	if err != nil {
		t.Fatal(err)
	}
	snippets, more := Snippets(got.After, got.Changes, 1)
	want := []Snippet{
		{1, 4, "1 1\n2 2\n3 4\n4 5"},
		{9, 12, " 9 10\n10 eleven\n11 and\n12 12"},
	}
	if diff := cmp.Diff(want, snippets); diff != "" || more != 0 {
		t.Errorf("(-want +got)\n%s", diff)
	}
	many, err := Apply(context.Background(), []byte(strings.Repeat("a\nb\n\n\n\n\n\n\n\n\n", 100)), pairs("a", "c"), Options{ReplaceAll: true})
	if err != nil {
		t.Fatal(err)
	}
	if snippets, more := Snippets(many.After, many.Changes, 3); len(snippets) != MaxSnippets || more != 50 {
		t.Errorf("got %d snippets and %d more", len(snippets), more)
	}
}

// TestLikeTextedit: exact matching gives byte for byte what textedit gives,
// whatever breaks, marks and repetitions there are, and the changes it reports
// are the only places that differ.
func TestLikeTextedit(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "ab", " ", "\n", "\r\n", "\r", "é", "\ufeff", "\n\n"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 14).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		before := text.Draw(t, "before")
		old := strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(t, "old"), "")
		new := strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "new"), "")
		all := rapid.Bool().Draw(t, "all")
		want, wantErr := textedit.Apply([]byte(before), old, new, all)
		got, err := Apply(context.Background(), []byte(before), []Replacement{{old, new}}, Options{ReplaceAll: all})
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got %v, want %v", err, wantErr)
		}
		if err != nil {
			return
		}
		if string(got.After) != string(want.After) || got.Occurrences != want.Count {
			t.Fatalf("got %q %d, want %q %d", got.After, got.Occurrences, want.After, want.Count)
		}
		// Between the changes stands what stood between the matches.
		var kept, left strings.Builder
		at := 0
		for r := range textedit.Matches([]byte(before), old) {
			kept.WriteString(before[at:r.Start])
			at = r.End
		}
		kept.WriteString(before[at:])
		at = 0
		for _, r := range got.Changes {
			left.WriteString(string(got.After[at:r.Start]))
			at = r.End
		}
		left.Write(got.After[at:])
		if kept.String() != left.String() {
			t.Fatalf("changes %v of %q leave %q, want %q", got.Changes, got.After, left.String(), kept.String())
		}
	})
}

// TestSequencesLikeTextedit: many replacements in one call give what one call
// of textedit for each gives.
func TestSequencesLikeTextedit(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "c", " ", "\n", "\r\n", "x"})
	word := func(t *rapid.T, name string, from, to int) string {
		return strings.Join(rapid.SliceOfN(piece, from, to).Draw(t, name), "")
	}
	rapid.Check(t, func(t *rapid.T) {
		before := word(t, "before", 0, 30)
		want := []byte(before)
		var list []Replacement
		for range rapid.IntRange(1, 6).Draw(t, "n") {
			r := Replacement{word(t, "old", 1, 3), word(t, "new", 0, 5)}
			result, err := textedit.Apply(want, r.Old, r.New, true)
			if err != nil {
				continue
			}
			want = result.After
			list = append(list, r)
		}
		got, err := Apply(context.Background(), []byte(before), list, Options{ReplaceAll: true})
		if err != nil || string(got.After) != string(want) {
			t.Fatalf("got %q %v, want %q", got.After, err, want)
		}
		last := 0
		for _, c := range got.Changes {
			if c.Start < last || c.End < c.Start || c.End > len(got.After) {
				t.Fatalf("changes %v do not fit %q", got.Changes, got.After)
			}
			last = c.End
		}
	})
}

// TestLooseModel compares the search for loosely equal places with a slow one
// that normalizes every substring.
func TestLooseModel(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", " ", "\t", "\n", "-", "\u2014", "\u00a0", "\u201c", "\""})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "")
		old := strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "old"), "")
		blanks, fold := rapid.Bool().Draw(t, "blanks"), rapid.Bool().Draw(t, "fold")
		counts := count([]byte(text))
		l := newLoose(old, blanks, fold, counts)
		found := l.all([]byte(text))
		for _, r := range found {
			// A place, normalized as the text looked for is, is equal to it.
			place := newLoose(text[r.Start:r.End], blanks, fold, counts)
			if string(place.want) != string(l.want) {
				t.Fatalf("%q is not like %q", text[r.Start:r.End], old)
			}
		}
		if len(found) > 0 || l.leading || l.trailing || strings.TrimSpace(string(l.want)) == "" {
			return
		}
		for i := range len(text) {
			for j := i + 1; j <= len(text); j++ {
				if (i == 0 || text[i]&0xC0 != 0x80) && (j == len(text) || text[j]&0xC0 != 0x80) && string(newLoose(text[i:j], blanks, fold, counts).want) == string(l.want) {
					t.Fatalf("missed %q in %q for %q", text[i:j], text, old)
				}
			}
		}
	})
}

// benchText is source text of about n bytes in which lines are distinct.
func benchText(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "\tresult%d := compute(input[%d], \"option %d\") // step %d of the plan\n", i, i*3, i%17, i)
	}
	return b.String()
}

func BenchmarkApply200(b *testing.B) {
	text := benchText(10 << 20)
	for _, c := range []struct {
		name   string
		break_ string
	}{{"LF", "\n"}, {"CRLF", "\r\n"}} {
		in := []byte(strings.ReplaceAll(text, "\n", c.break_))
		var list []Replacement
		for i := range 200 {
			n := i * 600
			list = append(list, Replacement{
				Old: fmt.Sprintf("result%d := compute(input[%d], ", n, n*3),
				New: fmt.Sprintf("result%d := calculate(input[%d],\n\t\t", n, n*3),
			})
		}
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if _, err := Apply(context.Background(), in, list, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMiss(b *testing.B) {
	in := []byte(benchText(10 << 20))
	old := "result77777 := compute(inputs[233331], option 3)\nresult77778 = compute(inputs[233334], option 4)"
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := Apply(context.Background(), in, pairs(old, "x"), Options{MaxCandidates: 3}); err == nil {
			b.Fatal("matched")
		}
	}
}

// BenchmarkHostile is a miss in texts that are bad for a search.
func BenchmarkHostile(b *testing.B) {
	for name, c := range map[string]struct{ text, old string }{
		"one character": {strings.Repeat("a", 4<<20), strings.Repeat("a", 500) + "b"},
		"tokens":        {strings.Repeat("a ", 2<<20), strings.Repeat("a ", 500) + "b"},
		"blanks":        {strings.Repeat(" ", 4<<20), "x y"},
		"breaks":        {strings.Repeat("\n", 4<<20), "x\ny"},
		"dashes":        {strings.Repeat("-", 4<<20), strings.Repeat("-", 500) + "="},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Apply(context.Background(), []byte(c.text), pairs(c.old, "x"), Options{IgnoreWhitespace: true, ConfusableFallback: true, MaxCandidates: 3}); err == nil {
					b.Fatal("matched")
				}
			}
		})
	}
}

// TestCandidateText: a candidate is of whole lines, without the break after
// them, and of a line that matches twice there is one.
func TestCandidateText(t *testing.T) {
	for in, want := range map[string][]Candidate{
		"a x x\n":    {{StartLine: 1, EndLine: 1, Similarity: 1, Text: "a x x"}},
		"x\na x\n":   {{StartLine: 1, EndLine: 1, Similarity: 1, Text: "x"}, {StartLine: 2, EndLine: 2, Similarity: 1, Text: "a x"}},
		"x x\nb x":   {{StartLine: 1, EndLine: 1, Similarity: 1, Text: "x x"}, {StartLine: 2, EndLine: 2, Similarity: 1, Text: "b x"}},
		"x\n\nx\n\n": {{StartLine: 1, EndLine: 1, Similarity: 1, Text: "x"}, {StartLine: 3, EndLine: 3, Similarity: 1, Text: "x"}},
	} {
		_, err := Apply(context.Background(), []byte(in), pairs("x", "y"), Options{MaxCandidates: 5})
		var f *Failure
		if !errors.As(err, &f) {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if diff := cmp.Diff(want, f.Candidates); diff != "" {
			t.Errorf("%q (-want +got)\n%s", in, diff)
		}
	}
}
