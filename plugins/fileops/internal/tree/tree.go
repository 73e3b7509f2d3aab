// Package tree draws directory trees within a budget of characters and lists
// directories by pages.
//
// A tree is one line for the root and one for each entry below it, indented
// by two spaces a level and in byte order of names: directories end in a
// slash, symlinks and special files say what they are. [Render] walks and
// draws at the same time, so that a tree of any size takes little memory, and
// what one page shows does not depend on anything but names, types and the
// options. Symlinks are never followed.
package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

// The defaults and hard bounds of a tree.
const (
	DefaultDepth   = 64
	MaxDepth       = 256
	DefaultChars   = 20_000
	MaxChars       = 200_000
	DefaultScanned = 20_000
	DefaultTime    = 5 * time.Second
	MaxTime        = 60 * time.Second
)

// Scope is what statistics are about.
type Scope string

// The scopes. In Rendered scope the walk ends where the tree does; in Scanned
// scope it goes on past the budget of characters and the depth that is shown.
const (
	Rendered Scope = "rendered"
	Scanned  Scope = "scanned"
)

// Options of [Render]. Zero values mean the defaults, but for MaxDepth and
// MaxFileSize.
type Options struct {
	// RootName is the text of the first line.
	RootName string
	// Rules are the ignore rules in force in the root; nil to read them.
	Rules *gitignore.Dir

	MaxDepth    int // 0 shows the root alone, 1 its own entries too; negative: the default
	MaxChars    int
	MaxScanned  int // entries visited, shown or not
	MaxTime     time.Duration
	MaxFileSize int64 // larger files are left out; negative: no limit
	Offset      int   // entries to pass over, the root line not counted

	ShowHidden       bool
	Include, Exclude *gitignore.Globs
	// Skip, if not nil, leaves out more entries by name.
	Skip func(name string) bool

	Stats bool
	Scope Scope
	// Progress, if not nil, is called now and then with the entries visited.
	Progress func(visited int)
}

// Tree is a page of a tree and what the walk counted.
type Tree struct {
	Text                        string
	RenderedFiles, RenderedDirs int // directories with the root
	ScannedFiles, ScannedDirs   int // likewise
	// Next is the offset of the following page, 0 for none.
	Next int
	// CutByChars, CutByDepth, CutByScanned and CutByTime tell which bounds
	// left something out.
	CutByChars, CutByDepth, CutByScanned, CutByTime bool
	// Fingerprint stands for the paths and types of the entries drawn.
	Fingerprint string
	Extensions  []ExtensionStat
	Largest     []DirStat
	// Unreadable counts the directories that could not be listed.
	Unreadable int
}

// errStop ends a walk whose result is complete.
var errStop = errors.New("stop")

type renderer struct {
	ctx     context.Context
	o       Options
	t       Tree
	out     strings.Builder
	chars   int
	index   int // entries passed so far, drawn or not
	drawn   int
	rooted  bool // the root line was written
	full    bool // the budget is used up
	visited int
	pending []item // directories not drawn yet, waiting for an entry to keep
	print   hash.Hash
	stats   *stats
}

// item is an entry that belongs to the tree.
type item struct {
	path  string
	entry walk.Entry
	depth int
	note  string
}

// Render draws the tree below root, which it does not close.
func Render(ctx context.Context, root walk.Dir, o Options) (Tree, error) {
	o = o.withDefaults()
	timed, cancel := context.WithTimeout(ctx, o.MaxTime)
	defer cancel()
	r := &renderer{ctx: timed, o: o, print: sha256.New()}
	if o.Stats {
		r.stats = newStats()
	}
	r.t.RenderedDirs, r.t.ScannedDirs = 1, 1
	entries, err := root.Entries(timed)
	if err != nil {
		return Tree{}, err
	}
	rules := o.Rules
	if rules == nil {
		rules = walk.RootRules(timed, root, entries)
	}
	err = r.dir(root, "", rules, entries, 1)
	if ctx.Err() != nil {
		return Tree{}, ctx.Err()
	}
	if err != nil && !errors.Is(err, errStop) && !errors.Is(err, errTooDeep) {
		// Only the timer can have ended the walk otherwise.
		r.t.CutByTime = true
	}
	r.rootLine("", 0)
	r.t.Text = r.out.String()
	r.t.Fingerprint = hex.EncodeToString(r.print.Sum(nil))
	if r.t.CutByChars && r.drawn > 0 {
		r.t.Next = o.Offset + r.drawn
	}
	if r.stats != nil {
		r.t.Extensions, r.t.Largest = r.stats.result()
	}
	return r.t, nil
}

func (o Options) withDefaults() Options {
	pick := func(v, def, most int) int {
		if v <= 0 {
			v = def
		}
		return min(v, most)
	}
	if o.MaxDepth < 0 {
		o.MaxDepth = DefaultDepth
	}
	o.MaxDepth = min(o.MaxDepth, MaxDepth)
	o.MaxChars = pick(o.MaxChars, DefaultChars, MaxChars)
	o.MaxScanned = pick(o.MaxScanned, DefaultScanned, 1<<30)
	if o.MaxTime <= 0 {
		o.MaxTime = DefaultTime
	}
	o.MaxTime = min(o.MaxTime, MaxTime)
	if o.Scope == "" {
		o.Scope = Rendered
	}
	return o
}

// dir walks the entries of one directory, which are at the given depth.
func (r *renderer) dir(d walk.Dir, path string, rules *gitignore.Dir, entries []walk.Entry, depth int) error {
	walk.SortByName(entries)
	for _, e := range entries {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if r.visited == r.o.MaxScanned {
			r.t.CutByScanned = true
			return errStop
		}
		r.visited++
		if r.o.Progress != nil && r.visited%1024 == 0 {
			r.o.Progress(r.visited)
		}
		if e.Hidden() && !r.o.ShowHidden || r.o.Skip != nil && r.o.Skip(e.Name) || rules.Ignored(e.Name, e.IsDir()) {
			continue
		}
		full := walk.Join(path, e.Name)
		if r.o.Exclude.Match(full, e.IsDir()) {
			continue
		}
		var err error
		if e.IsDir() {
			err = r.directory(d, full, rules, e, depth)
		} else {
			err = r.file(d, full, e, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) included(path string, isDir bool) bool {
	return r.o.Include == nil || r.o.Include.Match(path, isDir)
}

func (r *renderer) file(d walk.Dir, path string, e walk.Entry, depth int) error {
	if !r.included(path, false) {
		return nil
	}
	if depth > r.o.MaxDepth && r.o.Scope == Rendered {
		return r.tooDeep()
	}
	size := int64(0)
	if e.Type == vfs.File && (r.stats != nil || r.o.MaxFileSize >= 0) {
		size = e.Size
		if size < 0 {
			// A file that has just vanished counts as empty.
			size, _ = d.Size(r.ctx, e.Name)
		}
		size = max(size, 0)
	}
	r.t.ScannedFiles++
	if r.stats != nil && r.o.Scope == Scanned {
		r.stats.add(e.Name, size)
	}
	if r.o.MaxFileSize >= 0 && size > r.o.MaxFileSize {
		return nil
	}
	if depth > r.o.MaxDepth {
		return r.tooDeep()
	}
	drawn, err := r.keep(item{path: path, entry: e, depth: depth})
	if drawn {
		r.t.RenderedFiles++
		if r.stats != nil && r.o.Scope == Rendered {
			r.stats.add(e.Name, size)
		}
	}
	return err
}

func (r *renderer) directory(d walk.Dir, path string, rules *gitignore.Dir, e walk.Entry, depth int) error {
	it := item{path: path, entry: e, depth: depth}
	kept := r.included(path, true)
	// The content of a repository's own folder is no part of the tree, like
	// that of a directory too deep to be opened.
	enter := e.Name != ".git" && depth < MaxDepth
	var child walk.Dir
	var entries []walk.Entry
	if enter {
		var err error
		if child, err = d.OpenDir(r.ctx, e.Name); err == nil {
			defer child.Close()
			entries, err = child.Entries(r.ctx)
		}
		if err != nil {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			it.note = "  (unreadable)"
			r.t.Unreadable++
			enter = false
		}
	}
	if depth > r.o.MaxDepth {
		if kept {
			if err := r.tooDeep(); err != nil {
				return err
			}
		}
		if r.o.Scope == Scanned {
			r.t.ScannedDirs++
		}
	} else {
		r.t.ScannedDirs++
		r.pending = append(r.pending, it)
		if kept {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	if enter {
		if err := r.enter(child, path, rules, e, entries, depth); err != nil {
			return err
		}
	}
	// If it still waits, there was nothing in it to keep.
	if n := len(r.pending); n > 0 && r.pending[n-1].depth == depth {
		r.pending = r.pending[:n-1]
	}
	return nil
}

func (r *renderer) enter(d walk.Dir, path string, rules *gitignore.Dir, e walk.Entry, entries []walk.Entry, depth int) error {
	if r.stats != nil {
		r.stats.enter()
		defer r.stats.leave(path)
	}
	err := r.dir(d, path, walk.EnterRules(r.ctx, rules, e.Name, d, entries), entries, depth+1)
	if errors.Is(err, errTooDeep) && depth == r.o.MaxDepth {
		// One entry is enough to know that the depth cut something.
		return nil
	}
	return err
}

// errTooDeep ends the look into a directory whose entries are not shown.
var errTooDeep = errors.New("too deep")

// tooDeep notes an entry below the depth that is shown. Its directories are
// kept on its account.
func (r *renderer) tooDeep() error {
	r.t.CutByDepth = true
	if err := r.flush(); err != nil {
		return err
	}
	if r.o.Scope == Scanned {
		return nil
	}
	return errTooDeep
}

// flush draws the directories that wait, the outermost first.
func (r *renderer) flush() error {
	waiting := r.pending
	r.pending = nil
	for _, it := range waiting {
		drawn, err := r.draw(it)
		if drawn {
			r.t.RenderedDirs++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) keep(it item) (bool, error) {
	if err := r.flush(); err != nil {
		return false, err
	}
	return r.draw(it)
}

// draw writes an entry's line if it is within the page.
func (r *renderer) draw(it item) (bool, error) {
	r.index++
	if r.index <= r.o.Offset || r.full {
		return false, nil
	}
	text := "\n" + strings.Repeat("  ", it.depth) + vfs.DisplayName(it.entry.Name) + mark(it.entry.Type) + it.note
	n := utf8.RuneCountInString(text)
	r.rootLine(parent(it.path), n)
	if r.full || r.chars+n > r.o.MaxChars {
		r.full, r.t.CutByChars = true, true
		if r.o.Scope == Rendered {
			return false, errStop
		}
		return false, nil
	}
	r.chars += n
	r.out.WriteString(text)
	r.print.Write([]byte(it.path))
	r.print.Write([]byte{0, byte(it.entry.Type), 0})
	r.drawn++
	return true, nil
}

// rootLine writes the first line of a page, once. Where the page begins below
// the root, it says where, unless that leaves no room for the next characters.
func (r *renderer) rootLine(within string, next int) {
	if r.rooted {
		return
	}
	r.rooted = true
	line := vfs.DisplayName(r.o.RootName) + "/"
	if strings.HasSuffix(r.o.RootName, "/") {
		line = vfs.DisplayName(r.o.RootName)
	}
	n := utf8.RuneCountInString(line)
	if within != "" && r.o.Offset > 0 {
		note := "  (continued in " + vfs.DisplayName(within) + "/)"
		if k := utf8.RuneCountInString(note); n+k+next <= r.o.MaxChars {
			line, n = line+note, n+k
		}
	}
	if n > r.o.MaxChars {
		r.full, r.t.CutByChars = true, true
		return
	}
	r.out.WriteString(line)
	r.chars += n
}

func mark(t vfs.Type) string {
	switch t {
	case vfs.Directory:
		return "/"
	case vfs.Link:
		return "  (symlink)"
	case vfs.File:
		return ""
	}
	return "  (special)"
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}
