package toolfs_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
)

// Each benchmark has the same work done with bare system calls beside it, in
// the same run.

func (w *world) must(b *testing.B, a *tool.Agent, name, arguments string) {
	r := w.Tools().Execute(b.Context(), tool.Invocation{Name: name, Arguments: arguments, Agent: a})
	if r.IsError {
		b.Fatal(r.Text())
	}
}

const small = 4 << 10

func BenchmarkSmallRead(b *testing.B) {
	w := newWorld(b)
	w.put("a.txt", strings.Repeat("some text in a line of it\n", small/26))
	path := filepath.Join(w.dir, "a.txt")
	b.Run("tool", func(b *testing.B) {
		a := w.agent("s")
		for b.Loop() {
			w.must(b, a, "read", `{"file_path":"a.txt"}`)
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSmallWrite(b *testing.B) {
	w := newWorld(b)
	content := strings.Repeat("x", small)
	b.Run("tool", func(b *testing.B) {
		w.put("a.txt", content)
		a := w.agent("s")
		w.must(b, a, "read", `{"file_path":"a.txt","limit":1}`)
		n := 0
		for b.Loop() {
			n++
			w.must(b, a, "write", fmt.Sprintf(`{"file_path":"a.txt","content":"%d %s"}`, n, content))
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			bareWrite(b, w.dir, []byte(content))
		}
	})
}

func BenchmarkSmallEdit(b *testing.B) {
	w := newWorld(b)
	content := "flag = 0\n" + strings.Repeat("some text in a line of it\n", small/26)
	b.Run("tool", func(b *testing.B) {
		w.put("a.txt", content)
		a := w.agent("s")
		w.must(b, a, "read", `{"file_path":"a.txt"}`)
		n := 0
		for b.Loop() {
			w.must(b, a, "edit", fmt.Sprintf(`{"file_path":"a.txt","old_string":"flag = %d\n","new_string":"flag = %d\n"}`, n, n+1))
			n++
		}
	})
	b.Run("bare", func(b *testing.B) {
		path := filepath.Join(w.dir, "bare")
		bareWrite(b, w.dir, []byte(content))
		for b.Loop() {
			data, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			bareWrite(b, w.dir, bytes.Replace(data, []byte("flag = 0"), []byte("flag = 0"), 1))
		}
	})
}

// bareWrite is an atomic, durable write and nothing else.
func bareWrite(b *testing.B, dir string, content []byte) {
	f, err := os.CreateTemp(dir, ".bare")
	if err != nil {
		b.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	if _, err := f.Write(content); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, "bare")); err != nil {
		b.Fatal(err)
	}
	if err := d.Sync(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkWindow reads 2000 lines of a file of 1 GiB, from its start and from
// its end, beside counting the file's newlines.
func BenchmarkWindow(b *testing.B) {
	w := newWorld(b)
	const line = "a line of text that is as long as lines of text often are, more or less\n"
	path := filepath.Join(w.dir, "big.txt")
	lines := repeatTo(b, path, line, 1<<30)
	read := func(offset int) func(*testing.B) {
		return func(b *testing.B) {
			a := w.agent("s")
			arguments := fmt.Sprintf(`{"file_path":"big.txt","offset":%d}`, offset)
			b.SetBytes(1 << 30)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				w.must(b, a, "read", arguments)
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "MiB-allocated/op")
		}
	}
	b.Run("start", read(1))
	b.Run("end", read(lines-1999))
	b.Run("count", func(b *testing.B) {
		buf := make([]byte, 256<<10)
		b.SetBytes(1 << 30)
		for b.Loop() {
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			total := 0
			for {
				n, err := f.Read(buf)
				total += bytes.Count(buf[:n], []byte{'\n'})
				if err == io.EOF {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			f.Close()
			if total != lines {
				b.Fatal(total)
			}
		}
	})
}

// repeatTo writes a file of about size bytes and returns its number of lines.
func repeatTo(b *testing.B, path, line string, size int) int {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const many = 16384
	block := []byte(strings.Repeat(line, many))
	blocks := size / len(block)
	for range blocks {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	return blocks * many
}

func BenchmarkLargeEdit(b *testing.B) {
	for _, mib := range []int{10, 100} {
		w := newWorld(b)
		path := filepath.Join(w.dir, "big.txt")
		repeatTo(b, path, strings.Repeat("text ", 15)+"\n", mib<<20)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintln(f, "flag = 0")
		f.Close()
		b.Run(fmt.Sprintf("%dMiB/tool", mib), func(b *testing.B) {
			a := w.agent("s")
			w.must(b, a, "read", `{"file_path":"big.txt","limit":1}`)
			n := 0
			for b.Loop() {
				w.must(b, a, "edit", fmt.Sprintf(`{"file_path":"big.txt","old_string":"flag = %d\n","new_string":"flag = %d\n"}`, n, n+1))
				n++
			}
		})
		b.Run(fmt.Sprintf("%dMiB/bare", mib), func(b *testing.B) {
			for b.Loop() {
				data, err := os.ReadFile(path)
				if err != nil {
					b.Fatal(err)
				}
				bareWrite(b, w.dir, bytes.Replace(data, []byte("flag = "), []byte("flag = "), 1))
			}
		})
	}
}

func BenchmarkComposeAndStop(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		d, err := harness.Compose(b.Context(), fslocal.Plugin(fslocal.Config{Cwd: dir}), fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{}))
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Stop(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
