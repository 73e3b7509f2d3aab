package fslocal

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// resolve returns the path that an absolute path leads to, and the path to show
// for it. What does not exist is added to the deepest directory that does.
func resolve(path string) (physical, display string, err error) {
	display = filepath.Clean(path)
	rest := ""
	for at := display; ; {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), display, nil
		}
		parent := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || parent == at {
			return "", "", err
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = parent
	}
}
