//go:build linux || darwin

package fslocal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// TestKill kills a process that writes one file at random moments, and makes
// sure each time that the file is whole and that the next write leaves nothing
// of it behind.
func TestKill(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 40
	}
	f, dir := newFS(t)
	path := filepath.Join(dir, "a")
	litter := 0
	for range kills {
		cmd := helper(t, "write-forever", path)
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
		// The moment is random on purpose; nothing waits for it to be over.
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if len(data) > 0 && (len(data) < 20_000 || len(bytes.Trim(data, string(data[:1]))) > 0) {
			t.Fatalf("the file holds a mixture of %d bytes", len(data))
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 1 {
			litter++
		}
		if _, err := f.WriteText(context.Background(), target(t, f, "a"), strings.Repeat("Z", 20_000), vfs.Options{}); err != nil {
			t.Fatal(err)
		}
		wantNames(t, dir, "a")
	}
	t.Logf("%d of %d kills left something to sweep", litter, kills)
}

// TestSweep leaves the staging files of the living alone and removes those of
// the dead, in whatever slots.
func TestSweep(t *testing.T) {
	f, dir := newFS(t)
	tg := target(t, f, "a")
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	alive, err := f.stageIn(context.Background(), d, "a", "", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	f.patience = time.Millisecond
	for slot := 1; slot < 4; slot++ {
		put(t, filepath.Join(dir, stageName("a", "", slot)), "dead")
	}
	put(t, filepath.Join(dir, stageName("b", "", 0)), "another target's")
	if _, err := f.WriteText(context.Background(), tg, "x", vfs.Options{}); err != nil {
		t.Fatal(err)
	}
	want := []string{stageName("a", "", 0), stageName("b", "", 0), "a"}
	if want[0] > want[1] {
		want[0], want[1] = want[1], want[0]
	}
	wantNames(t, dir, want...)
}

// TestSweepAlone removes the remains of the dead without changing the entry,
// which need not exist, and keeps what an interrupted change in place needs.
func TestSweepAlone(t *testing.T) {
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "a"), "a")
	put(t, filepath.Join(dir, stageName("a", "", 0)), "dead")
	put(t, filepath.Join(dir, stageName("gone", "", 1)), "dead")
	keep := stageName("a", "old", 0)
	put(t, filepath.Join(dir, keep), "old content")
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	alive, err := f.stageIn(context.Background(), d, "busy", "", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	for _, name := range []string{"a", "gone", "busy", "no/such/dir"} {
		if err := vfs.Sweep(context.Background(), f, target(t, f, name), vfs.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	want := []string{keep, alive.name, "a"}
	slices.Sort(want)
	wantNames(t, dir, want...)
}

// TestTurns lets several processes count in one file, each guarded by what it
// read. Every success must be in the file: between the processes of this
// package there is no gap at all.
func TestTurns(t *testing.T) {
	each := "60"
	if testing.Short() {
		each = "20"
	}
	f, dir := newFS(t)
	path := filepath.Join(dir, "a")
	put(t, path, "")
	var cmds []*exec.Cmd
	for range 4 {
		cmd := helper(t, "count", path, each)
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	n, _ := strconv.Atoi(each)
	if got := mustRead(t, f, target(t, f, "a")).Content; len(got) != 4*n {
		t.Errorf("%d of %d changes are in the file", len(got), 4*n)
	}
	wantNames(t, dir, "a")
}

// TestOldFilesystems works where nothing can be renamed without replacing, and
// where there are no hard links either.
func TestOldFilesystems(t *testing.T) {
	for _, links := range []bool{true, false} {
		f, dir := newFS(t)
		f.fault = func(step string) error {
			switch {
			case step == "rename-new":
				return errUnsupported
			case step == "link" && !links:
				return syscall.EPERM
			}
			return nil
		}
		ctx := context.Background()
		guard := vfs.Options{Guard: vfs.CreateIfAbsent()}
		if _, err := f.WriteText(ctx, target(t, f, "p/a"), "x", guard); err != nil {
			t.Error(err)
		}
		if content(t, filepath.Join(dir, "p/a")) != "x" {
			t.Error("the content is lost")
		}
		// Another creator at the last moment.
		fault := f.fault
		f.fault = func(step string) error {
			if step == "rename-new" {
				put(t, filepath.Join(dir, "p/b"), "theirs")
			}
			return fault(step)
		}
		if _, err := f.WriteText(ctx, target(t, f, "p/b"), "ours", guard); !errors.Is(err, errs.NotObserved) {
			t.Errorf("%v", err)
		}
		if content(t, filepath.Join(dir, "p/b")) != "theirs" {
			t.Error("the other's file was replaced")
		}
		wantNames(t, filepath.Join(dir, "p"), "a", "b")
	}
}

// TestStolenStage: another process takes a staging file for a dead one's
// before it is locked.
func TestStolenStage(t *testing.T) {
	f, dir := newFS(t)
	n := 0
	f.fault = func(step string) error {
		if step == "stage" {
			n++
		}
		if step == "data" && n == 1 {
			os.Remove(filepath.Join(dir, stageName("a", "", 0)))
		}
		return nil
	}
	if _, err := f.WriteText(context.Background(), target(t, f, "a"), "x", vfs.Options{}); err != nil {
		t.Fatal(err)
	}
	if content(t, filepath.Join(dir, "a")) != "x" {
		t.Error("the write is lost")
	}
	wantNames(t, dir, "a")
}

// TestRecovery leaves what a process leaves that was killed while it overwrote
// a file in place, and lets the next write find it.
func TestRecovery(t *testing.T) {
	page := func(c string) string { return strings.Repeat(c, 4096) }
	old, next := page("o")+page("o")+"old tail", page("n")+page("n")+page("n")
	tests := []struct {
		name, file string
		restored   bool
	}{
		{"not begun", old, false},
		{"first page", page("n") + old[4096:], true},
		{"within a page", next[:5000] + old[5000:], true},
		{"longer", next[:8192] + next[8192 : 8192+4096][:100] + strings.Repeat("\x00", 0), true},
		{"done", next, false},
		{"somebody else's since", "fresh", false},
		{"somebody else's of that size", strings.Repeat("f", len(old)), false},
	}
	for _, where := range []string{"beside", "recovery directory"} {
		for _, tt := range tests {
			t.Run(where+"/"+tt.name, func(t *testing.T) {
				f, dir := newFS(t)
				path := filepath.Join(dir, "a")
				put(t, path, tt.file)
				copyPath := filepath.Join(dir, stageName("a", "old", 0))
				if where != "beside" {
					os.Mkdir(f.recovery, 0o700)
					copyPath = filepath.Join(f.recovery, stageName(path, "old", 0))
				}
				header := binary.BigEndian.AppendUint64([]byte(recoveryMagic), uint64(len(old)))
				header = binary.BigEndian.AppendUint64(header, uint64(len(next)))
				put(t, copyPath, string(header)+old+next)
				r, err := f.WriteText(context.Background(), target(t, f, "a"), "new", vfs.Options{})
				if err != nil {
					t.Fatal(err)
				}
				want := tt.file
				if tt.restored {
					want = old
				}
				if diff := cmp.Diff(&want, r.Before); diff != "" {
					t.Errorf("want - got +\n%s", diff)
				}
				wantNames(t, dir, "a")
				if where != "beside" {
					wantNames(t, f.recovery)
				}
			})
		}
	}
	t.Run("somebody else's copy", func(t *testing.T) {
		f, dir := newFS(t)
		path := filepath.Join(dir, "a")
		put(t, path, page("n")+old[4096:])
		header := binary.BigEndian.AppendUint64([]byte(recoveryMagic), uint64(len(old)))
		header = binary.BigEndian.AppendUint64(header, uint64(len(next)))
		planted := filepath.Join(dir, stageName("a", "old", 0))
		put(t, planted, string(header)+old+next)
		if err := os.Chown(planted, 1234, 1234); err != nil {
			t.Skip("only root can give files away")
		}
		r, err := f.WriteText(context.Background(), target(t, f, "a"), "new", vfs.Options{})
		if err != nil || *r.Before != page("n")+old[4096:] {
			t.Errorf("a copy of another user was believed (%v)", err)
		}
	})
	t.Run("unfinished copy", func(t *testing.T) {
		f, dir := newFS(t)
		put(t, filepath.Join(dir, "a"), "x")
		put(t, filepath.Join(dir, stageName("a", "old", 0)), "")
		if _, err := f.WriteText(context.Background(), target(t, f, "a"), "new", vfs.Options{}); err != nil {
			t.Fatal(err)
		}
		wantNames(t, dir, "a")
	})
}

// TestRecoveryDirIsOnesOwn: a recovery directory that others can reach, or a
// symlink in its place, is not used.
func TestRecoveryDirIsOnesOwn(t *testing.T) {
	dir := tempPath(t)
	mine := filepath.Join(dir, "mine")
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	os.Mkdir(open, 0o700)
	os.Chmod(open, 0o755)
	os.Symlink(mine, filepath.Join(dir, "link"))
	for name, want := range map[string]bool{"mine": true, "fresh": true, "open": false, "link": false} {
		d, err := openRecovery(filepath.Join(dir, name))
		if (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			d.Close()
		}
	}
}

// TestOverwriteFaults fails each step of overwriting in place; the old content
// must be back.
func TestOverwriteFaults(t *testing.T) {
	const old = "the old content, which is longer\n"
	for fail := 0; ; fail++ {
		f, dir := newFS(t)
		path := filepath.Join(dir, "a")
		put(t, path, old)
		before, _ := statPath(path, false)
		n, at := 0, ""
		f.fault = func(step string) error {
			if step == "publish" {
				return syscall.EBUSY // as for a file that is mounted by itself
			}
			if n++; n == fail {
				at = step
				return syscall.EIO
			}
			return nil
		}
		_, err := f.WriteText(context.Background(), target(t, f, "a"), "new", vfs.Options{})
		after, _ := statPath(path, false)
		if !after.sameFile(before) {
			t.Fatal("the file was replaced, not overwritten")
		}
		if n < fail {
			return
		}
		want := "new"
		if fail > 0 && at != "sync-dir" {
			want = old
			if !errors.Is(err, errs.IO) {
				t.Errorf("at %s: %v", at, err)
			}
		} else if err != nil {
			t.Errorf("%v", err)
		}
		if got := content(t, path); got != want {
			t.Errorf("at %s: the file holds %q", at, got)
		}
		wantNames(t, dir, "a")
	}
}

// TestOverwriteKeepsTheCopyInNeed: when the old content cannot be put back at
// once, it is kept, the error says where, and the next change puts it back.
func TestOverwriteKeepsTheCopyInNeed(t *testing.T) {
	old := strings.Repeat("old\n", 5000)
	f, dir := newFS(t)
	path := filepath.Join(dir, "a")
	put(t, path, old)
	f.fault = func(step string) error {
		switch step {
		case "publish":
			return syscall.EBUSY
		case "overwrite-sync", "put-back":
			return syscall.EIO
		}
		return nil
	}
	_, err := f.WriteText(context.Background(), target(t, f, "a"), strings.Repeat("n", 4096*5+10), vfs.Options{})
	if err == nil || !strings.Contains(err.Error(), stageName("a", "old", 0)) {
		t.Fatalf("%v", err)
	}
	// Torn as a crash would leave it.
	put(t, path, strings.Repeat("n", 4096)+old[4096:])
	f.fault = nil
	r, err := f.WriteText(context.Background(), target(t, f, "a"), "new", vfs.Options{})
	if err != nil || r.Before == nil || *r.Before != old {
		t.Errorf("%v", err)
	}
	wantNames(t, dir, "a")
}
