package term

import "io"

// NewTerminal returns an output that has all that a terminal has.
func NewTerminal(w io.Writer, width int) *Output {
	return &Output{w: w, terminal: true, moves: true, color: true, width: width}
}
