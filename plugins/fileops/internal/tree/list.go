package tree

import (
	"context"
	"errors"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

// The defaults and hard bounds of a listing.
const (
	DefaultPage   = 50
	MaxPage       = 200
	MaxListDepth  = 5
	MaxListVisits = 1_000_000
)

// ListOptions are the options of [List]. Unlike a tree, a listing shows what
// is ignored.
type ListOptions struct {
	Depth      int // 1 is the directory's own entries
	Name       *gitignore.Name
	ShowHidden bool
	Offset     int
	Page       int
}

// Listed is one entry of a listing.
type Listed struct {
	walk.Entry
	Path  string // relative to the directory listed
	Depth int    // 1 for its own entries
	// Err tells that a directory could not be listed.
	Err error
}

// Listing is a page of a listing.
type Listing struct {
	Entries []Listed
	Total   int
	// Cut tells that there was more to count than MaxListVisits.
	Cut bool
}

// List lists a directory, which it does not close: in byte order of names,
// what a directory holds following it.
func List(ctx context.Context, root walk.Dir, o ListOptions) (Listing, error) {
	l := &lister{ctx: ctx, o: o}
	entries, err := root.Entries(ctx)
	if err != nil {
		return Listing{}, err
	}
	if err := l.dir(root, "", entries, 1); err != nil && !errors.Is(err, errStop) {
		return Listing{}, err
	}
	return l.l, nil
}

type lister struct {
	ctx     context.Context
	o       ListOptions
	l       Listing
	visited int
}

func (l *lister) dir(d walk.Dir, path string, entries []walk.Entry, depth int) error {
	walk.SortByName(entries)
	for _, e := range entries {
		if l.visited++; l.visited > MaxListVisits {
			l.l.Cut = true
			return errStop
		}
		if e.Hidden() && !l.o.ShowHidden {
			continue
		}
		full := walk.Join(path, e.Name)
		at := -1
		if l.o.Name == nil || l.o.Name.Match(e.Name) {
			if l.l.Total >= l.o.Offset && len(l.l.Entries) < l.o.Page {
				at = len(l.l.Entries)
				if e.Size < 0 && e.Type == vfs.File {
					// A file that has just vanished has no size to tell.
					e.Size, _ = d.Size(l.ctx, e.Name)
				}
				l.l.Entries = append(l.l.Entries, Listed{Entry: e, Path: full, Depth: depth})
			}
			l.l.Total++
		}
		if !e.IsDir() || depth >= l.o.Depth {
			continue
		}
		if err := l.ctx.Err(); err != nil {
			return err
		}
		if err := l.sub(d, full, e.Name, depth, at); err != nil {
			return err
		}
	}
	return nil
}

// sub lists a directory below; a failure belongs to its entry, number at of
// the page, if that is shown.
func (l *lister) sub(d walk.Dir, path, name string, depth, at int) error {
	child, err := d.OpenDir(l.ctx, name)
	if err == nil {
		defer child.Close()
		var entries []walk.Entry
		if entries, err = child.Entries(l.ctx); err == nil {
			return l.dir(child, path, entries, depth+1)
		}
	}
	if l.ctx.Err() != nil {
		return l.ctx.Err()
	}
	if at >= 0 {
		l.l.Entries[at].Err = err
	}
	return nil
}
