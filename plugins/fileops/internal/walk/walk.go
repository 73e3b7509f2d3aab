// Package walk is how file operations see a tree of directories: an open
// directory whose children are named by one component at a time and never
// followed when they are symlinks, so a walk cannot leave its root or go
// round in circles. It also gathers the ignore files met on the way.
//
// The package opens nothing itself. [Dir] is implemented over a filesystem
// provider elsewhere.
package walk

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/vfs"
)

// Entry is one child of a directory.
type Entry struct {
	// Name is one path component, byte for byte.
	Name string
	Type vfs.Type
	// Size is the size in bytes of a regular file, or -1 where the listing
	// did not say.
	Size int64
}

// IsDir reports whether the entry is a directory (a symlink to one is not).
func (e Entry) IsDir() bool { return e.Type == vfs.Directory }

// Hidden reports whether the name begins with a dot.
func (e Entry) Hidden() bool { return strings.HasPrefix(e.Name, ".") }

// Dir is an open directory. Its methods may be called concurrently.
type Dir interface {
	// Entries returns all children, in any order.
	Entries(ctx context.Context) ([]Entry, error)
	// OpenDir opens a child directory. A symlink is an error.
	OpenDir(ctx context.Context, name string) (Dir, error)
	// ReadFile reads a regular file into buf, which it may not keep. When the
	// file is longer than len(buf), rest continues where data ends and the
	// caller closes it; otherwise rest is nil. Anything but a regular file,
	// a symlink included, is an error, and opening never blocks.
	ReadFile(ctx context.Context, name string, buf []byte) (data []byte, rest io.ReadCloser, err error)
	// Close releases the directory. Directories opened from it stay open.
	Close() error
}

// SizeReader is a Dir whose listings do not carry sizes for free.
type SizeReader interface {
	// Size returns the size of a regular file.
	Size(ctx context.Context, name string) (int64, error)
}

// SortByPath puts entries into the order in which the full paths below them
// sort byte by byte: a directory compares with a slash at its end, so that
// "a.go" comes before what is in "a" and that before "a0".
func SortByPath(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return comparePath(a.Name, a.IsDir(), b.Name, b.IsDir()) })
}

func comparePath(a string, aDir bool, b string, bDir bool) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	return tailByte(a, n, aDir) - tailByte(b, n, bDir)
}

// tailByte is the byte of a path at the end of the common part, with -1 for
// the end of a file's name.
func tailByte(name string, n int, isDir bool) int {
	switch {
	case n < len(name):
		return int(name[n])
	case isDir:
		return '/'
	}
	return -1
}

// SortByName puts entries into byte order of their names.
func SortByName(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
}

// Join appends a name to a relative path; "" is the root.
func Join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
