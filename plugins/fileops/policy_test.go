package fileops_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// replace is the config of an edit_file call.
func replace(old, text string) object {
	return object{"replacements": []object{{"old_content": old, "new_content": text}}}
}

// do is a call of the hub by a session: the error kind, or nil.
func do(t *testing.T, d *harness.Deployment, a *tool.Agent, op, path string, config object) any {
	t.Helper()
	return callAs(t, d, a, fileops.HubName, object{"operation": op, "path": path, "config": config})["error_kind"]
}

// TestRolledBackBatchIsForgotten proves that after an atomic batch was taken
// back the session believes what is there, and not what was there meanwhile:
// it goes on without having to view anything again.
func TestRolledBackBatchIsForgotten(t *testing.T) {
	write := func(path, content string) object {
		return object{"operation": "write_file", "path": path, "config": object{"content": content}}
	}
	edit := func(path, old, text string) object {
		return object{"operation": "edit_file", "path": path, "config": replace(old, text)}
	}
	move := func(from, to string) object {
		return object{"operation": "move_file", "path": from, "config": object{"destination_path": to}}
	}
	remove := object{"operation": "delete_file", "path": "notes.txt"}
	fails := object{"operation": "view_file", "path": "nope"}
	for _, c := range []struct {
		name   string
		steps  []object
		before bool // notes.txt was viewed
		then   object
		want   any
	}{
		{"a new file", []object{write("b.txt", "1\n"), edit("notes.txt", "nothing", "x")}, true, write("b.txt", "2\n"), nil},
		{"an edited file", []object{edit("notes.txt", "one", "two"), fails}, true, edit("notes.txt", "one", "three"), nil},
		{"a file edited twice", []object{edit("notes.txt", "one", "two"), edit("notes.txt", "two", "four"), fails}, true, edit("notes.txt", "one", "three"), nil},
		{"a deleted file", []object{remove, fails}, true, edit("notes.txt", "one", "three"), nil},
		{"a moved file", []object{move("notes.txt", "moved.txt"), fails}, true, edit("notes.txt", "one", "three"), nil},
		{"a file moved and edited", []object{move("notes.txt", "moved.txt"), edit("moved.txt", "one", "two"), fails}, true, edit("notes.txt", "one", "three"), nil},
		{"the place it was moved to", []object{move("notes.txt", "moved.txt"), fails}, true, write("moved.txt", "2\n"), nil},
		{"a file moved unseen", []object{move("notes.txt", "moved.txt"), fails}, false, edit("notes.txt", "one", "three"), "confirmation_required"},
	} {
		for name, provider := range map[string]func() (plug.Plugin, string){
			"memfs": func() (plug.Plugin, string) {
				return memfs.Plugin(memfs.Config{Files: map[string]string{"notes.txt": "one\n"}}), memfs.DefaultCwd
			},
			"fslocal": func() (plug.Plugin, string) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return fslocal.Plugin(fslocal.Config{Cwd: dir}), dir
			},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				fs, cwd := provider()
				d := testkit.Compose(t, fs, fspolicy.Plugin(fspolicy.Config{}), fileops.Plugin(fileops.Config{NoApproval: true}))
				s, err := session.NewMemory(session.Header{Cwd: cwd}, session.Config{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				a := &tool.Agent{Session: s}
				if c.before {
					do(t, d, a, "view_file", "notes.txt", nil)
				}
				got := callAs(t, d, a, fileops.HubName, object{"operation": "batch_file_ops", "config": object{"atomic": true, "operations": c.steps}})
				if got["result"].(map[string]any)["rolled_back"] != true {
					t.Fatalf("not taken back: %s", pretty(got))
				}
				if got := callAs(t, d, a, fileops.HubName, c.then); got["error_kind"] != c.want {
					t.Errorf("afterwards: %v (%v), want %v", got["error_kind"], got["error"], c.want)
				}
			})
		}
	}
}

// TestRewindIsTold proves the same of a rewind, which has the session's log
// alone.
func TestRewindIsTold(t *testing.T) {
	fs := memfs.Must(memfs.Config{Files: map[string]string{"notes.txt": "one\n", "old.txt": "o\n"}})
	d := testkit.Compose(t, memfs.Provide(fs), fspolicy.Plugin(fspolicy.Config{}), fileops.Plugin(fileops.Config{NoApproval: true}))
	a, s := agentIn(t)
	for _, step := range []struct {
		op, path string
		config   object
	}{
		{"view_file", "notes.txt", nil}, {"view_file", "old.txt", nil},
		{"edit_file", "notes.txt", replace("one", "two")}, {"write_file", "new.txt", object{"content": "n\n"}},
		{"move_file", "old.txt", object{"destination_path": "moved.txt"}},
	} {
		if kind := do(t, d, a, step.op, step.path, step.config); kind != nil {
			t.Fatalf("%s %s: %v", step.op, step.path, kind)
		}
	}
	if _, err := fileops.Rewind(t.Context(), fs, s, fileops.Config{}, fileops.RewindOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		op, path string
		config   object
	}{
		{"edit_file", "notes.txt", replace("one", "three")}, {"write_file", "new.txt", object{"content": "m\n"}},
		{"edit_file", "old.txt", replace("o", "p")}, {"write_file", "moved.txt", object{"content": "m\n"}},
	} {
		if kind := do(t, d, a, step.op, step.path, step.config); kind != nil {
			t.Errorf("afterwards %s %s: %v", step.op, step.path, kind)
		}
	}
}

// TestPolicyRefusal proves that what a policy refuses is not tried again: only
// what the session can mend by looking has kinds of its own.
func TestPolicyRefusal(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want object
	}{
		{"permission", &errs.Error{Code: errs.Permission, Message: "frozen by the release team"}, object{"error_kind": "approval_denied"}},
		{"tool denied", &errs.Error{Code: "TOOL_DENIED", Message: "frozen by the release team"}, object{"error_kind": "approval_denied"}},
		{"no code", errors.New("frozen by the release team"), object{"error_kind": "approval_denied"}},
		{"not observed", &errs.Error{Code: errs.NotObserved, Message: "look first"}, object{"error_kind": "confirmation_required"}},
		{"stale", &errs.Error{Code: errs.StaleVersion, Message: "look again"}, object{"error_kind": "hash_mismatch"}},
	} {
		policy := plug.Plugin{Name: "policy", Options: fx.Invoke(func(bus *event.Bus, scope *plug.Scope) {
			for _, intent := range []*event.Waterfall[vfs.Intent, vfs.Guard]{vfs.WriteIntent, vfs.EditIntent} {
				intent.On(bus, scope, func(context.Context, vfs.Intent, event.Next[vfs.Intent, vfs.Guard]) (vfs.Guard, error) {
					return vfs.Guard{}, c.err
				})
			}
		})}
		d, _ := changing(t, free, policy)
		for _, call := range []struct {
			op, path string
			config   object
		}{
			{"write_file", "new.txt", object{"content": "x"}},
			{"write_file", "a.txt", object{"content": "x", "force_overwrite": true}},
			{"edit_file", "a.txt", replace("alpha", "x")},
			{"patch_file", "c.json", object{"patches": []object{{"op": "set", "path": "/b", "value": 1}}}},
			{"copy_file", "a.txt", object{"destination_path": "new.txt"}},
			{"delete_file", "a.txt", nil},
		} {
			got, _ := hub(t, d, call.op, call.path, call.config)
			if !matches(c.want, map[string]any(got)) {
				t.Errorf("%s, %s %s: %s", c.name, call.op, call.path, pretty(got))
			}
			if got["error_kind"] != "approval_denied" {
				continue
			}
			want := object{"terminal": true, "retry_disposition": "do_not_retry", "suggested_action": "ask_user", "correct_call": nil}
			if !matches(want, map[string]any(got)) || !strings.Contains(got["error"].(string), "frozen by the release team") {
				t.Errorf("%s, %s %s: %s", c.name, call.op, call.path, pretty(got))
			}
		}
	}
}

// TestNobodyToAsk proves that the refusal of a deployment where nobody can
// approve speaks to the model, and not of how the deployment is built.
func TestNobodyToAsk(t *testing.T) {
	d, _ := changing(t, fileops.Config{})
	got, _ := hub(t, d, "write_file", "new.txt", object{"content": "x"})
	msg, _ := got["error"].(string)
	if got["error_kind"] != "approval_denied" || !strings.Contains(msg, "ask the user") || strings.Contains(msg, "provider") || strings.Contains(msg, "approval.Service") {
		t.Errorf("%s", pretty(got))
	}
}

// TestOddNamesAreEscapedOnce proves that a name with control characters reads
// as DisplayName has it, also between quotes.
func TestOddNamesAreEscapedOnce(t *testing.T) {
	d, _ := changing(t, free)
	for _, c := range []struct {
		op     string
		config object
	}{
		{"view_file", nil}, {"edit_file", replace("a", "b")}, {"delete_file", nil}, {"copy_file", object{"destination_path": "x"}},
	} {
		got, _ := hub(t, d, c.op, "odd\nname", c.config)
		if msg, _ := got["error"].(string); !strings.Contains(msg, `odd\nname"`) || strings.Contains(msg, `\\n`) {
			t.Errorf("%s: %s", c.op, msg)
		}
	}
}
