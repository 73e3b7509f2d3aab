package vfs

import (
	"errors"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/textedit"
)

func TestDecodeText(t *testing.T) {
	target := Target{Path: "/w/a\nb"}
	got, err := DecodeText(target, []byte("\xef\xbb\xbfa\r\n"))
	if err != nil || got != "a\r\n" {
		t.Errorf("%q, %v", got, err)
	}
	for data, says := range map[string]string{"a\x00": "NUL byte at byte 1", "ab\xff": "invalid UTF-8 at byte 2"} {
		_, err := DecodeText(target, []byte(data))
		var e *errs.Error
		if !errors.As(err, &e) || e.Code != errs.NotText || e.Path != target.Path {
			t.Fatalf("%q: %v", data, err)
		}
		if want := `cannot read "/w/a\nb": not a text file (` + says + ")"; err.Error() != want {
			t.Errorf("%q: %s, want %s", data, err, want)
		}
	}
}

func TestApplyEdit(t *testing.T) {
	tests := []struct {
		name, before string
		edit         Edit
		want         string
		code         errs.Code
		says         string
	}{
		{"once", "a\r\nb\n", Edit{Old: "a\nb", New: "x\ny"}, "x\r\ny\n", "", ""},
		{"all", "aXa", Edit{Old: "a", New: "bb", All: true}, "bbXbb", "", ""},
		{"empty", "a", Edit{New: "b"}, "", errs.EditNotFound, "the text to replace is empty"},
		{"missing", "a", Edit{Old: "b", New: "c"}, "", errs.EditNotFound, "was not found"},
		{"two lines", "a\n\na", Edit{Old: "a", New: "c"}, "", errs.AmbiguousEdit, "occurs 2 times, on lines 1 and 3;"},
		{"one line", "a a", Edit{Old: "a", New: "c"}, "", errs.AmbiguousEdit, "occurs 2 times, on line 1;"},
		{"three lines", "a\na\na", Edit{Old: "a", New: "c"}, "", errs.AmbiguousEdit, "occurs 3 times, on lines 1, 2 and 3;"},
		{"many lines", strings.Repeat("a\n", 50), Edit{Old: "a", New: "c"}, "", errs.AmbiguousEdit, "occurs 50 times, on lines 1, 2, 3,"},
		{"NUL late", strings.Repeat("a", 9000) + "\x00b", Edit{Old: "b", New: "c"}, "", errs.NotText, "cannot edit"},
		{"not UTF-8", "a\xff", Edit{Old: "a", New: "c"}, "", errs.NotText, "invalid UTF-8"},
		{"new text", "a", Edit{Old: "a", New: "\xff"}, "", errs.InvalidArgs, "the replacement is not text"},
		{"too large", strings.Repeat("a", 2000), Edit{Old: "a", New: strings.Repeat("b", 1<<20), All: true}, "", errs.TooLarge, "limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ApplyEdit(Target{Path: "/w/a"}, []byte(tt.before), tt.edit)
			if errs.CodeOf(err) != tt.code || string(got) != tt.want {
				t.Fatalf("%q, %v", got, err)
			}
			if tt.code != "" && (!strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), `"/w/a"`)) {
				t.Errorf("%s: does not say %q", err, tt.says)
			}
		})
	}
	_, err := ApplyEdit(Target{}, []byte("a a"), Edit{Old: "a", New: "b"})
	var cause *textedit.AmbiguousError
	if !errors.As(err, &cause) || cause.Count != 2 {
		t.Errorf("the cause is %v", errors.Unwrap(err))
	}
}
