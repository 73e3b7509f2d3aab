// Package walk is how file operations see a tree of directories: an open
// directory whose children are named by one component at a time and never
// followed when they are symlinks, so a walk cannot leave its root or go
// round in circles. It also gathers the ignore files met on the way.
//
// [Open] opens a directory of any filesystem provider: through its ability
// [vfs.DirOpener], or by listing and opening paths where it lacks that.
package walk

import (
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/vfs"
)

// Entry is one child of a directory.
type Entry = vfs.Child

// Dir is an open directory.
type Dir = vfs.Dir

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
