package change

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// createFile is the write that must create.
const createFile = "create_file"

func (r *run) write(ctx context.Context, a *WriteArgs) (*WriteResult, error) {
	p, err := r.locate(ctx, "file_path", a.FilePath, content)
	if err != nil {
		return nil, err
	}
	res := &WriteResult{FilePath: p.show, DryRun: a.DryRun}
	data, err := r.source(ctx, a)
	if err != nil {
		return res, err
	}
	res.RequestedBytes, res.RequestedSHA256 = new(int64(len(data))), sum(data)
	if (&file{data: data, loaded: true}).isText() {
		res.RequestedLines = new(lines(data))
	}
	if err := r.admit(ctx, p, a.Allow); err != nil {
		return res, err
	}
	was, err := r.read(ctx, p)
	if err != nil {
		return res, err
	}
	next, err := r.composed(a, p, was, data)
	if err != nil {
		return res, err
	}
	if was.exists {
		res.CurrentSHA256 = was.sha
		res.Diff = diff(p, was, next)
	}
	if err := r.mayWrite(a, p, was); err != nil {
		return res, err
	}
	missing, err := r.missingParents(ctx, p.physical)
	if err != nil {
		return res, err
	}
	if err := r.wantParents(missing, p, on(a.CreateDirs)); err != nil {
		return res, err
	}
	res.Created = new(!was.exists)
	verb, c := writing(a, p, was, next)
	if a.DryRun {
		res.Text = "would " + c.what
		return res, nil
	}
	c.adds, c.drops = stat(was, next)
	done, err := r.commit(ctx, c)
	if err != nil {
		res.Created = nil
		return res, err
	}
	written := int64(len(next))
	if a.Append {
		written -= was.size
	}
	res.BytesWritten, res.FileBytesAfter, res.SHA256After = &written, new(int64(len(next))), done.SHA256After
	if (&file{data: next, loaded: true}).isText() {
		res.LinesAfter = new(lines(next))
	}
	res.BackupID = done.BackupID
	res.SelfVerified, res.VerificationError = &done.SelfVerified, done.VerificationError
	res.Text = did(verb) + strings.TrimPrefix(c.what, verb)
	return res, nil
}

// writing is the proposal of a write, and the verb for it.
func writing(a *WriteArgs, p *place, was *file, next []byte) (verb string, c *proposal) {
	c = &proposal{
		p: p, was: was, next: next, intent: vfs.WriteIntent, effect: Updated,
		seen: sameDigest(a.ExpectedSHA256, was), keep: a.Keep,
	}
	switch {
	case !was.exists:
		verb, c.effect = "create", Created
	case a.Append:
		verb, c.intent = "append to", vfs.EditIntent // the rest of the file stays
	default:
		verb = "overwrite"
	}
	c.what = fmt.Sprintf("%s %s (%s)", verb, p.show, count(len(next), "byte"))
	return verb, c
}

func did(verb string) string {
	switch verb {
	case "create":
		return "created"
	case "overwrite":
		return "overwrote"
	}
	return "appended to"
}

// composed is the content that the file is to have.
func (r *run) composed(a *WriteArgs, p *place, was *file, data []byte) ([]byte, error) {
	if !was.exists || !a.Append || r.op == createFile {
		return data, nil
	}
	if err := r.loadable(p, was); err != nil {
		return nil, err
	}
	if a.SourceEncoding != "binary" && was.isText() {
		data = []byte(breaksLike(was.data, string(data)))
	}
	return append(bytes.Clone(was.data), data...), nil
}

// sameDigest reports whether a digest that the caller named is that of what is
// there.
func sameDigest(given string, f *file) bool {
	return given != "" && f.exists && strings.EqualFold(strings.TrimSpace(given), f.sha)
}

// mayWrite demands what overwriting demands.
func (r *run) mayWrite(a *WriteArgs, p *place, was *file) error {
	if !was.exists {
		if a.ExpectedSHA256 != "" && !a.ForceOverwrite {
			return &fault.Fault{Kind: fault.HashMismatch, Field: "expected_sha256",
				Message: fmt.Sprintf("\"%s\" does not exist, but expected_sha256 says what it holds; leave it out to create the file", p.show),
				Action:  "correct_arguments", Call: map[string]any{"expected_sha256": nil}}
		}
		return nil
	}
	confirm := map[string]any{"expected_sha256": was.sha}
	switch {
	case r.op == createFile:
		return &fault.Fault{Kind: fault.AlreadyExists, Field: "file_path", Action: "use_edit_file",
			Message: fmt.Sprintf("\"%s\" exists already, and create_file only creates; use edit_file, or write_file with overwrite", p.show)}
	case a.ForceOverwrite:
		return nil
	case a.ExpectedSHA256 != "" && !sameDigest(a.ExpectedSHA256, was):
		return mismatch(p, was, confirm)
	case a.Append:
		return nil
	case !a.Overwrite:
		return &fault.Fault{Kind: fault.AlreadyExists, Field: "overwrite",
			Message: fmt.Sprintf("\"%s\" exists already; to replace it, set overwrite to true and expected_sha256 to its current_sha256", p.show),
			Call:    map[string]any{"overwrite": true, "expected_sha256": was.sha}}
	case a.ExpectedSHA256 == "" && !a.DryRun:
		return &fault.Fault{Kind: fault.ConfirmationRequired, Field: "expected_sha256",
			Message: fmt.Sprintf("overwriting \"%s\" needs expected_sha256; look at the diff, then send current_sha256 as it", p.show),
			Call:    confirm}
	}
	return nil
}

// mismatch is the failure of a change whose caller named another digest than
// that of what is there.
func mismatch(p *place, was *file, fix map[string]any) error {
	return &fault.Fault{Kind: fault.HashMismatch, Field: "expected_sha256", Call: fix,
		Message: fmt.Sprintf("\"%s\" is not what expected_sha256 says: its SHA-256 is %s; view it again before changing it", p.show, was.sha)}
}
