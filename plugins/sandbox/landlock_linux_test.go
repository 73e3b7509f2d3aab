package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// landlockHelper restricts its process to a directory "in" and tries all ways
// to change what is in "out" beside it. It prints what succeeds.
func landlockHelper(roots, args []string) int {
	in, out := filepath.Join(args[0], "in"), filepath.Join(args[0], "out")
	elsewhere := make(chan error)
	begun, restricted := make(chan struct{}), make(chan struct{})
	go func() { // on a thread that is there before
		runtime.LockOSThread()
		close(begun)
		<-restricted
		elsewhere <- os.WriteFile(out+"/thread", nil, 0o644)
	}()
	<-begun
	reading, _ := unix.Open(out+"/f", unix.O_RDONLY, 0)
	looking, _ := unix.Open(out+"/f", unix.O_PATH, 0)
	dir, _ := unix.Open(out, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	status, err := Landlock(roots)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(status)
	close(restricted)
	did := func(what string, err error) {
		if err == nil {
			fmt.Println(what)
		}
	}
	did("thread", <-elsewhere)
	open := func(path string, flags int) error {
		fd, err := unix.Open(path, flags, 0o644)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	run := func(script string) error { return exec.Command("/bin/sh", "-c", script).Run() }
	did("open to write", open(out+"/f", unix.O_WRONLY))
	did("open to append", open(out+"/f", unix.O_WRONLY|unix.O_APPEND))
	did("create", open(out+"/new", unix.O_CREAT|unix.O_WRONLY))
	did("open to truncate", open(out+"/f", unix.O_RDONLY|unix.O_TRUNC))
	did("open a nameless file", open(out, unix.O_TMPFILE|unix.O_RDWR))
	did("open again by its handle", open(fmt.Sprintf("/proc/self/fd/%d", reading), unix.O_RDWR))
	did("open again by a path handle", open(fmt.Sprintf("/proc/self/fd/%d", looking), unix.O_RDWR))
	did("truncate", unix.Truncate(out+"/f", 0))
	did("make a directory", unix.Mkdirat(dir, "new", 0o755))
	did("make a FIFO", unix.Mknod(out+"/new", unix.S_IFIFO|0o644, 0))
	did("make a device inside", unix.Mknod(in+"/device", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	did("make a block device inside", unix.Mknod(in+"/device", unix.S_IFBLK|0o666, int(unix.Mkdev(7, 0))))
	did("make a symlink", unix.Symlink("x", out+"/new"))
	did("link outside", unix.Link(out+"/f", out+"/new"))
	did("link to the outside", unix.Link(in+"/a", out+"/new"))
	did("link from the outside", unix.Link(out+"/f", in+"/new"))
	did("move outside", unix.Rename(out+"/f", out+"/new"))
	did("move to the outside", unix.Rename(in+"/a", out+"/new"))
	did("move from the outside", unix.Rename(out+"/f", in+"/new"))
	did("exchange", unix.Renameat2(unix.AT_FDCWD, in+"/a", unix.AT_FDCWD, out+"/f", unix.RENAME_EXCHANGE))
	did("remove", unix.Unlink(out+"/f"))
	did("remove a directory", unix.Rmdir(out+"/sub"))
	did("move the root", unix.Rename(in, in+"2"))
	did("mount", unix.Mount(out, in+"/sub", "", unix.MS_BIND, ""))
	did("child", run("echo x > "+out+"/f"))
	did("child of a child", run("sh -c 'echo x > "+out+"/f'"))
	did("write inside", os.WriteFile(in+"/x", []byte("x"), 0o644))
	did("move inside", os.Rename(in+"/x", in+"/sub/x"))
	did("write to /dev/null", os.WriteFile("/dev/null", []byte("x"), 0o644))
	did("child inside", run("echo x > "+in+"/child"))
	return 0
}

// TestLandlock restricts another process, since there is no way back: its
// threads from before, and its children, are restricted too.
func TestLandlock(t *testing.T) {
	base := tempDir(t)
	world(t, base, "in/sub/", "in/a=a", "out/sub/", "out/f=f")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, filepath.Join(base, "out"))
	cmd := exec.Command(exe, base)
	cmd.Env = append(os.Environ(), "SANDBOX_LANDLOCK="+filepath.Join(base, "in")+":"+filepath.Join(base, "none"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if got[0] == string(Unavailable) {
		t.Skip("this kernel has no Landlock")
	}
	want := []string{"active", "write inside", "move inside", "write to /dev/null", "child inside"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what succeeds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, snapshot(t, filepath.Join(base, "out"))); diff != "" {
		t.Errorf("outside (-before +after):\n%s", diff)
	}
	if _, err := Landlock([]string{"relative"}); err == nil {
		t.Error("a relative root was taken")
	}
}
