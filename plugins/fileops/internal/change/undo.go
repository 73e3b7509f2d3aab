package change

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// errConflict tells that a path is not what the change that is to be taken
// back has left there.
var errConflict = errors.New("it was changed since")

// errLost tells that what was there before is no longer kept.
var errLost = errors.New("it cannot be restored")

// undo takes a change back. It does nothing where the state from before is
// there already. Unless forced it fails with errConflict where neither state
// is.
func (r *run) undo(ctx context.Context, rec Record, force bool) error {
	now, err := r.examine(ctx, rec.Path)
	if err != nil {
		return err
	}
	if rec.From != "" {
		return r.undoMove(ctx, rec, now, force)
	}
	if !now.equal(rec.Before) {
		// Between its two renames a directory that is replaced is nowhere but
		// aside.
		between := rec.Aside != "" && now.Type == isAbsent
		if !r.matches(ctx, now, rec.After) && !between && !force {
			return fmt.Errorf("%s: %w", vfs.DisplayName(rec.Path), errConflict)
		}
		if err := r.restore(ctx, rec, now); err != nil {
			return err
		}
	}
	r.unmake(ctx, rec.Made)
	return nil
}

// undoMove moves back what was moved, and then restores what was replaced.
func (r *run) undoMove(ctx context.Context, rec Record, now spot, force bool) error {
	source, err := r.examine(ctx, rec.From)
	if err != nil {
		return err
	}
	if rec.Gone != "" {
		if source, err = r.bringBack(ctx, rec, source); err != nil {
			return err
		}
		if source.Type != isAbsent {
			copied := rec
			copied.From, copied.Gone = "", ""
			return r.undo(ctx, copied, force)
		}
	}
	switch {
	case source.same(rec.After) && now.same(rec.Before):
		r.unmake(ctx, rec.Made)
		return nil
	case source.same(rec.After) && now.Type == isAbsent:
		// Moved back already, and what was replaced is missing yet.
	case rec.Aside != "" && now.Type == isAbsent && source.Type == isDir:
		// Nothing was moved yet, and what is replaced is aside.
	case source.Type != isAbsent, now.Type == isAbsent, !r.matches(ctx, now, rec.After) && !force:
		return fmt.Errorf("%s: %w", vfs.DisplayName(rec.Path), errConflict)
	default:
		if err := r.moveBack(ctx, now, source.t, rec.From); err != nil {
			return err
		}
		if now, err = r.examine(ctx, rec.Path); err != nil {
			return err
		}
	}
	if !now.same(rec.Before) {
		if err := r.restore(ctx, rec, now); err != nil {
			return err
		}
	}
	r.unmake(ctx, rec.Made)
	return nil
}

// bringBack renames a source that was only put out of sight into its place,
// and returns what is there now.
func (r *run) bringBack(ctx context.Context, rec Record, source spot) (spot, error) {
	gone, err := r.fs.Resolve(ctx, rec.Gone, vfs.ResolveOptions{})
	if err != nil {
		return source, err
	}
	info, err := r.fs.Lstat(ctx, gone)
	if err != nil || !info.Exists() || source.Type != isAbsent {
		return source, err
	}
	if err := vfs.Rename(ctx, r.fs, gone, source.t, false, r.options(vfs.Guard{})); err != nil {
		return source, err
	}
	return r.examine(ctx, rec.From)
}

// moveBack renames, or copies and removes where that crosses devices.
func (r *run) moveBack(ctx context.Context, now spot, to vfs.Target, physical string) error {
	if err := r.ensureParent(ctx, physical); err != nil {
		return err
	}
	opts := r.options(vfs.Guard{})
	err := vfs.Rename(ctx, r.fs, now.t, to, false, opts)
	if !errors.Is(err, vfs.ErrCrossDevice) {
		return err
	}
	if now.Type == isDir {
		id, err := r.clock.id()
		if err != nil {
			return err
		}
		info, err := r.fs.Lstat(ctx, now.t)
		if err != nil {
			return err
		}
		stage := scratchName(physical, "stage", id)
		_, err = r.copyTree(ctx, now.t, info, stage, true)
		staged, rerr := r.fs.Resolve(ctx, stage, vfs.ResolveOptions{})
		if err == nil && rerr == nil {
			err = vfs.Rename(ctx, r.fs, staged, to, false, opts)
		}
		if err != nil || rerr != nil {
			return errors.Join(err, rerr, r.removeTree(context.WithoutCancel(ctx), staged))
		}
	} else if _, err := vfs.Copy(ctx, r.fs, now.t, to, false, opts); err != nil {
		return err
	}
	return r.drop(ctx, now)
}

// restore puts the state from before in the place of what is there now.
func (r *run) restore(ctx context.Context, rec Record, now spot) error {
	switch rec.Before.Type {
	case isAbsent:
		return r.drop(ctx, now)
	case isFile:
		if now.Type == isDir || now.Type == isOther {
			return fmt.Errorf("%s: %w", vfs.DisplayName(rec.Path), errConflict)
		}
		return r.restoreFile(ctx, rec, now)
	case isLink:
		if now.Type == isDir || now.Type == isOther {
			return fmt.Errorf("%s: %w", vfs.DisplayName(rec.Path), errConflict)
		}
		return r.relink(ctx, rec.Path, rec.Before.Link, now.t)
	case isDir:
		return r.restoreDir(ctx, rec, now)
	}
	return fmt.Errorf("%s: %w", vfs.DisplayName(rec.Path), errLost)
}

func guardOf(now spot) vfs.Guard {
	switch now.Type {
	case isFile:
		return vfs.ReplaceIfVersion(now.version)
	case isAbsent:
		return vfs.CreateIfAbsent()
	}
	return vfs.Guard{}
}

// drop removes what is there.
func (r *run) drop(ctx context.Context, now spot) error {
	switch now.Type {
	case isAbsent:
		return nil
	case isDir:
		return r.dropDir(ctx, now.t)
	case isFile:
		return vfs.Remove(ctx, r.fs, now.t, r.options(guardOf(now)))
	}
	return vfs.Remove(ctx, r.fs, now.t, r.options(vfs.Guard{}))
}

// dropDir takes a directory out of its place in one step before it removes it,
// so that nobody, and no recovery, meets half of it.
func (r *run) dropDir(ctx context.Context, t vfs.Target) error {
	physical, err := r.processPath(t)
	if err != nil {
		return err
	}
	if isScratch(physical) {
		return r.removeTree(ctx, t)
	}
	id, err := r.clock.id()
	if err != nil {
		return err
	}
	gone := scratchName(physical, "gone", id)
	if r.journal != nil {
		if err := r.scratch(ctx, gone); err != nil {
			return err
		}
	}
	to, err := r.fs.Resolve(ctx, gone, vfs.ResolveOptions{})
	if err != nil {
		return err
	}
	if err := vfs.Rename(ctx, r.fs, t, to, false, r.options(vfs.Guard{})); err != nil {
		return err
	}
	return r.removeTree(context.WithoutCancel(ctx), to)
}

// restoreFile puts a file back from its backup.
func (r *run) restoreFile(ctx context.Context, rec Record, now spot) error {
	b := rec.Before
	if b.BackupID == "" {
		return fmt.Errorf("%s: %w: there is no backup of it", vfs.DisplayName(rec.Path), errLost)
	}
	m, err := r.keeper.Find(ctx, rec.Path, b.BackupDir, b.BackupID)
	if err != nil {
		return backupFault(err)
	}
	if m.SHA256 != b.SHA256 {
		return &fault.Fault{Kind: fault.BackupCorrupt, Message: fmt.Sprintf("backup %s is not of the content that was replaced", m.ID)}
	}
	if now.Type == isLink {
		// A symlink is replaced, not followed.
		return r.copyBack(ctx, m, now.t, vfs.Guard{}, true)
	}
	return r.putBack(ctx, m, now.t, now.Type == isFile, guardOf(now))
}

// relink puts a symlink in place, in one step where something is there.
func (r *run) relink(ctx context.Context, physical, link string, t vfs.Target) error {
	if err := r.ensureParent(ctx, physical); err != nil {
		return err
	}
	id, err := r.clock.id()
	if err != nil {
		return err
	}
	tmp, err := r.fs.Resolve(ctx, scratchName(physical, "link", id), vfs.ResolveOptions{})
	if err != nil {
		return err
	}
	if err := vfs.Symlink(ctx, r.fs, link, tmp, r.options(vfs.Guard{})); err != nil {
		return err
	}
	if err := vfs.Rename(ctx, r.fs, tmp, t, true, r.options(vfs.Guard{})); err != nil {
		return errors.Join(err, vfs.Remove(context.WithoutCancel(ctx), r.fs, tmp, r.options(vfs.Guard{})))
	}
	return nil
}

// restoreDir puts a replaced directory back from where it was kept: aside, or
// later in its backup.
func (r *run) restoreDir(ctx context.Context, rec Record, now spot) error {
	var kept vfs.Target
	if rec.Aside != "" {
		aside, err := r.glance(ctx, rec.Aside, false)
		if err != nil {
			return err
		}
		if aside.Type == isDir {
			kept = aside.t
		}
	}
	var err error
	switch {
	case kept.Key != "":
	case rec.Before.BackupID == "":
		return fmt.Errorf("%s: %w: the directory is no longer kept", vfs.DisplayName(rec.Path), errLost)
	default:
		if kept, err = r.unpack(ctx, rec); err != nil {
			return err
		}
	}
	if err := r.drop(ctx, now); err != nil {
		return err
	}
	if err := r.ensureParent(ctx, rec.Path); err != nil {
		return err
	}
	return vfs.Rename(ctx, r.fs, kept, now.t, false, r.options(vfs.Guard{}))
}

// ensureParent makes the directory that a path is in.
func (r *run) ensureParent(ctx context.Context, physical string) error {
	missing, err := r.missingParents(ctx, physical)
	if err != nil {
		return err
	}
	return r.makeParents(ctx, &transfer{missing: missing})
}

// unmake removes directories that were made for a change, innermost first. One
// that somebody uses by now stays.
func (r *run) unmake(ctx context.Context, made []string) {
	for _, dir := range slices.Backward(made) {
		r.dropFolder(ctx, dir+"/"+backupFolder, "")
		t, err := r.fs.Resolve(ctx, dir, vfs.ResolveOptions{})
		if err != nil || vfs.RemoveDir(ctx, r.fs, t, r.options(vfs.Guard{})) != nil {
			return
		}
	}
}
