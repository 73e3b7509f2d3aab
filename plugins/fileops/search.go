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
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/search"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

var searchFiles = &operation{
	name: "search_files", enable: "allow_search", path: "search_path",
	about: "Search the files below a directory, or one file, for a text or an RE2 expression. Ignored, hidden and binary files are passed over. Results are in order of path and line.",
	fields: []field{
		{name: "query", kind: text, required: true, about: "What to look for.", example: "TEXT TO FIND"},
		{name: "search_path", kind: text, required: true, about: "The directory or file.", example: "."},
		{name: "is_regex", kind: boolean, def: false, about: "Take query as an RE2 expression."},
		{name: "case_insensitive", kind: boolean, def: false, about: "Ignore case."},
		{name: "multiline", kind: boolean, def: false, about: "Let an expression match across lines."},
		{name: "output_mode", kind: text, enum: []string{"content", "files_with_matches", "count"}, def: "content", about: "Matching lines, paths with their number of matches, or numbers alone."},
		{name: "context_lines", kind: integer, def: 0, min: 0, about: "Lines around each match, 0 (the default) to 3; in content mode."},
		{name: "include_patterns", kind: texts, about: `Gitignore-style patterns of files to search, such as ["*.rs"].`},
		{name: "exclude_patterns", kind: texts, about: `Gitignore-style patterns of files to leave out, such as ["*.bak", "target/**"].`},
		{name: "file_types", kind: texts, words: sortedKeys(fileTypes), otherWords: otherTypes, about: "Languages to search: " + strings.Join(sortedKeys(fileTypes), ", ") + "."},
		{name: "max_results", kind: integer, def: 200, min: 1, about: "Matches in content mode: 200 by default, at most 1000."},
		{name: "max_files", kind: integer, def: 500, min: 1, about: "Files listed in the other modes: 500 by default, at most 5000."},
		{name: "max_scanned_files", kind: integer, def: search.DefaultScannedFiles, min: 1, about: "Files to search at most; 50000 by default."},
		{name: "max_scanned_bytes", kind: integer, def: search.DefaultScannedBytes, min: 1, about: "Bytes to search at most; 256 MiB by default."},
		{name: "max_match_span_bytes", kind: integer, min: 1, about: "With multiline, pass over matches of more bytes."},
		{name: "max_match_span_lines", kind: integer, min: 1, about: "With multiline, pass over matches of more lines."},
		{name: "timeout_ms", kind: integer, def: 5000, min: 1, about: "Milliseconds that a multiline search may take, at most 30000. Given, it bounds other searches, too; by default they may take 30000."},
	},
	run: runSearch,
}

// fileTypes are the extensions of languages.
var fileTypes = map[string][]string{
	"rust": {"*.rs"}, "js": {"*.js", "*.jsx", "*.mjs", "*.cjs"}, "ts": {"*.ts", "*.tsx", "*.mts", "*.cts"},
	"py": {"*.py", "*.pyi"}, "go": {"*.go"}, "java": {"*.java"}, "kt": {"*.kt", "*.kts"}, "md": {"*.md", "*.markdown", "*.mdx"},
	"json": {"*.json", "*.jsonl"}, "yaml": {"*.yaml", "*.yml"}, "toml": {"*.toml"}, "c": {"*.c", "*.h"},
	"cpp": {"*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh", "*.hxx", "*.h"}, "rb": {"*.rb"}, "sh": {"*.sh", "*.bash", "*.zsh"},
}

// otherTypes are other names of languages, with those of fileTypes.
var otherTypes = map[string]string{
	"bash": "sh", "c++": "cpp", "cc": "cpp", "golang": "go", "h": "c", "hpp": "cpp", "javascript": "js", "jsx": "js", "kotlin": "kt",
	"markdown": "md", "python": "py", "python3": "py", "rs": "rust", "ruby": "rb", "shell": "sh", "tsx": "ts", "typescript": "ts",
	"yml": "yaml", "zsh": "sh",
}

// The bounds of the search's arguments.
const (
	maxContext       = 3
	maxResults       = 1000
	maxListedFiles   = 5000
	maxSearchTime    = 30 * time.Second
	multilineTime    = 5 * time.Second
	maxScannedBytes  = 16 << 30
	searchGoroutines = 2
)

// searched is what search_files returns.
type searched struct {
	Matches          []match     `json:"matches,omitzero"`
	FilesWithMatches []string    `json:"files_with_matches,omitzero"`
	FileMatchCounts  []fileCount `json:"file_match_counts,omitzero"`
	TotalMatches     int         `json:"total_matches"`
	MatchedFiles     int         `json:"matched_files"`
	SearchedFiles    int         `json:"searched_files"`
	Truncated        bool        `json:"truncated"`
	TruncatedReason  string      `json:"truncated_reason,omitempty"`
	ElapsedMS        int64       `json:"elapsed_ms"`
}

type match struct {
	FilePath      string   `json:"file_path"`
	LineNumber    int      `json:"line_number"`
	EndLineNumber int      `json:"end_line_number,omitempty"`
	Column        int      `json:"column"`
	Line          string   `json:"line"`
	LineTruncated bool     `json:"line_truncated,omitempty"`
	MatchText     string   `json:"match_text"`
	ContextBefore []string `json:"context_before,omitempty"`
	ContextAfter  []string `json:"context_after,omitempty"`
}

type fileCount struct {
	FilePath   string `json:"file_path"`
	MatchCount int    `json:"match_count"`
}

func (s searched) summary() string {
	out := fmt.Sprintf("%s in %d of %s", count(s.TotalMatches, "match", "matches"), s.MatchedFiles, count(s.SearchedFiles, "file", "files"))
	if s.TruncatedReason != "" {
		out += "; " + s.TruncatedReason
	}
	return out
}

func runSearch(ctx context.Context, r *request) (result, error) {
	began := time.Now()
	p, err := search.Compile(search.Query{
		Text: r.args.text("query"), Regex: r.args.flag("is_regex"), IgnoreCase: r.args.flag("case_insensitive"),
		Multiline:    r.args.flag("multiline"),
		MaxSpanBytes: r.args.count("max_match_span_bytes", 0, math.MaxInt32), MaxSpanLines: r.args.count("max_match_span_lines", 0, math.MaxInt32),
	})
	if err != nil {
		return nil, r.badQuery(err)
	}
	o, err := r.searchOptions()
	if err != nil {
		return nil, err
	}
	t, info, err := r.existing(ctx, "search_path")
	if err != nil {
		return nil, err
	}
	got, base, err := r.search(ctx, t, info, p, o)
	if err != nil {
		return nil, err
	}
	out := searched{
		TotalMatches: got.Total, MatchedFiles: got.MatchedFiles, SearchedFiles: got.Searched,
		Truncated: got.Reason != search.Complete, TruncatedReason: incomplete(got, o),
	}
	// What applies is there even if it is empty.
	switch o.Mode {
	case search.Content:
		out.Matches = []match{}
	case search.Files:
		out.FilesWithMatches = []string{}
		fallthrough
	default:
		out.FileMatchCounts = []fileCount{}
	}
	for _, f := range got.Matched {
		name := vfs.DisplayName(below(base, f.Path))
		switch o.Mode {
		case search.Content:
			for _, m := range f.Matches {
				out.Matches = append(out.Matches, matchOf(name, m))
			}
			continue
		case search.Files:
			out.FilesWithMatches = append(out.FilesWithMatches, name)
		}
		out.FileMatchCounts = append(out.FileMatchCounts, fileCount{name, f.Count})
	}
	out.ElapsedMS = r.elapsed(began)
	return out, nil
}

func matchOf(file string, m search.Match) match {
	valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	out := match{
		FilePath: file, LineNumber: m.Line, Column: m.Column, Line: valid(m.Text), LineTruncated: m.Cut, MatchText: valid(m.Found),
	}
	if m.EndLine != m.Line {
		out.EndLineNumber = m.EndLine
	}
	for _, l := range m.Before {
		out.ContextBefore = append(out.ContextBefore, valid(l))
	}
	for _, l := range m.After {
		out.ContextAfter = append(out.ContextAfter, valid(l))
	}
	return out
}

func (r *request) badQuery(err error) error {
	var qe *search.QueryError
	if !errors.As(err, &qe) {
		return err
	}
	f := badArgument("query", "%s", qe.Error())
	switch {
	case errors.Is(err, search.ErrNeedsMultiline):
		return with(f, "multiline", true)
	case r.args.flag("is_regex") && qe.Offset >= 0:
		return with(f, "is_regex", false)
	}
	return with(f, "query", r.op.field("query").example)
}

func (r *request) searchOptions() (search.Options, error) {
	o := search.Options{
		Mode:            map[string]search.Mode{"files_with_matches": search.Files, "count": search.Count}[r.args.text("output_mode")],
		Context:         r.args.count("context_lines", 0, maxContext),
		MaxResults:      r.args.count("max_results", 0, maxResults),
		MaxFiles:        r.args.count("max_files", 0, maxListedFiles),
		MaxScannedFiles: r.args.count("max_scanned_files", search.DefaultScannedFiles, bound(r.cfg.MaxScannedFiles, math.MaxInt32)),
		MaxScannedBytes: min(r.args.number("max_scanned_bytes", search.DefaultScannedBytes), bound(r.cfg.MaxScannedBytes, maxScannedBytes)),
		Skip:            func(name string) bool { return name == BackupFolder },
		Workers:         searchGoroutines,
		Progress:        r.progress(),
	}
	if o.Mode == search.Count && o.MaxFiles == 0 {
		o.MaxFiles = maxListedFiles
	}
	def := maxSearchTime
	if r.args.flag("multiline") {
		def = multilineTime
	}
	o.Timeout = min(time.Duration(r.args.count("timeout_ms", int(def.Milliseconds()), bound(r.cfg.MaxScanMS, math.MaxInt32)))*time.Millisecond, maxSearchTime)
	var types []string
	for _, name := range r.args.texts("file_types") {
		globs, ok := fileTypes[strings.ToLower(name)]
		if !ok {
			return o, r.unknownType(name)
		}
		types = append(types, globs...)
	}
	var err error
	if o.Types, err = gitignore.NewGlobs(types, gitignore.IncludeFiles); err != nil {
		return o, err
	}
	if o.Include, err = r.globs("include_patterns", gitignore.IncludeFiles); err != nil {
		return o, err
	}
	o.Exclude, err = r.globs("exclude_patterns", gitignore.ExcludeEntries)
	return o, err
}

// unknownType is the failure of a file type that there is not.
func (r *request) unknownType(name string) error {
	f := badArgument("file_types", "there is no file type %q", name)
	fd := r.op.field("file_types")
	if best := fd.meantWord(name); best != "" {
		f.Message += fmt.Sprintf("; did you mean %q?", best)
	} else {
		f.Message += "; there are " + strings.Join(fd.words, ", ")
	}
	var known []string
	for _, s := range r.args.texts("file_types") {
		if word := fd.meantWord(s); word != "" && !slices.Contains(known, word) {
			known = append(known, word)
		}
	}
	if known == nil {
		return with(f, "file_types", nil)
	}
	return with(f, "file_types", known)
}

// search runs over a directory, or over one file of its directory. Paths of
// the result are below base.
func (r *request) search(ctx context.Context, t vfs.Target, info vfs.Info, p *search.Pattern, o search.Options) (search.Result, vfs.Target, error) {
	root, base := search.Root{}, t
	if info.Type != vfs.Directory {
		if info.Type != vfs.File {
			return search.Result{}, t, refuse(fault.NotAFile, "search_path", "\"%s\" is not a regular file", shown(t))
		}
		// A symlink was resolved: its destination is what is opened.
		real, err := r.fs.ProcessPath(t)
		if err != nil {
			return search.Result{}, t, err
		}
		root.File = path.Base(slashed(real))
		if base, err = r.fs.Resolve(ctx, path.Dir(slashed(real)), vfs.ResolveOptions{}); err != nil {
			return search.Result{}, t, err
		}
	}
	d, err := walk.Open(ctx, r.fs, base)
	if err != nil {
		return search.Result{}, t, err
	}
	defer d.Close()
	root.Dir = d
	if root.File == "" {
		if root.Rules, err = r.rulesAbove(ctx, t, d); err != nil {
			return search.Result{}, t, err
		}
	}
	got, err := search.Run(ctx, root, p, o)
	if err == nil && root.File != "" && got.Failed > 0 {
		err = got.Errors[0].Err
	}
	return got, base, err
}

// incomplete says why a result is not all there is.
func incomplete(r search.Result, o search.Options) string {
	var why []string
	switch r.Reason {
	case search.Complete:
	case search.HitTimeout:
		why = append(why, fmt.Sprintf("timeout_ms (%d) was reached", o.Timeout.Milliseconds()))
	default:
		why = append(why, string(r.Reason)+" was reached")
	}
	if r.Failed > 0 {
		var names []string
		for _, e := range r.Errors {
			names = append(names, vfs.DisplayName(e.Path))
		}
		why = append(why, fmt.Sprintf("%d entries could not be read, among them %s", r.Failed, strings.Join(names, ", ")))
	}
	return strings.Join(why, "; ")
}
