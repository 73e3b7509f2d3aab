package fspolicy

import (
	"context"
	"errors"
	"fmt"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/vfs"
)

// maxExplained bounds the size of a text that is read again only to explain a
// refusal.
const maxExplained = 4 << 20

// explain adds to a stale refusal what the session saw and what is there now,
// so that one retry suffices. Whatever goes wrong here leaves the refusal as
// the provider worded it.
func (p *Policy) explain(ctx context.Context, r vfs.Refusal, next event.Next[vfs.Refusal, error]) (error, error) {
	refused, err := next(ctx, r)
	if err != nil || !errors.Is(refused, errs.StaleVersion) {
		return refused, err
	}
	s := sessionOf(r.Actor)
	if s == nil || r.FS == nil {
		return refused, nil
	}
	before, size, ok := p.seen.text(s.ID(), r.Target.Key)
	if !ok {
		return refused, nil
	}
	info, err := r.FS.Stat(ctx, r.Target)
	if err != nil || info.Type != vfs.File {
		return refused, nil
	}
	detail := fmt.Sprintf("it had %d bytes then and has %d now", size, info.Size)
	if before != nil && info.Size <= maxExplained {
		now, err := r.FS.ReadText(ctx, r.Target)
		if err == nil {
			if changed := textdiff.ChangedRanges(*before, now.Content); len(changed) > 0 {
				detail += "; " + textdiff.FormatRanges(changed, 10) + " changed"
			}
		} else if errors.Is(err, errs.NotText) {
			detail += "; it is no longer text"
		}
	}
	return &errs.Error{Code: errs.StaleVersion, Op: "write", Path: r.Target.Path, Err: refused,
		Message: refused.Error() + " (" + detail + ")"}, nil
}
