package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

func (r *run) backup(ctx context.Context, a *BackupArgs) (*BackupResult, error) {
	p, err := r.locate(ctx, "file_path", a.FilePath, content)
	if err != nil {
		return nil, err
	}
	res := &BackupResult{FilePath: p.show}
	switch p.info.Type {
	case vfs.Absent:
		return res, notFound(p)
	case vfs.File:
	default:
		return res, notFile(p)
	}
	root, err := r.backupRoot(ctx, a.BackupRoot)
	if err != nil {
		return res, err
	}
	was, err := r.read(ctx, p)
	if err != nil {
		return res, err
	}
	err = r.ask(ctx, &place{t: p.t}, approval.Request{
		Reason: fmt.Sprintf("%s %s: keep a copy of its %s", r.op, p.show, count(int(was.size), "byte")), Before: was.sha, After: was.sha,
	})
	if err != nil {
		return res, err
	}
	k, err := r.keep(ctx, p.physical, was, root, a.Label)
	if err != nil {
		var f *fault.Fault
		if errors.As(err, &f) && f.Field == "backup_label" {
			f.Field = "label"
		}
		return res, err
	}
	res.BackupID, res.BackupPath, res.BytesCopied = k.ID, vfs.DisplayName(k.Path), &k.Size
	out := Receipt{
		Path: res.BackupPath, Effect: Created, SHA256After: k.SHA256, BytesAfter: &k.Size, BackupID: k.ID, SelfVerified: true,
		record: Record{Path: p.physical, Before: was.state(k), After: was.state(k)}, hidden: true,
	}
	if err := r.keeper.Verify(context.WithoutCancel(ctx), k.Meta); err != nil {
		out.SelfVerified, out.VerificationError = false, err.Error()
	}
	r.finish(out)
	return res, nil
}

// The pages of list_backups.
const (
	defaultPage = 50
	maxPage     = 200
)

func (r *run) listBackups(ctx context.Context, a *ListBackupsArgs) (*ListBackupsResult, error) {
	p, err := r.locate(ctx, "file_path", a.FilePath, content)
	if err != nil {
		return nil, err
	}
	res := &ListBackupsResult{FilePath: p.show, Backups: []BackupEntry{}}
	root, err := r.backupRoot(ctx, a.BackupRoot)
	if err != nil {
		return res, err
	}
	list, damaged, err := r.keeper.List(ctx, p.physical, root)
	if err != nil {
		return res, backupFault(err)
	}
	slices.Reverse(list)
	res.Total, res.Damaged, res.Offset = len(list), damaged, min(max(a.Offset, 0), len(list))
	page := a.PageSize
	if page <= 0 {
		page = defaultPage
	}
	end := min(res.Offset+min(page, maxPage), len(list))
	for _, m := range list[res.Offset:end] {
		res.Backups = append(res.Backups, BackupEntry{
			BackupID: m.ID, BackupPath: vfs.DisplayName(m.Path), OriginalPath: vfs.DisplayName(m.OriginalPath), IsDir: m.Directory, SHA256: m.SHA256,
			SizeBytes: m.Size, Mode: fmt.Sprintf("%04o", m.Mode), Modified: r.modified(m), Label: m.Label, Created: m.Created,
		})
	}
	if end < len(list) {
		res.NextOffset = &end
	}
	return res, nil
}

// modified is when a file that was backed up had been written. A replay cannot
// know it, so it is an input.
func (r *run) modified(m backup.Meta) time.Time {
	return tool.Input(r.call, "modified", func() time.Time { return m.Modified })
}

func (r *run) rollback(ctx context.Context, a *RollbackArgs) (*RollbackResult, error) {
	p, err := r.locate(ctx, "file_path", a.FilePath, content)
	if err != nil {
		return nil, err
	}
	res := &RollbackResult{FilePath: p.show, DryRun: a.DryRun}
	if a.BackupID == "" {
		return res, fault.New(fault.InvalidArguments, "backup_id", `backup_id must be the id of a backup, or "last"`)
	}
	// What has a backup was allowed to change once: ignored paths pass, and
	// sensitive ones are asked for.
	if err := r.admit(ctx, p, Allow{AllowIgnored: true, AllowSensitive: true}); err != nil {
		return res, err
	}
	m, err := r.wanted(ctx, p, a)
	if err != nil {
		return res, err
	}
	res.BackupID = m.ID
	if m.Directory {
		return r.rollbackTree(ctx, p, m, a, res)
	}
	was, err := r.read(ctx, p)
	if err != nil {
		return res, err
	}
	if m.Size > r.cfg.MaxFileBytes {
		return r.rollbackLarge(ctx, p, was, m, a, res)
	}
	data, err := r.keeper.Content(ctx, m)
	if err != nil {
		return res, backupFault(err)
	}
	if was.loaded || !was.exists {
		res.Diff = diff(p, orEmpty(was), data)
	}
	if a.DryRun {
		res.Restored = new(true)
		return res, nil
	}
	c := &proposal{
		p: p, was: was, next: data, attr: vfs.Attr{Mode: uint32(m.Mode.Perm()), SetMode: true}, intent: vfs.WriteIntent,
		effect: Restored, keep: Keep{BackupRoot: a.BackupRoot, BackupLabel: "before the rollback to " + m.ID},
		what: fmt.Sprintf("restore backup %s, %s", m.ID, count(len(data), "byte")),
	}
	c.adds, c.drops = stat(orEmpty(was), data)
	receipt, err := r.commit(ctx, c)
	if err != nil {
		return res, err
	}
	res.Restored, res.CurrentBackupID = new(true), receipt.BackupID
	res.SelfVerified, res.VerificationError = &receipt.SelfVerified, receipt.VerificationError
	return res, nil
}

// wanted finds the backup that a rollback names.
func (r *run) wanted(ctx context.Context, p *place, a *RollbackArgs) (backup.Meta, error) {
	root, err := r.backupRoot(ctx, a.BackupRoot)
	if err != nil {
		return backup.Meta{}, err
	}
	m, err := r.keeper.Find(ctx, p.physical, root, a.BackupID)
	if err != nil {
		return m, backupFault(err)
	}
	if m.OriginalPath != p.physical && !a.AllowTargetOverride {
		return m, &fault.Fault{Kind: fault.InvalidArguments, Field: "file_path",
			Message: fmt.Sprintf("backup %s is of \"%s\", not of \"%s\"; set allow_target_override to true to restore it there", m.ID, vfs.DisplayName(m.OriginalPath), p.show),
			Call:    map[string]any{"allow_target_override": true}}
	}
	return m, nil
}

// rollbackLarge restores a backup that is too large for memory: the provider
// copies it.
func (r *run) rollbackLarge(ctx context.Context, p *place, was *file, m backup.Meta, a *RollbackArgs, res *RollbackResult) (*RollbackResult, error) {
	if err := r.keeper.Verify(ctx, m); err != nil {
		return res, backupFault(err)
	}
	if a.DryRun {
		res.Restored = new(true)
		return res, nil
	}
	guard, err := r.guard(ctx, p, was, vfs.WriteIntent, false)
	if err != nil {
		return res, err
	}
	err = r.ask(ctx, p, approval.Request{
		Reason: fmt.Sprintf("%s %s: restore backup %s, %s", r.op, p.show, m.ID, count(int(m.Size), "byte")), Before: was.sha, After: m.SHA256,
	})
	if err != nil {
		return res, err
	}
	root, err := r.backupRoot(ctx, a.BackupRoot)
	if err != nil {
		return res, err
	}
	var k *kept
	if was.exists {
		if k, err = r.keep(ctx, p.physical, was, root, "before the rollback to "+m.ID); err != nil {
			return res, err
		}
	}
	made, err := r.missingParents(ctx, p.physical)
	if err != nil {
		return res, err
	}
	rec := Record{Path: p.physical, Made: made, Before: was.state(k), After: State{Type: isFile, SHA256: m.SHA256, Size: m.Size, Mode: uint32(m.Mode)}}
	if err := r.note(ctx, rec); err != nil {
		r.discard(ctx, k, root)
		return res, err
	}
	err = r.putBack(ctx, m, p.t, was.exists, guard)
	now, verr := r.look(ctx, p)
	if err != nil && (verr != nil || now.sha != m.SHA256) {
		if guarded(err) || verr == nil && now.sha == was.sha {
			r.unnote(ctx)
			r.discard(ctx, k, root)
		}
		return res, fault.Of(err, p.field)
	}
	out := Receipt{
		Path: p.show, Effect: Restored, SHA256Before: was.sha, SHA256After: m.SHA256, BytesAfter: &m.Size,
		record: rec, shown: [2]string{r.rel(p.physical)}, was: was.exists,
	}
	if was.exists {
		out.BytesBefore = &was.size
	}
	if k != nil {
		out.BackupID, res.CurrentBackupID = k.ID, k.ID
	}
	out.SelfVerified, out.VerificationError = verdict(now, verr, m.SHA256, uint32(m.Mode), true)
	if verr == nil {
		if err := r.tell(ctx, p.t, now); err != nil && out.VerificationError == "" {
			out.VerificationError = err.Error()
		}
	}
	out = r.finish(out)
	res.Restored, res.SelfVerified, res.VerificationError = new(true), &out.SelfVerified, out.VerificationError
	return res, nil
}

// putBack writes the content and mode of a backup to a target.
func (r *run) putBack(ctx context.Context, m backup.Meta, t vfs.Target, exists bool, guard vfs.Guard) error {
	if m.Size > r.cfg.MaxFileBytes {
		if err := r.keeper.Verify(ctx, m); err != nil {
			return backupFault(err)
		}
		return r.copyBack(ctx, m, t, guard, exists)
	}
	data, err := r.keeper.Content(ctx, m)
	if err != nil {
		return backupFault(err)
	}
	attr := vfs.Attr{Mode: uint32(m.Mode.Perm()), SetMode: true}
	_, err = r.put(ctx, t, data, attr, r.options(guard))
	if errs.CodeOf(err) == errs.Unsupported {
		_, err = r.put(ctx, t, data, vfs.Attr{}, r.options(guard))
	}
	return err
}

// copyBack has the provider copy a backup over what is at a path. A symlink
// there is replaced.
func (r *run) copyBack(ctx context.Context, m backup.Meta, t vfs.Target, guard vfs.Guard, replace bool) error {
	src, err := r.fs.Resolve(ctx, m.Path, vfs.ResolveOptions{})
	if err != nil {
		return err
	}
	_, err = vfs.Copy(ctx, r.fs, src, t, replace, r.options(guard))
	return err
}
