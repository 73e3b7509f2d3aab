package search

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowMatches searches a text line by line with package regexp alone.
func slowMatches(q Query, text []byte, context int) []Match {
	expr := q.Text
	if !q.Regex {
		expr = regexp.QuoteMeta(expr)
	}
	if q.IgnoreCase {
		expr = "(?i)" + expr
	}
	re := regexp.MustCompile(expr)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(text) == 0 {
		lines = nil
	}
	bare := func(s string) string { return strings.TrimSuffix(s, "\r") }
	var out []Match
	for i, line := range lines {
		against := bare(line)
		if strings.Contains(q.Text, `\r`) || strings.Contains(q.Text, "\r") {
			against = line
		}
		loc := re.FindStringIndex(against)
		if loc == nil {
			continue
		}
		m := Match{Line: i + 1, EndLine: i + 1, Column: 1 + len([]rune(against[:loc[0]])), Text: bare(line), Found: against[loc[0]:loc[1]]}
		for k := max(0, i-context); k < i; k++ {
			m.Before = append(m.Before, bare(lines[k]))
		}
		for k := i + 1; k <= i+context && k < len(lines); k++ {
			m.After = append(m.After, bare(lines[k]))
		}
		out = append(out, m)
	}
	return out
}

// TestScanEqualsSlowSearch compares the scanner, with windows small enough to
// split everything, with a search that has no windows at all.
func TestScanEqualsSlowSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 23))
	queries := []Query{}
	for _, lit := range []string{"a", "foo", "é", "日本", "k", "ſa", "func (", "x\"", "\r", "_1", "kſ", "o o"} {
		queries = append(queries, Query{Text: lit}, Query{Text: lit, IgnoreCase: true})
	}
	for _, expr := range expressions {
		if expr == "" || strings.Contains(expr, `\n`) {
			continue
		}
		queries = append(queries, Query{Text: expr, Regex: true}, Query{Text: expr, Regex: true, IgnoreCase: true})
	}
	rounds := 25
	if testing.Short() {
		rounds = 8
	}
	for _, q := range queries {
		p, err := Compile(q)
		if err != nil {
			t.Errorf("%+v: %v", q, err)
			continue
		}
		for range rounds {
			text := bytes.ReplaceAll(randomText(r, r.IntN(80)), []byte{0}, nil)
			context := r.IntN(4)
			s := newScanner(p, Options{Context: context, MaxScannedBytes: 1 << 20}, make(chan struct{}, 1))
			first := 1 + r.IntN(40)
			s.stream = first + r.IntN(40)
			head, tail := text, io.Reader(nil)
			if len(text) >= first {
				head, tail = text[:first:first], iotestReader{bytes.NewReader(text[first:]), r}
			}
			got := s.file(t.Context(), bytes.Clone(head), tail, 1<<30)
			want := slowMatches(q, text, context)
			if d := cmp.Diff(want, got.matches); d != "" || got.err != nil {
				t.Fatalf("%+v on %q, first %d: error %v, matches (-want +got):\n%s", q, text, first, got.err, d)
			}
			s = newScanner(p, Options{Mode: Count, MaxScannedBytes: 1 << 20}, make(chan struct{}, 1))
			if got := s.file(t.Context(), text, nil, 1); got.count != len(want) || got.bytes != int64(len(text)) {
				t.Fatalf("%+v on %q: count %d of %d bytes, want %d of %d", q, text, got.count, got.bytes, len(want), len(text))
			}
		}
	}
}

// iotestReader gives short reads.
type iotestReader struct {
	r    io.Reader
	rand *rand.Rand
}

func (r iotestReader) Read(p []byte) (int, error) { return r.r.Read(p[:1+r.rand.IntN(len(p))]) }

func scanText(t *testing.T, q Query, o Options, text string) found {
	t.Helper()
	p, err := Compile(q)
	if err != nil {
		t.Fatalf("Compile(%+v): %v", q, err)
	}
	return newScanner(p, o.withDefaults(), make(chan struct{}, 1)).file(t.Context(), []byte(text), nil, 1000)
}

func TestMultiline(t *testing.T) {
	tests := []struct {
		name string
		q    Query
		text string
		want []Match
	}{
		{"over two lines", Query{Text: `a\nb`, Regex: true}, "x\nya\nbz\n",
			[]Match{{Line: 2, Column: 2, EndLine: 3, Text: "ya\nbz", Found: "a\nb"}}},
		{"dot stops at lines", Query{Text: `a.b`, Regex: true}, "a\nb\n", nil},
		{"anchors mean lines", Query{Text: `^b$`, Regex: true}, "a\nb\n",
			[]Match{{Line: 2, Column: 1, EndLine: 2, Text: "b", Found: "b"}}},
		{"begin of text is only at the start", Query{Text: `\A(a|b)`, Regex: true}, "a\nb\n",
			[]Match{{Line: 1, Column: 1, EndLine: 1, Text: "a", Found: "a"}}},
		{"one match a line", Query{Text: `a`, Regex: true}, "aa a\na\n",
			[]Match{{Line: 1, Column: 1, EndLine: 1, Text: "aa a", Found: "a"}, {Line: 2, Column: 1, EndLine: 2, Text: "a", Found: "a"}}},
		{"begins where one ends", Query{Text: `\{[^}]*\}`, Regex: true}, "[{\n1\n}, {\n2\n}, {3}, {4}, {\n5}]\n",
			[]Match{{Line: 1, Column: 2, EndLine: 3, Text: "[{\n1\n}, {", Found: "{\n1\n}"}, {Line: 3, Column: 4, EndLine: 5, Text: "}, {\n2\n}, {3}, {4}, {", Found: "{\n2\n}"},
				{Line: 5, Column: 14, EndLine: 6, Text: "}, {3}, {4}, {\n5}]", Found: "{\n5}"}}},
		{"begins after one within the line", Query{Text: `x|b\nc`, Regex: true}, "é x b b\nc x\nx b\n",
			[]Match{{Line: 1, Column: 3, EndLine: 1, Text: "é x b b", Found: "x"}, {Line: 1, Column: 7, EndLine: 2, Text: "é x b b\nc x", Found: "b\nc"}, {Line: 3, Column: 1, EndLine: 3, Text: "x b", Found: "x"}}},
		{"anchors after a match", Query{Text: `a\n|^b\n|\bc\n`, Regex: true}, "a\nb\n",
			[]Match{{Line: 1, Column: 1, EndLine: 1, Text: "a", Found: "a\n"}, {Line: 2, Column: 1, EndLine: 2, Text: "b", Found: "b\n"}}},
		{"boundaries after a match", Query{Text: `a|^b\nd|\bc\nd|\Bb\nd`, Regex: true}, "ab\nd\nac\nd\na c\nd\n",
			[]Match{{Line: 1, Column: 1, EndLine: 1, Text: "ab", Found: "a"}, {Line: 1, Column: 2, EndLine: 2, Text: "ab\nd", Found: "b\nd"},
				{Line: 3, Column: 1, EndLine: 3, Text: "ac", Found: "a"}, {Line: 5, Column: 1, EndLine: 5, Text: "a c", Found: "a"}, {Line: 5, Column: 3, EndLine: 6, Text: "a c\nd", Found: "c\nd"}}},
		{"too long a second", Query{Text: `(?s)a.*?b`, Regex: true, MaxSpanLines: 2}, "a\nb a\n\nb a\nb\n",
			[]Match{{Line: 1, Column: 1, EndLine: 2, Text: "a\nb a", Found: "a\nb"}, {Line: 4, Column: 3, EndLine: 5, Text: "b a\nb", Found: "a\nb"}}},
		{"empty lines", Query{Text: `^$`, Regex: true}, "a\n\nb\n",
			[]Match{{Line: 2, Column: 1, EndLine: 2}}},
		{"too many lines", Query{Text: `(?s)a.*?b`, Regex: true, MaxSpanLines: 2}, "a\nx\nb\na\nb\n",
			[]Match{{Line: 4, Column: 1, EndLine: 5, Text: "a\nb", Found: "a\nb"}}},
		{"too many bytes", Query{Text: `(?s)a.*?b`, Regex: true, MaxSpanBytes: 3}, "a\nx\nb\na\nb\n",
			[]Match{{Line: 4, Column: 1, EndLine: 5, Text: "a\nb", Found: "a\nb"}}},
		{"literal with a line feed", Query{Text: "a.\nb"}, "a.\r\nb\nax\nb",
			[]Match{{Line: 1, Column: 1, EndLine: 2, Text: "a.\r\nb", Found: "a.\r\nb"}}},
		{"byte-order mark", Query{Text: `\Aa`, Regex: true}, "\xef\xbb\xbfa",
			[]Match{{Line: 1, Column: 1, EndLine: 1, Text: "a", Found: "a"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.q.Multiline = true
			if d := cmp.Diff(tt.want, scanText(t, tt.q, Options{}, tt.text).matches); d != "" {
				t.Errorf("matches (-want +got):\n%s", d)
			}
		})
	}
}

func TestBinaryIsPassedOver(t *testing.T) {
	late := strings.Repeat("text\n", 4000) + "\x00"
	for _, text := range []string{"text\x00", "\x00text", late, "UTF-16: t\x00e\x00"} {
		if f := scanText(t, Query{Text: "text"}, Options{}, text); !f.binary || f.count != 0 || f.matches != nil {
			t.Errorf("a NUL at %d of %d: %+v", strings.IndexByte(text, 0), len(text), f)
		}
	}
}

func TestLongLinesAreCut(t *testing.T) {
	text := strings.Repeat("é", 3000) + "needle" + strings.Repeat("ü", 3000) + "\nb\n"
	f := scanText(t, Query{Text: "needle"}, Options{Context: 1}, text)
	if len(f.matches) != 1 {
		t.Fatalf("%d matches", len(f.matches))
	}
	m := f.matches[0]
	if !m.Cut || len(m.Text) > MaxShown || !strings.Contains(m.Text, "éneedleü") || !strings.HasPrefix(m.Text, "é") || !strings.HasSuffix(m.Text, "ü") {
		t.Errorf("shown: cut %v, %d bytes: %.40q", m.Cut, len(m.Text), m.Text)
	}
	if m.Column != 3001 || m.After[0] != "b" {
		t.Errorf("column %d, after %q", m.Column, m.After)
	}
}

func TestQueryErrors(t *testing.T) {
	tests := []struct {
		expr   string
		offset int
		reason string
	}{
		{"(", 0, "missing closing )"},
		{"a(b(c)", 1, "missing closing )"},
		{"a)b(", 1, "unexpected )"},
		{`[)](a\(`, 3, "missing closing )"},
		{"a[b", 1, "missing closing ]"},
		{"a**b**", 1, "invalid nested repetition operator"},
		{"ab|*", 3, "missing argument to repetition operator"},
		{`a\8`, 1, "invalid escape sequence"},
		{"a{2000}", 1, "invalid repeat count"},
		{"[b-a]", 1, "invalid character class range"},
		{"(?z)", 0, "invalid or unsupported Perl syntax"},
		{`\pX`, 0, "invalid character class range"},
	}
	for _, tt := range tests {
		_, err := Compile(Query{Text: tt.expr, Regex: true})
		qe, ok := err.(*QueryError)
		if !ok {
			t.Errorf("%q: error %v", tt.expr, err)
			continue
		}
		if qe.Offset != tt.offset || !strings.Contains(qe.Reason, tt.reason) {
			t.Errorf("%q: offset %d, %q; want %d, %q", tt.expr, qe.Offset, qe.Reason, tt.offset, tt.reason)
		}
	}
	for _, q := range []Query{{}, {Text: `a\nb`, Regex: true}, {Text: strings.Repeat("a", MaxQuery+1)}} {
		if _, err := Compile(q); err == nil {
			t.Errorf("Compile(%.20q) succeeds", q.Text)
		}
	}
}

// TestHeavyExpressionIsCancelled proves that a hostile expression on a long
// line ends with its context, although package regexp cannot be stopped.
func TestHeavyExpressionIsCancelled(t *testing.T) {
	for _, multiline := range []bool{false, true} {
		p, err := Compile(Query{Text: `(?:[ab]?){500}[ab]{500}c`, Regex: true, Multiline: multiline})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		s := newScanner(p, Options{}.withDefaults(), make(chan struct{}, 1))
		text := bytes.Repeat([]byte("ab"), 1<<20)
		f := s.file(ctx, append(text, 'c'), nil, 10)
		if ctx.Err() == nil {
			t.Errorf("the search ended by itself: %d matches", f.count)
		}
	}
}

func ExampleCompile() {
	_, err := Compile(Query{Text: "func (", Regex: true})
	fmt.Println(err)
	// Output: invalid expression at byte 5: missing closing )
}
