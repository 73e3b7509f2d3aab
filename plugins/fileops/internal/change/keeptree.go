package change

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"strings"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// run is the run that a store writes for, confined as the store is.
func (s store) run() *run {
	r := *s.r
	r.root = s.root
	return &r
}

// CopyTree implements [backup.Store].
func (s store) CopyTree(ctx context.Context, from, to string) (backup.Tree, error) {
	src, err := s.target(ctx, from)
	if err != nil {
		return backup.Tree{}, err
	}
	info, err := s.r.fs.Lstat(ctx, src)
	if err == nil && info.Type != vfs.Directory {
		err = fmt.Errorf("%s: %w", vfs.DisplayName(from), iofs.ErrNotExist)
	}
	if err != nil {
		return backup.Tree{}, known(err)
	}
	r := s.run()
	size, err := r.copyTree(ctx, src, info, to, true)
	if err != nil {
		return backup.Tree{}, known(err)
	}
	dst, err := s.target(ctx, to)
	if err != nil {
		return backup.Tree{}, err
	}
	differs, digest, err := r.compareTrees(ctx, src, dst, true)
	if err == nil && differs != "" {
		err = fault.New(fault.HashMismatch, "", fmt.Sprintf("\"%s\" changed while it was being backed up: %s; look again, then retry", vfs.DisplayName(from), differs))
	}
	return backup.Tree{SHA256: digest, Size: size}, err
}

// DigestTree implements [backup.Store].
func (s store) DigestTree(ctx context.Context, dir string) (backup.Tree, error) {
	t, err := s.target(ctx, dir)
	if err != nil {
		return backup.Tree{}, err
	}
	info, err := s.r.fs.Lstat(ctx, t)
	switch {
	case err != nil:
		return backup.Tree{}, known(err)
	case !info.Exists():
		return backup.Tree{}, fmt.Errorf("%s: %w", vfs.DisplayName(dir), iofs.ErrNotExist)
	case info.Type != vfs.Directory:
		return backup.Tree{}, fmt.Errorf("%w: %s is no directory", backup.ErrCorrupt, vfs.DisplayName(dir))
	}
	r := s.run()
	size, err := r.survey(ctx, t, "", true, func(string, child) error { return nil })
	if err != nil {
		return backup.Tree{}, err
	}
	_, digest, err := r.compareTrees(ctx, t, t, true)
	return backup.Tree{SHA256: digest, Size: size}, err
}

// keepTree makes a backup of a directory that is about to be replaced.
func (r *run) keepTree(ctx context.Context, dir *place, root, label string) (*kept, error) {
	k := &kept{dir: backup.Dir(dir.physical, root)}
	if k.dir == dir.physical || strings.HasPrefix(k.dir, dir.physical+"/") {
		return nil, fault.New(fault.InvalidArguments, "backup_root", fmt.Sprintf("\"%s\" lies in \"%s\", which is to be replaced", vfs.DisplayName(k.dir), dir.show))
	}
	_, err := r.store().List(ctx, k.dir)
	k.made = errors.Is(err, iofs.ErrNotExist)
	k.Meta, err = r.keeper.Create(ctx, backup.Request{File: dir.physical, Root: root, Label: label, Directory: true})
	if err != nil {
		if k.made {
			r.dropFolder(ctx, k.dir, root)
		}
		return nil, unkept(err)
	}
	return k, nil
}

// release gives up the backup of what is at the destination, unless that is
// something else by now.
func (r *run) release(ctx context.Context, t *transfer) {
	if t.kept == nil {
		return
	}
	now, err := r.examine(context.WithoutCancel(ctx), t.dst.physical)
	if err == nil && now.same(t.before) {
		r.discard(ctx, t.kept, t.root)
	}
}

// rollbackTree puts a directory back from its backup. What is there now is
// backed up itself.
func (r *run) rollbackTree(ctx context.Context, p *place, m backup.Meta, a *RollbackArgs, res *RollbackResult) (*RollbackResult, error) {
	if p.info.Exists() && p.info.Type != vfs.Directory {
		return res, fault.New(fault.NotADirectory, p.field, fmt.Sprintf("backup %s is of a directory, and \"%s\" is none", m.ID, p.show))
	}
	if p.physical == r.rootPath() {
		return res, fault.New(fault.InvalidArguments, p.field, "the sandbox root cannot be replaced")
	}
	if err := r.keeper.Verify(ctx, m); err != nil {
		return res, backupFault(err)
	}
	if a.DryRun {
		res.Restored = new(true)
		return res, nil
	}
	t := &transfer{dir: true, dst: p, was: &file{}, before: State{Type: isAbsent}, size: m.Size,
		Keep: Keep{BackupRoot: a.BackupRoot, BackupLabel: "before the rollback to " + m.ID}}
	var err error
	if t.src, err = r.backedUp(ctx, m); err != nil {
		return res, err
	}
	if p.info.Exists() {
		t.before.Type = isDir
		if t.before.Print, err = r.print(ctx, p.t); err != nil {
			return res, fault.Of(err, p.field)
		}
	}
	err = r.ask(ctx, p, approval.Request{
		Reason: fmt.Sprintf("%s %s: restore the directory from backup %s, %s", r.op, p.show, m.ID, count(int(m.Size), "byte")), After: m.SHA256,
	})
	if err != nil {
		return res, err
	}
	if t.root, err = r.backupRoot(ctx, a.BackupRoot); err != nil {
		return res, err
	}
	if t.missing, err = r.missingParents(ctx, p.physical); err != nil {
		return res, fault.Of(err, p.field)
	}
	if t.before.Type == isDir {
		if err := r.keepReplaced(ctx, t); err != nil {
			return res, err
		}
	}
	out, err := r.placeCopy(ctx, t, true)
	if err != nil {
		return res, fault.Of(err, p.field)
	}
	out.Path, out.DestinationPath, out.Effect, out.shown = p.show, "", Restored, [2]string{r.rel(p.physical)}
	out = r.finish(out)
	res.Restored, res.CurrentBackupID = new(true), out.BackupID
	res.SelfVerified, res.VerificationError = &out.SelfVerified, out.VerificationError
	return res, nil
}

// keepReplaced backs up the directory at the destination.
func (r *run) keepReplaced(ctx context.Context, t *transfer) error {
	var err error
	if t.kept, err = r.keepTree(ctx, t.dst, t.root, t.BackupLabel); err == nil {
		t.before.BackupID, t.before.BackupDir = t.kept.ID, t.kept.dir
	}
	return err
}

// backedUp is the content of a backup as the source of a copy.
func (r *run) backedUp(ctx context.Context, m backup.Meta) (*place, error) {
	t, err := r.fs.Resolve(ctx, m.Path, vfs.ResolveOptions{})
	if err != nil {
		return nil, err
	}
	info, err := r.fs.Lstat(ctx, t)
	return &place{field: "backup_id", t: t, show: vfs.DisplayName(m.Path), physical: m.Path, info: info}, err
}

// unpack copies a backed up directory beside the place where it was, ready to
// be renamed there.
func (r *run) unpack(ctx context.Context, rec Record) (vfs.Target, error) {
	m, err := r.keeper.Find(ctx, rec.Path, rec.Before.BackupDir, rec.Before.BackupID)
	if err == nil {
		err = r.keeper.Verify(ctx, m)
	}
	if err != nil {
		return vfs.Target{}, backupFault(err)
	}
	src, err := r.backedUp(ctx, m)
	if err != nil {
		return vfs.Target{}, err
	}
	id, err := r.clock.id()
	if err != nil {
		return vfs.Target{}, err
	}
	stage := scratchName(rec.Path, "stage", id)
	staged, err := r.fs.Resolve(ctx, stage, vfs.ResolveOptions{})
	if err != nil {
		return staged, err
	}
	if r.journal != nil {
		if err := r.scratch(ctx, stage); err != nil {
			return staged, err
		}
	}
	if err := r.ensureParent(ctx, rec.Path); err != nil {
		return staged, err
	}
	if _, err = r.copyTree(ctx, src.t, src.info, path.Clean(stage), true); err != nil {
		err = errors.Join(err, r.removeTree(context.WithoutCancel(ctx), staged))
	}
	return staged, err
}
