package textedit

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

const (
	// MaxResult is the largest result, in bytes, of an edit that makes a file
	// larger: 1 GiB. It keeps a short needle with a long replacement from
	// exhausting memory.
	MaxResult = 1 << 30

	// MaxLines is how many line numbers an [*AmbiguousError] lists at most.
	MaxLines = 20
)

// NotFoundError says that the needle does not occur, or that it is empty.
type NotFoundError struct{ Empty bool }

func (e *NotFoundError) Error() string {
	if e.Empty {
		return "the text to replace is empty"
	}
	return "the text to replace was not found"
}

// AmbiguousError says that the needle occurs more than once.
type AmbiguousError struct {
	// Count is the number of matches, without overlap.
	Count int
	// Lines are the numbers of the lines, from 1, where matches begin: each
	// line once, ascending, the first MaxLines of them. A match that begins
	// with a break begins in the line that this break ends.
	Lines []int
	// More is set when there are lines beyond those listed.
	More bool
}

func (e *AmbiguousError) Error() string {
	var out strings.Builder
	fmt.Fprintf(&out, "the text to replace occurs %d times, on line", e.Count)
	if len(e.Lines) > 1 {
		out.WriteByte('s')
	}
	for i, n := range e.Lines {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, " %d", n)
	}
	if e.More {
		out.WriteString(" and more")
	}
	return out.String()
}

// TooLargeError says that the result would be larger than [MaxResult].
type TooLargeError struct{ Size int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the result would have %d bytes, the limit is %d", e.Size, MaxResult)
}

// Result is a file after an edit.
type Result struct {
	// After is the new content. It shares no memory with the old one.
	After []byte
	// Count is the number of replacements, at least 1.
	Count int
}

// Apply replaces old by new in a file, literally: once, or wherever it occurs
// if replaceAll is set. Every byte outside the places that [Matches] yields is
// unchanged. How breaks are matched and written is told in the package
// documentation. The result may equal before, when old and new differ in the
// spelling of breaks only.
//
// Errors, in the order in which they are looked for: [*NotTextError] if the
// file, or else the new text, has invalid UTF-8 or a NUL anywhere;
// [*NotFoundError]; [*AmbiguousError] if there is more than one match and
// replaceAll is not set; [*TooLargeError].
func Apply(before []byte, old, new string, replaceAll bool) (Result, error) {
	if err := check(before, math.MaxInt); err != nil {
		return Result{}, err
	}
	if err := check([]byte(new), math.MaxInt); err != nil {
		bad := *err.(*NotTextError)
		bad.NewText = true
		return Result{}, &bad
	}
	text, skip := body(before)
	s := newSearch(text, old)
	found := survey(s)
	switch {
	case found.Count == 0:
		return Result{}, &NotFoundError{Empty: old == ""}
	case found.Count > 1 && !replaceAll:
		return Result{}, &found.AmbiguousError
	}
	w := newWriter(s, new)
	size := int64(len(before)) - found.bytes + int64(found.Count)*w.longest
	if size > max(MaxResult, int64(len(before))) {
		return Result{}, &TooLargeError{Size: size}
	}
	out := make([]byte, 0, size)
	out = append(out, before[:skip]...)
	at := 0
	for m := range s.all() {
		out = append(out, text[at:m.Start]...)
		out = w.replace(out, m)
		at = m.End
	}
	out = append(out, text[at:]...)
	return Result{After: out, Count: found.Count}, nil
}

// findings are what has to be known of all matches before anything is built.
type findings struct {
	AmbiguousError
	bytes int64 // The sum of their lengths.
}

func survey(s *search) findings {
	var f findings
	line, at := 1, 0
	for m := range s.all() {
		f.Count++
		f.bytes += int64(m.End - m.Start)
		if f.More {
			continue
		}
		line += bytes.Count(s.text[at:m.Start], []byte{'\n'})
		at = m.Start
		switch n := len(f.Lines); {
		case n > 0 && f.Lines[n-1] == line:
		case n == MaxLines:
			f.More = true
		default:
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}
