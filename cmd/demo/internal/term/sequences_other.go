//go:build !windows

package term

import "os"

// enableSequences reports whether the terminal understands escape sequences.
func enableSequences(*os.File) bool { return true }
