//go:build linux || darwin

package change_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
	"github.com/google/go-cmp/cmp"
)

// entryTimes is everything that a dry run must leave alone.
type entryTimes struct {
	Name                   string
	Mode                   fs.FileMode
	Size                   int64
	Access, Modify, Change time.Time
	Inode                  uint64
	Content                string
}

// census reads names, bytes, modes and all times of a tree. Times come first,
// so that reading the content does not count.
func census(t *testing.T, root string) []entryTimes {
	t.Helper()
	var all []entryTimes
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entryTimes{Name: path, Mode: info.Mode(), Size: info.Size(), Modify: info.ModTime()}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			e.Inode = st.Ino
			e.Access, e.Change = statTimes(st)
			if d.Type()&fs.ModeSymlink != 0 {
				e.Access = time.Time{} // following it is all it takes, and it cannot be set ahead here
			}
		}
		all = append(all, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDryRunHasNoEffect compares names, bytes, modes and all three timestamps
// of the whole tree before and after a dry run of each operation, also where it
// is refused.
func TestDryRunHasNoEffect(t *testing.T) {
	for _, c := range operationCases {
		if c.op == "backup_file" {
			continue // it has no dry run
		}
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "fslocal", start)
			// A read moves an access time that is not after the last change
			// (relatime). The provider must not let it, where the system offers
			// that. The census itself lists the directories, so theirs is after.
			must(t, filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.Type()&fs.ModeSymlink != 0 {
					return err
				}
				access := time.Now().Add(time.Hour)
				if !d.IsDir() && runtime.GOOS == "linux" {
					access = time.Now().Add(-2 * time.Hour)
				}
				return os.Chtimes(path, access, time.Now().Add(-time.Hour))
			}))
			before := census(t, w.root)
			args := strings.ReplaceAll(c.args, `"config":{`, `"config":{"dry_run":true,`)
			args = strings.ReplaceAll(args, `"path":"p.json"}`, `"path":"p.json","config":{"dry_run":true}}`)
			var o Outcome
			if c.op == "batch_file_ops" {
				o = batch(t.Context(), t, w.engine(Config{}), w.fs, nil, args)
			} else {
				o = w.do(c.op, strings.Replace(c.args, "{", `{"dry_run":true,`, 1))
			}
			if o.Fault != nil && c.op != "batch_file_ops" { // a later step of the batch needs an earlier one
				t.Error(o.Fault)
			}
			if len(o.Receipts) > 0 {
				t.Errorf("a dry run has receipts: %+v", o.Receipts)
			}
			if diff := cmp.Diff(before, census(t, w.root)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

// TestRollback restores byte for byte and mode for mode, and can be rolled
// back.
func TestRollback(t *testing.T) {
	w := newWorld(t, "fslocal", tree{"f": "\xef\xbb\xbfone\r\ntwo\x00\n"})
	path := filepath.Join(w.root, "f")
	must(t, os.Chmod(path, 0o751))
	first := w.must("backup_file", `{"file_path":"f","label":"first"}`).Result.(*BackupResult)
	must(t, os.Chmod(path, 0o600))
	must(t, os.WriteFile(path, []byte("other"), 0o600))
	check := func(content string, mode fs.FileMode) {
		t.Helper()
		data, err := os.ReadFile(path)
		must(t, err)
		info, err := os.Stat(path)
		must(t, err)
		if string(data) != content || info.Mode().Perm() != mode {
			t.Errorf("%q with mode %o, want %q with %o", data, info.Mode().Perm(), content, mode)
		}
	}
	o := w.must("rollback_file", `{"file_path":"f","backup_id":"`+first.BackupID+`"}`)
	check("\xef\xbb\xbfone\r\ntwo\x00\n", 0o751)
	res := o.Result.(*RollbackResult)
	if !*res.SelfVerified || o.Receipts[0].Effect != Restored || o.Receipts[0].BackupID != res.CurrentBackupID {
		t.Errorf("%+v %+v", res, o.Receipts)
	}
	w.must("rollback_file", `{"file_path":"f","backup_id":"last"}`)
	check("other", 0o600)
	// Also where the file is gone, with its directory.
	must(t, os.Remove(path))
	w.must("rollback_file", `{"file_path":"f","backup_id":"`+first.BackupID+`"}`)
	check("\xef\xbb\xbfone\r\ntwo\x00\n", 0o751)
	// Another target needs to be meant.
	args := `{"file_path":"g","backup_root":".fileops-backups","backup_id":"` + first.BackupID + `"`
	if o := w.do("rollback_file", args+`}`); o.Fault == nil || o.Fault.Call["allow_target_override"] != true {
		t.Errorf("another target: %v", o.Fault)
	}
	w.must("rollback_file", args+`,"allow_target_override":true}`)
	// A damaged one is refused.
	must(t, os.WriteFile(first.BackupPath, []byte("\xef\xbb\xbfone\r\ntwo\x01\n"), 0o600))
	if o := w.do("rollback_file", `{"file_path":"f","backup_id":"`+first.BackupID+`"}`); o.Fault == nil || o.Fault.Kind != "backup_corrupt" {
		t.Errorf("a damaged backup: %v", o.Fault)
	}
	check("\xef\xbb\xbfone\r\ntwo\x00\n", 0o751)
}

// TestCopyKeeps compares bytes, modes, times and symlinks of a copied tree,
// and of one moved across devices.
func TestCopyKeeps(t *testing.T) {
	for _, move := range []bool{false, true} {
		w := newWorld(t, "fslocal", tree{"d/run.sh": "#!\n", "d/secret/key": "k", "d/secret/empty/": "", "d/l": "->nowhere", "dev/": ""})
		at := time.Date(2020, 1, 2, 3, 4, 5, 678, time.UTC)
		for path, mode := range map[string]fs.FileMode{"d/run.sh": 0o755, "d/secret/key": 0o400, "d/secret/empty": 0o555, "d/secret": 0o700, "d": 0o710} {
			full := filepath.Join(w.root, path)
			must(t, os.Chmod(full, mode))
			must(t, os.Chtimes(full, at, at))
		}
		describe := func(root string) (all []string) {
			must(t, filepath.WalkDir(filepath.Join(w.root, root), func(path string, d fs.DirEntry, err error) error {
				must(t, err)
				info, err := d.Info()
				must(t, err)
				rel, _ := filepath.Rel(filepath.Join(w.root, root), path)
				text := rel + " " + info.Mode().String()
				switch {
				case info.Mode()&fs.ModeSymlink != 0:
					to, _ := os.Readlink(path)
					text += " -> " + to
				default:
					text += " " + info.ModTime().UTC().String()
				}
				if info.Mode().IsRegular() {
					data, _ := os.ReadFile(path)
					text += " " + string(data)
				}
				all = append(all, text)
				return nil
			}))
			return all
		}
		want := describe("d")
		var o Outcome
		if move {
			c := operationCase{op: "move_file", args: `{"source_path":"d","destination_path":"dev/d"}`, device: true}
			o = c.play(t.Context(), w, &faulty{})
		} else {
			o = w.do("copy_file", `{"source_path":"d","destination_path":"dev/d","recursive":true}`)
		}
		if o.Fault != nil || !o.Receipts[0].SelfVerified {
			t.Fatalf("%v %+v", o.Fault, o.Receipts)
		}
		if diff := cmp.Diff(want, describe("dev/d")); diff != "" {
			t.Errorf("move %v (-want +got):\n%s", move, diff)
		}
		if _, err := os.Lstat(filepath.Join(w.root, "d")); (err != nil) != move {
			t.Errorf("move %v: the source: %v", move, err)
		}
	}
}
