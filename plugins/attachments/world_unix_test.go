//go:build unix

package attachments

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
)

// While other processes save, a collection that spares nothing disturbs none of
// them, and one that spares the young takes nothing that was handed out.
func TestTwoProcessesSaveWhileOneCollects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	greedy, careful := open(t, Config{Dir: dir, Grace: 1}), open(t, Config{Dir: dir})
	lines := make(chan string)
	stop := make(chan struct{})
	var children sync.WaitGroup
	for range 2 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children.Go(func() {
			for sc := bufio.NewScanner(out); sc.Scan(); {
				select {
				case lines <- sc.Text():
				case <-stop:
					_ = cmd.Process.Kill()
				}
			}
			_ = cmd.Wait() // killed
		})
	}
	defer children.Wait()
	defer close(stop)
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	next := func() string {
		id, ok := strings.CutPrefix(<-lines, "saved ")
		if !ok {
			t.Fatal(id)
		}
		return id
	}
	for n := range rounds {
		next()
		if n%5 == 0 {
			if _, _, err := greedy.Collect(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Pictures saved before now may have been removed again; all come once more.
	for range 500 {
		next()
	}
	given := map[string]bool{}
	for n := range rounds {
		given[next()] = true
		if n%5 == 0 {
			if _, _, err := careful.Collect(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for id := range given {
		if _, _, err := careful.Describe(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if len(given) < 40 {
		t.Errorf("only %d pictures were saved", len(given))
	}
}

// A store that is reached by a symbolic link is the same store.
func TestLinkedDirectory(t *testing.T) {
	base := t.TempDir()
	if err := os.Symlink(filepath.Join(base, "real"), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Dir: filepath.Join(base, "link")}); !errors.Is(err, errs.AttachmentWriteFailed) {
		t.Errorf("a link to nothing: %v", err)
	}
	real := open(t, Config{Dir: filepath.Join(base, "real")})
	ref := save(t, real, drawing(1, 40, 30))
	linked := open(t, Config{Dir: filepath.Join(base, "link")})
	if _, err := linked.Read(t.Context(), ref); err != nil {
		t.Error(err)
	}
	// Links inside a store do not lead out of it.
	out := filepath.Join(base, "out")
	if err := os.WriteFile(out, drawing(1, 40, 30), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(base, "real", objectPath(ref))
	if err := errors.Join(os.Remove(path), os.Symlink(out, path)); err != nil {
		t.Fatal(err)
	}
	if _, err := linked.Read(t.Context(), ref); !errors.Is(err, errs.AttachmentReadFailed) {
		t.Errorf("through a link: %v", err)
	}
}

// unprivilegedEnv names the directory in which a child process without privileges
// tries a store.
const unprivilegedEnv = "ATTACHMENTS_TEST_UNPRIVILEGED"

// Without permission to write, saving is refused clearly, and nothing is left of
// the attempt.
func TestForbiddenDirectories(t *testing.T) {
	if dir := os.Getenv(unprivilegedEnv); dir != "" {
		forbidden(t, dir)
		return
	}
	dir := t.TempDir()
	// The directories of the test above this one belong to root alone.
	for d := dir; d != os.TempDir() && len(d) > 1; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestForbiddenDirectories$", "-test.v")
	cmd.Env = append(os.Environ(), unprivilegedEnv+"="+dir)
	if os.Getuid() == 0 {
		const nobody = 65534
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, "test")
		data, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, data, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.Path, cmd.Dir = program, dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestForbiddenDirectories") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func forbidden(t *testing.T, dir string) {
	s, err := New(Config{Dir: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	ref := save(t, s, drawing(1, 40, 30))
	at := func(name string) string { return filepath.Join(dir, "store", name) }
	chmod := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	other := attachment.Image{Data: drawing(2, 40, 30)}
	for _, d := range []string{stagingDir, objectsDir} {
		chmod(d, 0o500)
		if _, err := s.SaveImage(context.Background(), other); !errors.Is(err, errs.AttachmentWriteFailed) {
			t.Errorf("%s cannot be written: %v", d, err)
		}
		if _, err := s.Read(context.Background(), ref); err != nil {
			t.Errorf("%s cannot be written: reading: %v", d, err)
		}
		chmod(d, 0o700)
	}
	if left := files(t, s); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	// A copy that cannot be kept is given out all the same.
	chmod(variantsDir, 0o500)
	if v, _, err := s.Variant(context.Background(), ref, attachment.Variant{MaxDimension: 10}); err != nil || v.Width != 10 {
		t.Errorf("a variant that cannot be cached: %v, %v", v, err)
	}
	chmod(variantsDir, 0o700)
	// As on a full disk, a file breaks off in the middle.
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	short := limit
	short.Cur = 100
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &short); err != nil {
		t.Fatal(err)
	}
	_, full := s.SaveImage(context.Background(), other)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(full, errs.AttachmentWriteFailed) || !errors.Is(full, syscall.EFBIG) {
		t.Errorf("a full disk: %v", full)
	}
	if left := files(t, s); len(left) != 1 {
		t.Errorf("left by a full disk: %v", left)
	}
	chmod(objectPath(ref), 0)
	if _, err := s.Read(context.Background(), ref); !errors.Is(err, errs.AttachmentReadFailed) {
		t.Errorf("an unreadable object: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	// A directory of somebody else is not used.
	if _, err := New(Config{Dir: "/usr/store"}); !errors.Is(err, errs.AttachmentWriteFailed) {
		t.Errorf("a directory of the system: %v", err)
	}
}
