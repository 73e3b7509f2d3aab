package fslocal

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/bridle-go/bridle/harness/vfs"
)

var _ vfs.BirthTimer = (*FS)(nil)

// BirthTime implements [vfs.BirthTimer].
func (f *FS) BirthTime(ctx context.Context, t vfs.Target) (time.Time, error) {
	path, err := keyPath(t)
	if err != nil {
		return time.Time{}, err
	}
	if err := vfs.Aborted(ctx, "examine", t.Path); err != nil {
		return time.Time{}, err
	}
	born, err := birthTime(path)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return born, fail("examine", t.Path, err)
}
