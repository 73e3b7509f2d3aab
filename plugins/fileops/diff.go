package fileops

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

var diffFile = &operation{
	name: "diff_file", enable: "allow_diff", path: "file_path",
	about: "Show the unified diff from a file to another one (compare_path) or to proposed content (new_content).",
	fields: []field{
		{name: "file_path", kind: text, required: true, about: "The file that the diff starts from.", example: examplePath},
		{name: "compare_path", kind: text, about: "The file to compare with."},
		{name: "new_content", kind: text, about: "The content to compare with, instead of compare_path.", example: ""},
		{name: "context_lines", kind: integer, def: 3, min: 0, about: "Lines of context around changes; 3 by default."},
	},
	run: runDiff,
}

// maxDiffChars bounds a diff in characters.
const maxDiffChars = 200_000

// maxDiffBytes bounds each side of a diff.
const maxDiffBytes = 64 << 20

// compared is what diff_file returns.
type compared struct {
	FilePath     string `json:"file_path"`
	ComparePath  string `json:"compare_path,omitempty"`
	Diff         string `json:"diff"`
	HasChanges   bool   `json:"has_changes"`
	AddedLines   int    `json:"added_lines"`
	RemovedLines int    `json:"removed_lines"`
	Truncated    bool   `json:"truncated"`
}

func (c compared) summary() string {
	if !c.HasChanges {
		return "no differences"
	}
	return fmt.Sprintf("%s added, %d removed", count(c.AddedLines, "line", "lines"), c.RemovedLines)
}

func runDiff(ctx context.Context, r *request) (result, error) {
	switch {
	case r.args.has("compare_path") && r.args.has("new_content"):
		return nil, with(badArgument("new_content", "compare_path and new_content exclude each other; send one of them"), "new_content", nil)
	case !r.args.has("compare_path") && !r.args.has("new_content"):
		return nil, with(badArgument("compare_path", "compare_path or new_content must say what to compare with"), "new_content", "")
	}
	from, before, err := r.readText(ctx, "file_path")
	if err != nil {
		return nil, err
	}
	out := compared{FilePath: from.Path}
	after, name := r.args.text("new_content"), from.Path
	if r.args.has("compare_path") {
		var to vfs.Target
		if to, after, err = r.readText(ctx, "compare_path"); err != nil {
			return nil, err
		}
		out.ComparePath, name = to.Path, to.Path
	}
	context := r.args.count("context_lines", 3, 1_000_000)
	out.Diff, out.Truncated = textdiff.Unified(from.Path, name, before, after, context, maxDiffChars)
	out.HasChanges = before != after
	out.AddedLines, out.RemovedLines = textdiff.Stat(before, after)
	return out, nil
}

// readText reads a whole text file. A byte-order mark is kept: it is part of
// what may differ.
func (r *request) readText(ctx context.Context, field string) (vfs.Target, string, error) {
	t, _, err := r.existingFile(ctx, field)
	if err != nil {
		return t, "", err
	}
	got, err := r.fs.ReadBytes(ctx, t, maxDiffBytes)
	if err != nil {
		return t, "", fault.Of(err, field)
	}
	if _, err := vfs.DecodeText(t, got.Data); err != nil {
		if errs.CodeOf(err) == errs.NotText {
			return t, "", refuse(fault.NotText, field, "\"%s\" is not a UTF-8 text file", shown(t))
		}
		return t, "", err
	}
	return t, string(got.Data), nil
}
