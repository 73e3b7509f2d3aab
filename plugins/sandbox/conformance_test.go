//go:build linux || darwin

package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/testkit/vfstest"
)

// TestConformance makes sure that inside its roots the confined provider keeps
// every promise of the plain one.
func TestConformance(t *testing.T) {
	vfstest.Run(t, func(t testing.TB) vfstest.World {
		dir := tempDir(t)
		world := filepath.Join(dir, "world")
		if err := os.Mkdir(world, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := New(fslocal.Config{RecoveryDir: filepath.Join(dir, "recovery")}, below(world))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return vfstest.World{
			FS: f, Dir: world, PermissionsBind: os.Geteuid() != 0,
			Outside: vfstest.Outside{
				Write: func(path string, data []byte) error {
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						return err
					}
					return os.WriteFile(path, data, 0o644)
				},
				Read:    os.ReadFile,
				MakeDir: func(path string) error { return os.MkdirAll(path, 0o755) },
				Symlink: os.Symlink,
				Fifo:    func(path string) error { return syscall.Mkfifo(path, 0o644) },
				Remove:  os.RemoveAll,
			},
		}
	})
}
