package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences makes a console interpret escape sequences, which consoles
// before Windows Terminal do only when asked, and reports whether it does.
func enableSequences(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
