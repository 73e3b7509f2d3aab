package vfs

import (
	"context"
	"time"
)

// BirthTimer is the optional ability to tell when a file was created.
type BirthTimer interface {
	// BirthTime returns when the file or directory t was created; zero where
	// the filesystem does not record it, or nothing is there. Writing a file by
	// replacing it makes a new one.
	BirthTime(ctx context.Context, t Target) (time.Time, error)
}

// BirthTime returns when t was created; zero when that is unknown. See
// [BirthTimer].
func BirthTime(ctx context.Context, fs FileSystem, t Target) (time.Time, error) {
	v, ok := As[BirthTimer](fs)
	if !ok {
		return time.Time{}, nil
	}
	return v.BirthTime(ctx, t)
}
