package render

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
)

// opsResult has those fields of the operations' results that people are shown.
type opsResult struct {
	// view_file
	Content         string
	FileUnchanged   bool   `json:"file_unchanged"`
	Mode            string `json:"mode"`
	NextStartLine   int    `json:"next_start_line"`
	NextOffsetBytes int64  `json:"next_offset_bytes"`
	NextOffsetChars int64  `json:"next_offset_chars"`
	// file_info
	Path       string
	Exists     *bool
	EntryType  string `json:"entry_type"`
	SizeBytes  *int64 `json:"size_bytes"`
	TotalLines *int   `json:"total_lines"`
	MimeType   string `json:"mime_type"`
	IsBinary   *bool  `json:"is_binary"`
	IsReadable *bool  `json:"is_readable"`
	IsWritable *bool  `json:"is_writable"`
	Modified   string
	Created    any // a time, or whether something was made
	// list_directory and list_backups
	Entries    []opsEntry
	NextOffset int `json:"next_offset"`
	Backups    []opsBackup
	// file_tree
	Tree       string
	Extensions []struct {
		Extension  string
		FileCount  int   `json:"file_count"`
		TotalBytes int64 `json:"total_bytes"`
	} `json:"extension_stats"`
	Largest []struct {
		Path      string
		FileCount int `json:"file_count"`
	} `json:"largest_dirs"`
	// search_files
	Matches []opsMatch
	Counts  []struct {
		FilePath   string `json:"file_path"`
		MatchCount int    `json:"match_count"`
	} `json:"file_match_counts"`
	// validate_file
	Valid   *bool
	Summary string
	// diff_file and what changes files
	Diff        string
	Diagnostics []struct {
		Candidates []struct {
			StartLine  int `json:"start_line"`
			Similarity float64
			Text       string
		}
	}
	ErrorDetails []struct {
		PatchIndex        int `json:"patch_index"`
		Op, Path, Message string
	} `json:"error_details"`
}

type opsEntry struct {
	RelativePath string `json:"relative_path"`
	EntryType    string `json:"entry_type"`
	SizeBytes    *int64 `json:"size_bytes"`
	Modified     string
	IsBinary     *bool `json:"is_binary"`
	Error        string
}

type opsBackup struct {
	BackupID  string `json:"backup_id"`
	SizeBytes int64  `json:"size_bytes"`
	Created   string
	Label     string
}

type opsMatch struct {
	FilePath      string `json:"file_path"`
	LineNumber    int    `json:"line_number"`
	Column        int
	Line          string
	LineTruncated bool     `json:"line_truncated"`
	MatchText     string   `json:"match_text"`
	Before        []string `json:"context_before"`
	After         []string `json:"context_after"`
}

// onward tells how to see the rest.
func (p *Printer) onward(flag string, next int64) {
	if next > 0 {
		p.line(p.out.Paint(term.Dim, fmt.Sprintf("… continue with --%s %d", flag, next)))
	}
}

func (p *Printer) viewed(r opsResult) {
	for line := range strings.Lines(r.Content) {
		line = strings.TrimRight(line, "\r\n")
		// Lines are numbered, other windows are just text.
		if number, text, ok := strings.Cut(strings.TrimLeft(line, " "), " "); ok && r.Mode == "line" {
			pad := len(line) - len(strings.TrimLeft(line, " "))
			p.line(strings.TrimRight(p.out.Paint(term.Dim, line[:pad]+number+" │ ")+term.Visible(text), " "))
			continue
		}
		p.line(term.Visible(line))
	}
	p.onward("start-line", int64(r.NextStartLine))
	p.onward("offset-bytes", r.NextOffsetBytes)
	p.onward("offset-chars", r.NextOffsetChars)
}

func (p *Printer) described(r opsResult) {
	rows := [][]string{{"path", term.Line(r.Path)}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, term.Line(value)})
		}
	}
	yes := func(b *bool) string {
		if b == nil {
			return ""
		}
		return map[bool]string{true: "yes", false: "no"}[*b]
	}
	add("exists", yes(r.Exists))
	add("type", r.EntryType)
	if r.SizeBytes != nil {
		add("size", counted(*r.SizeBytes, "byte"))
	}
	if r.TotalLines != nil {
		add("lines", strconv.Itoa(*r.TotalLines))
	}
	add("mime type", r.MimeType)
	add("binary", yes(r.IsBinary))
	add("readable", yes(r.IsReadable))
	add("writable", yes(r.IsWritable))
	add("modified", r.Modified)
	if at, ok := r.Created.(string); ok {
		add("created", at)
	}
	p.table(rows, nil, func(_, column int) term.Style {
		if column == 0 {
			return term.Cyan
		}
		return ""
	})
}

// counted is a number with its noun.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (p *Printer) listed(r opsResult) {
	verbose := false
	for _, e := range r.Entries {
		verbose = verbose || e.Modified != ""
	}
	var rows [][]string
	for _, e := range r.Entries {
		size := ""
		if e.SizeBytes != nil {
			size = strconv.FormatInt(*e.SizeBytes, 10)
		}
		row := []string{cmp.Or(e.EntryType, "special"), size}
		if verbose {
			row = append(row, shortTime(e.Modified))
		}
		name := term.Line(e.RelativePath)
		if e.EntryType == "dir" {
			name += "/"
		}
		if e.IsBinary != nil && *e.IsBinary {
			name += "  (binary)"
		}
		if e.Error != "" {
			name += "  (" + term.Line(e.Error) + ")"
		}
		rows = append(rows, append(row, name))
	}
	p.table(rows, []bool{false, true}, func(row, column int) term.Style {
		if column < len(rows[row])-1 {
			return term.Dim
		}
		return nameStyle(r.Entries[row].EntryType)
	})
	p.onward("offset", int64(r.NextOffset))
}

func nameStyle(kind string) term.Style {
	switch kind {
	case "dir":
		return term.Blue
	case "symlink":
		return term.Cyan
	}
	return ""
}

// shortTime is a time to the second, in the local zone.
func shortTime(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return term.Line(text)
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func (p *Printer) drawn(r opsResult) {
	for line := range strings.Lines(r.Tree) {
		line = strings.TrimSuffix(line, "\n")
		text := strings.TrimLeft(line, " ")
		kind := ""
		switch {
		case strings.HasSuffix(text, "/"):
			kind = "dir"
		case strings.HasSuffix(text, "  (symlink)"):
			kind = "symlink"
		}
		p.line(line[:len(line)-len(text)] + p.paint(nameStyle(kind), term.Visible(text)))
	}
	var rows [][]string
	for _, x := range r.Extensions {
		rows = append(rows, []string{term.Line(cmp.Or(x.Extension, "(none)")), counted(int64(x.FileCount), "file"), counted(x.TotalBytes, "byte")})
	}
	for i, x := range r.Largest {
		if i == 0 {
			rows = append(rows, []string{""})
		}
		rows = append(rows, []string{term.Line(x.Path), counted(int64(x.FileCount), "file")})
	}
	if len(rows) > 0 {
		p.line("")
		p.table(rows, []bool{false, true, true}, func(_, column int) term.Style {
			if column == 0 {
				return term.Cyan
			}
			return ""
		})
	}
	p.onward("offset", int64(r.NextOffset))
}

// near is a path as it is shown: relative to the directory of the printer where
// it is below it.
func (p *Printer) near(path string) string { return term.Line(Near(p.dir, path)) }

// Near returns a path relative to a directory where it is below it, else as it
// is.
func Near(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func (p *Printer) searched(r opsResult) {
	for rest := r.Matches; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(m opsMatch) bool { return m.FilePath != rest[0].FilePath })
		if n < 0 {
			n = len(rest)
		}
		p.line(p.out.Paint(term.Bold, p.near(rest[0].FilePath)))
		p.found(rest[:n])
		rest = rest[n:]
	}
	var rows [][]string
	for _, c := range r.Counts {
		rows = append(rows, []string{strconv.Itoa(c.MatchCount), p.near(c.FilePath)})
	}
	p.table(rows, []bool{true}, func(_, column int) term.Style {
		if column == 0 {
			return term.Green
		}
		return ""
	})
}

// found prints the matches of one file with the lines around them, each line
// once: one that is around two matches, or around one and of another, too. A
// rule stands where lines are left out between those with context.
func (p *Printer) found(matches []opsMatch) {
	lines := map[int]string{}
	for _, m := range matches {
		for i, l := range p.matched(m) {
			if _, shown := lines[m.LineNumber+i]; !shown {
				lines[m.LineNumber+i] = l
			}
		}
	}
	context := false
	around := func(number int, text string) {
		context = true
		if _, shown := lines[number]; !shown {
			lines[number] = strings.TrimRight(p.out.Paint(term.Dim, fmt.Sprintf("%6d- %s", number, term.Visible(text))), " ")
		}
	}
	for _, m := range matches {
		for i, l := range m.Before {
			around(m.LineNumber-len(m.Before)+i, l)
		}
		end := m.LineNumber + strings.Count(m.Line, "\n")
		for i, l := range m.After {
			around(end+1+i, l)
		}
	}
	last := 0
	for _, number := range slices.Sorted(maps.Keys(lines)) {
		if context && last > 0 && number > last+1 {
			p.line(p.out.Paint(term.Dim, "     --"))
		}
		p.line(lines[number])
		last = number
	}
}

// matched are the line or lines of a match, with the first of its text marked
// where that is to be found at its column.
func (p *Printer) matched(m opsMatch) []string {
	var lines []string
	for i, line := range strings.Split(m.Line, "\n") {
		shown := term.Visible(line)
		if i == 0 && !m.LineTruncated {
			found, _, _ := strings.Cut(m.MatchText, "\n")
			if at := runeIndex(line, m.Column-1); at >= 0 && strings.HasPrefix(line[at:], found) && !strings.Contains(line[:at]+found, "\t") {
				shown = term.Visible(line[:at]) + p.out.Paint(term.RedMark, term.Visible(found)) + term.Visible(line[at+len(found):])
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s", p.out.Paint(term.Green, fmt.Sprintf("%6d:", m.LineNumber+i)), shown))
	}
	return lines
}

// runeIndex is where character n begins, or -1.
func runeIndex(s string, n int) int {
	if n > utf8.RuneCountInString(s) {
		return -1
	}
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

func (p *Printer) validated(r opsResult) {
	style := term.Red
	if r.Valid != nil && *r.Valid {
		style = term.Green
	}
	p.line(p.out.Paint(style, term.Line(r.Summary)))
}

func (p *Printer) backups(r opsResult) {
	var rows [][]string
	for _, b := range r.Backups {
		rows = append(rows, []string{term.Line(b.BackupID), shortTime(b.Created), strconv.FormatInt(b.SizeBytes, 10), term.Line(b.Label)})
	}
	p.table(rows, []bool{false, false, true}, func(_, column int) term.Style {
		if column == 0 {
			return term.Cyan
		}
		return ""
	})
	p.onward("offset", int64(r.NextOffset))
}
