//go:build unix

package change_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// childEnv makes the test binary a process that runs one operation and kills
// itself in the middle: "case:call:when:root".
const childEnv = "BRIDLE_CHANGE_CHILD"

func helperMain() {
	parts := strings.SplitN(os.Getenv(childEnv), ":", 4)
	at, _ := strconv.Atoi(parts[1])
	fs, err := fslocal.New(fslocal.Config{Cwd: parts[3], RecoveryDir: filepath.Join(parts[3], "..", "recovery")})
	if err != nil {
		os.Exit(3)
	}
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	f := &faulty{FileSystem: fs, at: at, die: die, after: parts[2] == "after"}
	for _, c := range slices.Concat(operationCases, outsideCases) {
		if c.name != parts[0] {
			continue
		}
		w := &world{t: &testing.T{}, fs: fs, root: parts[3]}
		o := c.play(context.Background(), w, f)
		if o.Fault != nil {
			fmt.Fprintln(os.Stderr, o.Fault)
			os.Exit(4)
		}
		os.Exit(0)
	}
	os.Exit(5)
}

// TestKill kills a process with signal 9 in the middle of operations that take
// several steps, and opens the root again: the tree is then what it was or
// what it was to become, what was found says which, and nothing is left over.
func TestKill(t *testing.T) {
	for _, c := range slices.Concat(operationCases, outsideCases) {
		if !c.outside && !strings.Contains(c.name, "directory") && !c.device && c.name != "batch" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := c.world(t, "fslocal")
			old, _ := w.state()
			f := &faulty{}
			if o := c.play(t.Context(), w, f); o.Fault != nil {
				t.Fatal(o.Fault)
			}
			want, _ := w.state()
			points := 10
			if testing.Short() {
				points = 4
			}
			seen := map[string]int{}
			for i := range points {
				at := 1 + (i*f.calls+i%3)/points
				when := [...]string{"before", "after"}[i%2]
				seen[killed(t, c, at, when, old, want)]++
			}
			if seen["old"] == 0 {
				t.Errorf("no kill met the operation undone: %v", seen)
			}
		})
	}
}

func killed(t *testing.T, c operationCase, at int, when string, old, want tree) string {
	t.Helper()
	w := c.world(t, "fslocal")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%d:%s:%s", childEnv, c.name, at, when, w.root))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("call %d (%s): the process ended with %v: %s", at, when, err, out)
	}
	e := New(Config{SandboxRoot: w.root}, new(event.Bus), nil, nil)
	var fs vfs.FileSystem = w.fs
	if c.device {
		fs = devices{&faulty{FileSystem: w.fs}, "dev"}
	}
	root := w.root
	if c.outside {
		root += "/e"
		fs, e = within{fs, root}, New(Config{}, new(event.Bus), nil, nil)
	}
	found, err := e.Recover(t.Context(), fs, nil)
	if err != nil {
		t.Fatalf("call %d (%s): %v", at, when, err)
	}
	got, _ := w.state()
	if _, ok := got["d/"]; ok && !cmp.Equal(got, want) {
		// A parent directory that a killed call has made is no loss.
		delete(got, "n/")
		delete(got, "dev/new/")
	}
	state := "neither"
	switch {
	case cmp.Equal(got, old):
		state = "old"
	case cmp.Equal(got, want):
		state = "new"
	default:
		t.Errorf("call %d (%s): neither state; found %v\n(-old +got):\n%s", at, when, found, cmp.Diff(old, got))
	}
	for _, r := range found {
		if len(r.Problems) > 0 || r.Doubt != "" {
			t.Errorf("call %d (%s): %v", at, when, r)
		}
		if state == "new" && !r.Completed {
			t.Errorf("call %d (%s): it is complete, and what was found says %v", at, when, r)
		}
	}
	if again, err := e.Recover(t.Context(), fs, nil); err != nil || len(again) > 0 {
		t.Errorf("the second time: %v, %v", again, err)
	}
	left, err := filepath.Glob(filepath.Join(root, backup.Folder, "journal-"+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("call %d (%s): left over: %v", at, when, left)
	}
	return state
}
