package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

func mount(t *testing.T, source, dir, kind string, flags uintptr) {
	t.Helper()
	if err := unix.Mount(source, dir, kind, flags, ""); err != nil {
		t.Skip("mounting is not allowed here:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// TestMounts: a root on another filesystem, one mounted below a root, and a
// file that is mounted by itself and has names outside.
func TestMounts(t *testing.T) {
	ctx := context.Background()
	base := tempDir(t)
	world(t, base, "ws/below/", "other/", "out/secret=secret", "ws/mounted=", "out/lonely=e", "ws/single=")
	ws, other := filepath.Join(base, "ws"), filepath.Join(base, "other")
	mount(t, "none", other, "tmpfs", 0)
	mount(t, "none", filepath.Join(ws, "below"), "tmpfs", 0)
	f := newFS(t, ws, below(ws, other))
	for path, code := range map[string]errs.Code{"below/x": "", "below/new/x": "", "../other/x": "", "../other/new/x": "", "../out/x": errs.SandboxDenied} {
		_, err := f.WriteText(ctx, target(t, f, path), "x", vfs.Options{})
		wantCode(t, path, err, code)
	}

	secret := filepath.Join(base, "out/secret")
	if err := os.Link(secret, filepath.Join(base, "out/twin")); err != nil {
		t.Fatal(err)
	}
	mount(t, secret, filepath.Join(ws, "mounted"), "", unix.MS_BIND)
	mount(t, filepath.Join(base, "out/lonely"), filepath.Join(ws, "single"), "", unix.MS_BIND)
	_, err := f.WriteText(ctx, target(t, f, "mounted"), "x", vfs.Options{})
	wantCode(t, "several names, in place only", err, errs.SandboxDenied)
	if data, _ := os.ReadFile(secret); string(data) != "secret" {
		t.Errorf("outside: %q", data)
	}
	_, err = f.WriteText(ctx, target(t, f, "single"), "x", vfs.Options{})
	wantCode(t, "one name, in place", err, "")
	entries, _ := os.ReadDir(ws)
	if len(entries) != 3 {
		t.Errorf("the workspace holds %v", entries)
	}
}
