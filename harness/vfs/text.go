package vfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/textedit"
)

// DecodeText returns the content of a text file without its byte-order mark.
// Bytes that are not text, by the rules of [textedit.Decode], are FS_NOT_TEXT.
// t is for the error only.
func DecodeText(t Target, data []byte) (string, error) {
	text, _, err := textedit.Decode(data)
	if err != nil {
		return "", NotText(t, "read", err)
	}
	return text, nil
}

// ApplyEdit returns the bytes of a text file after an edit. The file must be
// valid UTF-8 without any NUL; how an edit is matched, and how its line breaks
// are written, is told in package textedit.
//
// Errors: FS_NOT_TEXT, INVALID_ARGS for a replacement that is not text,
// FS_EDIT_NOT_FOUND, FS_AMBIGUOUS_EDIT with the count and the line numbers,
// and FS_TOO_LARGE for a result beyond [textedit.MaxResult].
func ApplyEdit(t Target, before []byte, e Edit) ([]byte, error) {
	result, err := textedit.Apply(before, e.Old, e.New, e.All)
	if err != nil {
		return nil, editError(t, err)
	}
	return result.After, nil
}

// NotText returns the error of a file that is not text. cause may be what
// package textedit said.
func NotText(t Target, verb string, cause error) error {
	why := "not a text file"
	var bad *textedit.NotTextError
	if errors.As(cause, &bad) {
		why += " (" + bad.Error() + ")"
	}
	return &errs.Error{Code: errs.NotText, Op: verb, Path: t.Path, Err: cause,
		Message: fmt.Sprintf("cannot %s %s: %s", verb, quote(t.Path), why)}
}

func editError(t Target, err error) error {
	fail := func(code errs.Code, why string) error {
		return &errs.Error{Code: code, Op: "edit", Path: t.Path, Err: err,
			Message: fmt.Sprintf("cannot edit %s: %s", quote(t.Path), why)}
	}
	var (
		notText   *textedit.NotTextError
		notFound  *textedit.NotFoundError
		ambiguous *textedit.AmbiguousError
		tooLarge  *textedit.TooLargeError
	)
	switch {
	case errors.As(err, &notText) && notText.NewText:
		return fail(errs.InvalidArgs, "the replacement is not text: "+notText.Error())
	case errors.As(err, &notText):
		return NotText(t, "edit", err)
	case errors.As(err, &notFound) && notFound.Empty:
		return fail(errs.EditNotFound, "the text to replace is empty")
	case errors.As(err, &notFound):
		return fail(errs.EditNotFound, "the text to replace was not found; it must match the file exactly, blanks and indentation included")
	case errors.As(err, &ambiguous):
		return fail(errs.AmbiguousEdit, fmt.Sprintf("the text to replace occurs %d times, %s; give more surrounding text so that it occurs once, or replace all",
			ambiguous.Count, onLines(ambiguous)))
	case errors.As(err, &tooLarge):
		return fail(errs.TooLarge, tooLarge.Error())
	}
	return fail(errs.IO, err.Error())
}

func onLines(e *textedit.AmbiguousError) string {
	var b strings.Builder
	b.WriteString("on line")
	if len(e.Lines) > 1 || e.More {
		b.WriteByte('s')
	}
	for i, n := range e.Lines {
		switch {
		case i == 0:
			b.WriteByte(' ')
		case i == len(e.Lines)-1 && !e.More:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	if e.More {
		b.WriteString(" and more")
	}
	return b.String()
}
