package fslocal

import (
	"context"

	"github.com/bridle-go/bridle/harness/vfs"
)

// Fence decides where changes may be made. Without one, changes may be made
// wherever the process may make them.
//
// The provider asks before it touches anything, and then makes the change
// through the directory handle it was given, walking down from it without
// following symlinks. So what was checked is what is changed: if the path has
// come to lead elsewhere meanwhile, the walk meets a symlink, and the provider
// resolves the target anew and asks again.
type Fence interface {
	// Enter is asked once for each directory entry that a change would make,
	// replace or remove. An error refuses the change and is returned as it is.
	// It may be called concurrently, and again for the same change.
	Enter(ctx context.Context, c Change) (Gate, error)
}

// Change is one directory entry that is about to change.
type Change struct {
	// Op is the operation, such as "write" or "remove".
	Op string
	// Target is what the caller asked for.
	Target vfs.Target
	// Path is the absolute path of the entry, free of symlinks when it was
	// resolved.
	Path string
	// Options are those of the call.
	Options vfs.Options
}

// The operations for which a gate may name its own root, since they leave a
// directory as it is.
const (
	OpWrite   = "write"
	OpEdit    = "edit"
	OpMakeDir = "make directory"
)

// Gate is where one change may be made. The zero Gate allows it anywhere.
type Gate struct {
	// Root is an open directory; the change is made below it.
	Root *Dir
	// Rel is the path of the entry from Root, slash-separated and without "."
	// and "..".
	Rel string
	// OneName forbids changing a file in place that has other names, since
	// those may lie outside. Replacing its entry leaves them alone and is
	// always allowed.
	OneName bool
	// Refusal makes the error of a change that OneName forbids.
	Refusal func() error
	// Release is called when the change is over. It may be nil.
	Release func()
}

// Same reports whether the handle is of the directory that is at an absolute
// path now, without following a symlink at its end.
func (d *Dir) Same(path string) bool {
	own, err := d.self()
	if err != nil {
		return false
	}
	there, err := statPath(path, false)
	return err == nil && there.kind == vfs.Directory && own.sameFile(there)
}

// Removed reports whether the directory has been deleted.
func (d *Dir) Removed() bool {
	own, err := d.self()
	return err != nil || own.links == 0
}
