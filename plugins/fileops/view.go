package fileops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
	"github.com/bridle-go/bridle/plugins/fileops/internal/textview"
)

var readOperations = []*operation{viewFile, fileInfo, listDirectory, fileTree, searchFiles, diffFile, validateFile}

var viewFile = &operation{
	name: "view_file", enable: "allow_read_content", path: "file_path",
	about: "Show part of a text file with line numbers: a range of lines, the last lines (tail_lines), or a span of bytes or characters. At most 500 lines at a time; a longer file without a range shows its first 200. Follow the next_ cursor of the result to read on.",
	fields: []field{
		{name: "file_path", kind: text, required: true, about: "The file.", example: examplePath},
		{name: "start_line", kind: integer, min: 1, about: "First line to show, from 1."},
		{name: "end_line", kind: integer, min: 1, about: "Last line to show; by default 499 lines after the first."},
		{name: "tail_lines", kind: integer, min: 1, about: "Show the last lines instead, at most 500. Not together with other ranges."},
		{name: "offset_bytes", kind: integer, min: 0, about: "Show bytes from this offset, from 0, at the beginning of a character. Not together with other ranges."},
		{name: "limit_bytes", kind: integer, min: 1, about: "How many bytes to show: 65536 by default, at most 1048576."},
		{name: "offset_chars", kind: integer, min: 0, about: "Show characters from this offset, from 0. Not together with other ranges."},
		{name: "limit_chars", kind: integer, min: 1, about: "How many characters to show: 65536 by default, at most 1 MiB of them."},
		{name: "known_sha256", kind: text, about: "SHA-256 of the file as last seen; if it still holds, only file_unchanged comes back.", hint: "as last seen; while it holds, only file_unchanged comes back"},
		{name: "known_size", kind: integer, min: 0, about: "Size as last seen; a hint that never counts as proof."},
		{name: "known_modified_at", kind: text, about: "Modification time as last seen (RFC 3339); a hint that never counts as proof."},
	},
	run: runView,
}

// viewed is what view_file returns. Of a file that is as the caller knows it
// there is no window.
type viewed struct {
	FilePath      string `json:"file_path"`
	FileUnchanged bool   `json:"file_unchanged,omitempty"`
	SHA256        string `json:"sha256"`
	TotalBytes    int64  `json:"total_bytes"`
	TotalLines    int    `json:"total_lines"`
	*window
}

type window struct {
	Mode               textview.Mode   `json:"mode"`
	Content            string          `json:"content"`
	Encoding           string          `json:"encoding"`
	EOF                bool            `json:"eof"`
	StartLine          *int            `json:"start_line,omitempty"`
	EndLine            *int            `json:"end_line,omitempty"`
	RequestedTailLines int64           `json:"requested_tail_lines,omitempty"`
	OffsetBytes        *int64          `json:"offset_bytes,omitempty"`
	OffsetChars        *int64          `json:"offset_chars,omitempty"`
	ShownBytes         *int            `json:"shown_bytes,omitempty"`
	ShownChars         *int            `json:"shown_chars,omitempty"`
	TotalChars         *int64          `json:"total_chars,omitempty"`
	Truncated          bool            `json:"truncated"`
	TruncatedReason    textview.Reason `json:"truncated_reason,omitempty"`
	NextStartLine      int             `json:"next_start_line,omitempty"`
	NextOffsetBytes    int64           `json:"next_offset_bytes,omitempty"`
	NextOffsetChars    int64           `json:"next_offset_chars,omitempty"`
}

func (v viewed) summary() string {
	name := vfs.DisplayName(v.FilePath)
	switch {
	case v.FileUnchanged:
		return name + " is unchanged"
	case v.Mode == textview.Line && *v.EndLine < *v.StartLine:
		return name + " is empty"
	case v.Mode == textview.Line:
		return fmt.Sprintf("lines %d-%d of %d of %s", *v.StartLine, *v.EndLine, v.TotalLines, name)
	}
	return fmt.Sprintf("%d of %d bytes of %s", *v.ShownBytes, v.TotalBytes, name)
}

// viewModes are the fields that choose a mode. Those of different modes
// exclude each other.
var viewModes = []struct {
	mode   string
	fields []string
}{
	{"lines", []string{"start_line", "end_line"}},
	{"tail", []string{"tail_lines"}},
	{"bytes", []string{"offset_bytes", "limit_bytes"}},
	{"characters", []string{"offset_chars", "limit_chars"}},
}

func viewRequest(a arguments) (textview.Request, error) {
	var chosen, first string
	for _, m := range viewModes {
		for _, name := range m.fields {
			switch {
			case !a.has(name):
			case chosen == "" || chosen == m.mode:
				chosen, first = m.mode, name
			default:
				return textview.Request{}, with(badArgument(name, "%s and %s belong to different modes; send one of them", first, name), name, nil)
			}
		}
	}
	const most = 1 << 50 // beyond every file and still far from overflow
	req := textview.Request{
		StartLine: a.count("start_line", 0, most), EndLine: a.count("end_line", 0, most), TailLines: a.count("tail_lines", 0, most),
	}
	switch chosen {
	case "bytes":
		req.Mode, req.Offset, req.Limit = textview.Byte, min(a.number("offset_bytes", 0), most), a.number("limit_bytes", 0)
	case "characters":
		req.Mode, req.Offset, req.Limit = textview.Char, min(a.number("offset_chars", 0), most), a.number("limit_chars", 0)
	}
	if req.EndLine > 0 && req.EndLine < max(1, req.StartLine) {
		return req, with(badArgument("end_line", "end_line %d is before start_line %d", req.EndLine, req.StartLine), "end_line", req.StartLine)
	}
	return req, nil
}

func runView(ctx context.Context, r *request) (result, error) {
	req, err := viewRequest(r.args)
	if err != nil {
		return nil, err
	}
	t, _, err := r.existingFile(ctx, "file_path")
	if err != nil {
		return nil, err
	}
	v, version, err := r.view(ctx, t, req)
	if err != nil {
		var re *textview.RangeError
		if errors.As(err, &re) {
			return nil, with(badArgument(re.Field, "%s", re.Error()), re.Field, re.Nearest)
		}
		return nil, err
	}
	err = vfs.Observed.Send(ctx, r.Bus, vfs.Observation{Target: t, Version: version, Actor: r.call, Size: v.TotalBytes,
		First: v.StartLine, Last: v.EndLine, TotalLines: v.TotalLines})
	if err != nil {
		return nil, err
	}
	out := viewed{FilePath: t.Path, SHA256: v.SHA256, TotalBytes: v.TotalBytes, TotalLines: v.TotalLines}
	if known := r.args.text("known_sha256"); known != "" && strings.EqualFold(known, v.SHA256) {
		out.FileUnchanged = true
		return out, nil
	}
	out.window = &window{
		Mode: v.Mode, Content: v.Content, Encoding: "utf-8", EOF: v.EOF,
		RequestedTailLines: r.args.number("tail_lines", 0),
		Truncated:          v.Reason != textview.Whole, TruncatedReason: v.Reason,
		NextStartLine: v.NextLine, NextOffsetBytes: v.NextByte, NextOffsetChars: v.NextChar,
	}
	switch v.Mode {
	case textview.Line:
		out.StartLine, out.EndLine = &v.StartLine, &v.EndLine
	case textview.Byte:
		out.OffsetBytes, out.ShownBytes = &v.Offset, &v.ShownBytes
	case textview.Char:
		out.OffsetChars, out.ShownChars, out.ShownBytes, out.TotalChars = &v.Offset, &v.ShownChars, &v.ShownBytes, &v.TotalChars
	}
	return out, nil
}

// wholeReads is the size up to which a file is read at once. It gives the
// version of exactly what was read; above it, that of what was opened.
const wholeReads = 4 << 20

// view reads a window of a text file.
func (r *request) view(ctx context.Context, t vfs.Target, req textview.Request) (textview.View, vfs.Version, error) {
	whole, err := r.fs.ReadBytes(ctx, t, wholeReads)
	if err == nil {
		v, err := textview.Read(ctx, bytes.NewReader(whole.Data), int64(len(whole.Data)), req)
		return v, whole.Version, notText(t, err)
	}
	if errs.CodeOf(err) != errs.TooLarge {
		return textview.View{}, "", err
	}
	return r.viewLarge(ctx, t, req)
}

// viewLarge reads a window of a file that is too large to be read at once. A
// version that proves the content unchanged spares reading all of it again.
func (r *request) viewLarge(ctx context.Context, t vfs.Target, req textview.Request) (textview.View, vfs.Version, error) {
	file, err := vfs.Open(ctx, r.fs, t)
	if err != nil {
		return textview.View{}, "", err
	}
	version := file.Version()
	before := r.known.of(r.fs, t.Key, version)
	v, facts, err := textview.ReadAgain(ctx, file, file.Size(), req, before)
	// Who writes into the file meanwhile gives it another version.
	unchanged := facts != nil && r.isStill(ctx, t, version)
	if before != nil && !unchanged && ctx.Err() == nil {
		v, _, err = textview.ReadAgain(ctx, file, -1, req, nil)
	}
	if unchanged {
		r.known.keep(t.Key, version, facts)
	}
	return v, version, errors.Join(notText(t, err), file.Close())
}

// isStill reports whether the file is proved to have the content that the
// version is of.
func (r *request) isStill(ctx context.Context, t vfs.Target, version vfs.Version) bool {
	file, err := vfs.Open(ctx, r.fs, t)
	if err != nil {
		return false
	}
	same := vfs.SameVersion(r.fs, version, file.Version())
	return file.Close() == nil && same
}

func notText(t vfs.Target, err error) error {
	if errors.Is(err, textview.ErrNotText) {
		return refuse(fault.NotText, "file_path", "\"%s\" is not a UTF-8 text file; file_info tells what it is", shown(t))
	}
	return err
}
