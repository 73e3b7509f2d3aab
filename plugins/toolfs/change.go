package toolfs

import (
	"context"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/textedit"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// change is what write and edit have in common: who asks for the guard, what
// would be in the file, and how it is put there.
type change struct {
	call   *tool.Call
	path   string
	ask    escalation
	intent *event.Waterfall[vfs.Intent, vfs.Guard]
	// propose returns the bytes the file would have, from those it has; exists
	// tells whether there is a file.
	propose func(t vfs.Target, before []byte, exists bool) ([]byte, error)
	commit  func(context.Context, vfs.FileSystem, vfs.Target, vfs.Options) (vfs.WriteResult, error)
}

// changed is the outcome of a change.
type changed struct {
	vfs.WriteResult
	target vfs.Target
}

// apply makes a change: guard, approval where it is asked for, commit, and the
// word to the policies.
func (t *tools) apply(ctx context.Context, c change) (changed, error) {
	return on(ctx, t, c.call, c.path, func(fs vfs.FileSystem, target vfs.Target) (changed, error) {
		r, mode, err := t.commit(ctx, fs, target, c)
		if err != nil {
			return changed{}, t.advise(ctx, c.call, fs, target, mode, err)
		}
		o := vfs.Observation{Target: target, Version: r.Version, Actor: c.call, Size: r.Size, Text: &r.After}
		if err := vfs.Tell(ctx, t.Bus, o); err != nil {
			return changed{}, err
		}
		return changed{r, target}, nil
	})
}

// commit also returns the sandbox mode that the change was tried under, "" where
// it was not tried or nothing confines it.
func (t *tools) commit(ctx context.Context, fs vfs.FileSystem, target vfs.Target, c change) (_ vfs.WriteResult, mode sandbox.Mode, err error) {
	var none vfs.WriteResult
	var wanted sandbox.Mode
	if vfs.Confines(fs) {
		// Before anybody is asked: arguments that do not fit together are the
		// caller's first mistake to mend.
		if wanted, err = c.ask.check(); err != nil {
			return none, "", err
		}
		mode = t.mode(c.call)
	}
	guard, err := vfs.Ask(ctx, t.Bus, c.intent, vfs.Intent{Target: target, Actor: c.call})
	if err != nil {
		return none, "", err
	}
	opts := vfs.Options{Guard: guard, Actor: c.call}
	// A mode that is not wider than the session's own changes nothing and asks
	// nobody.
	if wanted.Wider(mode) {
		if opts.Grant, err = t.escalate(ctx, fs, target, c, opts, wanted); err != nil {
			return none, wanted, err
		}
		mode = wanted
	}
	r, err := c.commit(ctx, fs, target, opts)
	return r, mode, err
}

// shown is a text as results hold it: line breaks are line feeds.
func shown(text string) string { return textedit.NormalizeBreaks(text) }

// diffMeta is the log's metadata of a change.
type diffMeta struct {
	Diffs []textdiff.Card `json:"diffs"`
}

// diffs returns the hunks of a change; none where the text before is not
// known.
func diffs(path string, before *string, after string) diffMeta {
	if before == nil {
		return diffMeta{Diffs: []textdiff.Card{}}
	}
	return diffMeta{Diffs: textdiff.Cards(path, *before, after)}
}
