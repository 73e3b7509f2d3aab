package textedit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// NULWindow is how many bytes at the beginning of a file must be free of NUL
// for it to be read as text. A byte-order mark counts.
const NULWindow = 8192

// bom is the UTF-8 encoding of U+FEFF.
const bom = "\xef\xbb\xbf"

// NotTextError says that bytes are not text.
type NotTextError struct {
	// Offset is the position of the first offending byte, from 0.
	Offset int64
	// NUL tells a NUL from invalid UTF-8.
	NUL bool
	// NewText is set when the offence is in the text that an edit would
	// insert, not in the file.
	NewText bool
}

func (e *NotTextError) Error() string {
	where, what := "", "invalid UTF-8"
	if e.NewText {
		where = "new text: "
	}
	if e.NUL {
		what = "NUL byte"
	}
	return fmt.Sprintf("%s%s at byte %d", where, what, e.Offset)
}

// Decode returns the text of a file that is wholly in memory, and whether a
// byte-order mark was taken off it. Bytes that are not text for reading give a
// [*NotTextError].
func Decode(data []byte) (text string, hadBOM bool, err error) {
	if err := check(data, NULWindow); err != nil {
		return "", false, err
	}
	rest, hadBOM := bytes.CutPrefix(data, []byte(bom))
	return string(rest), hadBOM, nil
}

// NormalizeBreaks writes every CRLF as LF. This is the form in which texts
// stand in results. Other carriage returns stay.
func NormalizeBreaks(text string) string {
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// check reports the first reason why data is not text. NUL counts in the first
// window bytes.
func check(data []byte, window int) error {
	nul := bytes.IndexByte(data[:min(window, len(data))], 0)
	if valid(data) {
		if nul < 0 {
			return nil
		}
		return &NotTextError{Offset: int64(nul), NUL: true}
	}
	if bad := validPrefix(data); nul < 0 || bad < nul {
		return &NotTextError{Offset: int64(bad)}
	}
	return &NotTextError{Offset: int64(nul), NUL: true}
}

// validPrefix returns the offset of the first byte that is not valid UTF-8.
func validPrefix(data []byte) int {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return at
}
