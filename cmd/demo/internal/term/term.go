// Package term writes to terminals and to what is none.
//
// Colour is used when the output is a terminal, NO_COLOR is unset or empty
// (https://no-color.org), and TERM is not "dumb". CLICOLOR_FORCE, set to
// anything but "" and "0", asks for colour everywhere (https://bixense.com/clicolors);
// NO_COLOR counts before it.
//
// Only this package makes escape sequences. It passes on the text it is given
// as it is: [Visible] makes text from files, names and models safe first.
package term

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Style is how a piece of text looks.
type Style string

// The styles, as parameters of the SGR sequence (ECMA-48, 8.3.117).
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Invert Style = "7"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
	Cyan   Style = "36"
	// RedMark and GreenMark emphasise within red and green text.
	RedMark   Style = "31;7"
	GreenMark Style = "32;7"
)

// Output is where a program writes.
type Output struct {
	w        io.Writer
	err      error // of the first write that failed
	terminal bool
	moves    bool // the cursor can be moved
	color    bool
	width    int
}

// Write writes to the output. After a failed write nothing more is written.
func (o *Output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}

// Err returns the error of the first write that failed, so that callers may
// print without looking at each.
func (o *Output) Err() error { return o.err }

// defaultWidth is taken where nothing tells the width.
const defaultWidth = 80

// New returns an output on w. getenv is os.Getenv outside of tests.
func New(w io.Writer, getenv func(string) string) *Output {
	o := &Output{w: w, width: defaultWidth}
	f, isFile := w.(*os.File)
	terminal := isFile && term.IsTerminal(int(f.Fd()))
	o.terminal = terminal
	o.moves = terminal && getenv("TERM") != "dumb" && enableSequences(f)
	force := getenv("CLICOLOR_FORCE")
	switch {
	case getenv("NO_COLOR") != "":
	case force != "" && force != "0":
		o.color = true
	default:
		o.color = o.moves
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		o.width = n
	} else if terminal {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			o.width = n
		}
	}
	return o
}

// Terminal reports whether a person reads the output at a terminal.
func (o *Output) Terminal() bool { return o.terminal }

// Color reports whether the output has colour.
func (o *Output) Color() bool { return o.color }

// Width returns the number of columns: what COLUMNS says, else the terminal's,
// else 80.
func (o *Output) Width() int { return o.width }

// Paint returns text in a style. Where the output has no colour, or there is
// no text, it is the text alone.
func (o *Output) Paint(s Style, text string) string {
	if !o.color || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Rule returns a line across the output, at most 100 columns, with a title at
// its left.
func (o *Output) Rule(title string) string {
	n := min(o.width, 100)
	head := "── " + title + " "
	fill := n - Cells(head)
	return o.Paint(Dim, "── ") + o.Paint(Bold, title) + " " + o.Paint(Dim, strings.Repeat("─", max(fill, 2)))
}
