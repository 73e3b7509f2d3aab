package fslocal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// TestOpenDir tries every clause of vfs.Dir on what a directory can hold.
func TestOpenDir(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("0123456789", 1000)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o644),
		os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "long"), []byte(long), 0o644),
		os.WriteFile(filepath.Join(dir, "odd\xff\n"), nil, 0o644),
		os.Mkdir(filepath.Join(dir, "sub"), 0o755),
		os.WriteFile(filepath.Join(dir, "sub", "b"), []byte("b"), 0o644),
		os.Symlink("sub", filepath.Join(dir, "link")),
		os.Symlink("a", filepath.Join(dir, "alias")),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	fs, err := New(Config{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	ctx := t.Context()
	root, err := fs.Resolve(ctx, ".", vfs.ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := fs.OpenDir(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	want := []vfs.Child{
		{Name: "a", Type: vfs.File, Size: -1}, {Name: "alias", Type: vfs.Link, Size: -1}, {Name: "empty", Type: vfs.File, Size: -1},
		{Name: "fifo", Type: vfs.Other, Size: -1}, {Name: "link", Type: vfs.Link, Size: -1}, {Name: "long", Type: vfs.File, Size: -1},
		{Name: "odd\xff\n", Type: vfs.File, Size: -1}, {Name: "sub", Type: vfs.Directory, Size: -1},
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := d.Entries(ctx)
			slices.SortFunc(got, func(a, b vfs.Child) int { return strings.Compare(a.Name, b.Name) })
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("entries, error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	wg.Wait()

	for name, text := range map[string]string{"a": "text", "empty": "", "long": long} {
		for _, n := range []int{1, 4, 5, len(long), len(long) + 1} {
			data, rest, err := d.ReadFile(ctx, name, make([]byte, n))
			if err != nil {
				t.Errorf("%s with %d: error %v", name, n, err)
				continue
			}
			all := string(data)
			if rest != nil {
				more, err := io.ReadAll(rest)
				all += string(more)
				if err := errors.Join(err, rest.Close()); err != nil {
					t.Errorf("%s with %d: error %v", name, n, err)
				}
			}
			if all != text || rest == nil && n < len(text) {
				t.Errorf("%s with %d: %d bytes, want %d", name, n, len(all), len(text))
			}
		}
		if size, err := d.Size(ctx, name); size != int64(len(text)) || err != nil {
			t.Errorf("size of %s: %d, error %v", name, size, err)
		}
	}
	for name, code := range map[string]errs.Code{"alias": errs.NotRegularFile, "fifo": errs.NotRegularFile, "sub": errs.NotRegularFile, "gone": errs.NotFound} {
		if _, _, err := d.ReadFile(ctx, name, make([]byte, 10)); errs.CodeOf(err) != code {
			t.Errorf("reading %s: error %v, want %s", name, err, code)
		}
		if size, err := d.Size(ctx, name); size != 0 || err != nil {
			t.Errorf("size of %s: %d, error %v", name, size, err)
		}
	}
	for name, code := range map[string]errs.Code{"link": errs.NotDirectory, "a": errs.NotDirectory, "fifo": errs.NotDirectory, "gone": errs.NotFound} {
		if _, err := d.OpenDir(ctx, name); errs.CodeOf(err) != code {
			t.Errorf("opening %s: error %v, want %s", name, err, code)
		}
	}
	sub, err := d.OpenDir(ctx, "sub")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if data, _, err := sub.ReadFile(ctx, "b", make([]byte, 10)); string(data) != "b" || err != nil {
		t.Errorf("below: %q, error %v", data, err)
	}
}

// TestOpenDirOfManyEntries has more entries than one call of the kernel gives.
func TestOpenDirOfManyEntries(t *testing.T) {
	dir := t.TempDir()
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%0100d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := New(Config{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	root, err := fs.Resolve(t.Context(), ".", vfs.ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := fs.OpenDir(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 2 {
		if got, err := d.Entries(t.Context()); len(got) != 3000 || err != nil {
			t.Errorf("%d entries, error %v", len(got), err)
		}
	}
}
