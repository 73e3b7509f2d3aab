package patch

import (
	"cmp"
	"slices"
	"strings"
)

// edit replaces src[start:end] by text.
type edit struct {
	start, end int
	text       string
}

// splice applies edits, which must not overlap.
func splice(src string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	pos := 0
	for _, e := range edits {
		b.WriteString(src[pos:e.start])
		b.WriteString(e.text)
		pos = e.end
	}
	b.WriteString(src[pos:])
	return b.String()
}

func isBreak(c byte) bool { return c == '\n' || c == '\r' }
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// lineStart returns the start of the line that holds pos.
func lineStart(src string, pos int) int {
	for pos > 0 && !isBreak(src[pos-1]) {
		pos--
	}
	if pos == 0 && strings.HasPrefix(src, "\ufeff") {
		return len("\ufeff")
	}
	return pos
}

// lineEnd returns where the line that holds pos ends, before its break.
func lineEnd(src string, pos int) int {
	for pos < len(src) && !isBreak(src[pos]) {
		pos++
	}
	return pos
}

// skipBreak returns the offset after the line break at pos, if there is one.
func skipBreak(src string, pos int) int {
	if strings.HasPrefix(src[pos:], "\r\n") {
		return pos + 2
	}
	if pos < len(src) && isBreak(src[pos]) {
		return pos + 1
	}
	return pos
}

// newline returns the line break in use around pos: that of its own line, else
// of the line before, else LF.
func newline(src string, pos int) string {
	end := lineEnd(src, pos)
	if next := skipBreak(src, end); next > end {
		return src[end:next]
	}
	start := lineStart(src, pos)
	switch {
	case start >= 2 && src[start-2:start] == "\r\n":
		return "\r\n"
	case start >= 1 && isBreak(src[start-1]):
		return src[start-1 : start]
	}
	return "\n"
}

// linePrefix returns the blanks at the start of the line that holds pos.
func linePrefix(src string, pos int) string {
	start := lineStart(src, pos)
	end := start
	for end < len(src) && isBlank(src[end]) {
		end++
	}
	return src[start:end]
}

// beginsLine reports whether only blanks precede pos on its line.
func beginsLine(src string, pos int) bool {
	for i := pos - 1; i >= 0 && !isBreak(src[i]); i-- {
		if !isBlank(src[i]) {
			return i == len("\ufeff")-1 && strings.HasPrefix(src, "\ufeff")
		}
	}
	return true
}

func hasBreak(s string) bool { return strings.ContainsAny(s, "\r\n") }
