package textdiff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomLines returns n one-letter lines.
func randomLines(seed uint64, n, letters int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	text := make([]byte, 0, 2*n)
	for range n {
		text = append(text, byte('a'+r.IntN(letters)), '\n')
	}
	return string(text)
}

func reversed(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, j := 0, len(lines)-2; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "")
}

// hostile are pairs that make a careless diff slow or large.
func hostile() map[string][2]string {
	big := numbered(1, 50_000)
	return map[string][2]string{
		"random letters, small":   {randomLines(1, 9_000, 2), randomLines(2, 9_000, 2)},
		"random letters, medium":  {randomLines(1, 200_000, 26), randomLines(2, 200_000, 26)},
		"random letters, 10 MiB":  {randomLines(1, 5<<20, 26), randomLines(2, 5<<20, 26)},
		"reversed, small":         {numbered(1, 9_900), reversed(numbered(1, 9_900))},
		"reversed, big":           {big, reversed(big)},
		"line feeds only":         {strings.Repeat("\n", 1<<20), "x\n" + strings.Repeat("\n", 1<<20) + "y"},
		"one long line":           {strings.Repeat("x", 10<<20), strings.Repeat("x", 10<<20) + "y"},
		"every other line":        {big, strings.ReplaceAll(big, "1\n", "one\n")},
		"two distant repetitions": {strings.Repeat("a\nb\n", 30_000), "x\n" + strings.Repeat("a\nb\n", 15_000) + "y\n" + strings.Repeat("a\nb\n", 15_000) + "z\n"},
		"shuffled blocks":         {big, big[200_000:] + big[:200_000]},
	}
}

func TestHostileTextsRoundTrip(t *testing.T) {
	for name, pair := range hostile() {
		t.Run(name, func(t *testing.T) {
			before, after := pair[0], pair[1]
			got, err := Apply(before, Hunks(before, after, 3))
			if err != nil || got != after {
				t.Errorf("hunks do not give the new text: %v", err)
			}
			got, err = ApplyCards(before, Cards("p", before, after))
			if err != nil || got != after {
				t.Errorf("cards do not give the new text: %v", err)
			}
		})
	}
}

// TestBigTextsStayFine proves that the coarse method still finds scattered
// small changes.
func TestBigTextsStayFine(t *testing.T) {
	before := numbered(1, 100_000)
	after := strings.ReplaceAll(before, "000\n", "thousand\n")
	if added, removed := Stat(before, after); added != 100 || removed != 100 {
		t.Errorf("Stat = +%d -%d, want +100 -100", added, removed)
	}
	after = strings.Replace(before, "line 70\n", "", 1) + "end\n"
	if added, removed := Stat(before, after); added != 1 || removed != 1 {
		t.Errorf("Stat = +%d -%d, want +1 -1", added, removed)
	}
}

func BenchmarkCards(b *testing.B) {
	line := strings.Repeat("x", 60)
	var text strings.Builder
	for i := 0; text.Len() < 10<<20; i++ {
		fmt.Fprintf(&text, "%d %s\n", i, line)
	}
	big := text.String()
	many := numbered(1, 20_000)
	for name, pair := range map[string][2]string{
		"one line in 10 MiB":   {big, strings.Replace(big, "\n80000 ", "\n80000-", 1)},
		"two ends of 10 MiB":   {big, "first\n" + big + "last\n"},
		"20000 changed lines":  {many, strings.ReplaceAll(many, "line", "LINE")},
		"reversed, exact":      {numbered(1, 9_900), reversed(numbered(1, 9_900))},
		"random letters":       {randomLines(1, 9_900, 2), randomLines(2, 9_900, 2)},
		"random, 10 MiB":       {randomLines(1, 5<<20, 26), randomLines(2, 5<<20, 26)},
		"random, 1 MiB":        {randomLines(1, 1<<19, 26), randomLines(2, 1<<19, 26)},
		"every tenth of 50000": {numbered(1, 50_000), strings.ReplaceAll(numbered(1, 50_000), "1\n", "one\n")},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(pair[0])))
			b.ReportAllocs()
			for b.Loop() {
				Cards("p", pair[0], pair[1])
			}
		})
	}
}
