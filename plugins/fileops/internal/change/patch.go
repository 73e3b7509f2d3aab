package change

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
	"github.com/bridle-go/bridle/plugins/fileops/internal/patch"
	"github.com/bridle-go/bridle/plugins/fileops/internal/validate"
)

func (r *run) patch(ctx context.Context, a *PatchArgs) (*PatchResult, error) {
	p, err := r.locate(ctx, "file_path", a.FilePath, content)
	if err != nil {
		return nil, err
	}
	res := &PatchResult{FilePath: p.show, DryRun: a.DryRun}
	format := patch.Format(a.Format)
	switch format {
	case "", patch.Auto, patch.JSON, patch.YAML:
	default:
		return res, fault.New(fault.InvalidArguments, "format", fmt.Sprintf("format %q must be auto, json or yaml", a.Format))
	}
	if a.Content == nil && len(a.Patches) == 0 {
		return res, fault.New(fault.InvalidArguments, "patches", "patches must hold at least one object with op and path, or content the whole new document")
	}
	was, err := r.existing(ctx, p, a.Allow)
	if err != nil {
		return res, err
	}
	res.CurrentSHA256 = was.sha
	if !utf8.Valid(was.data) {
		return res, fault.New(fault.NotText, "file_path", fmt.Sprintf("\"%s\" is not UTF-8 text", p.show))
	}
	text := string(was.data)
	if format == "" || format == patch.Auto {
		format = patch.Detect(p.physical, text)
	}
	res.Format = string(format)
	next, err := a.apply(text, format, res)
	if err != nil {
		return res, err
	}
	v := validate.Check(p.physical, next, format)
	res.ValidationAfterPatch = &Validation{Valid: v.Valid, Format: string(v.Format), Documents: v.Documents, ErrorMessage: v.Message, Line: v.Line, Column: v.Column}
	if !v.Valid {
		return res, fault.New(fault.InvalidFormat, "content", fmt.Sprintf("the new document of \"%s\" would not be valid: %s", p.show, v.Summary()))
	}
	res.Changed = new(next != text)
	res.Diff = diff(p, was, []byte(next))
	res.CurrentSHA256 = "" // of refusals alone
	if a.DryRun || !*res.Changed {
		return res, nil
	}
	what := "set " + count(len(a.Patches), "value")
	if a.Content != nil {
		what = "replace the whole document"
	}
	c := &proposal{p: p, was: was, next: []byte(next), intent: vfs.EditIntent, effect: Updated, keep: a.Keep, what: what}
	if a.Content != nil {
		c.intent = vfs.WriteIntent
	}
	c.adds, c.drops = stat(was, c.next)
	receipt, err := r.commit(ctx, c)
	if err != nil {
		*res = PatchResult{FilePath: res.FilePath, Format: res.Format, CurrentSHA256: was.sha}
		return res, err
	}
	res.BackupID = receipt.BackupID
	res.SelfVerified, res.VerificationError = &receipt.SelfVerified, receipt.VerificationError
	return res, nil
}

// apply makes the new document.
func (a *PatchArgs) apply(text string, format patch.Format, res *PatchResult) (string, error) {
	if a.Content != nil {
		res.PatchesApplied = new(0)
		return *a.Content, nil
	}
	next, err := patch.Apply(text, format, a.Patches)
	if err == nil {
		res.PatchesApplied = new(len(a.Patches))
		return next, nil
	}
	res.PatchesApplied = new(0)
	var failures patch.Errors
	if errors.As(err, &failures) {
		for _, f := range failures {
			res.ErrorDetails = append(res.ErrorDetails, PatchFailure{PatchIndex: f.Index, Op: f.Op, Path: f.Path, Message: f.Message})
		}
		f := &fault.Fault{Kind: fault.InvalidArguments, Field: "patches", Err: err, Action: "view_file",
			Message: fmt.Sprintf("%v; nothing was changed", err)}
		if mended, ok := patch.Mended(text, format, a.Patches); ok {
			f.Call = map[string]any{"patches": mended}
		}
		return "", f
	}
	var syntax *doc.SyntaxError
	if errors.As(err, &syntax) {
		return "", &fault.Fault{Kind: fault.InvalidFormat, Field: "file_path", Err: err,
			Message: fmt.Sprintf("%s is not valid %s: %v; repair it with edit_file, or send the whole document as content", res.FilePath, format, err)}
	}
	return "", err
}
