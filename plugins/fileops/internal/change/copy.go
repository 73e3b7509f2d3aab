package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

func (r *run) copy(ctx context.Context, a *CopyArgs) (*CopyResult, error) {
	t := &transfer{Allow: a.Allow, Keep: a.Keep, overwrite: a.Overwrite}
	err := r.plan(ctx, t, a.SourcePath, a.DestinationPath, on(a.CreateDirs), a.Recursive)
	res := &CopyResult{DryRun: a.DryRun}
	if t.src != nil {
		res.SourcePath = t.src.show
	}
	if t.dst != nil {
		res.DestinationPath = t.dst.show
	}
	if err != nil {
		return res, err
	}
	res.IsDir, res.BytesCopied = &t.dir, &t.size
	res.Overwritten = new(t.before.Type != isAbsent)
	res.Created = new(!*res.Overwritten)
	if a.DryRun {
		res.Text = fmt.Sprintf("would copy %s to %s (%s)", t.src.show, t.dst.show, count(int(t.size), "byte"))
		return res, nil
	}
	var out Receipt
	if t.dir {
		out, err = r.copyDir(ctx, t)
	} else {
		out, err = r.copyFile(ctx, t)
	}
	if err != nil {
		res.BytesCopied, res.Created, res.Overwritten = nil, nil, nil
		return res, err
	}
	res.BackupID = out.BackupID
	res.SelfVerified, res.VerificationError = &out.SelfVerified, out.VerificationError
	res.Text = fmt.Sprintf("copied %s to %s (%s)", t.src.show, t.dst.show, count(int(t.size), "byte"))
	return res, nil
}

// copyFile copies a file or symlink; the provider stages it and puts it in
// place in one step.
func (r *run) copyFile(ctx context.Context, t *transfer) (Receipt, error) {
	guard, err := r.prepare(ctx, t)
	if err != nil {
		return Receipt{}, err
	}
	after, err := r.sourceState(ctx, t)
	if err != nil {
		r.discard(ctx, t.kept, t.root)
		return Receipt{}, fault.Of(err, "source_path")
	}
	rec := t.record(after)
	if err := r.note(ctx, rec); err != nil {
		r.discard(ctx, t.kept, t.root)
		return Receipt{}, err
	}
	n, err := r.copyOne(ctx, t, guard)
	ctx = context.WithoutCancel(ctx)
	now, verr := r.arrivedCopy(ctx, t, &after)
	if err != nil && (verr != nil || !now.same(after) || now.same(t.before)) {
		if verr == nil && !now.same(t.before) {
			return Receipt{}, fault.Of(err, "destination_path")
		}
		return Receipt{}, r.abandon(ctx, t, err)
	}
	if t.src.info.Type == vfs.File {
		t.size = max(n, now.Size)
	}
	rec.After = after
	out := r.receipt(t, rec)
	out.SelfVerified, out.VerificationError = r.transferred(now, after, verr, err)
	if err := r.tellMoved(ctx, t, now); err != nil && out.VerificationError == "" {
		out.VerificationError = err.Error()
	}
	return r.finish(out), nil
}

// wholly is the size up to which a file is read into memory, which also gives
// a version of it that holds later.
const wholly = 16 << 20

// sourceState is what the destination is to become. The digest of a large file
// is left to the comparison afterwards, unless a journal must know it now.
func (r *run) sourceState(ctx context.Context, t *transfer) (State, error) {
	if t.src.info.Type == vfs.Link {
		link, err := vfs.Readlink(ctx, r.fs, t.src.t)
		return State{Type: isLink, Link: link}, err
	}
	s := State{Type: isFile, Mode: t.src.info.Mode, Size: t.src.info.Size}
	if s.Size > wholly && r.journal == nil {
		return s, nil
	}
	var err error
	s.SHA256, s.Size, _, err = r.hash(ctx, t.src.t)
	return s, err
}

// arrivedCopy looks at the destination. A file whose digest is not known yet
// is compared with its source, and that is its digest if they are the same.
func (r *run) arrivedCopy(ctx context.Context, t *transfer, after *State) (spot, error) {
	if after.Type != isFile || after.SHA256 != "" {
		return r.examine(ctx, t.dst.physical)
	}
	now, err := r.glance(ctx, t.dst.physical, false)
	if err != nil || now.Type != isFile {
		return now, err
	}
	var same bool
	if now.SHA256, now.Size, same, err = r.sameFile(ctx, t.src.t, now.t); err == nil && same {
		after.SHA256 = now.SHA256
	}
	return now, err
}

// transferred compares what is at a destination with what was intended.
func (r *run) transferred(now spot, after State, verr, err error) (bool, string) {
	switch {
	case verr != nil:
		return false, "the destination could not be read again: " + verr.Error()
	case !now.same(after):
		return false, "the destination is not what the source was"
	case after.Type == isFile && after.Mode != 0 && now.Mode&0o777 != after.Mode&0o777:
		return false, fmt.Sprintf("the destination has mode %04o instead of %04o", now.Mode, after.Mode)
	case err != nil:
		return true, err.Error()
	}
	return true, ""
}

// journaled runs a change of several steps with a journal: that of the batch
// it is part of, or one of its own. When it fails, its scratch goes.
func (r *run) journaled(ctx context.Context, do func() error) error {
	if r.journal != nil {
		err := do()
		if err != nil {
			err = errors.Join(err, r.sweep(ctx))
		}
		return err
	}
	j, err := r.begin(ctx)
	if err != nil {
		return err
	}
	r.journal = j
	defer func() { r.journal = nil }()
	if err := do(); err != nil {
		// What failed has put everything back as far as it could; what it could
		// not is tried again before its scratch goes.
		finished := r.takeBack(context.WithoutCancel(ctx), j, func(_ int, _ Record, undone error) { err = errors.Join(err, undone) })
		if !finished {
			r.leave(j)
			return err
		}
		return errors.Join(err, r.close(ctx, j))
	}
	return r.complete(ctx)
}

// errReverts tells of changes that were made, but whose journal says otherwise.
var errReverts = errors.New("what was done is taken back when the workspace is opened again")

// complete marks the journal done, removes the scratch, and ends it.
func (r *run) complete(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	j := r.journal
	j.doc.Complete = true
	if err := r.save(ctx, j); err != nil {
		// Without that mark a crash from here on would take everything back,
		// and what is aside would be gone.
		if err := r.save(ctx, j); err != nil {
			if left := r.end(ctx, j); left != nil {
				return fmt.Errorf("%w; %w; %w", err, left, errReverts)
			}
			return errors.Join(err, r.clean(ctx, j))
		}
	}
	return r.close(ctx, j)
}

// sweep removes the scratch of one step of a batch that failed; what earlier
// steps keep aside stays.
func (r *run) sweep(ctx context.Context) error {
	j := r.journal
	var rest, mine []string
	for _, p := range j.doc.Scratch {
		if r.isAside(p) {
			rest = append(rest, p)
		} else {
			mine = append(mine, p)
		}
	}
	err := r.clean(ctx, &journal{doc: journalDoc{Scratch: mine}})
	if err == nil { // else the end of the batch tries again
		j.doc.Scratch = rest
	}
	return err
}

func (r *run) isAside(p string) bool {
	for _, rec := range r.journal.doc.Records {
		if rec.Aside == p || rec.Gone == p {
			return true
		}
	}
	return false
}

// copyDir copies a directory to a sibling of its destination and renames it
// into place. What was there is kept aside until all is done.
func (r *run) copyDir(ctx context.Context, t *transfer) (out Receipt, err error) {
	if _, err := r.prepare(ctx, t); err != nil {
		return Receipt{}, err
	}
	if out, err = r.placeCopy(ctx, t, false); err != nil {
		return out, fault.Of(err, "source_path")
	}
	return r.finish(out), nil
}

// placeCopy carries out the copy of a directory. Where it fails, what was kept
// of the one it replaces goes.
func (r *run) placeCopy(ctx context.Context, t *transfer, keepBackups bool) (out Receipt, err error) {
	err = r.journaled(ctx, func() error {
		out, err = r.placeDir(ctx, t, func(stage string) error {
			n, err := r.copyTree(ctx, t.src.t, t.src.info, stage, keepBackups)
			t.size = n
			return err
		}, keepBackups)
		return err
	})
	if err != nil && out.Effect == "" {
		r.release(ctx, t)
		return out, err
	}
	if err != nil {
		out.VerificationError = err.Error()
	}
	return out, nil
}

// placeDir has a directory filled beside its destination, verifies it, and
// swaps it in.
func (r *run) placeDir(ctx context.Context, t *transfer, fill func(stage string) error, keepBackups bool) (Receipt, error) {
	id, err := r.clock.id()
	if err != nil {
		return Receipt{}, err
	}
	stage := scratchName(t.dst.physical, "stage", id)
	aside := ""
	if t.before.Type == isDir {
		aside = scratchName(t.dst.physical, "aside", id)
	}
	if err := r.scratch(ctx, stage); err != nil {
		return Receipt{}, err
	}
	if err := fill(stage); err != nil {
		return Receipt{}, r.unstage(ctx, t, stage, err)
	}
	staged, err := r.fs.Resolve(ctx, stage, vfs.ResolveOptions{})
	if err != nil {
		return Receipt{}, r.unstage(ctx, t, stage, err)
	}
	differs, digest, err := r.compareTrees(ctx, t.src.t, staged, keepBackups)
	if err == nil && differs != "" {
		err = fault.New(fault.IOError, "source_path", "the copy is not like the original: "+differs+"; nothing was changed")
	}
	if err != nil {
		return Receipt{}, r.unstage(ctx, t, stage, err)
	}
	after := State{Type: isDir, Mode: t.src.info.Mode, Content: digest}
	if after.Print, err = r.print(ctx, staged); err != nil {
		return Receipt{}, r.unstage(ctx, t, stage, err)
	}
	rec := t.record(after)
	rec.Aside = aside
	if aside != "" {
		r.journal.doc.Scratch = append(r.journal.doc.Scratch, aside)
	}
	if err := r.note(ctx, rec); err != nil {
		return Receipt{}, r.unstage(ctx, t, stage, err)
	}
	failed := r.swap(ctx, staged, t.dst, aside)
	now, verr := r.examine(context.WithoutCancel(ctx), t.dst.physical)
	if failed != nil && (verr != nil || !now.same(after)) {
		if verr == nil && now.same(t.before) {
			r.unnote(ctx)
		}
		return Receipt{}, r.unstage(ctx, t, stage, failed)
	}
	out := r.receipt(t, rec)
	out.SelfVerified, out.VerificationError = r.transferred(now, after, verr, failed)
	return out, nil
}

// unstage removes what was staged and the directories made for it.
func (r *run) unstage(ctx context.Context, t *transfer, stage string, cause error) error {
	ctx = context.WithoutCancel(ctx)
	if s, err := r.fs.Resolve(ctx, stage, vfs.ResolveOptions{}); err == nil {
		if info, err := r.fs.Lstat(ctx, s); err == nil && info.Type == vfs.Directory {
			if err := r.removeTree(ctx, s); err != nil {
				return errors.Join(cause, fmt.Errorf("%s is left over: %w", vfs.DisplayName(stage), err))
			}
		}
	}
	r.unmake(ctx, t.missing)
	return cause
}

// swap renames a staged directory into place. The provider cannot exchange
// two: for the moment between the renames the old one is aside, and the journal
// knows.
func (r *run) swap(ctx context.Context, staged vfs.Target, dst *place, aside string) error {
	opts := r.options(vfs.Guard{})
	if aside == "" {
		return vfs.Rename(ctx, r.fs, staged, dst.t, false, opts)
	}
	away, err := r.fs.Resolve(ctx, aside, vfs.ResolveOptions{})
	if err != nil {
		return err
	}
	err = vfs.Rename(ctx, r.fs, dst.t, away, false, opts)
	if err == nil {
		err = vfs.Rename(ctx, r.fs, staged, dst.t, false, opts)
	}
	if err == nil {
		return nil
	}
	// Whatever failed, and in whichever half: what was there goes back unless
	// the new one is in place.
	ctx = context.WithoutCancel(ctx)
	there, err1 := r.fs.Lstat(ctx, dst.t)
	kept, err2 := r.fs.Lstat(ctx, away)
	if err1 == nil && err2 == nil && !there.Exists() && kept.Exists() {
		err = errors.Join(err, vfs.Rename(ctx, r.fs, away, dst.t, false, opts))
	}
	return errors.Join(err, err1, err2)
}
