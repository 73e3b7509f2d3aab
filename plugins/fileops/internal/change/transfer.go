package change

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// transfer is what copy and move have in common.
type transfer struct {
	Allow
	Keep
	move      bool
	dir       bool
	src, dst  *place
	overwrite bool
	size      int64

	// was and before are what is at the destination.
	was     *file
	before  State
	missing []string
	root    string // of backups
	kept    *kept
}

// verb names the operation for people.
func (t *transfer) verb() string {
	if t.move {
		return "move"
	}
	return "copy"
}

// plan resolves and judges both ends. recursive is demanded for directories.
func (r *run) plan(ctx context.Context, t *transfer, source, destination string, createDirs, recursive bool) error {
	var err error
	if t.src, err = r.locate(ctx, "source_path", source, entry); err != nil {
		return err
	}
	if t.dst, err = r.locate(ctx, "destination_path", destination, entry); err != nil {
		return err
	}
	if t.move {
		if err := r.admit(ctx, t.src, t.Allow); err != nil {
			return err
		}
	}
	if err := r.admit(ctx, t.dst, t.Allow); err != nil {
		return err
	}
	switch t.src.info.Type {
	case vfs.Absent:
		return &fault.Fault{Kind: fault.PathNotFound, Field: "source_path", Action: "correct_source_path", Message: fmt.Sprintf("\"%s\" does not exist", t.src.show)}
	case vfs.Directory:
		t.dir = true
	case vfs.File, vfs.Link:
	default:
		return notFile(t.src)
	}
	if t.dir && !recursive {
		return &fault.Fault{Kind: fault.InvalidArguments, Field: "recursive", Message: fmt.Sprintf("\"%s\" is a directory; set recursive to true to copy it with all it holds", t.src.show),
			Call: map[string]any{"recursive": true}}
	}
	if err := r.apart(t); err != nil {
		return err
	}
	if err := r.mayReplace(ctx, t, destination); err != nil {
		return err
	}
	if t.missing, err = r.missingParents(ctx, t.dst.physical); err != nil {
		return fault.Of(err, "destination_path")
	}
	if err := r.wantParents(t.missing, t.dst, createDirs); err != nil {
		return err
	}
	return r.measure(ctx, t)
}

// apart refuses a transfer onto itself or into itself.
func (r *run) apart(t *transfer) error {
	if t.src.physical == t.dst.physical {
		return fault.New(fault.InvalidArguments, "destination_path", fmt.Sprintf("\"%s\" is both source and destination", t.src.show))
	}
	if !t.dir {
		return nil
	}
	if inside, err := r.fs.Contains(t.src.t, t.dst.parent); err != nil || inside {
		return fault.New(fault.InvalidArguments, "destination_path", fmt.Sprintf("a directory cannot be %s into itself: \"%s\" lies in \"%s\"", past(t.verb()), t.dst.show, t.src.show))
	}
	if inside, err := r.fs.Contains(t.dst.t, t.src.parent); err == nil && inside && t.dst.info.Type == vfs.Directory {
		return fault.New(fault.InvalidArguments, "destination_path", fmt.Sprintf("\"%s\" holds the source \"%s\" and cannot be replaced by it", t.dst.show, t.src.show))
	}
	return nil
}

func past(verb string) string {
	if verb == "move" {
		return "moved"
	}
	return "copied"
}

// mayReplace judges what is at the destination.
func (r *run) mayReplace(ctx context.Context, t *transfer, destination string) error {
	t.was, t.before = &file{}, State{Type: isAbsent}
	if !t.dst.info.Exists() {
		return nil
	}
	isThere := t.dst.info.Type == vfs.Directory
	if !t.dir && isThere {
		return t.intoDir(destination)
	}
	if !t.overwrite {
		return &fault.Fault{Kind: fault.AlreadyExists, Field: "destination_path",
			Message: fmt.Sprintf("\"%s\" exists already; set overwrite to true to replace it, or choose another destination", t.dst.show),
			Call:    map[string]any{"overwrite": true}}
	}
	switch {
	case t.dir && !isThere:
		return fault.New(fault.NotADirectory, "destination_path", fmt.Sprintf("\"%s\" is no directory and cannot be replaced by one", t.dst.show))
	case t.dir:
		t.before = State{Type: isDir}
		if r.root.Key != "" && t.dst.physical == orRoot(r.rootPath()) {
			return fault.New(fault.InvalidArguments, "destination_path", "the sandbox root cannot be replaced")
		}
		var err error
		t.before.Print, err = r.print(ctx, t.dst.t)
		return err
	case t.dst.info.Type != vfs.File && t.dst.info.Type != vfs.Link:
		return notFile(t.dst)
	}
	var err error
	t.was, t.before, err = r.entryState(ctx, t.dst)
	return err
}

// intoDir refuses a directory as the destination of a file, and proposes the
// file's name in it, which is what other tools make of that.
func (t *transfer) intoDir(destination string) error {
	f := &fault.Fault{Kind: fault.AlreadyExists, Field: "destination_path",
		Message: fmt.Sprintf("\"%s\" is a directory and cannot be replaced by a file; name the file in it", t.dst.show)}
	if t.overwrite {
		f.Kind = fault.NotAFile
	}
	name := path.Base(t.src.physical)
	if path.Join(t.dst.physical, name) != t.src.physical {
		f.Call = map[string]any{"destination_path": strings.TrimRight(destination, "/") + "/" + name}
		f.Action = "correct_destination_path"
	}
	return f
}

func (r *run) rootPath() string {
	p, err := r.processPath(r.root)
	if err != nil {
		return ""
	}
	return p
}

// measure counts the bytes, and judges what is below a directory.
func (r *run) measure(ctx context.Context, t *transfer) error {
	if !t.dir {
		if t.src.info.Type == vfs.File {
			t.size = max(t.src.info.Size, 0)
		}
		return nil
	}
	var err error
	t.size, err = r.survey(ctx, t.src.t, "", t.move, func(rel string, c child) error {
		if t.AllowSensitive {
			return nil
		}
		if why := r.cfg.Sensitive.Match(rel); why != "" {
			return &fault.Fault{Kind: fault.SensitivePath, Field: "source_path",
				Message: fmt.Sprintf("\"%s\" in it %s; set allow_sensitive to true to %s it too", vfs.DisplayName(rel), why, t.verb()),
				Call:    map[string]any{"allow_sensitive": true}}
		}
		return nil
	})
	return err
}

// prepare asks the policies and a person, and keeps what is replaced.
func (r *run) prepare(ctx context.Context, t *transfer) (vfs.Guard, error) {
	guard := vfs.Guard{}
	if !t.dir && (t.was.exists || t.before.Type == isAbsent) {
		var err error
		if guard, err = r.guard(ctx, t.dst, t.was, vfs.WriteIntent, false); err != nil {
			return guard, err
		}
	}
	what := fmt.Sprintf("%s %s (%s) there", t.verb(), t.src.show, count(int(t.size), "byte"))
	if t.before.Type != isAbsent {
		what += ", replacing what is there"
	}
	asked := *t.dst
	if asked.sensitive == "" && t.move {
		asked.sensitive = t.src.sensitive
	}
	err := r.ask(ctx, &asked, approval.Request{
		Reason: fmt.Sprintf("%s %s: %s", r.op, t.dst.show, what), Before: t.was.sha,
		Diff: func(context.Context) (string, error) { return fmt.Sprintf("%s -> %s\n", t.src.show, t.dst.show), nil },
	})
	if err == nil {
		err = r.unmoved(ctx, t.src) // what is to be moved was shown too
	}
	if err != nil {
		return guard, err
	}
	if t.root, err = r.backupRoot(ctx, t.BackupRoot); err != nil {
		return guard, err
	}
	if t.was.exists && (t.wanted() || r.journal != nil) {
		if t.kept, err = r.keep(ctx, t.dst.physical, t.was, t.root, t.BackupLabel); err != nil {
			return guard, err
		}
		t.before = t.was.state(t.kept)
	}
	if t.before.Type == isDir && t.wanted() {
		return guard, r.keepReplaced(ctx, t)
	}
	return guard, nil
}

// record is what takes the transfer back.
func (t *transfer) record(after State) Record {
	rec := Record{Path: t.dst.physical, Made: t.missing, Before: t.before, After: after}
	if t.move {
		rec.From = t.src.physical
	}
	return rec
}

// abandon gives up what was prepared for a transfer that changed nothing.
func (r *run) abandon(ctx context.Context, t *transfer, err error) error {
	r.unnote(ctx)
	r.unmake(context.WithoutCancel(ctx), t.missing)
	r.discard(ctx, t.kept, t.root)
	switch {
	case errors.Is(err, errs.StaleVersion):
		return r.stale(ctx, t.dst, err)
	case errors.Is(err, errs.NotObserved):
		return fault.New(fault.AlreadyExists, "destination_path", fmt.Sprintf("\"%s\" has come into being meanwhile; view it, then retry", t.dst.show))
	case errors.Is(err, errs.NotFound):
		return &fault.Fault{Kind: fault.PathNotFound, Field: "source_path", Action: "correct_source_path", Message: err.Error(), Err: err}
	case errors.Is(err, syscall.ENAMETOOLONG): // the source has its name already
		return fault.Of(err, "destination_path")
	}
	return fault.Of(err, "source_path")
}

// receipt is that of a transfer that was done.
func (r *run) receipt(t *transfer, rec Record) Receipt {
	out := Receipt{
		Path: t.src.show, DestinationPath: t.dst.show, Effect: Copied, SHA256Before: t.was.sha, SHA256After: rec.After.SHA256,
		BytesAfter: &t.size, record: rec, shown: [2]string{r.rel(t.src.physical), r.rel(t.dst.physical)}, was: t.before.Type != isAbsent,
	}
	if t.move {
		out.Effect = Moved
	}
	if t.was.exists {
		out.BytesBefore = &t.was.size
	}
	out.BackupID = r.settle(t.kept, t.root, t.Keep)
	return out
}

// known tells the policies what is at the destination, where the session has
// seen it at the source, and what became of the source.
func (r *run) tellMoved(ctx context.Context, t *transfer, now spot) error {
	if t.dir {
		return nil
	}
	var failures []error
	if s := r.call.Session(); s != nil && now.Type == isFile {
		if o, ok := s.Observation(string(t.src.t.Key)); ok && o.Version != "" && vfs.SameVersion(r.fs, vfs.Version(o.Version), now.version) {
			failures = append(failures, vfs.Tell(ctx, r.bus, vfs.Observation{Target: now.t, Version: now.version, Size: now.Size, Actor: r.call}))
		}
	}
	if t.move {
		failures = append(failures, r.tell(ctx, t.src.t, &file{}))
	}
	return errors.Join(failures...)
}

// makeParents makes the directories that the destination needs: not every
// provider does so for a rename or a copy.
func (r *run) makeParents(ctx context.Context, t *transfer) error {
	if len(t.missing) == 0 {
		return nil
	}
	dir, err := r.fs.Resolve(ctx, t.missing[len(t.missing)-1], vfs.ResolveOptions{})
	if err != nil {
		return err
	}
	return vfs.MakeDir(ctx, r.fs, dir, r.options(vfs.Guard{}))
}

// copyOne has the provider copy a file or symlink.
func (r *run) copyOne(ctx context.Context, t *transfer, guard vfs.Guard) (int64, error) {
	if err := r.makeParents(ctx, t); err != nil {
		return 0, err
	}
	return vfs.Copy(ctx, r.fs, t.src.t, t.dst.t, t.before.Type != isAbsent, r.options(guard))
}

// renameOne has the provider move an entry.
func (r *run) renameOne(ctx context.Context, t *transfer, guard vfs.Guard) error {
	if err := r.makeParents(ctx, t); err != nil {
		return err
	}
	return vfs.Rename(ctx, r.fs, t.src.t, t.dst.t, t.before.Type != isAbsent, r.options(guard))
}
