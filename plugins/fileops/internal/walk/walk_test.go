package walk

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// TestSortByPath compares the order of siblings with that of the full paths
// below them.
func TestSortByPath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a-", "a.go", "a0", "a/", "b", "ab", "é", "a b", "a\x01", "\xff"}
	for range 200 {
		var entries []Entry
		seen := map[string]bool{}
		for range r.IntN(8) {
			name, isDir := strings.CutSuffix(names[r.IntN(len(names))], "/")
			if seen[name] {
				continue
			}
			seen[name] = true
			e := Entry{Name: name, Type: vfs.File}
			if isDir || r.IntN(2) == 0 {
				e.Type = vfs.Directory
			}
			entries = append(entries, e)
		}
		SortByPath(entries)
		var paths []string
		for _, e := range entries {
			if e.IsDir() {
				paths = append(paths, e.Name+"/\x01", e.Name+"/\xff")
			} else {
				paths = append(paths, e.Name)
			}
		}
		if !slices.IsSorted(paths) {
			t.Fatalf("the paths are not in order: %q", paths)
		}
	}
}

// bare hides all abilities of a provider.
type bare struct{ vfs.FileSystem }

// TestOpenWithoutAbilities walks providers that cannot keep a directory open,
// with and without the ability to open files.
func TestOpenWithoutAbilities(t *testing.T) {
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	long := strings.Repeat("long ", 1000)
	for path, text := range map[string]string{"d/a.txt": "text", "d/sub/long.txt": long, "out/secret": "no"} {
		target, err := fs.Resolve(ctx, path, vfs.ResolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fs.WriteText(ctx, target, text, vfs.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	link, err := fs.Resolve(ctx, "d/link", vfs.ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := vfs.Symlink(ctx, fs, "../out", link, vfs.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, provider := range map[string]vfs.FileSystem{"memfs": fs, "bare": bare{fs}} {
		t.Run(name, func(t *testing.T) {
			root, err := provider.Resolve(ctx, "d", vfs.ResolveOptions{})
			if err != nil {
				t.Fatal(err)
			}
			d, err := Open(ctx, provider, root)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			entries, err := d.Entries(ctx)
			if err != nil {
				t.Fatal(err)
			}
			SortByName(entries)
			want := []Entry{{Name: "a.txt", Type: vfs.File, Size: -1}, {Name: "link", Type: vfs.Link, Size: -1}, {Name: "sub", Type: vfs.Directory, Size: -1}}
			if diff := cmp.Diff(want, entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if size, err := d.Size(ctx, "a.txt"); size != 4 || err != nil {
				t.Errorf("size %d, error %v", size, err)
			}
			if _, err := d.OpenDir(ctx, "link"); errs.CodeOf(err) != errs.NotDirectory {
				t.Errorf("opening a symlink as a directory: error %v", err)
			}
			if _, _, err := d.ReadFile(ctx, "link", make([]byte, 10)); errs.CodeOf(err) != errs.NotRegularFile {
				t.Errorf("reading a symlink: error %v", err)
			}
			followed, err := provider.Resolve(ctx, "d/link", vfs.ResolveOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(ctx, provider, followed); err != nil {
				t.Errorf("opening a root that is a symlink: error %v", err)
			}
			sub, err := d.OpenDir(ctx, "sub")
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			for _, n := range []int{1, 100, len(long) - 1, len(long), len(long) + 1} {
				if got := readAll(t, ctx, sub, "long.txt", n); got != long {
					t.Errorf("buffer of %d: %d bytes of %d", n, len(got), len(long))
				}
			}
		})
	}
}

func readAll(t *testing.T, ctx context.Context, d Dir, name string, n int) string {
	t.Helper()
	data, rest, err := d.ReadFile(ctx, name, make([]byte, n))
	if err != nil {
		t.Fatal(err)
	}
	if rest == nil {
		return string(data)
	}
	more, err := io.ReadAll(rest)
	if err != nil {
		t.Fatal(err)
	}
	if err := rest.Close(); err != nil {
		t.Error(err)
	}
	return string(data) + string(more)
}
