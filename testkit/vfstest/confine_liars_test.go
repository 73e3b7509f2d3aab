package vfstest_test

import (
	"context"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// Lies about confinement, attributes and versions.
var confineLies = []lie{
	{"the root does not confine writes", "write/root", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			o.Root = vfs.Target{}
			return honest(ctx, t, content, o)
		}
	})},
	{"the root does not confine the source of a rename", "write/root", func(l *liar, fs *memfs.FS) {
		l.rename = func(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) error {
			if err := fs.MakeDir(ctx, vfs.Target{Key: to.Key + ".d", Path: to.Path + ".d"}, vfs.Options{Root: o.Root}); err != nil {
				return err
			}
			o.Root = vfs.Target{}
			return fs.Rename(ctx, from, to, replace, o)
		}
	}},
	{"attributes of directories are not set", "ability/directory attributes", func(l *liar, _ *memfs.FS) {
		l.dirAttr = func(context.Context, vfs.Target, vfs.Attr, vfs.Options) error { return nil }
	}},
	{"all versions are the same", "version/comparing", func(l *liar, _ *memfs.FS) {
		l.same = func(_, _ vfs.Version) bool { return true }
	}},
}
