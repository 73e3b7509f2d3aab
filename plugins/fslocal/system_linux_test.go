package fslocal

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// TestPermissions runs as a user without rights.
func TestPermissions(t *testing.T) {
	dir := openDirFor(t)
	mk := func(path, text string, mode os.FileMode, uid int) {
		t.Helper()
		path = filepath.Join(dir, path)
		if text == "" {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, path, text)
		}
		if err := os.Chown(path, uid, uid); err != nil {
			t.Skip("only root can give files away")
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	mk("mine", "", 0o755, nobody)
	mk("mine/file", "old\n", 0o644, nobody)
	mk("mine/locked", "old\n", 0o444, nobody)
	mk("mine/writeonly", "old\n", 0o200, nobody)
	mk("mine/theirs", "old\n", 0o644, 0)
	mk("mine/secret", "old\n", 0o600, 0)
	mk("closed", "", 0o700, 0)
	mk("closed/file", "old\n", 0o644, 0)
	mk("readonly", "", 0o755, 0)
	mk("readonly/file", "old\n", 0o666, 0)
	mk("sticky", "", 0o755, 0)
	mk("sticky/file", "old\n", 0o666, 0)
	os.Chmod(filepath.Join(dir, "sticky"), 0o777|os.ModeSticky)
	mk("blind", "", 0o333, 0)
	recovery := filepath.Join(dir, "recovery")
	mk("recovery", "", 0o700, nobody)

	tests := []struct{ try, want string }{
		{"read:mine/file", ""},
		{"read:mine/secret", "FS_PERMISSION_DENIED"},
		{"read:closed/file", "FS_PERMISSION_DENIED"},
		{"stat:closed/file", "FS_PERMISSION_DENIED"},
		{"list:closed", "FS_PERMISSION_DENIED"},
		{"write:mine/file", ""},
		{"write:mine/new/deep", ""},
		{"write:mine/locked", "FS_PERMISSION_DENIED"},
		{"write:mine/writeonly", ""},
		{"edit:mine/writeonly", "FS_PERMISSION_DENIED"},
		{"write:mine/theirs", "FS_PERMISSION_DENIED"},
		{"edit:mine/secret", "FS_PERMISSION_DENIED"},
		{"write:closed/new", "FS_PERMISSION_DENIED"},
		{"write:readonly/new", "FS_PERMISSION_DENIED"},
		{"mkdir:readonly/sub", "FS_PERMISSION_DENIED"},
		{"remove:readonly/file", "FS_PERMISSION_DENIED"},
		{"edit:readonly/file", ""}, // in place
		{"edit:sticky/file", ""},   // in place
		{"write:blind/new", ""},
	}
	var args []string
	for _, tt := range tests {
		op, path, _ := strings.Cut(tt.try, ":")
		args = append(args, op+":"+filepath.Join(dir, path))
	}
	cmd := helper(t, "try", args...)
	cmd.Env = append(cmd.Env, "FSLOCAL_RECOVERY="+recovery)
	asNobody(t, cmd)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, tt := range tests {
		want = append(want, tt.try+"="+tt.want)
	}
	for line := range strings.Lines(string(out)) {
		got = append(got, strings.TrimSpace(strings.Replace(line, dir+"/", "", 1)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	wantNames(t, filepath.Join(dir, "mine"), "file", "locked", "new", "secret", "theirs", "writeonly")
	wantNames(t, filepath.Join(dir, "readonly"), "file")
	wantNames(t, filepath.Join(dir, "sticky"), "file")
	wantNames(t, recovery)
	for _, path := range []string{"readonly/file", "sticky/file"} {
		if got := content(t, filepath.Join(dir, path)); got != "new\n" {
			t.Errorf("%s holds %q", path, got)
		}
	}
}

// mount mounts something for the time of the test, or skips it.
func mount(t *testing.T, source, dir, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, dir, kind, flags, data); err != nil {
		t.Skip("mounting is not allowed here:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// TestFullDisk fills a disk of 1 MiB.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	mount(t, "none", dir, "tmpfs", 0, "size=1m")
	const old = "old content\n"
	put(t, filepath.Join(dir, "a"), old)
	tg := target(t, f, "a")
	big := strings.Repeat("x", 2<<20)
	_, err := f.WriteText(ctx, tg, big, vfs.Options{})
	if !errors.Is(err, errs.IO) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if _, err := f.WriteText(ctx, target(t, f, "p/q/new"), big, vfs.Options{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if _, err := f.EditText(ctx, tg, vfs.Edit{Old: "old", New: big}, vfs.Options{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if got := content(t, filepath.Join(dir, "a")); got != old {
		t.Errorf("the file holds %d bytes", len(got))
	}
	wantNames(t, dir, "a")

	// A file that can only be overwritten in place, with room for its copy but
	// not for the new content as well.
	single := filepath.Join(dir, "single")
	put(t, single, old)
	mount(t, single, single, "", unix.MS_BIND, "")
	if _, err := f.WriteText(ctx, target(t, f, "single"), strings.Repeat("y", 600<<10), vfs.Options{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("in place: %v", err)
	}
	if got := content(t, single); got != old {
		t.Errorf("in place: the file holds %d bytes", len(got))
	}
	wantNames(t, dir, "a", "single")
}

// TestMountedFile writes a file that is a mount point by itself, as containers
// mount configuration files.
func TestMountedFile(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "sub", "dst")
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	put(t, src, "old content\n")
	put(t, dst, "")
	mount(t, src, dst, "", unix.MS_BIND, "")
	r, err := f.EditText(ctx, target(t, f, "sub/dst"), vfs.Edit{Old: "old content", New: "new"}, vfs.Options{})
	if err != nil || *r.Before != "old content\n" || r.After != "new\n" {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := content(t, src); got != "new\n" {
		t.Errorf("the source holds %q", got)
	}
	if _, err := f.WriteText(ctx, target(t, f, "sub/dst"), strings.Repeat("longer\n", 5000), vfs.Options{Guard: vfs.ReplaceIfVersion(r.Version)}); err != nil {
		t.Error(err)
	}
	if _, err := f.WriteText(ctx, target(t, f, "sub/dst"), "x", vfs.Options{Guard: vfs.ReplaceIfVersion(r.Version)}); !errors.Is(err, errs.StaleVersion) {
		t.Error(err)
	}
	wantNames(t, filepath.Join(dir, "sub"), "dst")
	if err := f.Remove(ctx, target(t, f, "sub/dst"), vfs.Options{}); !errors.Is(err, errs.IO) {
		t.Errorf("removing a mount point: %v", err)
	}

	// A whole directory that is mounted read-only, with one writable file in it.
	ro := filepath.Join(dir, "ro")
	os.Mkdir(ro, 0o755)
	put(t, filepath.Join(ro, "w"), "old\n")
	mount(t, ro, ro, "", unix.MS_BIND, "")
	mount(t, src, filepath.Join(ro, "w"), "", unix.MS_BIND, "")
	if err := unix.Mount("", ro, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Skip("remounting is not allowed here:", err)
	}
	if _, err := f.WriteText(ctx, target(t, f, "ro/w"), "in place\n", vfs.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := f.WriteText(ctx, target(t, f, "ro/new"), "x", vfs.Options{}); !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("%v", err)
	}
	wantNames(t, ro, "w")
	if err := f.Rename(ctx, target(t, f, "src"), target(t, f, "/dev/shm/fslocal-test"), false, vfs.Options{}); !errors.Is(err, vfs.ErrCrossDevice) {
		t.Errorf("a move to another device gave %v", err)
		os.Remove("/dev/shm/fslocal-test")
	}
}

// TestKillInPlace kills a process that overwrites a mounted file at random
// moments. The file may be torn then; the next change must find one whole
// content all the same, and leave nothing behind.
func TestKillInPlace(t *testing.T) {
	kills := 100
	if testing.Short() {
		kills = 20
	}
	ctx := context.Background()
	f, dir := newFS(t)
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "sub", "dst")
	put(t, src, strings.Repeat("a", 20_000))
	put(t, dst, "")
	mount(t, src, dst, "", unix.MS_BIND, "")
	torn := 0
	for range kills {
		cmd := helper(t, "write-forever", dst)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("the helper said %q, %v", line, err)
		}
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond) // random on purpose
		cmd.Process.Kill()
		cmd.Wait()
		if !uniform(content(t, dst)) {
			torn++
		}
		r, err := f.WriteText(ctx, target(t, f, dst), strings.Repeat("Z", 20_000+rand.IntN(60_000)), vfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Before == nil || len(*r.Before) < 20_000 || !uniform(*r.Before) {
			t.Fatalf("what was replaced is a mixture of %d bytes", len(*r.Before))
		}
		wantNames(t, filepath.Join(dir, "sub"), "dst")
	}
	t.Logf("%d of %d kills tore the file", torn, kills)
}

// uniform reports whether a text is one letter over and over.
func uniform(s string) bool { return strings.Trim(s, s[:min(1, len(s))]) == "" }

// TestWithoutOpenat2 runs the walk that older kernels need.
func TestWithoutOpenat2(t *testing.T) {
	was := hasOpenat2
	hasOpenat2 = func() bool { return false }
	defer func() { hasOpenat2 = was }()
	f, dir := newFS(t)
	os.MkdirAll(filepath.Join(dir, "a/b"), 0o755)
	os.Symlink("a", filepath.Join(dir, "link"))
	if _, err := OpenDir(filepath.Join(dir, "link", "b")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a symlink on the way gave %v", err)
	}
	if _, err := OpenDir(filepath.Join(dir, "a", "none")); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a missing directory gave %v", err)
	}
	if _, err := f.WriteText(context.Background(), target(t, f, "link/b/c/d"), "x", vfs.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(dir, "a/b/c/d")); got != "x" {
		t.Errorf("%q", got)
	}
}
