package term

import (
	"strings"

	"github.com/bridle-go/bridle/harness/vfs"
)

// tabStop is how far apart tab stops are.
const tabStop = 4

// Visible returns one line of text as it can be shown: tabs reach to the next
// stop, and everything that does not show itself, such as control characters,
// characters that change the direction of text, line breaks and bytes that are
// not UTF-8, is written as an escape. Nothing in the result acts on a terminal.
func Visible(line string) string {
	if !strings.Contains(line, "\t") {
		return vfs.DisplayName(line)
	}
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
		part = vfs.DisplayName(part)
		b.WriteString(part)
		column += Cells(part)
	}
	return b.String()
}

// Line returns text of any number of lines as one line, for a message: line
// breaks, with the blanks around them, become one blank, and the rest is made
// visible.
func Line(text string) string {
	var parts []string
	for part := range strings.Lines(text) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return vfs.DisplayName(strings.Join(parts, " "))
}
