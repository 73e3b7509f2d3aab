//go:build linux || darwin

package fslocal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

func wantCode(t *testing.T, what string, err error, code errs.Code) {
	t.Helper()
	if errs.CodeOf(err) != code {
		t.Errorf("%s: %v (%s), want %q", what, err, errs.CodeOf(err), code)
	}
}

func TestRemove(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "a"), "x")
	put(t, filepath.Join(dir, "b"), "x")
	os.Symlink("a", filepath.Join(dir, "link"))
	os.Symlink("none", filepath.Join(dir, "broken"))
	os.MkdirAll(filepath.Join(dir, "d/e"), 0o755)
	os.Symlink("d", filepath.Join(dir, "dlink"))
	v := mustRead(t, f, target(t, f, "a")).Version
	wantCode(t, "link", f.Remove(ctx, target(t, f, "link"), vfs.Options{}), "")
	wantCode(t, "broken", f.Remove(ctx, target(t, f, "broken"), vfs.Options{}), "")
	wantCode(t, "missing", f.Remove(ctx, target(t, f, "none"), vfs.Options{}), errs.NotFound)
	wantCode(t, "missing below", f.Remove(ctx, target(t, f, "none/x"), vfs.Options{}), errs.NotFound)
	wantCode(t, "directory", f.Remove(ctx, target(t, f, "d"), vfs.Options{}), errs.NotRegularFile)
	wantCode(t, "stale", f.Remove(ctx, target(t, f, "b"), vfs.Options{Guard: vfs.ReplaceIfVersion("l1.-.-")}), errs.StaleVersion)
	wantCode(t, "guarded", f.Remove(ctx, target(t, f, "a"), vfs.Options{Guard: vfs.ReplaceIfVersion(v)}), "")
	wantCode(t, "full directory", f.RemoveDir(ctx, target(t, f, "d"), vfs.Options{}), errs.IO)
	wantCode(t, "file as directory", f.RemoveDir(ctx, target(t, f, "b"), vfs.Options{}), errs.NotDirectory)
	wantCode(t, "link as directory", f.RemoveDir(ctx, target(t, f, "dlink"), vfs.Options{}), errs.NotDirectory)
	wantCode(t, "directory", f.RemoveDir(ctx, target(t, f, "d/e"), vfs.Options{}), "")
	wantCode(t, "missing directory", f.RemoveDir(ctx, target(t, f, "d/e"), vfs.Options{}), errs.NotFound)
	wantNames(t, dir, "b", "d", "dlink")
}

func TestMakeDir(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "file"), "x")
	os.Symlink("later", filepath.Join(dir, "dangling"))
	for range 2 {
		wantCode(t, "deep", f.MakeDir(ctx, target(t, f, "a/b/c"), vfs.Options{}), "")
		wantCode(t, "dangling", f.MakeDir(ctx, target(t, f, "dangling"), vfs.Options{}), "")
	}
	wantCode(t, "file", f.MakeDir(ctx, target(t, f, "file"), vfs.Options{}), errs.NotDirectory)
	wantCode(t, "below a file", f.MakeDir(ctx, target(t, f, "file/x"), vfs.Options{}), errs.NotDirectory)
	wantNames(t, dir, "a", "dangling", "file", "later")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { wantCode(t, "race", f.MakeDir(ctx, target(t, f, "r/s/t"), vfs.Options{}), "") })
	}
	wg.Wait()
}

func TestRename(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	reset := func() {
		for _, e := range []string{"a", "b", "link", "d", "e", "p", "new"} {
			os.RemoveAll(filepath.Join(dir, e))
		}
		put(t, filepath.Join(dir, "a"), "A")
		put(t, filepath.Join(dir, "b"), "B")
		os.Symlink("b", filepath.Join(dir, "link"))
		os.Mkdir(filepath.Join(dir, "d"), 0o755)
		put(t, filepath.Join(dir, "d/x"), "X")
		os.Mkdir(filepath.Join(dir, "e"), 0o755)
	}
	version := func(name string) vfs.Guard {
		return vfs.ReplaceIfVersion(mustRead(t, f, target(t, f, name)).Version)
	}
	reset()
	stale := version("a")
	tests := []struct {
		name, from, to string
		replace        bool
		guard          func() vfs.Guard
		code           errs.Code
		at, holds      string
	}{
		{name: "plain", from: "a", to: "new", at: "new", holds: "A"},
		{name: "parents", from: "a", to: "p/q/new", at: "p/q/new", holds: "A"},
		{name: "existing", from: "a", to: "b", code: errs.NotObserved, at: "b", holds: "B"},
		{name: "replace", from: "a", to: "b", replace: true, at: "b", holds: "A"},
		{name: "guarded", from: "a", to: "b", replace: true, guard: func() vfs.Guard { return version("b") }, at: "b", holds: "A"},
		{name: "stale", from: "a", to: "b", replace: true, guard: func() vfs.Guard { return stale }, code: errs.StaleVersion, at: "b", holds: "B"},
		{name: "missing", from: "none", to: "p/new", code: errs.NotFound, at: "a", holds: "A"},
		{name: "symlink", from: "link", to: "new", at: "new", holds: "B"},
		{name: "onto a symlink", from: "a", to: "link", replace: true, at: "b", holds: "B"},
		{name: "directory", from: "d", to: "p/d", at: "p/d/x", holds: "X"},
		{name: "into itself", from: "d", to: "d/sub", code: errs.InvalidArgs, at: "d/x", holds: "X"},
		{name: "directory onto an empty one", from: "d", to: "e", replace: true, at: "e/x", holds: "X"},
		{name: "directory onto a full one", from: "e", to: "d", replace: true, code: errs.IO, at: "d/x", holds: "X"},
		{name: "file onto directory", from: "a", to: "e", replace: true, code: errs.IO, at: "a", holds: "A"},
		{name: "onto itself", from: "a", to: "a", replace: true, at: "a", holds: "A"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reset()
			var opts vfs.Options
			if tt.guard != nil {
				opts.Guard = tt.guard()
			}
			wantCode(t, "rename", f.Rename(ctx, target(t, f, tt.from), target(t, f, tt.to), tt.replace, opts), tt.code)
			if got := content(t, filepath.Join(dir, tt.at)); got != tt.holds {
				t.Errorf("%s holds %q", tt.at, got)
			}
			if _, err := os.Lstat(filepath.Join(dir, "p")); tt.code != "" && err == nil {
				t.Error("a directory was made for a move that failed")
			}
		})
	}
	// Only one of many may move to one place.
	reset()
	var wins atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		name := "src" + string(rune('a'+i))
		put(t, filepath.Join(dir, name), name)
		wg.Go(func() {
			if err := f.Rename(ctx, target(t, f, name), target(t, f, "new"), false, vfs.Options{}); err == nil {
				wins.Add(1)
			} else if !errors.Is(err, errs.NotObserved) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d moves won", wins.Load())
	}
}

func TestCopy(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	big := strings.Repeat("0123456789", 400_000)
	put(t, filepath.Join(dir, "a"), big)
	os.Chmod(filepath.Join(dir, "a"), 0o640)
	modified := time.Unix(1_000_000_000, 123456789)
	os.Chtimes(filepath.Join(dir, "a"), modified, modified)
	put(t, filepath.Join(dir, "b"), "B")
	put(t, filepath.Join(dir, "empty"), "")
	os.Symlink("none", filepath.Join(dir, "link"))
	n, err := f.Copy(ctx, target(t, f, "a"), target(t, f, "p/copy"), false, vfs.Options{})
	if err != nil || n != int64(len(big)) || content(t, filepath.Join(dir, "p/copy")) != big {
		t.Errorf("%d bytes, %v", n, err)
	}
	info, _ := os.Stat(filepath.Join(dir, "p/copy"))
	if info.Mode() != 0o640 || !info.ModTime().Equal(modified) {
		t.Errorf("mode %v, modified %v", info.Mode(), info.ModTime())
	}
	_, err = f.Copy(ctx, target(t, f, "a"), target(t, f, "b"), false, vfs.Options{})
	wantCode(t, "existing", err, errs.NotObserved)
	_, err = f.Copy(ctx, target(t, f, "a"), target(t, f, "b"), true, vfs.Options{Guard: vfs.ReplaceIfVersion("l1.-.-")})
	wantCode(t, "stale", err, errs.StaleVersion)
	if content(t, filepath.Join(dir, "b")) != "B" {
		t.Error("a refused copy changed its destination")
	}
	_, err = f.Copy(ctx, target(t, f, "empty"), target(t, f, "b"), true, vfs.Options{})
	wantCode(t, "replace", err, "")
	if content(t, filepath.Join(dir, "b")) != "" {
		t.Error("the destination was not replaced")
	}
	_, err = f.Copy(ctx, target(t, f, "link"), target(t, f, "p/link"), false, vfs.Options{})
	wantCode(t, "symlink", err, "")
	if to, _ := os.Readlink(filepath.Join(dir, "p/link")); to != "none" {
		t.Errorf("the copied symlink holds %q", to)
	}
	_, err = f.Copy(ctx, target(t, f, "a"), target(t, f, "a"), true, vfs.Options{})
	wantCode(t, "onto itself", err, "")
	_, err = f.Copy(ctx, target(t, f, "none"), target(t, f, "q/x"), true, vfs.Options{})
	wantCode(t, "missing", err, errs.NotFound)
	_, err = f.Copy(ctx, target(t, f, "p"), target(t, f, "q/x"), true, vfs.Options{})
	wantCode(t, "directory", err, errs.NotRegularFile)
	_, err = f.Copy(ctx, target(t, f, "a"), target(t, f, "p"), true, vfs.Options{})
	wantCode(t, "onto a directory", err, errs.NotRegularFile)
	if content(t, filepath.Join(dir, "a")) != big {
		t.Error("the source changed")
	}
	wantNames(t, dir, "a", "b", "empty", "link", "p")
	wantNames(t, filepath.Join(dir, "p"), "copy", "link")
}

func TestSymlink(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "a"), "x")
	wantCode(t, "new", f.Symlink(ctx, "../a", target(t, f, "p/link"), vfs.Options{}), "")
	wantCode(t, "existing", f.Symlink(ctx, "b", target(t, f, "p/link"), vfs.Options{}), errs.NotObserved)
	wantCode(t, "empty", f.Symlink(ctx, "", target(t, f, "l"), vfs.Options{}), errs.InvalidArgs)
	wantCode(t, "NUL", f.Symlink(ctx, "a\x00", target(t, f, "l"), vfs.Options{}), errs.InvalidArgs)
	got, err := f.Readlink(ctx, target(t, f, "p/link"))
	if err != nil || got != "../a" {
		t.Errorf("%q, %v", got, err)
	}
	long := strings.Repeat("x/", 1000)
	wantCode(t, "long", f.Symlink(ctx, long, target(t, f, "long"), vfs.Options{}), "")
	got, err = f.Readlink(ctx, vfs.Target{Key: vfs.Key(filepath.Join(dir, "long")), Path: filepath.Join(dir, "long")})
	if err != nil || got != long {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_, err = f.Readlink(ctx, target(t, f, "a"))
	wantCode(t, "file", err, errs.NotRegularFile)
	_, err = f.Readlink(ctx, target(t, f, "none"))
	wantCode(t, "missing", err, errs.NotFound)
}

func TestAccess(t *testing.T) {
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "a"), "x")
	for path, want := range map[string][2]bool{"a": {true, true}, "p/q/new": {false, true}, ".": {true, true}} {
		r, w, err := f.Access(context.Background(), target(t, f, path))
		if err != nil || r != want[0] || w != want[1] {
			t.Errorf("%s: %v %v %v", path, r, w, err)
		}
	}
}
