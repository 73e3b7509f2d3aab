package fslocal

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/vfs"
)

var small = strings.Repeat("a line of an ordinary source file\n", 120)

// bareWrite is the least that a durable atomic write takes.
func bareWrite(dir, name string, data []byte) error {
	tmp := filepath.Join(dir, ".tmp")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func BenchmarkSmall(b *testing.B) {
	ctx := context.Background()
	b.Run("read/bare", func(b *testing.B) {
		_, dir := newFS(b)
		put(b, filepath.Join(dir, "a"), small)
		for b.Loop() {
			if _, err := os.ReadFile(filepath.Join(dir, "a")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read/fslocal", func(b *testing.B) {
		f, dir := newFS(b)
		put(b, filepath.Join(dir, "a"), small)
		t := target(b, f, "a")
		for b.Loop() {
			if _, err := f.ReadText(ctx, t); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("resolve", func(b *testing.B) {
		f, dir := newFS(b)
		put(b, filepath.Join(dir, "a"), small)
		for b.Loop() {
			if _, err := f.Resolve(ctx, "a", vfs.ResolveOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write/bare", func(b *testing.B) {
		_, dir := newFS(b)
		for b.Loop() {
			if err := bareWrite(dir, "a", []byte(small)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write/fslocal", func(b *testing.B) {
		f, _ := newFS(b)
		t := target(b, f, "a")
		for b.Loop() {
			if _, err := f.WriteText(ctx, t, small, vfs.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("edit/bare", func(b *testing.B) {
		_, dir := newFS(b)
		put(b, filepath.Join(dir, "a"), small+"x")
		for b.Loop() {
			data, err := os.ReadFile(filepath.Join(dir, "a"))
			if err != nil {
				b.Fatal(err)
			}
			if err := bareWrite(dir, "a", bytes.Replace(data, []byte("x"), []byte("x"), 1)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("edit/fslocal", func(b *testing.B) {
		f, dir := newFS(b)
		put(b, filepath.Join(dir, "a"), small+"x")
		t := target(b, f, "a")
		for b.Loop() {
			if _, err := f.EditText(ctx, t, vfs.Edit{Old: "x", New: "x"}, vfs.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStream reads 1 GiB, or 64 MiB with -short, through the stream and
// beside it counts newlines with nothing else.
func BenchmarkStream(b *testing.B) {
	size := 1 << 30
	if testing.Short() {
		size = 64 << 20
	}
	f, dir := newFS(b)
	path := filepath.Join(dir, "big")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	block := bytes.Repeat([]byte(small), 256)
	for n := 0; n < size; n += len(block) {
		if _, err := file.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	file.Close()
	t := target(b, f, "big")
	b.Run("count", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			file, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			count(b, file)
			file.Close()
		}
	})
	b.Run("stream", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			s, err := f.StreamText(context.Background(), t)
			if err != nil {
				b.Fatal(err)
			}
			count(b, s)
			s.Close()
		}
	})
}

func count(b *testing.B, r io.Reader) (lines int) {
	buf := make([]byte, 128<<10)
	for {
		n, err := r.Read(buf)
		lines += bytes.Count(buf[:n], []byte{'\n'})
		if err == io.EOF {
			return lines
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEditLarge(b *testing.B) {
	for _, size := range []int{10 << 20, 100 << 20} {
		name := map[int]string{10 << 20: "10MiB", 100 << 20: "100MiB"}[size]
		b.Run(name, func(b *testing.B) {
			f, dir := newFS(b)
			put(b, filepath.Join(dir, "a"), strings.Repeat(small, size/len(small))+"needle")
			t := target(b, f, "a")
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := f.EditText(context.Background(), t, vfs.Edit{Old: "needle", New: "needle"}, vfs.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/bare", func(b *testing.B) {
			_, dir := newFS(b)
			put(b, filepath.Join(dir, "a"), strings.Repeat(small, size/len(small))+"needle")
			b.SetBytes(int64(size))
			for b.Loop() {
				data, err := os.ReadFile(filepath.Join(dir, "a"))
				if err != nil {
					b.Fatal(err)
				}
				if err := bareWrite(dir, "a", bytes.Replace(data, []byte("needle"), []byte("needle"), 1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	f, dir := newFS(b)
	for i := range 100 {
		sub := filepath.Join(dir, "d", string(rune('a'+i%26)), string(rune('a'+i/26)))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			put(b, filepath.Join(sub, "f"+string(rune('0'+j/10))+string(rune('0'+j%10))), "")
		}
	}
	t := target(b, f, ".")
	for b.Loop() {
		n := 0
		err := f.WalkDir(context.Background(), t, func(string, vfs.Entry, error) error { n++; return nil })
		if err != nil || n < 10000 {
			b.Fatal(n, err)
		}
	}
}
