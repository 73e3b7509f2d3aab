package fileops_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// operate runs one operation through the tool pipeline and returns its value.
func operate(tb testing.TB, d *harness.Deployment, op, path string, config map[string]any) map[string]any {
	tb.Helper()
	args, err := json.Marshal(map[string]any{"operation": op, "path": path, "config": config})
	if err != nil {
		tb.Fatal(err)
	}
	r := d.Tools().Execute(tb.Context(), tool.Invocation{ID: "1", Name: fileops.HubName, Arguments: string(args)})
	if r.IsError {
		tb.Fatal(r.Text())
	}
	var v struct{ Result map[string]any }
	if err := json.Unmarshal([]byte(r.Text()), &v); err != nil {
		tb.Fatal(err)
	}
	return v.Result
}

func deployed(tb testing.TB, dir string) *harness.Deployment {
	tb.Helper()
	d, err := harness.Compose(tb.Context(), fslocal.Plugin(fslocal.Config{Cwd: dir}), fileops.Plugin(fileops.Config{SandboxRoot: dir}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Stop(tb.Context()) })
	return d
}

// beside runs another program in the same benchmark, where it is installed.
func beside(b *testing.B, dir string, args ...string) {
	if _, err := exec.LookPath(args[0]); err != nil {
		return
	}
	b.Run(args[0], func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = dir
			_ = cmd.Run() // no match is status 1
		}
	})
}

// BenchmarkSearchFiles searches the source of the Go standard library through
// the whole pipeline, beside ripgrep, git grep and grep.
func BenchmarkSearchFiles(b *testing.B) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip("the source of the standard library is not at hand")
	}
	src := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	for _, bm := range []struct {
		name, query string
		regex       bool
	}{
		{"literal", "Errorf", false},
		{"no match", "zqxzqx", false},
		{"many matches", "err", false},
		{"regex", `func \w+\(`, true},
		{"regex without a literal", `\b\w{12}\b`, true},
	} {
		b.Run(bm.name, func(b *testing.B) {
			d := deployed(b, src)
			b.Run("here", func(b *testing.B) {
				for b.Loop() {
					operate(b, d, "search_files", ".", map[string]any{"query": bm.query, "is_regex": bm.regex, "output_mode": "count"})
				}
			})
			kind := map[bool]string{true: "-P", false: "-F"}[bm.regex]
			if bm.regex {
				beside(b, src, "rg", "-c", "--", bm.query, ".")
			} else {
				beside(b, src, "rg", "-cF", "--", bm.query, ".")
			}
			beside(b, src, "git", "grep", "--no-index", "-Ic", kind, "--", bm.query, ".")
			beside(b, src, "grep", "-rIc", kind, "--", bm.query, ".")
		})
	}
}

// BenchmarkManyFiles lists and draws 100 000 files in 1000 directories.
func BenchmarkManyFiles(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		sub := filepath.Join(dir, fmt.Sprintf("dir%03d", i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for k := range 100 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%02d.go", k)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	d := deployed(b, dir)
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if n := operate(b, d, "list_directory", ".", map[string]any{"max_depth": 2})["total_entries"]; n != 101_000.0 {
				b.Fatal(n)
			}
		}
	})
	b.Run("tree", func(b *testing.B) {
		for b.Loop() {
			got := operate(b, d, "file_tree", ".", map[string]any{"max_scanned_files": 200_000, "include_stats": true, "stats_scope": "scanned"})
			if n := got["scanned_files"]; n != 100_000.0 {
				b.Fatal(n)
			}
		}
	})
	b.Run("tree page", func(b *testing.B) {
		for b.Loop() {
			operate(b, d, "file_tree", ".", map[string]any{})
		}
	})
	beside(b, dir, "fdfind")
	beside(b, dir, "rg", "--files")
	beside(b, dir, "find")
}

// BenchmarkEndOfFile views the last lines of a file of 1 GiB, and then other
// pages of it.
func BenchmarkEndOfFile(b *testing.B) {
	dir := b.TempDir()
	f, err := os.Create(filepath.Join(dir, "big.txt"))
	if err != nil {
		b.Fatal(err)
	}
	block := []byte(strings.Repeat("2026-01-01T00:00:00Z info: a line of a log file\n", 1<<16))
	for written := 0; written < 1<<30; written += len(block) {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("first page", func(b *testing.B) {
		b.SetBytes(1 << 30)
		for b.Loop() {
			operate(b, deployed(b, dir), "view_file", "big.txt", map[string]any{"tail_lines": 10})
		}
	})
	b.Run("another page", func(b *testing.B) {
		d := deployed(b, dir)
		operate(b, d, "view_file", "big.txt", map[string]any{"tail_lines": 10})
		for b.Loop() {
			operate(b, d, "view_file", "big.txt", map[string]any{"start_line": 10_000_000, "end_line": 10_000_010})
		}
	})
}
