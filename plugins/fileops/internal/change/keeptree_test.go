package change_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
)

// every has the tests of faults fail each call of the provider, which takes
// minutes, and not a sample of them.
var every = flag.Bool("every", false, "fail each call of the provider")

// stride is the step with which calls are sampled.
func stride(calls, points int) int {
	if *every {
		return 1
	}
	if testing.Short() {
		points /= 2
	}
	return 1 + calls/points
}

// trees are what the tests of replaced directories begin with: d comes in the
// place of e.
var trees = tree{
	"d/x.txt": "x\n", "d/sub/y.txt": "y\n",
	"e/old.txt": "old\n", "e/empty/": "", "e/deep/er/z.bin": "\x00\xff", "e/l": "->old.txt",
}

// below is the part of a tree that is in a directory.
func below(files tree, dir string) tree {
	out := tree{}
	for p, content := range files {
		if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
			out[rest] = content
		}
	}
	return out
}

// TestReplacedDirectory: a directory in whose place a copy or a move puts
// another has a backup, which puts it back, can itself be rolled back, and is
// refused once it is damaged.
func TestReplacedDirectory(t *testing.T) {
	for provider := range providers {
		for _, op := range []string{"copy_file", "move_file"} {
			t.Run(provider+"/"+op, func(t *testing.T) {
				w := newWorld(t, provider, trees)
				if provider == "fslocal" {
					must(t, os.Chmod(filepath.Join(w.root, "e/old.txt"), 0o640))
					must(t, os.Chmod(filepath.Join(w.root, "e/empty"), 0o500))
				}
				old, _ := w.state()
				args := `{"source_path":"d","destination_path":"e","overwrite":true`
				if op == "copy_file" {
					args += `,"recursive":true`
				}
				var id string
				switch res := w.must(op, args+`,"backup_label":"tree"}`).Result.(type) {
				case *CopyResult:
					id = res.BackupID
				case *MoveResult:
					id = res.BackupID
				}
				replaced, _ := w.state()
				if diff := cmp.Diff(below(old, "d"), below(replaced, "e")); diff != "" {
					t.Fatalf("e is not what d was (-want +got)\n%s", diff)
				}
				list := w.must("list_backups", `{"file_path":"e"}`).Result.(*ListBackupsResult)
				if len(list.Backups) != 1 || list.Backups[0].BackupID != id || !list.Backups[0].IsDir || list.Backups[0].Label != "tree" || list.Backups[0].SizeBytes != 6 {
					t.Fatalf("backup %q, listed %+v", id, list.Backups)
				}
				dry := w.must("rollback_file", `{"file_path":"e","backup_id":"last","dry_run":true}`)
				if now, _ := w.state(); !cmp.Equal(now, replaced) || !*dry.Result.(*RollbackResult).Restored || len(dry.Receipts) > 0 {
					t.Errorf("a dry run: %+v, receipts %v\n%s", dry.Result, dry.Receipts, cmp.Diff(replaced, now))
				}
				o := w.must("rollback_file", `{"file_path":"e","backup_id":"last"}`)
				now, _ := w.state()
				if diff := cmp.Diff(below(old, "e"), below(now, "e")); diff != "" {
					t.Errorf("put back (-want +got)\n%s", diff)
				}
				res, r := o.Result.(*RollbackResult), o.Receipts[0]
				if res.BackupID != id || !*res.SelfVerified || r.Effect != Restored || r.BackupID != res.CurrentBackupID || r.BackupID == "" || r.DestinationPath != "" || !r.SelfVerified {
					t.Errorf("%+v %+v", res, r)
				}
				if diff := cmp.Diff(&Delta{Modified: []string{"e"}}, DeltaOf(o.Receipts)); diff != "" {
					t.Errorf("delta (-want +got)\n%s", diff)
				}
				w.must("rollback_file", `{"file_path":"e","backup_id":"last"}`)
				if now, _ = w.state(); !cmp.Equal(below(now, "e"), below(replaced, "e")) {
					t.Errorf("the rollback was not rolled back:\n%s", cmp.Diff(below(replaced, "e"), below(now, "e")))
				}
				if provider != "fslocal" {
					return
				}
				// Also where it is gone.
				must(t, os.RemoveAll(filepath.Join(w.root, "e")))
				o = w.must("rollback_file", `{"file_path":"e","backup_id":"`+id+`"}`)
				if now, _ = w.state(); !cmp.Equal(below(now, "e"), below(old, "e")) || o.Receipts[0].BackupID != "" {
					t.Errorf("backup %q\n%s", o.Receipts[0].BackupID, cmp.Diff(below(old, "e"), below(now, "e")))
				}
				content := filepath.Join(w.root, backup.Folder, id+".bak")
				for name, damage := range map[string]func() error{
					"a byte":      func() error { return os.WriteFile(filepath.Join(content, "old.txt"), []byte("Old\n"), 0o640) },
					"a file more": func() error { return os.WriteFile(filepath.Join(content, "more"), nil, 0o640) },
					"gone":        func() error { return os.RemoveAll(content) },
				} {
					whole := w.must("rollback_file", `{"file_path":"e","backup_id":"`+id+`"}`).Receipts[0].BackupID
					must(t, damage())
					before, _ := w.state()
					if o := w.do("rollback_file", `{"file_path":"e","backup_id":"`+id+`"}`); o.Fault == nil || o.Fault.Kind != "backup_corrupt" {
						t.Errorf("%s: %v", name, o.Fault)
					}
					if now, _ := w.state(); !cmp.Equal(now, before) {
						t.Errorf("%s: the refusal changed something\n%s", name, cmp.Diff(before, now))
					}
					id, content = whole, filepath.Join(w.root, backup.Folder, whole+".bak")
				}
			})
		}
	}
}

// TestReplacedDirectoryRefusals: what is refused before anything changes, and
// when no backup is made.
func TestReplacedDirectoryRefusals(t *testing.T) {
	const over = `{"source_path":"d","destination_path":"e","overwrite":true,"recursive":true`
	w := newWorld(t, "memfs", trees)
	old, _ := w.state()
	for _, args := range []string{over + `,"backup_root":"e/kept"}`, over + `,"backup_root":"e"}`, over + `,"backup_label":"a\nb"}`} {
		if o := w.do("copy_file", args); o.Fault == nil || o.Fault.Kind != "invalid_arguments" || !strings.HasPrefix(o.Fault.Field, "backup_") {
			t.Errorf("%s: %v", args, o.Fault)
		}
	}
	if o := w.must("copy_file", over+`,"dry_run":true}`); o.Result.(*CopyResult).BackupID != "" {
		t.Errorf("a dry run: %+v", o.Result)
	}
	if now, backups := w.state(); !cmp.Equal(now, old) || backups > 0 {
		t.Errorf("%d files in backup folders\n%s", backups, cmp.Diff(old, now))
	}
	w.must("copy_file", over+`,"create_backup":false}`)
	if _, backups := w.state(); backups > 0 {
		t.Errorf("%d files in backup folders that nobody wanted", backups)
	}
	// A backup of a directory is not put in the place of a file, and the other
	// way round.
	id := w.must("copy_file", over+`,"backup_root":"kept"}`).Result.(*CopyResult).BackupID
	file := w.must("backup_file", `{"file_path":"e/x.txt","backup_root":"kept"}`).Result.(*BackupResult).BackupID
	for args, kind := range map[string]string{
		`{"file_path":"e/x.txt","backup_id":"` + id + `"`: "not_a_directory",
		`{"file_path":"e","backup_id":"` + file + `"`:     "not_a_file",
		`{"file_path":".","backup_id":"` + id + `"`:       "invalid_arguments",
	} {
		if o := w.do("rollback_file", args+`,"backup_root":"kept","allow_target_override":true}`); o.Fault == nil || string(o.Fault.Kind) != kind {
			t.Errorf("%s: %v, want %s", args, o.Fault, kind)
		}
	}
}

// rollbackCases are rollbacks; what each restores is made anew for every try.
var rollbackCases = []struct{ name, first, op, args string }{
	{"a file", `{"source_path":"e/old.txt","destination_path":"a.txt","overwrite":true}`, "copy_file", `{"file_path":"a.txt","backup_id":"last"}`},
	{"a deleted file", `{"file_path":"d/x.txt"}`, "delete_file", `{"file_path":"d/x.txt","backup_id":"last"}`},
	{"a directory", `{"source_path":"d","destination_path":"e","overwrite":true}`, "move_file", `{"file_path":"e","backup_id":"last"}`},
}

// TestRollbackFaults fails every call of the provider during rollbacks.
func TestRollbackFaults(t *testing.T) {
	for provider := range providers {
		for i, c := range rollbackCases {
			t.Run(provider+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				begin := func() (*world, tree, int) {
					w := newWorld(t, provider, trees)
					w.put(tree{"a.txt": "alpha\n"})
					w.must(c.op, c.first)
					old, backups := w.state()
					return w, old, backups
				}
				w, old, _ := begin()
				count := &faulty{FileSystem: w.fs}
				if o := w.engine(Config{}).Do(t.Context(), count, nil, "rollback_file", decoded(t, "rollback_file", c.args)); o.Fault != nil {
					t.Fatal(o.Fault)
				}
				want, _ := w.state()
				step := stride(count.calls, map[string]int{"memfs": 40, "fslocal": 10}[provider])
				for at := 1 + i%step; at <= count.calls; at += step {
					for _, after := range []bool{false, true} {
						w, _, backups := begin()
						f := &faulty{FileSystem: w.fs, at: at, after: after}
						o := w.engine(Config{}).Do(t.Context(), f, nil, "rollback_file", decoded(t, "rollback_file", c.args))
						now, kept := w.state()
						when := fmt.Sprintf("call %d (%s, after %v)", at, f.hit, after)
						switch {
						case cmp.Equal(now, want):
							if len(o.Receipts) != 1 {
								t.Errorf("%s: restored, with receipts %v: %v", when, o.Receipts, o.Fault)
							}
						case !cmp.Equal(now, old):
							t.Errorf("%s: neither state: %v\n%s", when, o.Fault, cmp.Diff(old, now))
						case o.Fault == nil || len(o.Receipts) > 0:
							t.Errorf("%s: nothing was restored: %v, receipts %v", when, o.Fault, o.Receipts)
						case kept != backups:
							t.Errorf("%s: %d files in backup folders, were %d: %v", when, kept, backups, o.Fault)
						}
					}
				}
			})
		}
	}
}

// TestReplacedDirectoryIsRewound: a rewind puts back a directory that the
// session has replaced, and is itself taken back.
func TestReplacedDirectoryIsRewound(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			w := newWorld(t, provider, trees)
			_, s := inSession(t, w.root)
			states := turns(t, w, s,
				[]operationCase{op("copy_file", `{"source_path":"d","destination_path":"e","overwrite":true,"recursive":true}`)},
				[]operationCase{op("move_file", `{"source_path":"e","destination_path":"d","overwrite":true}`)})
			for _, to := range []int{1, 2, 0, 2, 1, 0} {
				report, err := w.engine(Config{}).Rewind(t.Context(), w.fs, s, RewindOptions{ToTurn: to})
				if err != nil {
					t.Fatalf("to %d: %v: %+v", to, err, report.Changes)
				}
				if now, _ := w.state(); !cmp.Equal(withoutDirs(now), states[to]) {
					t.Fatalf("to %d (-want +got)\n%s\n%+v", to, cmp.Diff(states[to], withoutDirs(now)), report.Changes)
				}
			}
		})
	}
}
