package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path"
	"slices"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// store gives backups their files through the provider.
type store struct {
	r    *run
	root vfs.Target // confines what is written
}

var _ backup.Store = store{}

// store confines what is written to the sandbox root, unless the deployment
// has chosen a place for backups itself.
func (r *run) store() store {
	if r.cfg.BackupRoot != "" {
		return store{r: r}
	}
	return store{r, r.root}
}

func (r *run) newKeeper() *backup.Keeper {
	return backup.New(r.store(), backup.Options{Now: r.clock.time, Random: r.clock, ID: func(fresh string) string {
		return tool.Input(r.call, "backup_id", func() string { return fresh })
	}})
}

func (s store) options() vfs.Options { return vfs.Options{Actor: s.r.call, Root: s.root} }

func (s store) target(ctx context.Context, p string) (vfs.Target, error) {
	return s.r.fs.Resolve(ctx, p, vfs.ResolveOptions{})
}

// known gives the errors of a provider the forms that backups know.
func known(err error) error {
	switch errs.CodeOf(err) {
	case errs.NotFound:
		return errors.Join(iofs.ErrNotExist, err)
	case errs.NotObserved:
		return errors.Join(iofs.ErrExist, err)
	}
	return err
}

// Stat implements [backup.Store].
func (s store) Stat(ctx context.Context, p string) (backup.Info, error) {
	t, err := s.target(ctx, p)
	if err != nil {
		return backup.Info{}, err
	}
	info, err := s.r.fs.Stat(ctx, t)
	switch {
	case err != nil:
		return backup.Info{}, known(err)
	case !info.Exists():
		return backup.Info{}, fmt.Errorf("%s: %w", p, iofs.ErrNotExist)
	}
	return backup.Info{Size: info.Size, Mode: iofs.FileMode(info.Mode).Perm(), Modified: info.Modified}, nil
}

// Open implements [backup.Store].
func (s store) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	t, err := s.target(ctx, p)
	if err != nil {
		return nil, err
	}
	in, err := vfs.Open(ctx, s.r.fs, t)
	switch {
	case errors.Is(err, errs.NotRegularFile):
		return nil, fmt.Errorf("%w: %s is no regular file", backup.ErrCorrupt, vfs.DisplayName(p))
	case err != nil:
		return nil, known(err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(in, 0, 1<<62), in}, nil
}

// Copy implements [backup.Store].
func (s store) Copy(ctx context.Context, from, to string) error {
	src, err := s.target(ctx, from)
	if err != nil {
		return err
	}
	dst, err := s.target(ctx, to)
	if err != nil {
		return err
	}
	// Not every provider makes the folder for a copy.
	dir, err := s.target(ctx, path.Dir(to))
	if err != nil {
		return err
	}
	if info, err := s.r.fs.Stat(ctx, dir); err != nil || !info.Exists() {
		if err := vfs.MakeDir(ctx, s.r.fs, dir, s.options()); err != nil {
			return err
		}
	}
	_, err = vfs.Copy(ctx, s.r.fs, src, dst, false, s.options())
	return known(err)
}

// Create implements [backup.Store].
func (s store) Create(ctx context.Context, p string, data []byte, mode iofs.FileMode) error {
	t, err := s.target(ctx, p)
	if err != nil {
		return err
	}
	// What exists already is not an error worth a staging file.
	if info, err := s.r.fs.Lstat(ctx, t); err == nil && info.Exists() {
		return known(vfs.NotObserved(t))
	}
	opts := s.options()
	opts.Guard = vfs.CreateIfAbsent()
	_, err = vfs.WriteBytes(ctx, s.r.fs, t, data, vfs.Attr{Mode: uint32(mode.Perm()), SetMode: true}, opts)
	return known(err)
}

// List implements [backup.Store].
func (s store) List(ctx context.Context, dir string) ([]string, error) {
	t, err := s.target(ctx, dir)
	if err != nil {
		return nil, err
	}
	info, err := s.r.fs.Stat(ctx, t)
	switch {
	case err != nil:
		return nil, known(err)
	case !info.Exists():
		return nil, fmt.Errorf("%s: %w", dir, iofs.ErrNotExist)
	}
	entries, err := vfs.ReadDir(ctx, s.r.fs, t)
	if err != nil {
		return nil, known(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return names, nil
}

// Remove implements [backup.Store].
func (s store) Remove(ctx context.Context, p string) error {
	t, err := s.target(ctx, p)
	if err != nil {
		return err
	}
	if info, err := s.r.fs.Lstat(ctx, t); err == nil && info.Type == vfs.Directory {
		return s.run().removeTree(ctx, t)
	}
	return known(vfs.Remove(ctx, s.r.fs, t, s.options()))
}

// backupRoot resolves the folder that a call wants its backups in; "" is the
// one beside the file.
func (r *run) backupRoot(ctx context.Context, given string) (string, error) {
	if given == "" {
		if r.cfg.BackupRoot == "" {
			return "", nil
		}
		return r.physicalPath(ctx, r.cfg.BackupRoot)
	}
	t, err := r.fs.Resolve(ctx, given, vfs.ResolveOptions{Cwd: r.base.Path})
	if err != nil {
		return "", fault.Of(err, "backup_root")
	}
	if err := r.confine(t, vfs.DisplayName(t.Path), "backup_root"); err != nil {
		return "", err
	}
	return r.processPath(t)
}

func (r *run) physicalPath(ctx context.Context, p string) (string, error) {
	t, err := r.fs.Resolve(ctx, p, vfs.ResolveOptions{})
	if err != nil {
		return "", err
	}
	return r.processPath(t)
}

// kept is a backup that was made for a change.
type kept struct {
	backup.Meta
	dir string
	// made tells that the folder was not there before.
	made bool
}

// keep makes a backup of the file at a place, which must be what was read.
func (r *run) keep(ctx context.Context, physical string, was *file, root, label string) (*kept, error) {
	k := &kept{dir: backup.Dir(physical, root)}
	_, err := r.store().List(ctx, k.dir)
	k.made = errors.Is(err, iofs.ErrNotExist)
	if was.exists && was.loaded && was.data == nil {
		was.data = []byte{}
	}
	k.Meta, err = r.keeper.Create(ctx, backup.Request{File: physical, Root: root, Label: label, Data: was.data})
	if err != nil {
		if k.made {
			r.dropFolder(ctx, k.dir, root)
		}
		return nil, unkept(err)
	}
	if k.SHA256 != was.sha {
		r.discard(ctx, k, root)
		return nil, fault.New(fault.HashMismatch, "", fmt.Sprintf("\"%s\" changed while it was being backed up; view it and try again", vfs.DisplayName(physical)))
	}
	return k, nil
}

// unkept tells why a backup could not be made. Where it was to go is at fault
// then, unless it is the file itself that is gone.
func unkept(err error) error {
	if err = backupFault(err); errors.Is(err, errs.NotFound) {
		return err
	}
	return fault.Of(err, "backup_root")
}

// backupFault tells what went wrong with a backup.
func backupFault(err error) error {
	switch {
	case errors.Is(err, backup.ErrLabel):
		return fault.New(fault.InvalidArguments, "backup_label", err.Error())
	case errors.Is(err, backup.ErrNotFound):
		return &fault.Fault{Kind: fault.BackupNotFound, Field: "backup_id", Message: err.Error(), Err: err}
	case errors.Is(err, backup.ErrCorrupt):
		return &fault.Fault{Kind: fault.BackupCorrupt, Message: err.Error() + "; it is not restored", Err: err}
	}
	return err
}

// discard removes a backup that turned out not to be needed, also when ctx is
// done. What cannot be removed stays as a backup that is one too many.
func (r *run) discard(ctx context.Context, k *kept, root string) {
	if k == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	_ = r.keeper.Remove(ctx, k.Meta)
	if k.made {
		r.dropFolder(ctx, k.dir, root)
	}
}

// dropFolder removes a backup folder that holds nothing but its ignore file,
// if that.
func (r *run) dropFolder(ctx context.Context, dir, root string) {
	ctx = context.WithoutCancel(ctx)
	s := r.store()
	names, err := s.List(ctx, dir)
	if err != nil || len(names) > 1 || len(names) == 1 && (names[0] != ".gitignore" || root != "") {
		return
	}
	if len(names) == 1 {
		_ = s.Remove(ctx, path.Join(dir, names[0])) // the folder's removal tells
	}
	if t, err := s.target(ctx, dir); err == nil {
		_ = vfs.RemoveDir(ctx, r.fs, t, s.options()) // somebody else may use it by now
	}
}

// spare is a backup that nobody asked for, made so that a batch can be taken
// back.
type spare struct {
	*kept
	root string
}

// settle returns the id of a backup that goes with a change. One that nobody
// asked for is put down to be removed with the journal.
func (r *run) settle(k *kept, root string, keep Keep) string {
	switch {
	case k == nil:
		return ""
	case !keep.wanted():
		r.spares = append(r.spares, spare{k, root})
		return ""
	}
	return k.ID
}

// discardSpares removes the backups that nobody asked for, the newest first:
// the one that made a folder is then the last to leave it.
func (r *run) discardSpares(ctx context.Context) {
	for _, s := range slices.Backward(r.spares) {
		r.discard(ctx, s.kept, s.root)
	}
	r.spares = nil
}
