package term_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
)

func TestColourIsUsedWhereItIsWanted(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want bool
	}{
		{"not a terminal", nil, false},
		{"forced", map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{"forced off", map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{"forced and unwanted", map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
		{"forced on a dumb terminal", map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := term.New(new(bytes.Buffer), func(key string) string { return tt.env[key] })
			if o.Color() != tt.want {
				t.Errorf("colour is %v, want %v", o.Color(), tt.want)
			}
			want := "text"
			if tt.want {
				want = "\x1b[31mtext\x1b[0m"
			}
			if got := o.Paint(term.Red, "text"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := o.Paint(term.Red, ""); got != "" {
				t.Errorf("nothing is painted as %q", got)
			}
		})
	}
}

func TestWidthComesFromColumns(t *testing.T) {
	for columns, want := range map[string]int{"": 80, "40": 40, "0": 80, "-3": 80, "wide": 80} {
		o := term.New(new(bytes.Buffer), func(string) string { return "" })
		if columns != "" {
			o = term.New(new(bytes.Buffer), func(key string) string {
				if key == "COLUMNS" {
					return columns
				}
				return ""
			})
		}
		if o.Width() != want {
			t.Errorf("COLUMNS=%q: width is %d, want %d", columns, o.Width(), want)
		}
	}
}

func TestARuleFillsTheWidth(t *testing.T) {
	o := term.New(new(bytes.Buffer), func(key string) string { return map[string]string{"COLUMNS": "20"}[key] })
	if got, want := o.Rule("Title"), "── Title "+strings.Repeat("─", 11); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain text", "plain – äöü 漢字", "plain – äöü 漢字"},
		{"tabs reach to the next stop", "\ta\tb\tccccc\td", "    a   b   ccccc   d"},
		{"an escape sequence", "\x1b[31mred", `\x1b[31mred`},
		{"a title sequence with its bell", "\x1b]0;owned\a", `\x1b]0;owned\a`},
		{"a change of direction", "a\u202eb\u2066c", `a\u202eb\u2066c`},
		{"an eight-bit control sequence", "\u009b31m", `\u009b31m`},
		{"line breaks", "a\nb\rc\u2028d", `a\nb\rc\u2028d`},
		{"bytes that are not text", "a\xffb", `a\xffb`},
		{"a tab after an escape", "\x1b\tx", `\x1b    x`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := term.Visible(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLineIsOneLine(t *testing.T) {
	in := "first:\n\t* second\r\n\n  third  with  blanks\x1b[0m\n"
	if got, want := term.Line(in), `first: * second third  with  blanks\x1b[0m`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNothingInvisibleGetsThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for _, out := range []string{term.Visible(in), term.Line(in)} {
			for _, r := range out {
				if r == '\u200c' || r == '\u200d' {
					continue // may join; vfs.DisplayName says where
				}
				if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
					t.Fatalf("%q has %U", out, r)
				}
			}
		}
	})
}
