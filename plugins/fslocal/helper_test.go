//go:build linux || darwin

package fslocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// runHelper is what the test binary does in another process.
func runHelper(name string, args []string) int {
	f, err := New(Config{Cwd: "/", RecoveryDir: os.Getenv("FSLOCAL_RECOVERY")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	switch name {
	case "write-forever":
		// Contents of one letter each, so that a mixture shows.
		tg, err := f.Resolve(ctx, args[0], vfs.ResolveOptions{})
		if err != nil {
			return 1
		}
		fmt.Println("ready")
		for i := 0; ; i++ {
			text := strings.Repeat(string(rune('a'+i%26)), 20_000+i%50*1000)
			if _, err := f.WriteText(ctx, tg, text, vfs.Options{}); err != nil {
				fmt.Println(err)
				return 1
			}
		}
	case "count":
		n, _ := strconv.Atoi(args[1])
		tg, err := f.Resolve(ctx, args[0], vfs.ResolveOptions{})
		for err == nil && n > 0 {
			var text vfs.Text
			if text, err = f.ReadText(ctx, tg); err != nil {
				break
			}
			_, err = f.WriteText(ctx, tg, text.Content+"x", vfs.Options{Guard: vfs.ReplaceIfVersion(text.Version)})
			if err == nil {
				n--
			} else if errors.Is(err, errs.StaleVersion) {
				err = nil
			}
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
	case "try":
		// One operation a line, answered by its code.
		for _, arg := range args {
			op, path, _ := strings.Cut(arg, ":")
			tg, err := f.Resolve(ctx, path, vfs.ResolveOptions{})
			if err == nil {
				err = tryOp(ctx, f, op, tg)
			}
			fmt.Printf("%s=%s\n", arg, errs.CodeOf(err))
		}
	}
	return 0
}

func tryOp(ctx context.Context, f *FS, op string, tg vfs.Target) (err error) {
	switch op {
	case "read":
		_, err = f.ReadText(ctx, tg)
	case "list":
		_, err = f.List(ctx, tg)
	case "stat":
		_, err = f.Stat(ctx, tg)
	case "write":
		_, err = f.WriteText(ctx, tg, "new content\n", vfs.Options{})
	case "edit":
		_, err = f.EditText(ctx, tg, vfs.Edit{Old: "old", New: "new"}, vfs.Options{})
	case "remove":
		err = f.Remove(ctx, tg, vfs.Options{})
	case "mkdir":
		err = f.MakeDir(ctx, tg, vfs.Options{})
	case "copy":
		_, err = f.Copy(ctx, tg, vfs.Target{Key: tg.Key + ".copy", Path: tg.Path + ".copy"}, false, vfs.Options{})
	}
	return err
}

// helper prepares the test binary to run as another process.
func helper(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "FSLOCAL_HELPER="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// asNobody makes a command run as a user without any rights, in a directory of
// its own that this user can reach. It skips where that cannot be.
func asNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	// The binary itself has to be in reach.
	exe := filepath.Join(openDirFor(t), "helper")
	data, err := os.ReadFile(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Path = exe
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

// openDirFor makes a directory that every user can enter.
func openDirFor(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fslocal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
