package fileops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/tree"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

var fileTree = &operation{
	name: "file_tree", enable: "allow_file_tree", path: "root_path",
	about: "Draw the tree of a directory within a budget of characters, without what git ignores. The first thing to do in an unknown project. Follow next_offset to read on.",
	fields: []field{
		{name: "root_path", kind: text, required: true, about: "The directory.", example: "."},
		{name: "max_depth", kind: integer, def: tree.DefaultDepth, min: 0, about: "How deep to draw; 1 is the directory's own entries. 64 by default, at most 256."},
		{name: "max_chars", kind: integer, def: tree.DefaultChars, min: 1, about: "Characters of the tree: 20000 by default, at most 200000."},
		{name: "offset", kind: integer, min: 0, about: "How many entries to pass over, the line of the root not counted."},
		{name: "show_hidden", kind: boolean, def: false, about: "Show entries whose names begin with a dot."},
		{name: "include_patterns", kind: texts, about: `Gitignore-style patterns of the entries to keep: ["*.rs"] keeps Rust files, ["*/"] directories alone.`},
		{name: "exclude_patterns", kind: texts, about: `Gitignore-style patterns of the entries to leave out, such as ["target/**"].`},
		{name: "max_file_size", kind: integer, min: 0, about: "Leave out files of more bytes than this."},
		{name: "include_stats", kind: boolean, def: false, about: "Add extension_stats and largest_dirs."},
		{name: "stats_scope", kind: text, enum: []string{"rendered", "scanned"}, def: "rendered", about: "What the statistics are about: what is drawn, or all that is there."},
		{name: "max_scanned_files", kind: integer, def: tree.DefaultScanned, min: 1, about: "Entries to visit at most; 20000 by default."},
		{name: "max_scan_ms", kind: integer, def: 5000, min: 1, about: "Milliseconds to spend at most: 5000 by default, at most 60000."},
	},
	run: runTree,
}

// drawn is what file_tree returns.
type drawn struct {
	RootPath            string          `json:"root_path"`
	Tree                string          `json:"tree"`
	RenderedFiles       int             `json:"rendered_files"`
	RenderedDirs        int             `json:"rendered_dirs"`
	ScannedFiles        int             `json:"scanned_files"`
	ScannedDirs         int             `json:"scanned_dirs"`
	OmittedEntries      int             `json:"omitted_entries"`
	Truncated           bool            `json:"truncated"`
	TruncatedReason     string          `json:"truncated_reason,omitempty"`
	NextOffset          int             `json:"next_offset,omitempty"`
	ScanTruncated       bool            `json:"scan_truncated"`
	ScanCancelled       bool            `json:"scan_cancelled"`
	StatsComplete       bool            `json:"stats_complete"`
	StatsScope          tree.Scope      `json:"stats_scope"`
	ExtensionStats      []extensionStat `json:"extension_stats,omitzero"`
	LargestDirs         []dirStat       `json:"largest_dirs,omitzero"`
	SnapshotFingerprint string          `json:"snapshot_fingerprint"`
	ElapsedMS           int64           `json:"elapsed_ms"`
}

type extensionStat struct {
	Extension  string `json:"extension"`
	FileCount  int    `json:"file_count"`
	TotalBytes int64  `json:"total_bytes"`
}

type dirStat struct {
	Path      string `json:"path"`
	FileCount int    `json:"file_count"`
}

func (d drawn) summary() string {
	s := fmt.Sprintf("%s and %s of %s", count(d.RenderedFiles, "file", "files"), count(d.RenderedDirs, "directory", "directories"), vfs.DisplayName(d.RootPath))
	if d.TruncatedReason != "" {
		s += "; " + d.TruncatedReason
	}
	return s
}

// treeOptions reads the arguments of a tree that need no directory.
func treeOptions(r *request) (o tree.Options, err error) {
	o = tree.Options{
		MaxDepth:    -1,
		MaxChars:    r.args.count("max_chars", 0, tree.MaxChars),
		MaxScanned:  r.args.count("max_scanned_files", tree.DefaultScanned, bound(r.cfg.MaxScannedFiles, math.MaxInt32)),
		MaxTime:     time.Duration(r.args.count("max_scan_ms", int(tree.DefaultTime.Milliseconds()), bound(r.cfg.MaxScanMS, math.MaxInt32))) * time.Millisecond,
		MaxFileSize: r.args.number("max_file_size", -1),
		Offset:      r.args.count("offset", 0, math.MaxInt32),
		ShowHidden:  r.args.flag("show_hidden"),
		Skip:        func(name string) bool { return name == BackupFolder },
		Stats:       r.args.flag("include_stats"),
		Scope:       tree.Scope(r.args.text("stats_scope")),
		Progress:    r.progress(),
	}
	if r.args.has("max_depth") {
		o.MaxDepth = r.args.count("max_depth", 0, tree.MaxDepth)
	}
	if o.Scope == "" {
		o.Scope = tree.Rendered
	}
	if o.Include, err = r.globs("include_patterns", gitignore.IncludeEntries); err != nil {
		return o, err
	}
	o.Exclude, err = r.globs("exclude_patterns", gitignore.ExcludeEntries)
	return o, err
}

func runTree(ctx context.Context, r *request) (result, error) {
	began := time.Now()
	o, err := treeOptions(r)
	if err != nil {
		return nil, err
	}
	t, err := r.existingDir(ctx, "root_path")
	if err != nil {
		return nil, err
	}
	o.RootName = path.Base(slashed(t.Path))
	d, err := walk.Open(ctx, r.fs, t)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if o.Rules, err = r.rulesAbove(ctx, t, d); err != nil {
		return nil, err
	}
	got, err := tree.Render(ctx, d, o)
	if err != nil {
		return nil, err
	}
	out := drawnOf(t.Path, got, o)
	out.ElapsedMS = r.elapsed(began)
	return out, nil
}

// drawnOf is the answer that shows the tree of a directory.
func drawnOf(root string, got tree.Tree, o tree.Options) drawn {
	out := drawn{
		RootPath: root, Tree: got.Text,
		RenderedFiles: got.RenderedFiles, RenderedDirs: got.RenderedDirs,
		ScannedFiles: got.ScannedFiles, ScannedDirs: got.ScannedDirs,
		OmittedEntries: got.ScannedFiles + got.ScannedDirs - got.RenderedFiles - got.RenderedDirs,
		Truncated:      got.CutByChars || got.CutByDepth, TruncatedReason: cutReason(got),
		NextOffset: got.Next, ScanTruncated: got.CutByScanned, ScanCancelled: got.CutByTime,
		StatsComplete: !got.CutByScanned && !got.CutByTime, StatsScope: o.Scope,
		SnapshotFingerprint: got.Fingerprint,
	}
	if o.Stats {
		out.ExtensionStats, out.LargestDirs = []extensionStat{}, []dirStat{}
	}
	for _, x := range got.Extensions {
		out.ExtensionStats = append(out.ExtensionStats, extensionStat{vfs.DisplayName(x.Extension), x.Files, x.Bytes})
	}
	for _, x := range got.Largest {
		out.LargestDirs = append(out.LargestDirs, dirStat{vfs.DisplayName(x.Path), x.Files})
	}
	return out
}

func cutReason(t tree.Tree) string {
	var why []string
	if t.CutByChars {
		why = append(why, "max_chars was reached")
		if t.Next == 0 {
			why[0] = "max_chars leaves no room for an entry"
		}
	}
	if t.CutByDepth {
		why = append(why, "max_depth hides deeper entries")
	}
	if t.CutByScanned {
		why = append(why, "max_scanned_files was reached")
	}
	if t.CutByTime {
		why = append(why, "max_scan_ms was reached")
	}
	if t.Unreadable > 0 {
		why = append(why, count(t.Unreadable, "directory", "directories")+" could not be read")
	}
	return strings.Join(why, "; ")
}

// globs compiles a list of patterns.
func (r *request) globs(field string, use gitignore.Use) (*gitignore.Globs, error) {
	patterns := r.args.texts(field)
	g, err := gitignore.NewGlobs(patterns, use)
	if err != nil {
		f := with(badArgument(field, "%s: %v", field, err), field, nil)
		var pe *gitignore.PatternError
		if errors.As(err, &pe) && len(patterns) > 1 {
			with(f, field, slices.Delete(slices.Clone(patterns), pe.Index, pe.Index+1))
		}
		return nil, f
	}
	return g, nil
}

// progress hands on what a scan tells, if anybody wants to hear it.
func (r *request) progress() func(int) {
	if r.cfg.Progress == nil {
		return nil
	}
	return func(seen int) { r.cfg.Progress(r.op.name, seen) }
}
