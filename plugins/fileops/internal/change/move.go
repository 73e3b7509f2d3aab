package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

func (r *run) move(ctx context.Context, a *MoveArgs) (*MoveResult, error) {
	t := &transfer{Allow: a.Allow, Keep: a.Keep, move: true, overwrite: a.Overwrite}
	err := r.plan(ctx, t, a.SourcePath, a.DestinationPath, on(a.CreateDirs), true)
	res := &MoveResult{DryRun: a.DryRun}
	if t.src != nil {
		res.SourcePath = t.src.show
	}
	if t.dst != nil {
		res.DestinationPath = t.dst.show
	}
	if err != nil {
		return res, err
	}
	res.Overwritten = new(t.before.Type != isAbsent)
	if a.DryRun {
		res.Moved = new(false)
		res.Text = fmt.Sprintf("would move %s to %s", t.src.show, t.dst.show)
		return res, nil
	}
	out, err := r.relocate(ctx, t)
	if err != nil {
		res.Overwritten = nil
		res.Moved = new(false)
		return res, err
	}
	res.Moved, res.BackupID = new(true), out.BackupID
	res.SelfVerified, res.VerificationError = &out.SelfVerified, out.VerificationError
	res.Text = fmt.Sprintf("moved %s to %s", t.src.show, t.dst.show)
	return res, nil
}

// relocate renames, or copies and removes where the two ends are on different
// devices.
func (r *run) relocate(ctx context.Context, t *transfer) (Receipt, error) {
	guard, err := r.prepare(ctx, t)
	if err != nil {
		return Receipt{}, err
	}
	if t.before.Type == isDir {
		return r.relocateJournaled(ctx, t, r.replaceDir)
	}
	// A rename moves no content: only a journal has to know it beforehand.
	source, err := r.glance(ctx, t.src.physical, r.journal != nil)
	if err != nil {
		r.discard(ctx, t.kept, t.root)
		return Receipt{}, fault.Of(err, "source_path")
	}
	rec := t.record(source.State)
	if err := r.note(ctx, rec); err != nil {
		r.discard(ctx, t.kept, t.root)
		return Receipt{}, err
	}
	err = r.renameOne(ctx, t, guard)
	if errors.Is(err, vfs.ErrCrossDevice) {
		r.unnote(ctx)
		return r.relocateJournaled(ctx, t, func(ctx context.Context, t *transfer) (Receipt, error) {
			return r.moveAcross(ctx, t, guard)
		})
	}
	done := context.WithoutCancel(ctx)
	now, verr := r.glance(done, t.dst.physical, true)
	if err != nil && (verr != nil || !now.arrived(source.State) || r.exists(done, t.src)) {
		return Receipt{}, r.abandon(ctx, t, err)
	}
	if verr == nil && now.arrived(source.State) {
		rec.After = now.State
	}
	return r.moved(done, t, rec, now, verr, err), nil
}

func (r *run) exists(ctx context.Context, p *place) bool {
	info, err := r.fs.Lstat(ctx, p.t)
	return err != nil || info.Exists()
}

// moved verifies a move that was made and writes its receipt.
func (r *run) moved(ctx context.Context, t *transfer, rec Record, now spot, verr, err error) Receipt {
	out := r.receipt(t, rec)
	out.SelfVerified, out.VerificationError = r.transferred(now, rec.After, verr, err)
	if r.exists(ctx, t.src) {
		out.SelfVerified, out.VerificationError = false, "there is something at the source"
	}
	if err := r.tellMoved(ctx, t, now); err != nil && out.VerificationError == "" {
		out.VerificationError = err.Error()
	}
	return r.finish(out)
}

// relocateJournaled runs a move of several steps.
func (r *run) relocateJournaled(ctx context.Context, t *transfer, do func(context.Context, *transfer) (Receipt, error)) (Receipt, error) {
	var out Receipt
	err := r.journaled(ctx, func() error {
		var err error
		out, err = do(ctx, t)
		return err
	})
	if err != nil && out.ReceiptID == "" {
		r.release(ctx, t)
		return out, fault.Of(err, "source_path")
	}
	if err != nil {
		out.VerificationError = err.Error()
		r.receipts[len(r.receipts)-1].VerificationError = err.Error()
	}
	return out, nil
}

// replaceDir moves a directory to where another is, which is kept aside
// meanwhile.
func (r *run) replaceDir(ctx context.Context, t *transfer) (Receipt, error) {
	id, err := r.clock.id()
	if err != nil {
		return Receipt{}, err
	}
	source, err := r.glance(ctx, t.src.physical, true)
	if err != nil {
		return Receipt{}, err
	}
	rec := t.record(source.State)
	rec.Aside = scratchName(t.dst.physical, "aside", id)
	r.journal.doc.Scratch = append(r.journal.doc.Scratch, rec.Aside)
	if err := r.note(ctx, rec); err != nil {
		return Receipt{}, err
	}
	err = r.swap(ctx, t.src.t, t.dst, rec.Aside)
	if errors.Is(err, vfs.ErrCrossDevice) {
		r.unnote(ctx)
		r.journal.keepAside(rec.Aside)
		return r.moveAcross(ctx, t, vfs.Guard{})
	}
	done := context.WithoutCancel(ctx)
	now, verr := r.examine(done, t.dst.physical)
	if err != nil && (verr != nil || !now.same(source.State) || r.exists(done, t.src)) {
		if verr == nil && now.same(t.before) {
			r.unnote(ctx)
		}
		return Receipt{}, err
	}
	return r.moved(done, t, rec, now, verr, err), nil
}

// moveAcross copies, verifies and then removes the source, in one step as far
// as anybody can see: it is renamed out of its place first.
func (r *run) moveAcross(ctx context.Context, t *transfer, guard vfs.Guard) (Receipt, error) {
	id, err := r.clock.id()
	if err != nil {
		return Receipt{}, err
	}
	gone := scratchName(t.src.physical, "gone", id)
	away, err := r.fs.Resolve(ctx, gone, vfs.ResolveOptions{})
	if err != nil {
		return Receipt{}, err
	}
	source, err := r.examine(ctx, t.src.physical)
	if err != nil {
		return Receipt{}, err
	}
	// Until the source is away this is a copy, and taking it back removes the
	// copy alone.
	copied := *t
	copied.move = false
	if t.dir {
		_, err = r.placeDir(ctx, &copied, func(stage string) error {
			n, err := r.copyTree(ctx, t.src.t, t.src.info, stage, true)
			t.size = n
			return err
		}, true)
	} else {
		err = r.copyAcross(ctx, &copied, source, guard)
	}
	if err != nil {
		return Receipt{}, err
	}
	// From here on the way is forward: the copy is complete and verified.
	done := context.WithoutCancel(ctx)
	now, verr := r.examine(done, t.dst.physical)
	if verr != nil || t.src.info.Type != vfs.Directory && !now.same(source.State) {
		return Receipt{}, errors.Join(fault.New(fault.IOError, "destination_path", "the copy could not be verified; the source was kept"), verr, r.undoLast(done))
	}
	last := len(r.journal.doc.Records) - 1
	r.journal.doc.Records[last].From, r.journal.doc.Records[last].Gone = t.src.physical, gone
	if err = r.scratch(done, gone); err == nil {
		err = vfs.Rename(done, r.fs, t.src.t, away, false, r.options(vfs.Guard{}))
	}
	if err != nil && r.exists(done, t.src) {
		return Receipt{}, errors.Join(err, r.undoLast(done))
	}
	return r.moved(done, t, r.journal.doc.Records[last], now, verr, err), nil
}

// undoLast takes back the last record.
func (r *run) undoLast(ctx context.Context) error {
	last := len(r.journal.doc.Records) - 1
	err := r.undo(ctx, r.journal.doc.Records[last], false)
	if err == nil {
		r.unnote(ctx)
	}
	return err
}

// copyAcross copies one file or symlink to another device.
func (r *run) copyAcross(ctx context.Context, t *transfer, source spot, guard vfs.Guard) error {
	rec := t.record(source.State)
	if err := r.note(ctx, rec); err != nil {
		return err
	}
	_, err := r.copyOne(ctx, t, guard)
	if err == nil {
		return nil
	}
	now, verr := r.examine(context.WithoutCancel(ctx), t.dst.physical)
	switch {
	case verr == nil && now.same(t.before):
		r.unnote(ctx)
		r.unmake(context.WithoutCancel(ctx), t.missing)
	case verr == nil && now.same(source.State):
		return nil
	}
	return err
}
