package render_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/cmd/demo/internal/render"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/tool"
)

func draw(color bool, c tool.Card, before *string) string {
	var b bytes.Buffer
	out := term.New(&b, func(key string) string {
		if key == "CLICOLOR_FORCE" && color {
			return "1"
		}
		return ""
	})
	render.New(out).Card(c, before)
	return b.String()
}

func diffCard(before, after string) tool.Card {
	return tool.Card{Kind: tool.DiffCard, Title: "edit f", Path: "f", Diffs: textdiff.Cards("f", before, after)}
}

func TestCards(t *testing.T) {
	twelve := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	twice := strings.Replace(strings.Replace(twelve, "2\n", "two\n", 1), "11\n", "eleven\nand more\n", 1)
	for _, tt := range []struct {
		name   string
		card   tool.Card
		before string
		want   string
	}{
		{
			name: "a window",
			card: tool.Card{Kind: tool.ReadCard, Title: "read f", Lang: "go", Offset: 9, TotalLines: 40,
				Lines: []tool.Line{{Number: 9, Text: "\tnine"}, {Number: 10, Text: ""}}},
			want: "read f  lines 9-10 of 40, go\n   9 │     nine\n  10 │\n",
		},
		{
			name: "an empty file",
			card: tool.Card{Kind: tool.ReadCard, Title: "read f", Offset: 1, Lines: []tool.Line{}},
			want: "read f  no lines\n",
		},
		{
			name: "a failure", card: tool.Card{Kind: tool.GenericCard, Title: "read f", Text: "Error: no\nwhy", IsError: true},
			want: "read f  failed\n     │ Error: no\n     │ why\n",
		},
		{
			name: "no kind in particular", card: tool.Card{Kind: tool.GenericCard, Title: "count", Text: "a: 1\nb: 2\n"},
			want: "count\n  a: 1\n  b: 2\n",
		},
		{
			name: "a new file, whose text before is not known",
			card: tool.Card{Kind: tool.DiffCard, Title: "write f", Text: "<path>f</path>\n<type>file</type>\n<content>\nCreated file\n</content>"},
			want: "write f\n  Created file\n",
		},
		{
			name: "two hunks with the numbers of both sides", card: diffCard(twelve, twice), before: twelve,
			want: "edit f  +3 -2\n" +
				"   1 │ 1\n   2-│ 2\n   2+│ two\n   3 │ 3\n   4 │ 4\n   5 │ 5\n" +
				"   ⋯\n" +
				"   8 │ 8\n   9 │ 9\n  10 │ 10\n  11-│ 11\n  11+│ eleven\n  12+│ and more\n  13 │ 12\n",
		},
		{
			name: "a hunk of a log, without numbers", card: diffCard("a\nb\n", "a\nc\n"),
			want: "edit f  +1 -1\n     │ a\n    -│ b\n    +│ c\n",
		},
		{
			name: "a line feed that is added at the end", card: diffCard("a", "a\n"), before: "a",
			want: "edit f  +1 -1\n   1-│ a\n     │ (no line feed at the end of the file)\n   1+│ a\n",
		},
		{
			name: "text put into an empty file", card: diffCard("", "a\nb"),
			want: "edit f  +2 -0\n    +│ a\n    +│ b\n",
		},
		{
			name: "everything deleted", card: diffCard("a\nb\n", ""), before: "a\nb\n",
			want: "edit f  +0 -2\n   1-│ a\n   2-│ b\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before *string
			if tt.before != "" {
				before = &tt.before
			}
			if diff := cmp.Diff(tt.want, draw(false, tt.card, before)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheDifferingPartOfALineIsMarked(t *testing.T) {
	for _, tt := range []struct{ name, before, after, want string }{
		{"one word", "timeout: 10s\n", "timeout: 30s\n", "\x1b[31mtimeout: \x1b[0m\x1b[31;7m1\x1b[0m\x1b[31m0s\x1b[0m"},
		{"too little in common", "  alpha beta\n", "  gamma 1234\n", "\x1b[31m  alpha beta\x1b[0m"},
		{"within no character", "größe und mehr\n", "grübe und mehr\n", "\x1b[31mgr\x1b[0m\x1b[31;7möß\x1b[0m\x1b[31me und mehr\x1b[0m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := draw(true, diffCard(tt.before, tt.after), nil)
			if !strings.Contains(got, tt.want+"\n") {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	var lines []tool.Line
	for i := range 401 {
		lines = append(lines, tool.Line{Number: i + 1, Text: "x"})
	}
	lines[0].Text = strings.Repeat("é", 1003)
	got := draw(false, tool.Card{Kind: tool.ReadCard, Title: "read f", Lines: lines, TotalLines: 401}, nil)
	for _, want := range []string{
		strings.Repeat("é", 1000) + " … and 3 more characters\n",
		" 400 │ x\n  … and 1 more line\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(got, " 401 │") || strings.Contains(got, strings.Repeat("é", 1001)) {
		t.Error("more is drawn than the limits allow")
	}
}

// hostile draws texts out of what terminals, and readers, can be fooled with.
var hostile = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOf(rapid.SampledFrom([]string{
		"a", " ", "\n", "\r\n", "\r", "\t", "\x1b[2J", "\x1b]0;x\a", "\u009b1m", "\u202e", "\u2066", "\u200b", "\u2028", "\xff", "\x00", "漢",
	})).Draw(t, "parts")
	return strings.Join(parts, "")
})

func TestNoCardCanActOnATerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := hostile.Draw(t, "before"), hostile.Draw(t, "after")
		title, text := hostile.Draw(t, "title"), hostile.Draw(t, "text")
		cards := []tool.Card{
			{Kind: tool.ReadCard, Title: title, Lang: text, Lines: []tool.Line{{Number: 1, Text: text}}},
			{Kind: tool.GenericCard, Title: title, Text: text},
			{Kind: tool.GenericCard, Title: title, Text: text, IsError: true},
			{Kind: tool.DiffCard, Title: title, Diffs: textdiff.Cards(title, before, after)},
			// What no tool gives, but a log may have.
			{Kind: tool.DiffCard, Title: title, Diffs: []textdiff.Card{{OldText: &text, NewText: after}, {NewText: before}}},
			{Kind: tool.CardKind(text), Title: title, Text: text},
		}
		for _, c := range cards {
			for _, known := range []*string{nil, &before} {
				for _, r := range draw(false, c, known) {
					if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
						t.Fatalf("%s card draws %U", fmt.Sprint(c.Kind), r)
					}
				}
			}
		}
	})
}
