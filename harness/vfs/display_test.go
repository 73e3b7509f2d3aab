package vfs_test

import (
	"testing"

	"github.com/bridle-go/bridle/harness/vfs"
)

func TestDisplayName(t *testing.T) {
	for name, want := range map[string]string{
		"/a/b c.txt":                   "/a/b c.txt",
		"/\u65e5\u672c/\U0001f642":     "/\u65e5\u672c/\U0001f642",
		"a\nb\tc\x1b[31m\x7f":          `a\nb\tc\x1b[31m\x7f`,
		"a\xffb\xc3":                   `a\xffb\xc3`,
		"a\u202egnp.txt":               `a\u202egnp.txt`,
		"a\u2066b\u200fc\u061cd":       `a\u2066b\u200fc\u061cd`,
		"a\u2028b\u0085c\ufeffd":       `a\u2028b\u0085c\ufeffd`,
		`quotes " and \ stay`:          `quotes " and \ stay`,
		"\U0001f469\u200d\U0001f467":   "\U0001f469\u200d\U0001f467",
		"\u0645\u06cc\u200c\u062e":     "\u0645\u06cc\u200c\u062e",
		"\u2764\ufe0f\u200d\U0001f525": "\u2764\ufe0f\u200d\U0001f525",
		"\u845b\U000e0100":             "\u845b\U000e0100",
		"a\u3164b\u034fc\u115f\uffa0":  `a\u3164b\u034fc\u115f\uffa0`,
		"a\ufe0f":                      `a\ufe0f`,
		"\u65e5\ufe0f":                 "\u65e5" + `\ufe0f`,
		"\u2764\ufe0f\ufe0f":           "\u2764\ufe0f" + `\ufe0f`,
		// Where nothing is joined a joiner is an invisible difference.
		"a\u200d.txt":              `a\u200d.txt`,
		"\u65e5\u200d":             "\u65e5" + `\u200d`,
		"\u200d\u65e5":             `\u200d` + "\u65e5",
		"\u65e5\u200d\u200d\u65e5": "\u65e5" + `\u200d\u200d` + "\u65e5",
	} {
		if got := vfs.DisplayName(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}
