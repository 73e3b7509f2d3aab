package fileops

import (
	"context"

	"github.com/bridle-go/bridle/plugins/fileops/internal/patch"
	"github.com/bridle-go/bridle/plugins/fileops/internal/validate"
)

var validateFile = &operation{
	name: "validate_file", enable: "allow_validate", path: "file_path",
	about: "Tell whether a file, or content given inline, is well-formed JSON or YAML, and where it is not.",
	fields: []field{
		{name: "file_path", kind: text, about: "The file; with content, only its name is looked at."},
		{name: "content", kind: text, about: "The content to check instead of a file's.", example: "{}"},
		{name: "format", kind: text, def: "auto", enum: []string{"auto", "json", "yaml"}, about: "The format; auto, the default, goes by the name and the content."},
	},
	run: runValidate,
}

// validated is what validate_file returns.
type validated struct {
	FilePath     string `json:"file_path,omitempty"`
	Valid        bool   `json:"valid"`
	Format       string `json:"format"`
	ErrorMessage string `json:"error_message,omitempty"`
	Line         int    `json:"line,omitempty"`
	Column       int    `json:"column,omitempty"`
	Summary      string `json:"summary"`
}

func (v validated) summary() string { return v.Summary }

func runValidate(ctx context.Context, r *request) (result, error) {
	name, content := r.args.text("file_path"), r.args.text("content")
	out := validated{}
	switch {
	case r.args.has("content"):
	case r.args.has("file_path"):
		t, read, err := r.readText(ctx, "file_path")
		if err != nil {
			return nil, err
		}
		name, content, out.FilePath = t.Path, read, t.Path
	default:
		return nil, with(badArgument("file_path", "file_path or content must be given"), "content", "{}")
	}
	report := validate.Check(name, content, patch.Format(r.args.text("format")))
	out.Valid, out.Format, out.Summary = report.Valid, string(report.Format), report.Summary()
	out.ErrorMessage, out.Line, out.Column = report.Message, report.Line, report.Column
	return out, nil
}
