package textwindow

import (
	"fmt"
	"strconv"
	"strings"
)

// Line is one line of a window, as it is shown.
type Line struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// Window is a run of lines and where it stands in the text.
type Window struct {
	// Offset is the number of the first line that was asked for.
	Offset int `json:"offset"`
	// Lines are the lines, ascending. They are empty, and not nil, only when
	// the text is empty.
	Lines []Line `json:"lines"`
	// TotalLines counts the lines of the whole text.
	TotalLines int `json:"totalLines"`
	// Capped is set when the window ended before the limit of lines because
	// of the limit of bytes, and lines follow it.
	Capped bool `json:"-"`
}

// End returns the number of the last line of the window, 0 for an empty text.
func (w Window) End() int {
	if len(w.Lines) == 0 {
		return 0
	}
	return w.Lines[len(w.Lines)-1].Number
}

// Next returns the offset of the window that follows, or 0 at the end of the
// text.
func (w Window) Next() int {
	if end := w.End(); end < w.TotalLines {
		return end + 1
	}
	return 0
}

// Footer returns the line that says where the window ends and how to go on.
func (w Window) Footer() string {
	next := w.Next()
	switch {
	case next == 0:
		return fmt.Sprintf("(End of file - total %d lines)", w.TotalLines)
	case w.Capped:
		return fmt.Sprintf("(Output capped. Showing lines %d-%d. Use offset=%d to continue.)", w.Offset, w.End(), next)
	default:
		return fmt.Sprintf("(Showing lines %d-%d of %d. Use offset=%d to continue.)", w.Offset, w.End(), w.TotalLines, next)
	}
}

// Format renders the window for a model: the path, the numbered lines and the
// footer in an envelope of tags. The path is written as it is.
func (w Window) Format(path string) string {
	var out strings.Builder
	size := len(path) + 200
	for _, line := range w.Lines {
		size += len(line.Text) + 12
	}
	out.Grow(size)
	out.WriteString("<path>")
	out.WriteString(path)
	out.WriteString("</path>\n<type>file</type>\n<content>\n")
	for _, line := range w.Lines {
		out.WriteString(strconv.Itoa(line.Number))
		out.WriteString(": ")
		out.WriteString(line.Text)
		out.WriteByte('\n')
	}
	if len(w.Lines) > 0 {
		out.WriteByte('\n')
	}
	out.WriteString(w.Footer())
	out.WriteString("\n</content>")
	return out.String()
}

// OffsetError says that a window was to begin behind the end of the text.
type OffsetError struct{ Offset, TotalLines int }

func (e *OffsetError) Error() string {
	return fmt.Sprintf("offset %d is out of range (%d lines)", e.Offset, e.TotalLines)
}

// Message is the error as a model is told it, with the path of the file.
func (e *OffsetError) Message(path string) string {
	return fmt.Sprintf("offset %d is out of range for \"%s\" (%d lines)", e.Offset, path, e.TotalLines)
}
