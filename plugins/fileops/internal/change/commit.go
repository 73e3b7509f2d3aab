package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// proposal is a planned change of one file's content.
type proposal struct {
	p    *place
	was  *file
	next []byte
	attr vfs.Attr
	// intent asks the policies: for the file as a whole, or for part of it.
	intent *event.Waterfall[vfs.Intent, vfs.Guard]
	effect Effect
	// seen tells that the caller named the digest of what is there, which
	// counts as having observed it.
	seen bool
	keep Keep
	// what says in a few words what would be done, for the person who is asked.
	what string
	// adds and drops are the lines, where they are known.
	adds, drops *int
}

// own marks the context of changes that this package makes itself, so that
// its listeners pass over their intents.
type own struct{}

// guard asks the policies, and makes sure that what they demand agrees with
// what was read.
func (r *run) guard(ctx context.Context, p *place, was *file, intent *event.Waterfall[vfs.Intent, vfs.Guard], seen bool) (vfs.Guard, error) {
	if seen && was.exists {
		if err := r.tell(ctx, p.t, was); err != nil {
			return vfs.Guard{}, err
		}
	}
	g, err := vfs.Ask(context.WithValue(ctx, own{}, true), r.bus, intent, vfs.Intent{Target: p.t, Actor: r.call})
	if err != nil {
		return vfs.Guard{}, r.refused(p, was, err)
	}
	want, versioned := g.Version()
	switch {
	case g.Absent() && was.exists:
		return vfs.Guard{}, r.unseen(p, vfs.NotObserved(p.t))
	case versioned && (!was.exists || !vfs.SameVersion(r.fs, want, was.version)):
		return vfs.Guard{}, r.stale(ctx, p, vfs.Stale(p.t, was.exists))
	case !was.exists:
		return vfs.CreateIfAbsent(), nil
	}
	// The change was made from what was read, whatever the policies say.
	return vfs.ReplaceIfVersion(was.version), nil
}

// refused is the failure of a change that a policy does not allow. What the
// caller can mend by looking at the file has codes of its own; anything else is
// a decision that asking again does not change.
func (r *run) refused(p *place, was *file, err error) error {
	var known *fault.Fault
	switch code := errs.CodeOf(err); {
	case errors.As(err, &known):
		return err
	case code == errs.NotFound && was.exists:
		return &fault.Fault{Kind: fault.ConfirmationRequired, Field: p.field, Action: "view_file", Err: err,
			Message: fmt.Sprintf("\"%s\" was not there when this session last looked; view it first, then retry", p.show)}
	case code == errs.NotObserved, code == errs.NotFound:
		return r.unseen(p, err)
	case code == errs.StaleVersion, fault.Of(err, "").Kind == fault.Cancelled:
		return fault.Of(err, p.field)
	}
	return &fault.Fault{Kind: fault.ApprovalDenied, Field: p.field, Message: err.Error(), Err: err}
}

// unseen is the failure of a change of something the caller has not observed.
func (r *run) unseen(p *place, err error) error {
	f := fault.Of(err, p.field)
	if errors.Is(err, errs.NotObserved) {
		f = &fault.Fault{Kind: fault.ConfirmationRequired, Field: p.field, Action: "view_file", Err: err,
			Message: fmt.Sprintf("\"%s\" was not read in this session; view it first, then retry", p.show)}
	}
	return f
}

// stale is the failure of a change of something that is no longer what was
// seen. A policy that remembers may say more.
func (r *run) stale(ctx context.Context, p *place, err error) error {
	err = vfs.Explain(ctx, r.bus, vfs.Refusal{Target: p.t, Actor: r.call, Err: err, FS: r.fs})
	f := fault.Of(err, p.field)
	return &fault.Fault{Kind: f.Kind, Field: p.field, Action: "view_file", Err: err, Message: f.Message + "; view it again, then retry"}
}

// tell lets the policies know what is at a target.
func (r *run) tell(ctx context.Context, t vfs.Target, f *file) error {
	o := vfs.Observation{Target: t, Actor: r.call, Absent: !f.exists, Version: f.version, Size: f.size}
	if f.loaded && f.exists {
		if text, err := vfs.DecodeText(t, f.data); err == nil {
			o.Text = &text
		}
	}
	return vfs.Tell(ctx, r.bus, o)
}

// ask asks for approval where the deployment demands it, or the path does.
func (r *run) ask(ctx context.Context, p *place, req approval.Request) error {
	if !r.cfg.RequireApproval && p.sensitive == "" {
		return nil
	}
	var asker approval.Service
	err := errors.New("no approval service is mounted")
	if r.approval != nil {
		var release func()
		if asker, release, err = r.approval.Acquire(); err == nil {
			defer release()
		}
	}
	if err != nil && !r.cfg.RequireApproval {
		return nil // a sensitive path is asked about where somebody can be asked
	}
	if err != nil {
		// That a service is missing is nothing to a model; whom to turn to is.
		return &fault.Fault{Kind: fault.ApprovalDenied, Err: approval.Refusal(approval.Unavailable, req.Reason, err),
			Message: fmt.Sprintf("changes need approval here and nobody can give it; nothing was done (%s); ask the user", req.Reason)}
	}
	if p.sensitive != "" {
		req.Reason += "; the path " + p.sensitive
	}
	req.Path, req.Resolved = p.t.Path, vfs.Resolved(r.fs, p.t)
	if r.call != nil {
		req.ToolName, req.CallID, req.Arguments = r.call.Name, r.call.ID, r.call.Arguments
	}
	outcome, err := asker.Request(ctx, r.call, req)
	if err := denied(outcome, fmt.Sprintf("%s %s", r.op, p.show), err); err != nil {
		return err
	}
	return r.unmoved(ctx, p)
}

// unmoved makes sure that a path still leads where it led when somebody was
// asked: the answer was about that place, not about one that a symlink put in
// its way meanwhile leads to.
func (r *run) unmoved(ctx context.Context, p *place) error {
	for _, was := range []vfs.Target{p.parent, p.t} {
		if was.Key == "" {
			continue // only the content is asked about
		}
		now, err := r.fs.Resolve(ctx, was.Path, vfs.ResolveOptions{})
		if err != nil {
			return fault.Of(err, p.field)
		}
		if now.Key != was.Key {
			return &fault.Fault{Kind: fault.HashMismatch, Field: p.field, Action: "view_file",
				Message: fmt.Sprintf("\"%s\" leads elsewhere now than when this change was prepared; nothing was done; view it again, then retry", p.show)}
		}
	}
	return nil
}

func denied(o approval.Outcome, what string, cause error) error {
	err := approval.Refusal(o, what, cause)
	switch {
	case err == nil:
		return nil
	case o == approval.Cancelled:
		return &fault.Fault{Kind: fault.Cancelled, Message: err.Error(), Err: err}
	}
	return &fault.Fault{Kind: fault.ApprovalDenied, Message: err.Error(), Err: err}
}

// commit carries out a proposal.
func (r *run) commit(ctx context.Context, c *proposal) (Receipt, error) {
	none := Receipt{}
	guard, err := r.guard(ctx, c.p, c.was, c.intent, c.seen)
	if err != nil {
		return none, err
	}
	sha := sum(c.next)
	if err := r.ask(ctx, c.p, c.question(r.op, sha)); err != nil {
		return none, err
	}
	root, err := r.backupRoot(ctx, c.keep.BackupRoot)
	if err != nil {
		return none, err
	}
	rec, k, err := r.secure(ctx, c, root, sha)
	if err != nil {
		return none, err
	}
	result, err := r.put(ctx, c.p.t, c.next, c.attr, r.options(guard))
	now, verr := r.look(ctx, c.p)
	if err != nil && (verr != nil || !now.exists || now.sha != sha || c.was.exists && c.was.sha == sha) {
		// It was not done; what was made for it goes, unless that is not known.
		if guarded(err) || verr == nil && now.exists == c.was.exists && now.sha == c.was.sha {
			r.unnote(ctx)
			r.discard(ctx, k, root)
		}
		if guarded(err) {
			return none, r.stale(ctx, c.p, err)
		}
		return none, fault.Of(err, c.p.field)
	}
	out := c.receipt(rec, r.rel(c.p.physical))
	out.BackupID = r.settle(k, root, c.keep)
	out.SelfVerified, out.VerificationError = verdict(now, verr, sha, rec.After.Mode, c.attr.SetMode)
	switch {
	case err != nil: // done all the same, as the second look showed
		out.VerificationError = err.Error()
		result.Version = now.version
	case out.SelfVerified:
		result.Version = now.version
	}
	seen := &file{exists: true, data: c.next, loaded: true, size: int64(len(c.next)), version: result.Version}
	if err := r.tell(ctx, c.p.t, seen); err != nil && out.VerificationError == "" {
		out.VerificationError = err.Error()
	}
	return r.finish(out), nil
}

// question is what is asked before a proposal is carried out, whose content has
// the digest sha.
func (c *proposal) question(op, sha string) approval.Request {
	return approval.Request{
		Reason: fmt.Sprintf("%s %s: %s", op, c.p.show, c.what), Before: c.was.sha, After: sha,
		Diff: func(context.Context) (string, error) {
			if d := diff(c.p, orEmpty(c.was), c.next); d != nil {
				return *d, nil
			}
			return fmt.Sprintf("%d bytes become %d; they are no text, or too many to show\n", c.was.size, len(c.next)), nil
		},
	}
}

// secure makes what a proposal can be taken back by: a backup of what is there,
// where one is wanted, and the note in the journal.
func (r *run) secure(ctx context.Context, c *proposal, root, sha string) (rec Record, k *kept, err error) {
	made, err := r.missingParents(ctx, c.p.physical)
	if err != nil {
		return rec, nil, err
	}
	if c.was.exists && (c.keep.wanted() || r.journal != nil) {
		if k, err = r.keep(ctx, c.p.physical, c.was, root, c.keep.BackupLabel); err != nil {
			return rec, nil, err
		}
	}
	mode := c.was.mode
	if c.attr.SetMode {
		mode = c.attr.Mode
	}
	rec = Record{Path: c.p.physical, Made: made, Before: c.was.state(k),
		After: State{Type: isFile, SHA256: sha, Size: int64(len(c.next)), Mode: mode}}
	if err := r.note(ctx, rec); err != nil {
		r.discard(ctx, k, root)
		return rec, nil, err
	}
	return rec, k, nil
}

// receipt tells of a proposal that was carried out, at a path that is shown so.
func (c *proposal) receipt(rec Record, shown string) Receipt {
	out := Receipt{
		Path: c.p.show, Effect: c.effect, SHA256Before: c.was.sha, SHA256After: rec.After.SHA256,
		BytesAfter: new(int64(len(c.next))), AddedLines: c.adds, RemovedLines: c.drops,
		record: rec, shown: [2]string{shown}, was: c.was.exists,
	}
	if c.was.exists {
		out.BytesBefore = &c.was.size
	}
	return out
}

// guarded reports whether the guard of a change has refused it. Nothing was
// written then, whatever somebody else has put there.
func guarded(err error) bool {
	return errors.Is(err, errs.StaleVersion) || errors.Is(err, errs.NotObserved)
}

func orEmpty(f *file) *file {
	if f.exists {
		return f
	}
	return &file{exists: true, loaded: true}
}

// put writes content by the ability for any bytes, or as text where the
// provider has no other.
func (r *run) put(ctx context.Context, t vfs.Target, data []byte, attr vfs.Attr, opts vfs.Options) (vfs.WriteResult, error) {
	if _, ok := vfs.As[vfs.ByteWriter](r.fs); !ok && !attr.SetMode && (&file{data: data, loaded: true}).isText() {
		return r.fs.WriteText(ctx, t, string(data), opts)
	}
	return vfs.WriteBytes(ctx, r.fs, t, data, attr, opts)
}

// look reads a file again after a change, also when the caller has lost
// interest.
func (r *run) look(ctx context.Context, p *place) (*file, error) {
	ctx = context.WithoutCancel(ctx)
	info, err := r.fs.Stat(ctx, p.t)
	if err != nil {
		return &file{}, err
	}
	again := *p
	again.info = info
	f, err := r.read(ctx, &again)
	if err != nil {
		return &file{}, err
	}
	return f, nil
}

// verdict compares what is there with what was intended.
func verdict(now *file, err error, sha string, mode uint32, modeSet bool) (bool, string) {
	switch {
	case err != nil:
		return false, "the file could not be read again: " + err.Error()
	case !now.exists:
		return false, "the file is no longer there"
	case now.sha != sha:
		return false, "the file has other content by now: its SHA-256 is " + now.sha
	case modeSet && now.mode != 0 && now.mode&0o777 != mode&0o777:
		return false, fmt.Sprintf("the file has mode %04o instead of %04o", now.mode, mode)
	}
	return true, ""
}
