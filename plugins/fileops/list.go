package fileops

import (
	"context"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/tree"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

var listDirectory = &operation{
	name: "list_directory", enable: "allow_list_directory", path: "directory_path",
	about: "List a directory by pages, in byte order of names, ignored files included. Follow next_offset to read on.",
	fields: []field{
		{name: "directory_path", kind: text, required: true, about: "The directory.", example: "."},
		{name: "max_depth", kind: integer, def: 1, min: 0, about: "How deep to go: 0 is the directory itself, 1 (the default) its entries, at most 5."},
		{name: "offset", kind: integer, min: 0, def: 0, about: "How many entries to pass over."},
		{name: "page_size", kind: integer, def: tree.DefaultPage, min: 1, about: "Entries of a page: 50 by default, at most 200."},
		{name: "pattern", kind: text, about: "Glob for names, such as *.rs or *.{c,h}; it is compared with the name alone, not the path."},
		{name: "show_hidden", kind: boolean, def: false, about: "Show entries whose names begin with a dot."},
		{name: "verbose", kind: boolean, def: false, about: "Add absolute_path, modified and is_binary to each entry."},
	},
	run: runList,
}

// listing is what list_directory returns.
type listing struct {
	DirectoryPath   string  `json:"directory_path"`
	Entries         []entry `json:"entries"`
	Offset          int     `json:"offset"`
	PageSize        int     `json:"page_size"`
	ReturnedEntries int     `json:"returned_entries"`
	TotalEntries    int     `json:"total_entries"`
	Truncated       bool    `json:"truncated"`
	NextOffset      int     `json:"next_offset,omitempty"`
	ElapsedMS       int64   `json:"elapsed_ms"`
}

type entry struct {
	Name         string `json:"name"`
	RelativePath string `json:"relative_path"`
	EntryType    string `json:"entry_type,omitempty"`
	SizeBytes    *int64 `json:"size_bytes,omitempty"`
	Depth        int    `json:"depth"`
	AbsolutePath string `json:"absolute_path,omitempty"`
	Modified     string `json:"modified,omitempty"`
	IsBinary     *bool  `json:"is_binary,omitempty"`
	// Error tells why a directory could not be listed or a file examined.
	Error string `json:"error,omitempty"`
}

func (l listing) summary() string {
	return fmt.Sprintf("%d of %s of %s", l.ReturnedEntries, count(l.TotalEntries, "entry", "entries"), vfs.DisplayName(l.DirectoryPath))
}

func runList(ctx context.Context, r *request) (result, error) {
	began := time.Now()
	o := tree.ListOptions{
		Depth:      r.args.count("max_depth", 1, tree.MaxListDepth),
		Offset:     r.args.count("offset", 0, math.MaxInt32),
		Page:       r.args.count("page_size", tree.DefaultPage, tree.MaxPage),
		ShowHidden: r.args.flag("show_hidden"),
	}
	if p := r.args.text("pattern"); p != "" {
		var err error
		if o.Name, err = gitignore.NewName(p); err != nil {
			return nil, r.badPattern(p, err)
		}
	}
	t, err := r.existingDir(ctx, "directory_path")
	if err != nil {
		return nil, err
	}
	got, err := r.list(ctx, t, o)
	if err != nil {
		return nil, err
	}
	out := listing{
		DirectoryPath: t.Path, Entries: []entry{}, Offset: o.Offset, PageSize: o.Page,
		ReturnedEntries: len(got.Entries), TotalEntries: got.Total,
	}
	if next := o.Offset + len(got.Entries); next < got.Total && len(got.Entries) > 0 {
		out.Truncated, out.NextOffset = true, next
	}
	for _, e := range got.Entries {
		item := entry{Name: vfs.DisplayName(e.Name), RelativePath: vfs.DisplayName(e.Path), EntryType: entryType(e.Type), Depth: e.Depth}
		if e.Type == vfs.File {
			item.SizeBytes = &e.Size
		}
		if e.Err != nil {
			item.Error = e.Err.Error()
		}
		if r.args.flag("verbose") {
			if err := r.describeEntry(ctx, t, e, &item); err != nil {
				return nil, err
			}
		}
		out.Entries = append(out.Entries, item)
	}
	out.ElapsedMS = r.elapsed(began)
	return out, nil
}

// badPattern proposes the same pattern where its directory can be listed
// instead.
func (r *request) badPattern(p string, err error) error {
	f := with(badArgument("pattern", "%v", err), "pattern", nil)
	dir, name := path.Split(p)
	dir = strings.Trim(dir, "/")
	if _, err := gitignore.NewName(name); err != nil || dir == "" {
		return f
	}
	switch {
	case dir == "**":
		with(f, "max_depth", tree.MaxListDepth)
	case strings.ContainsAny(dir, `*?[{\`):
		return f
	case r.args.text("directory_path") == ".":
		with(f, "directory_path", dir)
	default:
		with(f, "directory_path", strings.TrimSuffix(slashed(r.args.text("directory_path")), "/")+"/"+dir)
	}
	return with(f, "pattern", name)
}

func (r *request) list(ctx context.Context, t vfs.Target, o tree.ListOptions) (tree.Listing, error) {
	if o.Depth == 0 {
		l := tree.Listing{Total: 1}
		if o.Offset == 0 {
			l.Entries = []tree.Listed{{Entry: walk.Entry{Name: ".", Type: vfs.Directory}, Path: "."}}
		}
		return l, nil
	}
	d, err := walk.Open(ctx, r.fs, t)
	if err != nil {
		return tree.Listing{}, err
	}
	defer d.Close()
	return tree.List(ctx, d, o)
}

// describeEntry adds what costs a look at the entry itself. A failure belongs
// to the entry, unless it is the end of the call.
func (r *request) describeEntry(ctx context.Context, dir vfs.Target, e tree.Listed, out *entry) error {
	note := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if out.Error == "" {
			out.Error = err.Error()
		}
		return nil
	}
	path := dir.Path
	if e.Depth > 0 {
		path = below(dir, e.Path)
	}
	out.AbsolutePath = vfs.DisplayName(path)
	t, err := r.fs.Resolve(ctx, path, vfs.ResolveOptions{})
	if err != nil {
		return note(err)
	}
	info, err := r.fs.Lstat(ctx, t)
	if err != nil {
		return note(err)
	}
	if !info.Modified.IsZero() {
		out.Modified = r.fileTime("modified", info.Modified)
	}
	if info.Type != vfs.File {
		return nil
	}
	head, err := r.head(ctx, t)
	if err != nil {
		return note(err)
	}
	binary := binaryHead(head)
	out.IsBinary = &binary
	return nil
}
