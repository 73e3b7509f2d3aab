package fslocal

import (
	"context"

	"github.com/bridle-go/bridle/harness/vfs"
)

var _ vfs.WriteChecker = (*FS)(nil)

// CheckWrite implements [vfs.WriteChecker].
func (f *FS) CheckWrite(ctx context.Context, t vfs.Target, opts vfs.Options) error {
	return f.change(ctx, OpWrite, []spot{{t: t, opts: opts}}, func(ps []*place) error {
		p := ps[0]
		p.looks = true
		old, err := p.judge(ctx, false, false)
		if err != nil || old.meta.exists() {
			return err
		}
		// The directory that the file, or the first directory above it, goes in.
		return p.dir.writable(".")
	})
}
