package vfstest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// edits are edits with the bytes that come of them.
var edits = []struct {
	name          string
	before        string
	e             vfs.Edit
	after         string
	shown, shown2 string // before and after as results have them, if not those
}{
	{name: "one word", before: "a b c\n", e: vfs.Edit{Old: "b", New: "B"}, after: "a B c\n"},
	{name: "to nothing", before: "a b c", e: vfs.Edit{Old: " b", New: ""}, after: "a c"},
	{name: "no final newline", before: "a\nb", e: vfs.Edit{Old: "a", New: "c"}, after: "c\nb"},
	{name: "blanks stay", before: "x  \n\ta \n \n", e: vfs.Edit{Old: "a", New: "b"}, after: "x  \n\tb \n \n"},
	{name: "mark stays", before: "\xef\xbb\xbfa\nb\n", e: vfs.Edit{Old: "a\n", New: "c\n"}, after: "\xef\xbb\xbfc\nb\n", shown: "a\nb\n", shown2: "c\nb\n"},
	{name: "mixed endings stay", before: "a\r\nb\nc\r\nd\n", e: vfs.Edit{Old: "b", New: "B"}, after: "a\r\nB\nc\r\nd\n"},
	{name: "LF needle in a CRLF file", before: "a\r\nb\r\nc\r\n", e: vfs.Edit{Old: "a\nb\n", New: "x\ny\nz\n"}, after: "x\r\ny\r\nz\r\nc\r\n"},
	{name: "CRLF needle in an LF file", before: "a\nb\nc\n", e: vfs.Edit{Old: "a\r\nb", New: "x\r\ny"}, after: "x\ny\nc\n"},
	{name: "breaks take the style of their line", before: "a\r\nb\n", e: vfs.Edit{Old: "a", New: "a\nc"}, after: "a\r\nc\r\nb\n"},
	{name: "a lone carriage return is a character", before: "a\rb\rc\n", e: vfs.Edit{Old: "b\r", New: "B\r"}, after: "a\rB\rc\n"},
	{name: "literally", before: "a.c $1 abc\n", e: vfs.Edit{Old: "a.c", New: "$0\\n"}, after: "$0\\n $1 abc\n"},
	{name: "all", before: "x y x\nx\n", e: vfs.Edit{Old: "x", New: "xx", All: true}, after: "xx y xx\nxx\n"},
	{name: "all, one match", before: "x y\n", e: vfs.Edit{Old: "x", New: "z", All: true}, after: "z y\n"},
	{name: "characters", before: "é世😀\n", e: vfs.Edit{Old: "世", New: "界"}, after: "é界😀\n"},
}

var editClauses = []Clause{
	{
		Name:    "edit/every other byte stays",
		Promise: "an edit replaces the match and nothing else: byte-order mark, line endings, blanks and the file's end stay; matching ignores LF against CRLF only, and inserted breaks take the style of their line",
		Why:     "a tool that rewrites a file's endings makes a diff of every line",
		check: func(r *run) {
			for _, e := range edits {
				t := r.put(e.name, e.before)
				res, err := r.FS.EditText(r.ctx, t, e.e, vfs.Options{})
				if !r.ok("the edit \""+e.name+"\"", err) {
					continue
				}
				r.same("after the edit", e.name, e.after)
				before, after := e.before, e.after
				if e.shown != "" {
					before, after = e.shown, e.shown2
				}
				r.outcome("the edit \""+e.name+"\"", res, vfs.Update, r.below(e.before, e.after, before), after, e.after)
			}
		},
	},
	{
		Name:    "edit/not found",
		Promise: "a needle that does not occur, also only but for case or blanks, and an empty one, is FS_EDIT_NOT_FOUND, with nothing changed",
		Why:     "a guess at what was meant changes the wrong place",
		check: func(r *run) {
			t := r.put("f", "Alpha  beta\n")
			for _, old := range []string{"gamma", "alpha", "Alpha beta", "Alpha  beta \n", ""} {
				for _, all := range []bool{false, true} {
					_, err := r.FS.EditText(r.ctx, t, vfs.Edit{Old: old, New: "x", All: all}, vfs.Options{})
					r.code(fmt.Sprintf("editing with the needle %q", old), err, errs.EditNotFound)
				}
			}
			r.same("after refused edits", "f", "Alpha  beta\n")
		},
	},
	{
		Name:    "edit/ambiguous",
		Promise: "more than one match without replace-all is FS_AMBIGUOUS_EDIT with the count and the line numbers, with nothing changed",
		Why:     "the model needs to know which places there are, to say which one it meant",
		check: func(r *run) {
			content := "x = 1\n\ny = 2\nx = 1\nz\nx = 1 x = 1\n"
			t := r.put("f", content)
			_, err := r.FS.EditText(r.ctx, t, vfs.Edit{Old: "x = 1", New: "w"}, vfs.Options{})
			r.code("an ambiguous edit", err, errs.AmbiguousEdit)
			if err != nil {
				// The path may hold digits, too.
				message := strings.ReplaceAll(err.Error(), t.Path, "")
				for _, number := range []string{"4", "1", "6"} {
					if !regexp.MustCompile(`\b` + number + `\b`).MatchString(message) {
						r.errorf("the error does not tell the number %s of 4 matches on lines 1, 4 and 6: %s", number, message)
					}
				}
			}
			r.same("after an ambiguous edit", "f", content)
		},
	},
	{
		Name:    "edit/guard first",
		Promise: "the version guard is judged before the match: stale is FS_STALE_VERSION whatever the needle",
		Why:     "\"not found\" sends the model searching in a text that no longer exists",
		check: func(r *run) {
			t := r.put("f", "one\n")
			text, err := r.FS.ReadText(r.ctx, t)
			r.ok("reading", err)
			guard := vfs.Options{Guard: vfs.ReplaceIfVersion(text.Version)}
			_, err = r.FS.EditText(r.ctx, t, vfs.Edit{Old: "one", New: "two"}, guard)
			r.ok("editing with a fresh version", err)
			for _, old := range []string{"two", "one", ""} {
				_, err = r.FS.EditText(r.ctx, t, vfs.Edit{Old: old, New: "three"}, guard)
				r.code(fmt.Sprintf("editing with a stale version and the needle %q", old), err, errs.StaleVersion)
			}
			r.same("after refused edits", "f", "two\n")
			_, err = r.FS.EditText(r.ctx, r.at("missing"), vfs.Edit{Old: "x", New: "y"}, guard)
			r.code("a guarded edit of a missing file", err, errs.StaleVersion)
		},
	},
	{
		Name:    "edit/not text",
		Promise: "a NUL anywhere, or invalid UTF-8, is FS_NOT_TEXT, with nothing changed",
		Why:     "bytes that no edit can name must not be changed by one",
		check: func(r *run) {
			for name, data := range notTexts {
				r.editNotText(name, "needle "+data)
			}
			r.editNotText("late NUL", "needle "+strings.Repeat("x", 9000)+"\x00")
		},
	},
	{
		Name:    "edit/serialised",
		Promise: "edits of one target that run at once all take effect, each on the result of the one before",
		Why:     "two edits of one file in one answer of a model must not undo each other",
		check: func(r *run) {
			const n = 16
			var before, after strings.Builder
			for i := range n {
				fmt.Fprintf(&before, "old %02d\n", i)
				fmt.Fprintf(&after, "new %02d\n", i)
			}
			for round := range 4 {
				name := fmt.Sprint("f", round)
				t := r.put(name, before.String())
				for _, err := range race(n, func(i int) error {
					_, err := r.FS.EditText(r.ctx, t, vfs.Edit{Old: fmt.Sprintf("old %02d", i), New: fmt.Sprintf("new %02d", i)}, vfs.Options{})
					return err
				}) {
					r.ok("an edit at once with others", err)
				}
				r.same("after all edits", name, after.String())
			}
		},
	},
}

func (r *run) editNotText(name, data string) {
	t := r.put(name, data)
	_, err := r.FS.EditText(r.ctx, t, vfs.Edit{Old: "needle", New: "x"}, vfs.Options{})
	r.code("editing "+name, err, errs.NotText)
	r.same("after a refused edit", name, data)
}
