package approve

import (
	"os"

	"golang.org/x/sys/windows"
)

// discardInput drops what was typed at a terminal and not read yet. It is best
// effort: a terminal that cannot do so keeps it.
func discardInput(tty *os.File) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(tty.Fd()))
}
