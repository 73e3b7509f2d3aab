package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// BenchmarkFence writes a small file through the local provider, and through
// the confined one with the usual number of roots. It works in memory where it
// can, so that disk syncs do not hide the difference.
func BenchmarkFence(b *testing.B) {
	dir, err := os.MkdirTemp("/dev/shm", "fence")
	if err != nil {
		dir = b.TempDir()
	}
	defer os.RemoveAll(dir)
	cwd := filepath.Join(dir, "some", "way", "down")
	if err := os.MkdirAll(cwd, 0o755); err != nil {
		b.Fatal(err)
	}
	content := strings.Repeat("a line of an ordinary source file\n", 120)
	write := func(b *testing.B, f vfs.FileSystem) {
		t := target(b, f, "a.txt")
		for b.Loop() {
			if _, err := f.WriteText(context.Background(), t, content, vfs.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("local", func(b *testing.B) {
		f, err := fslocal.New(fslocal.Config{Cwd: cwd})
		if err != nil {
			b.Fatal(err)
		}
		write(b, f)
	})
	policy, err := NewPolicy(PolicyConfig{Mode: sandbox.WorkspaceWrite, Roots: []string{b.TempDir(), cwd}})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("confined", func(b *testing.B) { write(b, newFS(b, cwd, policy)) })
}
