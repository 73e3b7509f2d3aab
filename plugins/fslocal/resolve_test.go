//go:build linux || darwin

package fslocal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// tree makes a small world of symlinks and returns the provider and its root.
func tree(t *testing.T) (*FS, string) {
	f, dir := newFS(t)
	for _, d := range []string{"real/deep", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "file"), "x")
	put(t, filepath.Join(dir, "real", "file"), "x")
	links := map[string]string{
		"link":       "real/deep",
		"abs":        filepath.Join(dir, "real"),
		"flink":      "file",
		"chain":      "flink",
		"dangling":   "other/nothing",
		"dangling2":  "nowhere/deeper/leaf",
		"loop":       "pool",
		"pool":       "loop",
		"self":       "self",
		"updown":     "real/../other",
		"other/back": "../real",
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return f, dir
}

func TestResolve(t *testing.T) {
	f, dir := tree(t)
	tests := []struct {
		path, cwd     string
		key, shown    string // relative to the root; shown is the key's when ""
		shownAsSpelt  bool
		shownExternal string
	}{
		{path: "file", key: "file"},
		{path: "./file", key: "file"},
		{path: "real//deep/./", key: "real/deep"},
		{path: ".", key: ""},
		{path: "..", cwd: "real", key: ""},
		{path: "file", cwd: "real", key: "real/file"},
		{path: "file", cwd: "link", key: "real/deep/file", shown: "link/file"},
		{path: "flink", key: "file", shown: "flink"},
		{path: "chain", key: "file", shown: "chain"},
		{path: "link/new/leaf", key: "real/deep/new/leaf", shown: "link/new/leaf"},
		{path: "abs/deep/x", key: "real/deep/x", shown: "abs/deep/x"},
		{path: "dangling", key: "other/nothing", shown: "dangling"},
		{path: "dangling/sub", key: "other/nothing/sub", shown: "dangling/sub"},
		{path: "dangling2", key: "nowhere/deeper/leaf", shown: "dangling2"},
		{path: "other/back/file", key: "real/file", shown: "other/back/file"},
		{path: "updown/x", key: "other/x", shown: "updown/x"},
		{path: "real/../file", key: "file"},
		// The parent of what a symlink leads to, not of the symlink.
		{path: "link/../file", key: "real/file", shown: "link/../file"},
		{path: "link/../../file", key: "file", shown: "link/../../file"},
		{path: "link/../deep/../file", key: "real/file", shown: "link/../file"},
		{path: "missing/../file", key: "file"},
		{path: "missing/a/../../file", key: "file"},
		{path: "file/leaf", key: "file/leaf"},
		{path: "we\x01ird \u202e name", key: "we\x01ird \u202e name"},
		{path: "bad\xff", key: "bad\xff"},
	}
	for _, tt := range tests {
		for _, absolute := range []bool{false, true} {
			path, cwd := tt.path, filepath.Join(dir, tt.cwd)
			if absolute {
				path = cwd + "/" + path
			}
			t.Run(path, func(t *testing.T) {
				got, err := f.Resolve(context.Background(), path, vfs.ResolveOptions{Cwd: cwd})
				if err != nil {
					t.Fatal(err)
				}
				shown := tt.shown
				if shown == "" {
					shown = tt.key
				}
				want := vfs.Target{Key: vfs.Key(filepath.Join(dir, tt.key)), Path: strings.TrimSuffix(dir+"/"+shown, "/")}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("want - got +\n%s", diff)
				}
			})
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	f, _ := tree(t)
	tests := []struct {
		path string
		code errs.Code
		says string
	}{
		{"", errs.InvalidArgs, "empty"},
		{"~", errs.InvalidArgs, "spell out"},
		{"~/x", errs.InvalidArgs, "spell out"},
		{"~user/x", errs.InvalidArgs, "./~user/x"},
		{"a\x00b", errs.InvalidArgs, "NUL"},
		{"loop", errs.IO, "loop"},
		{"loop/x", errs.IO, "loop"},
		{"self", errs.IO, "loop"},
		{"file/../x", errs.NotDirectory, "not a directory"},
		{strings.Repeat("n", 300), errs.IO, "too long"},
	}
	for _, tt := range tests {
		_, err := f.Resolve(context.Background(), tt.path, vfs.ResolveOptions{})
		if errs.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Resolve(%q) = %v (%s), want %s saying %q", tt.path, err, errs.CodeOf(err), tt.code, tt.says)
		}
	}
	if _, err := f.Resolve(context.Background(), "x", vfs.ResolveOptions{Cwd: "rel"}); !errors.Is(err, errs.InvalidArgs) {
		t.Errorf("a relative working directory gave %v", err)
	}
	if _, err := f.ReadText(context.Background(), vfs.Target{Key: "mem:1", Path: "/x"}); !errors.Is(err, errs.InvalidArgs) {
		t.Errorf("a foreign target gave %v", err)
	}
}

func TestContainsURLAndProcessPath(t *testing.T) {
	f, dir := tree(t)
	tests := []struct {
		dir, path string
		want      bool
	}{
		{".", "file", true},
		{".", ".", true},
		{"real", "real-x", false},
		{"real", "link/x", true},
		{"abs", "real/deep", true},
		{"real", "file", false},
		{"/", "file", true},
		{"real", "dangling", false},
		{"other", "dangling", true},
	}
	for _, tt := range tests {
		got, err := f.Contains(target(t, f, tt.dir), target(t, f, tt.path))
		if err != nil || got != tt.want {
			t.Errorf("Contains(%q, %q) = %v, %v", tt.dir, tt.path, got, err)
		}
	}
	url, err := f.FileURL(target(t, f, "a b#%ü"))
	if want := "file://" + dir + "/a%20b%23%25%C3%BC"; err != nil || url != want {
		t.Errorf("FileURL = %q, %v, want %q", url, err, want)
	}
	path, err := f.ProcessPath(target(t, f, "flink"))
	if err != nil || path != filepath.Join(dir, "file") {
		t.Errorf("ProcessPath = %q, %v", path, err)
	}
}
