package change

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

func (r *run) delete(ctx context.Context, a *DeleteArgs) (*DeleteResult, error) {
	p, err := r.locate(ctx, "file_path", a.FilePath, entry)
	if err != nil {
		return nil, err
	}
	res := &DeleteResult{FilePath: p.show, DryRun: a.DryRun}
	if err := r.admit(ctx, p, a.Allow); err != nil {
		return res, err
	}
	switch p.info.Type {
	case vfs.Absent:
		return res, notFound(p)
	case vfs.File, vfs.Link:
	default:
		return res, &fault.Fault{Kind: fault.NotAFile, Field: p.field,
			Message: fmt.Sprintf("\"%s\" is not a regular file or a symlink; delete_file deletes nothing else", p.show)}
	}
	was, before, err := r.entryState(ctx, p)
	if err != nil {
		return res, err
	}
	res.FileSizeBytes = &was.size
	if a.DryRun {
		res.Deleted = new(true)
		return res, nil
	}
	guard := vfs.Guard{}
	if was.exists {
		if guard, err = r.guard(ctx, p, was, vfs.WriteIntent, false); err != nil {
			return res, err
		}
	}
	if err := r.ask(ctx, p, r.deletion(p, was)); err != nil {
		return res, err
	}
	out, err := r.remove(ctx, p, was, before, guard, a.Keep)
	if err != nil {
		return res, err
	}
	res.BackupID = out.BackupID
	res.Deleted, res.SelfVerified, res.VerificationError = new(true), &out.SelfVerified, out.VerificationError
	return res, nil
}

// remove deletes an entry that was found to be as was and before tell, and makes
// the receipt of that.
func (r *run) remove(ctx context.Context, p *place, was *file, before State, guard vfs.Guard, keep Keep) (Receipt, error) {
	none := Receipt{}
	root, err := r.backupRoot(ctx, keep.BackupRoot)
	if err != nil {
		return none, err
	}
	var k *kept
	if was.exists && (keep.wanted() || r.journal != nil) {
		if k, err = r.keep(ctx, p.physical, was, root, keep.BackupLabel); err != nil {
			return none, err
		}
		before = was.state(k)
	}
	rec := Record{Path: p.physical, Before: before, After: State{Type: isAbsent}}
	if err := r.note(ctx, rec); err != nil {
		r.discard(ctx, k, root)
		return none, err
	}
	err = vfs.Remove(ctx, r.fs, p.t, r.options(guard))
	now, verr := r.fs.Lstat(context.WithoutCancel(ctx), p.t)
	if err != nil && (verr != nil || now.Exists()) {
		if verr == nil {
			r.unnote(ctx)
			r.discard(ctx, k, root)
		}
		if guarded(err) {
			return none, r.stale(ctx, p, err)
		}
		return none, fault.Of(err, p.field)
	}
	out := Receipt{
		Path: p.show, Effect: Deleted, SHA256Before: was.sha, BytesBefore: &was.size,
		SelfVerified: verr == nil && !now.Exists(), record: rec, shown: [2]string{r.rel(p.physical)}, was: true,
	}
	switch {
	case err != nil:
		out.VerificationError = err.Error()
	case verr != nil:
		out.VerificationError = verr.Error()
	case now.Exists():
		out.VerificationError = "there is something at the path again"
	}
	if was.isText() {
		out.RemovedLines = new(lines(was.data))
	}
	out.BackupID = r.settle(k, root, keep)
	if err := r.tell(ctx, p.t, &file{}); err != nil && out.VerificationError == "" {
		out.VerificationError = err.Error()
	}
	return r.finish(out), nil
}

// deletion is the question before a deletion.
func (r *run) deletion(p *place, was *file) approval.Request {
	what := "delete the symlink"
	if was.exists {
		what = "delete the file of " + count(int(was.size), "byte")
	}
	return approval.Request{
		Reason: fmt.Sprintf("%s %s: %s", r.op, p.show, what), Before: was.sha,
		Diff: func(context.Context) (string, error) {
			if !was.isText() || len(was.data) > maxDiffed {
				return what + "\n", nil
			}
			text, _ := textdiff.Unified(p.show, "/dev/null", string(was.data), "", 3, maxDiff)
			return text, nil
		},
	}
}

// entryState is what an entry is before it changes. The file is zero for a
// symlink.
func (r *run) entryState(ctx context.Context, p *place) (*file, State, error) {
	switch p.info.Type {
	case vfs.File:
		f, err := r.read(ctx, p)
		if err != nil {
			return nil, State{}, err
		}
		return f, f.state(nil), nil
	case vfs.Link:
		link, err := vfs.Readlink(ctx, r.fs, p.t)
		if err != nil {
			return nil, State{}, fault.Of(err, p.field)
		}
		return &file{}, State{Type: isLink, Link: link}, nil
	}
	return &file{}, State{Type: isAbsent}, nil
}
