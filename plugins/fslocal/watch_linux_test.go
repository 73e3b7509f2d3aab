package fslocal

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/vfs"
)

// watching starts to watch and returns what is told, and how to end it.
func watching(t *testing.T, f *FS, path string) <-chan vfs.Target {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan vfs.Target, 1000)
	ended := make(chan error)
	tg := target(t, f, path)
	go func() { ended <- f.Watch(ctx, tg, func(t vfs.Target) { told <- t }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return told
}

// await waits until a path has been told. The limit only ends a test that has
// failed.
func await(t *testing.T, told <-chan vfs.Target, path string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		select {
		case got := <-told:
			if string(got.Key) == path {
				return
			}
		case <-limit:
			t.Fatalf("%s was never told", path)
		}
	}
}

// ready makes sure that the watch stands: it changes something until that is
// told.
func ready(t *testing.T, told <-chan vfs.Target, touch string) {
	t.Helper()
	for range 1000 {
		put(t, touch, "x")
		select {
		case <-told:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatal("nothing was ever told")
}

func TestWatchTree(t *testing.T) {
	f, dir := newFS(t)
	os.MkdirAll(filepath.Join(dir, "root/a/b"), 0o755)
	os.MkdirAll(filepath.Join(dir, "sibling"), 0o755)
	at := func(name string) string { return filepath.Join(dir, "root", name) }
	told := watching(t, f, "root")
	ready(t, told, at("first"))
	step := func(what string, path string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		await(t, told, path)
	}
	ctx := context.Background()
	write := func(name string) func() error {
		return func() error {
			_, err := f.WriteText(ctx, target(t, f, name), "x", vfs.Options{})
			return err
		}
	}
	step("write", at("a/b/file"), write("root/a/b/file"))
	step("write again", at("a/b/file"), write("root/a/b/file"))
	step("append", at("a/b/file"), func() error { put(t, at("a/b/file"), "longer"); return nil })
	step("mode", at("a/b/file"), func() error { return os.Chmod(at("a/b/file"), 0o600) })
	step("new directories", at("n/e/w/file"), write("root/n/e/w/file"))
	step("in a new directory", at("n/e/w/file2"), write("root/n/e/w/file2"))
	step("move", at("moved"), func() error { return os.Rename(at("n"), at("moved")) })
	step("in what was moved", at("moved/e/w/file3"), write("root/moved/e/w/file3"))
	step("remove", at("moved/e/w/file3"), func() error { return os.Remove(at("moved/e/w/file3")) })
	os.MkdirAll(filepath.Join(dir, "elsewhere/deep"), 0o755)
	step("moved in", at("in"), func() error { return os.Rename(filepath.Join(dir, "elsewhere"), at("in")) })
	step("in what was moved in", at("in/deep/x"), write("root/in/deep/x"))
	step("moved out", at("in"), func() error { return os.Rename(at("in"), filepath.Join(dir, "out")) })
	put(t, filepath.Join(dir, "out/deep/y"), "not ours any more")
	put(t, filepath.Join(dir, "sibling/z"), "never was")
	step("root away", filepath.Join(dir, "root"), func() error { return os.Rename(filepath.Join(dir, "root"), filepath.Join(dir, "gone")) })
	step("root again", at("again/file"), write("root/again/file"))
	step("in the new root", at("again/file2"), write("root/again/file2"))
	for len(told) > 0 {
		if got := <-told; !within1(filepath.Join(dir, "root"), string(got.Key)) || isStageName(filepath.Base(got.Path)) {
			t.Errorf("%s was told", got.Path)
		}
	}
}

func within1(dir, path string) bool {
	_, ok := Below(dir, path)
	return ok
}

// TestWatchFile watches one file that comes and goes, together with the
// directory it is in.
func TestWatchFile(t *testing.T) {
	f, dir := newFS(t)
	path := filepath.Join(dir, "p/q/file")
	told := watching(t, f, "p/q/file")
	for range 1000 {
		// Until the watch stands.
		os.RemoveAll(filepath.Join(dir, "p"))
		if _, err := f.WriteText(context.Background(), target(t, f, "p/q/file"), "x", vfs.Options{}); err != nil {
			t.Fatal(err)
		}
		if len(told) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	want := vfs.Target{Key: vfs.Key(path), Path: path}
	if diff := cmp.Diff(want, <-told); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	put(t, filepath.Join(dir, "p/q/other"), "x")
	for _, do := range []func() error{
		func() error { return os.Remove(path) },
		func() error { put(t, path, "back"); return nil },
		func() error { return os.RemoveAll(filepath.Join(dir, "p")) },
	} {
		for len(told) > 0 {
			<-told
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		await(t, told, path)
	}
}

// TestWatchOverflow: when the kernel lost count, the target itself is told,
// and the watch goes on.
func TestWatchOverflow(t *testing.T) {
	f, dir := newFS(t)
	os.Mkdir(filepath.Join(dir, "d"), 0o755)
	w := &watch{fd: -1, root: filepath.Join(dir, "d"), target: target(t, f, "d"), dirs: map[int32]string{}}
	_ = w.event(-1, 0x4000, "") // IN_Q_OVERFLOW; there is nothing to watch with here
	if diff := cmp.Diff([]vfs.Target{target(t, f, "d")}, w.flush()); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if len(w.flush()) != 0 {
		t.Error("told twice")
	}
}
