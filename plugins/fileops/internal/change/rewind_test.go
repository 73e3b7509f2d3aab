package change_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
)

// turns plays operations as turns of a session, a list each.
func turns(t *testing.T, w *world, s *session.Session, all ...[]operationCase) (states []tree) {
	t.Helper()
	at := func() tree { files, _ := w.state(); return withoutDirs(files) }
	states = append(states, at())
	for _, ops := range all {
		n := s.LastTurn() + 1
		add(t, s, "turn/start", fmt.Sprintf(`{"turn":%d}`, n))
		for _, c := range ops {
			call := &tool.Call{ID: c.name, Name: "file_ops_hub", Agent: &tool.Agent{Session: s}}
			e := w.engine(Config{})
			var o Outcome
			if c.op == "batch_file_ops" {
				o = batch(t.Context(), t, e, w.fs, call, c.args)
			} else {
				o = e.Do(t.Context(), w.fs, call, c.op, decoded(t, c.op, c.args))
			}
			if failed := strings.HasPrefix(c.name, "fails"); (o.Fault != nil) != failed {
				t.Fatalf("%s: %v", c.args, o.Fault)
			}
		}
		add(t, s, "turn/end", fmt.Sprintf(`{"turn":%d,"reason":{"kind":"completed"}}`, n))
		states = append(states, at())
	}
	return states
}

// withoutDirs leaves out directories: one that a session has made stays while
// it holds the backups that let a rewind be taken back.
func withoutDirs(all tree) tree {
	maps.DeleteFunc(all, func(path, _ string) bool { return strings.HasSuffix(path, "/") })
	return all
}

func add(t *testing.T, s *session.Session, typ, data string) {
	t.Helper()
	if _, err := s.Append(session.Event{Type: typ, Data: []byte(data)}); err != nil {
		t.Fatal(err)
	}
}

func op(name, args string) operationCase { return operationCase{op: name, args: args} }

// session1 changes everything that can be changed.
var session1 = [][]operationCase{
	{
		op("edit_file", `{"file_path":"a.txt","replacements":[{"old_content":"alpha","new_content":"A"}]}`),
		op("edit_file", `{"file_path":"a.txt","replacements":[{"old_content":"beta","new_content":"B"}]}`),
		op("write_file", `{"file_path":"n/deep/f.txt","content":"1\n"}`),
	},
	{
		op("move_file", `{"source_path":"b.txt","destination_path":"a.txt","overwrite":true}`),
		op("delete_file", `{"file_path":"link"}`),
		op("delete_file", `{"file_path":"p.json"}`),
		op("copy_file", `{"source_path":"d","destination_path":"copy","recursive":true}`),
		op("write_file", `{"file_path":"copy/x.txt","content":"changed\n","force_overwrite":true}`),
	},
	{
		op("move_file", `{"source_path":"d","destination_path":"moved/d"}`),
		op("write_file", `{"file_path":"moved/d/sub/y.txt","content":"new y\n","force_overwrite":true}`),
		op("write_file", `{"file_path":"n/deep/f.txt","content":"2\n","append":true}`),
		{name: "fails", op: "batch_file_ops", args: `{"atomic":true,"operations":[
			{"operation":"write_file","path":"e/old.txt","config":{"content":"x","force_overwrite":true}},
			{"operation":"delete_file","path":"nothing"}]}`},
	},
}

// sessionOver makes each path several things in turn, which a rewind meets in
// the way of each other.
var sessionOver = [][]operationCase{
	{
		op("edit_file", `{"file_path":"d/x.txt","replacements":[{"old_content":"x","new_content":"X"}]}`),
		op("delete_file", `{"file_path":"p.json"}`),
		op("write_file", `{"file_path":"p.json","content":"{\"a\":1}"}`), // as it was, with another mode
		op("move_file", `{"source_path":"d","destination_path":"m/n"}`),
		op("write_file", `{"file_path":"d/x.txt","content":"where d was\n"}`),
		op("delete_file", `{"file_path":"d/x.txt"}`),
		op("write_file", `{"file_path":"d/x.txt","content":"and again\n"}`),
		op("delete_file", `{"file_path":"b.txt"}`),
		op("write_file", `{"file_path":"b.txt/in/f.txt","content":"where b.txt was\n"}`),
	},
	{
		op("move_file", `{"source_path":"a.txt","destination_path":"k"}`),
		op("write_file", `{"file_path":"a.txt/f","content":"where a.txt was\n"}`),
		op("copy_file", `{"source_path":"d","destination_path":"copy","recursive":true}`),
	},
	{
		op("move_file", `{"source_path":"m","destination_path":"m2"}`),
		op("write_file", `{"file_path":"m2/n/sub/y.txt","content":"new y\n","force_overwrite":true}`),
	},
}

// TestRewindOver proves that a rewind finds its way where directories have come
// into the place of what it brings back, also twice in a row, there and back,
// and that a mode comes back alone.
func TestRewindOver(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			w := newWorld(t, provider, start)
			if _, err := vfs.WriteBytes(t.Context(), w.fs, w.target("p.json"), []byte(`{"a":1}`), vfs.Attr{Mode: 0o600, SetMode: true}, vfs.Options{}); err != nil {
				t.Fatal(err)
			}
			_, s := inSession(t, w.root)
			states := turns(t, w, s, sessionOver...)
			e := w.engine(Config{})
			for _, to := range []int{2, 0, 0, 3, 3, 1, 2, 0, 1, 3, 0, 3, 0, 2} {
				report, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{ToTurn: to})
				if err != nil {
					t.Fatalf("to %d: %v %+v", to, err, report.Changes)
				}
				got, _ := w.state()
				if diff := cmp.Diff(states[to], withoutDirs(got)); diff != "" {
					t.Fatalf("to %d (-want +got):\n%s", to, diff)
				}
			}
		})
	}
}

// TestRewindMindsModes proves that a file whose mode somebody has changed since
// counts as changed by them.
func TestRewindMindsModes(t *testing.T) {
	w := newWorld(t, "fslocal", start)
	_, s := inSession(t, w.root)
	turns(t, w, s, []operationCase{op("edit_file", `{"file_path":"a.txt","replacements":[{"old_content":"alpha","new_content":"A"}]}`)})
	if err := os.Chmod(w.root+"/a.txt", 0o755); err != nil {
		t.Fatal(err)
	}
	e := w.engine(Config{})
	report, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{})
	if err == nil || report.Problems != 1 || w.get("a.txt") != "A\nbeta\n" {
		t.Errorf("%v, %+v, %q", err, report, w.get("a.txt"))
	}
	if _, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{Force: true}); err != nil || w.get("a.txt") != "alpha\nbeta\n" {
		t.Errorf("forced: %v, %q", err, w.get("a.txt"))
	}
}

func TestRewind(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			w := newWorld(t, provider, start)
			_, s := inSession(t, w.root)
			states := turns(t, w, s, session1...)
			last := len(session1)
			e := w.engine(Config{})
			for _, to := range []int{last, last - 1, last, 1, last, 0, last, last - 1, 0} {
				events := s.Len()
				before, backups := w.state()
				plan, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{ToTurn: to, DryRun: true})
				if err != nil || plan.Problems > 0 {
					t.Fatalf("to %d, dry: %v %+v", to, err, plan)
				}
				if after, b := w.state(); !cmp.Equal(before, after) || b != backups || s.Len() != events {
					t.Fatalf("to %d: a dry run had an effect", to)
				}
				report, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{ToTurn: to})
				if err != nil {
					t.Fatalf("to %d: %v %+v", to, err, report.Changes)
				}
				got, _ := w.state()
				if diff := cmp.Diff(states[to], withoutDirs(got)); diff != "" {
					t.Fatalf("to %d (-want +got):\n%s\n%+v", to, diff, report.Changes)
				}
				if len(report.Changes) != len(plan.Changes) {
					t.Errorf("to %d: %d changes, planned %d", to, len(report.Changes), len(plan.Changes))
				}
				for _, c := range report.Changes {
					if !c.Done {
						t.Errorf("to %d: %+v was not done", to, c)
					}
				}
			}
		})
	}
}

// TestRewindRefuses proves that nothing is touched where somebody else has
// changed what the session left, and that force keeps what it replaces.
func TestRewindRefuses(t *testing.T) {
	w := newWorld(t, "memfs", start)
	_, s := inSession(t, w.root)
	turns(t, w, s, []operationCase{
		op("edit_file", `{"file_path":"a.txt","replacements":[{"old_content":"alpha","new_content":"A"}]}`),
		op("delete_file", `{"file_path":"b.txt"}`),
	})
	w.put(tree{"a.txt": "mine\n"})
	before, _ := w.state()
	e := w.engine(Config{})
	report, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{})
	if err == nil || report.Problems != 1 || !strings.Contains(report.Changes[1].Problem, "changed since") {
		t.Fatalf("%v %+v", err, report)
	}
	if after, _ := w.state(); !cmp.Equal(before, after) {
		t.Errorf("a refused rewind changed something")
	}
	if report, err = e.Rewind(t.Context(), w.fs, s, RewindOptions{Force: true}); err != nil {
		t.Fatalf("%v %+v", err, report)
	}
	old, _ := w.state()
	want := newWorld(t, "memfs", start)
	if wanted, _ := want.state(); !cmp.Equal(wanted, old) {
		t.Error(cmp.Diff(wanted, old))
	}
	if _, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{ToTurn: 1}); err != nil {
		t.Fatal(err)
	}
	if got := w.get("a.txt"); got != "mine\n" {
		t.Errorf("after the rewind was taken back: %q", got)
	}
}

// TestRewindNeedsTheBackup damages a backup.
func TestRewindNeedsTheBackup(t *testing.T) {
	w := newWorld(t, "memfs", start)
	_, s := inSession(t, w.root)
	e := w.engine(Config{})
	turns(t, w, s, []operationCase{op("write_file", `{"file_path":"a.txt","content":"x","force_overwrite":true}`)})
	call, _ := inSession(t, w.root)
	list := e.Do(t.Context(), w.fs, call, "list_backups", &ListBackupsArgs{FilePath: "a.txt"}).Result.(*ListBackupsResult)
	w.put(tree{list.Backups[0].BackupPath: "damaged"})
	report, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{})
	if err == nil || report.Problems != 1 {
		t.Errorf("%v %+v", err, report)
	}
	if got := w.get("a.txt"); got != "x" {
		t.Errorf("it was restored from a damaged backup: %q", got)
	}
}

// TestRewindFaults fails each provider call of a rewind: the tree is that from
// before or from after.
func TestRewindFaults(t *testing.T) {
	run := func(at int, after bool) (got, old, want tree, calls int, err error) {
		w := newWorld(t, "memfs", start)
		_, s := inSession(t, w.root)
		states := turns(t, w, s, session1...)
		f := &faulty{FileSystem: w.fs, at: at, after: after}
		_, err = w.engine(Config{}).Rewind(context.Background(), f, s, RewindOptions{})
		got, _ = w.state()
		return withoutDirs(got), states[len(states)-1], states[0], f.calls, err
	}
	got, _, want, calls, err := run(0, false)
	if err != nil || !cmp.Equal(got, want) {
		t.Fatal(err)
	}
	step := 1 + calls/25
	for at := 1; at <= calls; at += step {
		for _, after := range []bool{false, true} {
			got, old, want, _, err := run(at, after)
			if !cmp.Equal(got, old) && !cmp.Equal(got, want) {
				t.Errorf("call %d (after %v): neither state: %v\n(-old +got):\n%s", at, after, err, cmp.Diff(old, got))
			}
		}
	}
}
