package fslocal

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/bridle-go/bridle/harness/vfs"
)

// newFS returns a provider whose working directory is an empty one.
func newFS(t testing.TB, cfg ...Config) (*FS, string) {
	t.Helper()
	dir := tempPath(t)
	c := Config{}
	if len(cfg) > 0 {
		c = cfg[0]
	}
	c.Cwd = dir
	if c.RecoveryDir == "" {
		c.RecoveryDir = filepath.Join(filepath.Dir(dir), "recovery")
	}
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, dir
}

// tempPath returns an empty directory by a path without symlinks.
func tempPath(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func target(t testing.TB, f *FS, path string) vfs.Target {
	t.Helper()
	target, err := f.Resolve(context.Background(), path, vfs.ResolveOptions{})
	if err != nil {
		t.Fatalf("resolve %q: %v", path, err)
	}
	return target
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wantNames makes sure that a directory holds just these names: nothing was
// left behind.
func wantNames(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if len(got) != len(names) {
		t.Fatalf("%s holds %q, want %q", dir, got, names)
	}
	for i := range got {
		if got[i] != names[i] {
			t.Fatalf("%s holds %q, want %q", dir, got, names)
		}
	}
}
