package vfs

import (
	"context"
	"io"
	"strings"
)

// DirOpener opens directories for those who visit very many files: each is
// named by one component below an open directory, so that nothing is resolved
// twice, and no symlink is followed, so that nothing outside is reached.
type DirOpener interface {
	OpenDir(ctx context.Context, t Target) (Dir, error)
}

// Dir is an open directory. Its methods may be called concurrently, but for
// Close.
type Dir interface {
	// Entries returns all children, in any order.
	Entries(ctx context.Context) ([]Child, error)
	// OpenDir opens a child directory. A symlink is FS_NOT_DIRECTORY.
	OpenDir(ctx context.Context, name string) (Dir, error)
	// ReadFile reads a regular file into buf, which it does not keep. When the
	// file may be longer than len(buf), rest continues where data ends and the
	// caller closes it; otherwise rest is nil. Anything but a regular file, a
	// symlink included, is FS_NOT_REGULAR_FILE, and opening never blocks.
	ReadFile(ctx context.Context, name string, buf []byte) (data []byte, rest io.ReadCloser, err error)
	// Size returns the size of a regular file, for listings that do not have
	// it; 0 for anything else and for what has vanished.
	Size(ctx context.Context, name string) (int64, error)
	// Close releases the directory. Directories opened from it stay open.
	Close() error
}

// Child is one entry of a [Dir].
type Child struct {
	// Name is one path component, byte for byte.
	Name string
	// Type does not follow a symlink.
	Type Type
	// Size is the size in bytes of a regular file, or -1 where the listing
	// does not say.
	Size int64
}

// IsDir reports whether the child is a directory; a symlink to one is not.
func (c Child) IsDir() bool { return c.Type == Directory }

// Hidden reports whether the name begins with a dot.
func (c Child) Hidden() bool { return strings.HasPrefix(c.Name, ".") }
