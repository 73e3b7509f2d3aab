//go:build linux || darwin

package change_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// TestNoEscape swaps a directory for a symlink that leads out of the sandbox
// root, at each provider call of each operation in turn: whatever happens,
// nothing outside changes.
func TestNoEscape(t *testing.T) {
	for _, c := range []operationCase{
		op("write_file", `{"file_path":"in/f","content":"new","force_overwrite":true}`),
		op("write_file", `{"file_path":"in/n","content":"new","append":true}`),
		op("edit_file", `{"file_path":"in/f","replacements":[{"old_content":"text","new_content":"new"}]}`),
		op("copy_file", `{"source_path":"a","destination_path":"in/f","overwrite":true}`),
		op("copy_file", `{"source_path":"d","destination_path":"in/d","recursive":true}`),
		op("move_file", `{"source_path":"a","destination_path":"in/n"}`),
		op("move_file", `{"source_path":"in/f","destination_path":"b"}`),
		op("delete_file", `{"file_path":"in/f"}`),
		op("backup_file", `{"file_path":"in/f"}`),
	} {
		calls := 1
		for at := 1; at <= calls; at++ {
			w := newWorld(t, "fslocal", tree{"in/f": "text", "a": "a", "d/x": "x"})
			outside := filepath.Join(filepath.Dir(w.root), "outside")
			if err := os.RemoveAll(outside); err != nil {
				t.Fatal(err)
			}
			must(t, os.Mkdir(outside, 0o755))
			must(t, os.WriteFile(filepath.Join(outside, "f"), []byte("text"), 0o644))
			f := &faulty{}
			f.hook = func(string) {
				if f.calls == at {
					must(t, os.Rename(filepath.Join(w.root, "in"), filepath.Join(w.root, "was")))
					must(t, os.Symlink(outside, filepath.Join(w.root, "in")))
				}
			}
			c.play(t.Context(), w, f)
			calls = max(calls, f.calls)
			if testing.Short() {
				at += 4
			}
			entries, err := os.ReadDir(outside)
			must(t, err)
			data, err := os.ReadFile(filepath.Join(outside, "f"))
			if err != nil || string(data) != "text" || len(entries) != 1 {
				t.Errorf("%s %s, swapped at call %d: outside there is %v, f is %q (%v)", c.op, c.args, at, entries, data, err)
			}
		}
	}
}

// TestConcurrentEdits has many edits of one file at a time: each that says it
// was done is in the file, and nothing else is.
func TestConcurrentEdits(t *testing.T) {
	for provider := range providers {
		w := newWorld(t, provider, tree{"f": "start\n"})
		e := w.engine(Config{})
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				for try := 0; ; try++ {
					o := e.Do(t.Context(), w.fs, nil, "write_file", decoded(t, "write_file", fmt.Sprintf(`{"file_path":"f","content":"line %d\n","append":true}`, i)))
					switch {
					case o.Fault == nil:
						return
					case o.Fault.Kind != fault.HashMismatch || try > 500:
						t.Errorf("%s: %v", provider, o.Fault)
						return
					}
				}
			})
		}
		wg.Wait()
		text := w.get("f")
		for i := range 12 {
			if strings.Count(text, fmt.Sprintf("line %d\n", i)) != 1 {
				t.Errorf("%s: line %d is not there once:\n%s", provider, i, text)
			}
		}
		if strings.Count(text, "\n") != 13 {
			t.Errorf("%s: %q", provider, text)
		}
	}
}
