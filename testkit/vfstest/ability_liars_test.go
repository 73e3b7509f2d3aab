package vfstest_test

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// Lies about abilities.
var abilityLies = []lie{
	{"removing follows symlinks", "ability/remove", func(l *liar, fs *memfs.FS) {
		l.remove = func(ctx context.Context, t vfs.Target, o vfs.Options) error {
			return fs.Remove(ctx, vfs.Target{Key: t.Key, Path: string(t.Key)}, o)
		}
	}},
	{"removing what is missing succeeds", "ability/remove", func(l *liar, fs *memfs.FS) {
		l.remove = func(ctx context.Context, t vfs.Target, o vfs.Options) error {
			err := fs.Remove(ctx, t, o)
			if errs.CodeOf(err) == errs.NotFound {
				return nil
			}
			return err
		}
	}},
	{"a directory is removed with what it holds", "ability/remove directory", func(l *liar, fs *memfs.FS) {
		l.removeDir = func(_ context.Context, t vfs.Target, _ vfs.Options) error { return fs.World().Remove(t.Path) }
	}},
	{"a missing directory is removed", "ability/remove directory", func(l *liar, fs *memfs.FS) {
		l.removeDir = func(ctx context.Context, t vfs.Target, o vfs.Options) error {
			if info, _ := fs.Stat(ctx, t); !info.Exists() {
				return nil
			}
			return fs.RemoveDir(ctx, t, o)
		}
	}},
	{"a directory that exists is an error", "ability/make directory", func(l *liar, fs *memfs.FS) {
		l.makeDir = func(ctx context.Context, t vfs.Target, o vfs.Options) error {
			if info, _ := fs.Stat(ctx, t); info.Exists() {
				return errs.New(errs.IO, "exists")
			}
			return fs.MakeDir(ctx, t, o)
		}
	}},
	{"a file is taken for a directory", "ability/make directory", func(l *liar, fs *memfs.FS) {
		l.makeDir = func(ctx context.Context, t vfs.Target, o vfs.Options) error {
			if info, _ := fs.Stat(ctx, t); info.Exists() {
				return nil
			}
			return fs.MakeDir(ctx, t, o)
		}
	}},
	{"a move always replaces", "ability/rename", func(l *liar, fs *memfs.FS) {
		l.rename = func(ctx context.Context, from, to vfs.Target, _ bool, o vfs.Options) error {
			return fs.Rename(ctx, from, to, true, o)
		}
	}},
	{"a move does not judge its guard", "ability/rename", func(l *liar, fs *memfs.FS) {
		l.rename = func(ctx context.Context, from, to vfs.Target, replace bool, _ vfs.Options) error {
			return fs.Rename(ctx, from, to, replace, vfs.Options{})
		}
	}},
	{"a move makes no parents", "ability/rename", func(l *liar, fs *memfs.FS) {
		l.rename = func(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) error {
			if err := needsParent(ctx, fs, to); err != nil {
				return err
			}
			return fs.Rename(ctx, from, to, replace, o)
		}
	}},
	{"a move checks, then replaces", "ability/rename", func(l *liar, fs *memfs.FS) {
		var mu sync.Mutex
		l.rename = func(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) error {
			mu.Lock()
			info, _ := fs.Lstat(ctx, to)
			mu.Unlock()
			if info.Exists() && !replace {
				return vfs.NotObserved(to)
			}
			time.Sleep(time.Millisecond)
			return fs.Rename(ctx, from, to, true, o)
		}
	}},
	{"a copy always replaces", "ability/copy", func(l *liar, fs *memfs.FS) {
		l.copy = func(ctx context.Context, from, to vfs.Target, _ bool, o vfs.Options) (int64, error) {
			return fs.Copy(ctx, from, to, true, o)
		}
	}},
	{"a copy makes no parents", "ability/copy", func(l *liar, fs *memfs.FS) {
		l.copy = func(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) (int64, error) {
			if err := needsParent(ctx, fs, to); err != nil {
				return 0, err
			}
			return fs.Copy(ctx, from, to, replace, o)
		}
	}},
	{"a copy has a new file's mode and time", "ability/copy", func(l *liar, fs *memfs.FS) {
		l.copy = func(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) (int64, error) {
			n, err := fs.Copy(ctx, from, to, replace, o)
			if info, _ := fs.Lstat(ctx, to); err == nil && info.Type == vfs.File {
				_ = fs.World().Chmod(to.Path, 0o644)
				_ = fs.World().Touch(to.Path, time.Unix(5, 0))
			}
			return n, err
		}
	}},
	{"copying follows symlinks", "ability/copy", func(l *liar, fs *memfs.FS) {
		l.copy = func(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) (int64, error) {
			return fs.Copy(ctx, vfs.Target{Key: from.Key, Path: string(from.Key)}, to, replace, o)
		}
	}},
	{"symlinks are made absolute", "ability/symlinks", func(l *liar, fs *memfs.FS) {
		l.symlink = func(ctx context.Context, content string, t vfs.Target, o vfs.Options) error {
			return fs.Symlink(ctx, path.Join(path.Dir(t.Path), content), t, o)
		}
	}},
	{"a symlink takes a file's place", "ability/symlinks", func(l *liar, fs *memfs.FS) {
		l.symlink = func(ctx context.Context, content string, t vfs.Target, o vfs.Options) error {
			if info, _ := fs.Lstat(ctx, t); info.Type == vfs.File {
				_ = fs.World().Remove(t.Path)
			}
			return fs.Symlink(ctx, content, t, o)
		}
	}},
	{"bytes must be text", "ability/write bytes", func(l *liar, fs *memfs.FS) {
		l.raw = func(ctx context.Context, t vfs.Target, data []byte, a vfs.Attr, o vfs.Options) (vfs.WriteResult, error) {
			return fs.WriteBytes(ctx, t, []byte(strings.ToValidUTF8(string(data), "?")), a, o)
		}
	}},
	{"attributes are ignored", "ability/write bytes", func(l *liar, fs *memfs.FS) {
		l.raw = func(ctx context.Context, t vfs.Target, data []byte, _ vfs.Attr, o vfs.Options) (vfs.WriteResult, error) {
			return fs.WriteBytes(ctx, t, data, vfs.Attr{}, o)
		}
	}},
	{"bytes are written whatever the guard", "ability/write bytes", func(l *liar, fs *memfs.FS) {
		l.raw = func(ctx context.Context, t vfs.Target, data []byte, a vfs.Attr, _ vfs.Options) (vfs.WriteResult, error) {
			return fs.WriteBytes(ctx, t, data, a, vfs.Options{})
		}
	}},
	{"an open file shows later changes", "ability/open", func(l *liar, fs *memfs.FS) {
		l.open = func(ctx context.Context, t vfs.Target) (vfs.Reader, error) {
			r, err := fs.Open(ctx, t)
			return &late{r, fs, t}, err
		}
	}},
	{"a walk follows symlinks", "ability/walk", func(l *liar, fs *memfs.FS) {
		l.walk = func(ctx context.Context, t vfs.Target, fn vfs.WalkFunc) error {
			return fs.WalkDir(ctx, t, func(p string, e vfs.Entry, err error) error {
				if ret := fn(p, e, err); ret != nil || e.Type != vfs.Link {
					return ret
				}
				return fs.WalkDir(ctx, e.Target, func(sub string, e vfs.Entry, err error) error { return fn(p+"/"+sub, e, err) })
			})
		}
	}},
	{"a walk does not skip", "ability/walk", func(l *liar, fs *memfs.FS) {
		l.walk = func(ctx context.Context, t vfs.Target, fn vfs.WalkFunc) error {
			return fs.WalkDir(ctx, t, func(p string, e vfs.Entry, err error) error {
				if ret := fn(p, e, err); ret != vfs.SkipDir {
					return ret
				}
				return nil
			})
		}
	}},
	{"a file that is skipped ends the walk", "ability/walk", func(l *liar, fs *memfs.FS) {
		l.walk = func(ctx context.Context, t vfs.Target, fn vfs.WalkFunc) error {
			end := errors.New("end")
			err := fs.WalkDir(ctx, t, func(p string, e vfs.Entry, err error) error {
				if ret := fn(p, e, err); ret != vfs.SkipDir || e.Type == vfs.Directory {
					return ret
				}
				return end
			})
			if err == end {
				return nil
			}
			return err
		}
	}},
	{"a walk goes on after an error", "ability/walk", func(l *liar, fs *memfs.FS) {
		l.walk = func(ctx context.Context, t vfs.Target, fn vfs.WalkFunc) error {
			_ = fs.WalkDir(ctx, t, fn)
			return nil
		}
	}},
}

// needsParent fails where the directory of t is missing.
func needsParent(ctx context.Context, fs *memfs.FS, t vfs.Target) error {
	dir := path.Dir(t.Path)
	if info, err := fs.Stat(ctx, vfs.Target{Key: vfs.Key(dir), Path: dir}); err != nil || info.Exists() {
		return err
	}
	return errs.New(errs.NotFound, "no such directory")
}

// late is an open file that reads what is there now.
type late struct {
	vfs.Reader
	fs *memfs.FS
	t  vfs.Target
}

func (l *late) ReadAt(p []byte, off int64) (int, error) {
	r, err := l.fs.Open(context.Background(), l.t)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return r.ReadAt(p, off)
}
