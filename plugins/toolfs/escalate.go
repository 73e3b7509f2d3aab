package toolfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// escalation is how a call asks for a wider sandbox mode. The fields travel
// together.
type escalation struct {
	Permissions   *sandbox.Mode `json:"sandbox_permissions"`
	Justification *string       `json:"justification"`
}

// check returns the mode that is asked for, or "" for none.
func (e escalation) check() (sandbox.Mode, error) {
	switch {
	case e.Permissions == nil && e.Justification == nil:
		return "", nil
	case e.Permissions == nil:
		return "", invalid("justification needs sandbox_permissions; send both or neither")
	case e.Justification == nil || strings.TrimSpace(*e.Justification) == "":
		return "", invalid("sandbox_permissions needs a justification: one sentence that says why the wider mode is needed")
	case !e.Permissions.Valid():
		return "", invalid("sandbox_permissions must be %s or %s", sandbox.WorkspaceWrite, sandbox.FullAccess)
	}
	return *e.Permissions, nil
}

// maxProposed bounds what is loaded to show an approver a difference. A larger
// file is judged by its digest alone.
const maxProposed = 64 << 20

// escalate asks for the wider mode that a call wants, once, and returns the
// grant. What is granted is bound to the bytes that are there now and to those
// proposed. opts are those that the change is to be made with.
func (t *tools) escalate(ctx context.Context, fs vfs.FileSystem, target vfs.Target, c change, opts vfs.Options, mode sandbox.Mode) (*sandbox.Grant, error) {
	what := fmt.Sprintf(`running %s on "%s" in sandbox mode %s`, c.call.Name, vfs.DisplayName(target.Path), mode)
	if c.call.Session() == nil {
		return nil, errs.New(errs.ApprovalUnavailable, what+" needs approval, and a call without a session cannot ask for it; nothing was done")
	}
	service, release, err := t.Approval.Acquire()
	if err != nil {
		return nil, errs.Wrap(errs.ApprovalUnavailable, what+" needs approval, and no approval service is mounted; nothing was done", err)
	}
	defer release()

	p, err := propose(ctx, fs, target, c)
	if err != nil {
		return nil, err
	}
	// Nobody is asked about what the commit would refuse in any case: a file that
	// is not what was read, or exists already, or cannot be written. A mode that is
	// wider is asked about, also when it does not open the place.
	grant := &sandbox.Grant{Mode: mode, CallID: c.call.ID, Target: string(target.Key), Before: p.before, After: p.after}
	opts.Grant = grant
	if err := vfs.CheckWrite(ctx, fs, target, opts); err != nil && errs.CodeOf(err) != errs.SandboxDenied {
		return nil, err
	}
	outcome, err := service.Request(ctx, c.call, approval.Request{
		ToolName: c.call.Name, CallID: c.call.ID, Arguments: c.call.Arguments, Path: target.Path, Resolved: vfs.Resolved(fs, target),
		Reason: fmt.Sprintf("escalate sandbox to %s: %s", mode, strings.TrimSpace(*c.ask.Justification)),
		Diff:   p.diff, Before: p.before, After: p.after,
	})
	if err := approval.Refusal(outcome, what, err); err != nil {
		return nil, err
	}
	return grant, nil
}

// mode is the sandbox mode of the calling session.
func (t *tools) mode(call *tool.Call) sandbox.Mode {
	policy, release, err := t.Sandbox.Acquire()
	if err != nil {
		return sandbox.DefaultMode
	}
	defer release()
	return policy.ModeOf(call)
}

// escalationAdvice says how a call that was denied in a mode may ask for more.
func escalationAdvice(now sandbox.Mode) string {
	var wider []string
	for _, m := range sandbox.Modes() {
		if m.Wider(now) {
			wider = append(wider, fmt.Sprintf("%q", m))
		}
	}
	if len(wider) == 0 {
		return ""
	}
	return fmt.Sprintf("if the change is needed, retry once with sandbox_permissions set to %s and a one-sentence justification to ask for approval",
		strings.Join(wider, " or "))
}

// proposal is what an approver is asked about.
type proposal struct {
	before, after string // SHA-256 in hex; before is "" where there is no file
	diff          func(context.Context) (string, error)
}

func propose(ctx context.Context, fs vfs.FileSystem, target vfs.Target, c change) (proposal, error) {
	info, err := fs.Stat(ctx, target)
	if err != nil {
		return proposal{}, err
	}
	var p proposal
	var before []byte
	if info.Exists() {
		b, err := fs.ReadBytes(ctx, target, maxProposed)
		switch {
		case errors.Is(err, errs.TooLarge):
			return proposeLarge(ctx, fs, target, c)
		case err != nil:
			return proposal{}, err
		}
		before, p.before = b.Data, digest(b.Data)
	}
	after, err := c.propose(target, before, info.Exists())
	if err != nil {
		return proposal{}, err
	}
	p.after = digest(after)
	p.diff = func(context.Context) (string, error) {
		text, cut := textdiff.Unified(target.Path, target.Path, string(before), string(after), 3, maxDiffChars)
		if cut {
			text += fmt.Sprintf("... the difference has more than %d characters; the rest of it is not shown\n", maxDiffChars)
		}
		return text, nil
	}
	return p, nil
}

// maxDiffChars bounds the difference that an approver is shown.
const maxDiffChars = 200_000

// proposeLarge is for a file that is not worth loading to show it. Only its
// replacement as a whole can be proposed: an edit needs the text.
func proposeLarge(ctx context.Context, fs vfs.FileSystem, target vfs.Target, c change) (proposal, error) {
	after, err := c.propose(target, nil, true)
	if err != nil {
		return proposal{}, err
	}
	r, err := vfs.Open(ctx, fs, target)
	if err != nil {
		return proposal{}, err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(r, 0, r.Size())); err != nil {
		return proposal{}, &errs.Error{Code: errs.IO, Op: "read", Path: target.Path, Err: err}
	}
	size := r.Size()
	return proposal{
		before: hex.EncodeToString(h.Sum(nil)), after: digest(after),
		diff: func(context.Context) (string, error) {
			return fmt.Sprintf("replaces all %d bytes by %d others; the file is too large to show the difference\n", size, len(after)), nil
		},
	}, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
