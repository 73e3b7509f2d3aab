//go:build linux || darwin

package fslocal

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bridle-go/bridle/testkit/vfstest"
)

// TestConformance runs the suite of filesystem providers in the
// configurations that differ in how the provider works.
func TestConformance(t *testing.T) {
	configs := []struct {
		name string
		Config
	}{
		{"defaults", Config{}},
		// Nearly every file is at or above the limits, so metadata decides.
		{"tiny limits", Config{DiffBasisMaxBytes: 4, StatDigestBytes: 1}},
		{"small limits", Config{DiffBasisMaxBytes: 1024, StatDigestBytes: 64}},
	}
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			vfstest.Run(t, func(t testing.TB) vfstest.World {
				// Keys are free of symlinks, and so must be the world's directory.
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				cfg := c.Config
				cfg.RecoveryDir = filepath.Join(dir, "recovery")
				provider, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				var gate gate
				provider.fault = gate.pass
				t.Cleanup(func() {
					if err := provider.Close(); err != nil {
						t.Error(err)
					}
				})
				world := filepath.Join(dir, "world")
				if err := os.Mkdir(world, 0o755); err != nil {
					t.Fatal(err)
				}
				ways := outside()
				ways.Pause = gate.shut
				return vfstest.World{
					FS: provider, Dir: world, DiffBasisMaxBytes: cfg.DiffBasisMaxBytes,
					PermissionsBind: os.Geteuid() != 0, Outside: ways,
				}
			})
		})
	}
}

// TestConformanceUnprivileged runs the suite as a user whom permissions bind.
func TestConformanceUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("TestConformance runs as such a user already")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestConformance$/^defaults$", "-test.v")
	dir := openDirFor(t)
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(temp, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Dir = temp
	asNobody(t, cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, clause := range []string{"read/no_permission", "write/no_permission"} {
		if !strings.Contains(string(out), "--- PASS: TestConformance/defaults/"+clause) {
			t.Errorf("the clause %s was not tried", clause)
		}
	}
}

// gate makes one change wait before it writes the new content.
type gate struct{ shutting atomic.Pointer[gateKeeper] }

type gateKeeper struct{ reached, open chan struct{} }

func (g *gate) shut(string) (reached <-chan struct{}, release func()) {
	k := &gateKeeper{make(chan struct{}), make(chan struct{})}
	g.shutting.Store(k)
	return k.reached, sync.OnceFunc(func() { close(k.open) })
}

func (g *gate) pass(step string) error {
	if step != "data" {
		return nil
	}
	if k := g.shutting.Swap(nil); k != nil {
		close(k.reached)
		<-k.open
	}
	return nil
}

// outside changes files with system calls.
func outside() vfstest.Outside {
	return vfstest.Outside{
		Write: func(path string, data []byte) error {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			return os.WriteFile(path, data, 0o644)
		},
		Read: os.ReadFile,
		Rewrite: func(path string, data []byte) error {
			before, err := os.Stat(path)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			if _, err := f.WriteAt(data, 0); err != nil {
				f.Close()
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			return os.Chtimes(path, before.ModTime(), before.ModTime())
		},
		Touch: func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			later := info.ModTime().Add(1)
			return os.Chtimes(path, later, later)
		},
		MakeDir: func(path string) error { return os.MkdirAll(path, 0o755) },
		Symlink: os.Symlink,
		Fifo:    func(path string) error { return syscall.Mkfifo(path, 0o644) },
		Remove:  os.RemoveAll,
		Chmod:   func(path string, mode uint32) error { return os.Chmod(path, fs.FileMode(mode)) },
		Mode: func(path string) (uint32, error) {
			info, err := os.Stat(path)
			if err != nil {
				return 0, err
			}
			return uint32(info.Mode().Perm()), nil
		},
		Names: func(path string) ([]string, error) {
			entries, err := os.ReadDir(path)
			names := make([]string, len(entries))
			for i, e := range entries {
				names[i] = e.Name()
			}
			return names, err
		},
	}
}
