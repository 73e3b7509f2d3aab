package textedit

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApply(t *testing.T) {
	tests := []struct {
		name             string
		before, old, new string
		all              bool
		want             string
		count            int
	}{
		{"one word", "alpha\nbeta\n", "beta", "BETA", false, "alpha\nBETA\n", 1},
		{"all", "x = 1\ny = 1\n", "= 1", "= 2", true, "x = 2\ny = 2\n", 2},
		{"all of one", "a", "a", "b", true, "b", 1},
		{"no overlap", "aaaaa", "aa", "b", true, "bba", 2},
		{"delete", "keep\ndrop\nkeep2\n", "drop\n", "", false, "keep\nkeep2\n", 1},
		{"delete everything", "x\n", "x\n", "", false, "", 1},
		{"nothing is special in the new text", "price", "price", "$& $1 \\1 %s", false, "$& $1 \\1 %s", 1},
		{"trailing blanks stay", "a  \nb\t\n\n\n", "a", "A", false, "A  \nb\t\n\n\n", 1},
		{"no final line feed stays so", "a\nb", "b", "c", false, "a\nc", 1},
		{"multi-byte", "naïve 你好 🙂", "你好", "世界", false, "naïve 世界 🙂", 1},

		{"LF needle in CRLF file", "one\r\ntwo\r\nthree\r\n", "one\ntwo", "ONE\nTWO", false, "ONE\r\nTWO\r\nthree\r\n", 1},
		{"CRLF needle in LF file", "one\ntwo\nthree\n", "one\r\ntwo", "ONE\r\nTWO", false, "ONE\nTWO\nthree\n", 1},
		{"LF inserted in CRLF file", "a\r\nb\r\n", "a", "a\nx", false, "a\r\nx\r\nb\r\n", 1},
		{"CRLF inserted in LF file", "a\nb\n", "a", "a\r\nx", false, "a\nx\nb\n", 1},
		{"file without breaks keeps the spelling", "a", "a", "x\r\ny\nz", false, "x\r\ny\nz", 1},
		{"needle begins with a break", "a\r\nb", "\nb", "\nB", false, "a\r\nB", 1},
		{"needle ends with a break", "a\r\nb", "a\n", "A\n", false, "A\r\nb", 1},
		{"a break is removed whole", "a\r\nb", "\n", "", false, "ab", 1},
		{"needle is one CRLF", "a\nb\r\nc", "\r\n", "-", true, "a-b-c", 2},
		{"lone carriage return is a character", "a\rb\r\nc", "\r", "-", false, "a-b\r\nc", 1},
		{"carriage return before CRLF", "a\r\r\nb", "a\r", "A", false, "A\r\nb", 1},
		{"carriage return and break", "a\r\r\nb", "\r\r\n", "-", false, "a-b", 1},
		{"break after carriage return", "a\r\r\nb", "\r\n", "-", false, "a\r-b", 1},

		{"mixed: lands in an LF line", "a\r\nb\nc\r\n", "b", "b1\nb2", false, "a\r\nb1\nb2\nc\r\n", 1},
		{"mixed: lands in a CRLF line", "a\r\nb\nc\r\n", "c", "c1\nc2", false, "a\r\nb\nc1\r\nc2\r\n", 1},
		{"mixed: replaced breaks keep their style", "a\r\nb\nc\r\nd\n", "a\nb\nc\n", "1\n2\n3\n", false, "1\r\n2\n3\r\nd\n", 1},
		{"mixed: common lines are untouched", "a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nc\n", false, "a\r\nc\r\nd\n", 1},
		{"mixed: line added behind a CRLF line", "b\r\nc\n", "b\n", "b\nnew\n", false, "b\r\nnew\r\nc\n", 1},
		{"mixed: line added before an LF line", "b\r\nc\n", "c", "new\nc", false, "b\r\nnew\nc\n", 1},
		{"mixed: more breaks than replaced", "a\nb\r\nc\n", "a\nb", "1\n2\n3\n4", false, "1\n2\r\n3\r\n4\r\nc\n", 1},
		{"mixed: last line ends like the one before", "a\nb\r\nc", "c", "x\ny", false, "a\nb\r\nx\r\ny", 1},
		{"mixed: multi-line needle, all", "a\r\nb\na\nb\r\n", "a\nb\n", "A\nB\n", true, "A\r\nB\nA\nB\r\n", 2},

		{"BOM is kept", "\ufeffa\n", "a", "b", false, "\ufeffb\n", 1},
		{"BOM is not matched", "\ufeffx\ufeff", "\ufeff", "-", false, "\ufeffx-", 1},
		{"BOM with CRLF", "\ufeffa\r\nb\n", "a\nb", "A\nB", false, "\ufeffA\r\nB\n", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := []byte(tt.before)
			got, err := Apply(before, tt.old, tt.new, tt.all)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got.After)); diff != "" {
				t.Errorf("after (-want +got):\n%s", diff)
			}
			if got.Count != tt.count {
				t.Errorf("count = %d, want %d", got.Count, tt.count)
			}
			if string(before) != tt.before {
				t.Error("the old content was changed")
			}
		})
	}
}

func TestApplyErrors(t *testing.T) {
	tests := []struct {
		name             string
		before, old, new string
		want             error
	}{
		{"empty needle", "a", "", "b", &NotFoundError{Empty: true}},
		{"empty needle, empty file", "", "", "b", &NotFoundError{Empty: true}},
		{"missing", "alpha\n", "Alpha", "b", &NotFoundError{}},
		{"half of a CRLF", "a\r\nb\r\n", "a\r", "b", &NotFoundError{}},
		{"carriage return alone in a CRLF file", "a\r\nb\r\n", "\r", "b", &NotFoundError{}},
		{"half of a rune", "é", "\xa9", "b", &NotFoundError{}},
		{"the BOM", "\ufeffa", "\ufeff", "b", &NotFoundError{}},
		{"twice", "a\nb\na\n", "a", "x", &AmbiguousError{Count: 2, Lines: []int{1, 3}}},
		{"twice in a line", "\na a\n", "a", "x", &AmbiguousError{Count: 2, Lines: []int{2}}},
		{"across breaks", "a\r\nb\na\nb\n", "a\nb", "x", &AmbiguousError{Count: 2, Lines: []int{1, 3}}},
		{"NUL", "ab\x00cd", "a", "x", &NotTextError{Offset: 2, NUL: true}},
		{"NUL far behind", strings.Repeat("b", 10_000) + "a\x00", "a", "x", &NotTextError{Offset: 10_001, NUL: true}},
		{"invalid", "ab\xffcd", "a", "x", &NotTextError{Offset: 2}},
		{"cut off", "caf\xc3", "a", "x", &NotTextError{Offset: 3}},
		{"new text with NUL", "a", "a", "x\x00", &NotTextError{Offset: 1, NUL: true, NewText: true}},
		{"new text invalid", "a", "a", "\xff", &NotTextError{NewText: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Apply([]byte(tt.before), tt.old, tt.new, false)
			if diff := cmp.Diff(tt.want, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got.After != nil {
				t.Errorf("after = %q beside an error", got.After)
			}
		})
	}
}

func TestAmbiguousListIsCapped(t *testing.T) {
	_, err := Apply([]byte(strings.Repeat("x x\n", 30)), "x", "y", false)
	var got *AmbiguousError
	if !errors.As(err, &got) || got.Count != 60 || len(got.Lines) != MaxLines || got.Lines[19] != 20 || !got.More {
		t.Fatalf("error = %#v", err)
	}
	want := "the text to replace occurs 60 times, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 and more"
	if err.Error() != want {
		t.Errorf("message = %q, want %q", err, want)
	}
}

func TestResultIsLimited(t *testing.T) {
	before := bytes.Repeat([]byte("a"), 4<<10)
	_, err := Apply(before, "a", strings.Repeat("b", 1<<20), true)
	var got *TooLargeError
	if !errors.As(err, &got) || got.Size != 4<<30 {
		t.Errorf("error = %v, want a result of 4 GiB refused", err)
	}
}

// TestLongLinesAreScannedOnce would not end in a lifetime if every match
// looked for the end of its line again.
func TestLongLinesAreScannedOnce(t *testing.T) {
	before := []byte("x\r\ny\n" + strings.Repeat("a", 1<<21) + "\r\n")
	got, err := Apply(before, "a", "a\nb", true)
	if err != nil {
		t.Fatal(err)
	}
	if want := "x\r\ny\n" + strings.Repeat("a\r\nb", 1<<21) + "\r\n"; string(got.After) != want {
		t.Error("wrong result")
	}
	// Many breaks that replace none, behind a long needle.
	long := strings.Repeat("a", 1<<20)
	got, err = Apply([]byte("x\r\n"+long+"\n"), long, strings.Repeat("\n", 1<<20), false)
	if err != nil || len(got.After) != 3+1<<20+1 {
		t.Errorf("got %d bytes, %v", len(got.After), err)
	}
}
