package change_test

import (
	"context"
	"encoding/json"
	"fmt"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// benchOp fails the benchmark when an operation does.
func benchOp(b *testing.B, e *Engine, w *world, op string, args any) {
	b.Helper()
	if o := e.Do(context.Background(), w.fs, nil, op, args); o.Fault != nil {
		b.Fatal(o.Fault)
	}
}

// BenchmarkEdit makes 200 replacements in a file of 10 MiB, with backup and
// diff.
func BenchmarkEdit(b *testing.B) {
	var text strings.Builder
	for i := 0; text.Len() < 10<<20; i++ {
		fmt.Fprintf(&text, "line %08d of a file that is long enough to be slow\n", i)
	}
	w := newWorld(b, "fslocal", tree{"f": text.String()})
	e := w.engine(Config{})
	args := &EditArgs{FilePath: "f", Keep: Keep{CreateBackup: new(false)}}
	b.SetBytes(int64(text.Len()))
	for round := 0; b.Loop(); round++ {
		from, to := "line", "LINE"
		if round%2 == 1 {
			from, to = to, from
		}
		args.Replacements = args.Replacements[:0]
		for i := range 200 {
			args.Replacements = append(args.Replacements, Replacement{fmt.Sprintf("%s %08d", from, i*900), fmt.Sprintf("%s %08d", to, i*900)})
		}
		benchOp(b, e, w, "edit_file", args)
	}
}

// BenchmarkPatch sets one value of a JSON document of 5 MiB.
func BenchmarkPatch(b *testing.B) {
	var text strings.Builder
	text.WriteString("{\n")
	for i := 0; text.Len() < 5<<20; i++ {
		fmt.Fprintf(&text, "  \"key%06d\": {\"name\": \"value %d\", \"list\": [1, 2, 3], \"deep\": {\"a\": null}},\n", i, i)
	}
	text.WriteString("  \"last\": 0\n}\n")
	w := newWorld(b, "fslocal", tree{"f.json": text.String()})
	e := w.engine(Config{})
	b.SetBytes(int64(text.Len()))
	for round := 0; b.Loop(); round++ {
		args := decoded(b, "patch_file", fmt.Sprintf(`{"file_path":"f.json","create_backup":false,"patches":[{"op":"set","path":"/last","value":%d}]}`, round+1))
		benchOp(b, e, w, "patch_file", args)
	}
}

// BenchmarkCopy copies a file of 1 GiB, which is verified byte for byte, with
// cp and a sync beside it.
func BenchmarkCopy(b *testing.B) {
	const size = 1 << 30
	w := newWorld(b, "fslocal", nil)
	block := []byte(strings.Repeat("0123456789abcdef", 1<<16))
	f, err := os.Create(filepath.Join(w.root, "big"))
	must(b, err)
	for range size / len(block) {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	must(b, f.Close())
	e := w.engine(Config{})
	b.Run("operation", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			benchOp(b, e, w, "copy_file", &CopyArgs{SourcePath: "big", DestinationPath: "copy"})
			b.StopTimer()
			must(b, os.Remove(filepath.Join(w.root, "copy")))
			b.StartTimer()
		}
	})
	b.Run("cp", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			must(b, exec.Command("sh", "-c", "cd '"+w.root+"' && cp big copy && sync copy").Run())
			b.StopTimer()
			must(b, os.Remove(filepath.Join(w.root, "copy")))
			b.StartTimer()
		}
	})
}

func BenchmarkSmall(b *testing.B) {
	w := newWorld(b, "fslocal", nil)
	e := w.engine(Config{})
	path := filepath.Join(w.root, "f")
	b.Run("write", func(b *testing.B) {
		text := "some content\n"
		for b.Loop() {
			benchOp(b, e, w, "write_file", &WriteArgs{FilePath: "w", Content: &text, ForceOverwrite: true, Keep: Keep{CreateBackup: new(false)}})
		}
	})
	b.Run("delete", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			must(b, os.WriteFile(path, []byte("some content\n"), 0o644))
			b.StartTimer()
			benchOp(b, e, w, "delete_file", &DeleteArgs{FilePath: "f", Keep: Keep{CreateBackup: new(false)}})
		}
	})
	b.Run("delete with backup", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			must(b, os.WriteFile(path, []byte("some content\n"), 0o644))
			b.StartTimer()
			benchOp(b, e, w, "delete_file", &DeleteArgs{FilePath: "f"})
		}
	})
	b.Run("move", func(b *testing.B) {
		must(b, os.WriteFile(filepath.Join(w.root, "m0"), []byte("some content\n"), 0o644))
		for i := 0; b.Loop(); i++ {
			benchOp(b, e, w, "move_file", &MoveArgs{SourcePath: fmt.Sprint("m", i), DestinationPath: fmt.Sprint("m", i+1)})
		}
	})
}

// BenchmarkBatch writes a hundred small files.
func BenchmarkBatch(b *testing.B) {
	for _, atomic := range []bool{false, true} {
		b.Run(fmt.Sprintf("atomic=%t", atomic), func(b *testing.B) {
			w := newWorld(b, "fslocal", nil)
			e := w.engine(Config{})
			a := BatchArgs{Atomic: atomic}
			for i := range MaxBatch {
				config, err := json.Marshal(map[string]any{"content": fmt.Sprint("content ", i), "force_overwrite": true, "create_backup": false})
				must(b, err)
				a.Operations = append(a.Operations, Step{Operation: "write_file", Path: new(fmt.Sprint("f", i)), Config: config})
			}
			for b.Loop() {
				if o := e.Batch(context.Background(), w.fs, nil, &a, runStep); o.Fault != nil {
					b.Fatal(o.Fault)
				}
			}
		})
	}
}
