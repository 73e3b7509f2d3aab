//go:build !linux && !darwin && !windows

package approve

import "os"

// discardInput is not known here.
func discardInput(*os.File) {}
