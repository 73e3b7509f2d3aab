package fslocal_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// TestBirthTime proves that the time of creation is not that of the last
// change, and that nothing has none.
func TestBirthTime(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	before := time.Now().Add(-time.Minute)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	long := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	fs, err := fslocal.New(fslocal.Config{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) time.Time {
		target, err := fs.Resolve(t.Context(), name, vfs.ResolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		born, err := vfs.BirthTime(t.Context(), fs, target)
		if err != nil {
			t.Fatal(err)
		}
		return born
	}
	if born := at("f"); born.IsZero() {
		t.Log("this filesystem does not record when files were created")
	} else if born.Before(before) || born.After(time.Now().Add(time.Minute)) {
		t.Errorf("created at %v", born)
	}
	if born := at("gone"); !born.IsZero() {
		t.Errorf("nothing was created at %v", born)
	}
}
