package fileops_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// TestFailuresBeforeThePathIsKnown proves that a change refused before its
// path is resolved answers with the vocabulary of failures, through the single
// tool and the hub, and with no result that is null or has empty paths.
func TestFailuresBeforeThePathIsKnown(t *testing.T) {
	d, _ := changing(t, fileops.Config{Register: fileops.Both, NoApproval: true})
	for _, c := range []struct {
		op   string
		path string // the name of the field
		args object
	}{
		{"write_file", "file_path", object{"content": "x"}},
		{"edit_file", "file_path", object{"replacements": []any{object{"old_content": "a", "new_content": "b"}}}},
		{"patch_file", "file_path", object{"dry_run": false, "patches": []any{object{"op": "set", "path": "/a", "value": 1}}}},
		{"copy_file", "source_path", object{"destination_path": "b"}},
		{"move_file", "source_path", object{"destination_path": "b"}},
		{"delete_file", "file_path", object{}},
		{"backup_file", "file_path", object{}},
		{"rollback_file", "file_path", object{"backup_id": "last", "dry_run": false}},
	} {
		t.Run(c.op, func(t *testing.T) {
			args := cloneObject(c.args)
			args[c.path] = " "
			got, failed := call(t, d, c.op, args)
			if !failed || got["error_kind"] != "invalid_arguments" || got["error_field"] != c.path {
				t.Errorf("the tool gave %v", got)
			}
			got, failed = hub(t, d, c.op, " ", c.args)
			if !failed || got["error_kind"] != "invalid_arguments" || got["error_field"] != "path" {
				t.Errorf("the hub gave %v", got)
			}
			if known, ok := got["result"]; ok {
				if m, isObject := known.(object); !isObject || m[c.path] != nil {
					t.Errorf("the hub gave the result %v", known)
				}
			}
		})
	}
}

// TestToolsTakeWhatTheHubTakes proves that the single tools take null for an
// argument that is left out, and replacements and patches also as a string of
// JSON or as one object.
func TestToolsTakeWhatTheHubTakes(t *testing.T) {
	d, _ := changing(t, fileops.Config{Register: fileops.Both, NoApproval: true})
	one := object{"old_content": "1", "new_content": "2"}
	for name, replacements := range map[string]any{
		"array": []any{one}, "object": one,
		"string": `[{"old_content":"1","new_content":"2"}]`, "string of one": `{"old_content":"1","new_content":"2"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, failed := call(t, d, "write_file", object{"file_path": "p.json", "content": `{"a":1}`, "force_overwrite": true, "create_backup": nil, "content_artifact": nil}); failed {
				t.Fatalf("write_file gave %v", got)
			}
			got, failed := call(t, d, "edit_file", object{"file_path": "p.json", "replacements": replacements, "replace_all": nil, "ignore_whitespace": nil})
			if failed || got["changed"] != true {
				t.Errorf("edit_file gave %v", got)
			}
		})
	}
	got, failed := call(t, d, "edit_file", object{"file_path": "p.json", "replacements": "1"})
	if !failed || got["error_field"] != "replacements" {
		t.Errorf("a string that holds no array gave %v", got)
	}
	if got, failed = call(t, d, "write_file", object{"file_path": "q", "content": nil}); !failed || got["error_field"] != "content" {
		t.Errorf("content that is null gave %v", got)
	}
}

// TestBackupThatIsNoFile proves that a backup whose content or metadata
// somebody has put a directory in place of is damaged, and that other backups
// are still found beside it.
func TestBackupThatIsNoFile(t *testing.T) {
	d, world := changing(t, fileops.Config{NoApproval: true})
	spoil := func(file string) {
		t.Helper()
		if err := errors.Join(world.Remove(file), world.MakeDir(file)); err != nil {
			t.Fatal(err)
		}
	}
	first := result(t, d, "backup_file", "a.txt", nil)
	second := result(t, d, "backup_file", "a.txt", nil)
	content, _ := second["backup_path"].(string)
	spoil(content)
	got, failed := hub(t, d, "rollback_file", "a.txt", object{"backup_id": "last"})
	if !failed || got["error_kind"] != "backup_corrupt" || got["terminal"] != true {
		t.Errorf("without its content the backup gave %v", got)
	}
	spoil(strings.TrimSuffix(content, ".bak") + ".json")
	if listed := result(t, d, "list_backups", "a.txt", nil); listed["damaged"] == nil || len(listed["backups"].([]any)) != 1 {
		t.Errorf("the backups are listed as %v", listed)
	}
	if got := result(t, d, "rollback_file", "a.txt", object{"backup_id": "last"}); got["backup_id"] != first["backup_id"] {
		t.Errorf("the last backup that is whole was not taken: %v", got)
	}
}

// TestBatchMeetsSomebodyElse proves that an atomic batch whose step is refused,
// because somebody else changed the file meanwhile, is taken back as a whole:
// what the other wrote is no change of the batch that could not be undone.
func TestBatchMeetsSomebodyElse(t *testing.T) {
	for _, op := range []string{"edit_file", "rollback_file"} {
		t.Run(op, func(t *testing.T) {
			var world memfs.World
			meddle := approve.Answerer("answers", func(_ context.Context, q approval.Question, _ event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
				if strings.Contains(q.Reason, op+" ") {
					return approval.AllowedOnce, world.Put("a.txt", []byte("somebody else's\n"))
				}
				return approval.AllowedOnce, nil
			})
			d, w := changing(t, fileops.Config{}, approve.Plugin(approve.Config{}), meddle)
			a, _ := agentIn(t)
			world = w
			config := object{"replacements": []any{object{"old_content": "alpha", "new_content": "beta"}}, "create_backup": false}
			if op == "rollback_file" {
				config = object{"backup_id": callAs(t, d, a, fileops.HubName, object{"operation": "backup_file", "path": "a.txt"})["result"].(object)["backup_id"]}
			}
			got := callAs(t, d, a, fileops.HubName, object{"operation": "batch_file_ops", "config": object{"atomic": true, "operations": []any{
				object{"operation": "write_file", "path": "n.txt", "config": object{"content": "1"}},
				object{"operation": op, "path": "a.txt", "config": config},
			}}})
			if got["error_kind"] != "hash_mismatch" {
				t.Fatalf("the batch gave %v", got)
			}
			if known := got["result"].(object); known["rolled_back"] != true {
				t.Errorf("rolled_back is %v: %v", known["rolled_back"], got["error"])
			}
			if data, err := world.Get("a.txt"); err != nil || string(data) != "somebody else's\n" {
				t.Errorf("a.txt holds %q (%v)", data, err)
			}
			if _, err := world.Get("n.txt"); err == nil {
				t.Error("n.txt was not taken back")
			}
			names, err := world.Names(".fileops-backups")
			if op == "edit_file" && err == nil {
				t.Errorf("the backups %v are left over", names)
			}
		})
	}
}

// TestBatchProposesWhatIsLeft proves that the correct call of a batch that
// stopped has the operation that failed, corrected, and those after it; that of
// an atomic one has all, for all were taken back.
func TestBatchProposesWhatIsLeft(t *testing.T) {
	d, _ := changing(t, fileops.Config{NoApproval: true})
	steps := []any{
		object{"operation": "write_file", "path": "one", "config": object{"content": "1"}},
		object{"operation": "write_file", "path": ".env", "config": object{"content": "2"}},
		object{"operation": "write_file", "path": "three", "config": object{"content": "3"}},
	}
	for _, c := range []struct {
		config object
		want   []string
	}{
		{object{"atomic": true}, []string{"one", ".env", "three"}},
		{object{"continue_on_error": true}, []string{".env"}},
		{object{}, []string{".env", "three"}},
	} {
		config := cloneObject(c.config)
		config["operations"] = steps
		if len(c.want) == 2 { // the one before has written these
			for _, name := range []string{"one", "three"} {
				hub(t, d, "delete_file", name, nil)
			}
		}
		got, failed := hub(t, d, "batch_file_ops", "", config)
		if !failed || got["error_kind"] != "sensitive_path" || got["error_field"] != "config.operations[1].path" {
			t.Errorf("%v gave %v", c.config, got)
			continue
		}
		proposed, _ := got["correct_call"].(object)["config"].(object)["operations"].([]any)
		if len(proposed) != len(c.want) {
			t.Errorf("%v proposes %v", c.config, proposed)
			continue
		}
		for i, p := range proposed {
			step := p.(object)
			config := step["config"].(object)
			if step["path"] != c.want[i] || (config["allow_sensitive"] == true) != (c.want[i] == ".env") {
				t.Errorf("%v proposes %v as operation %d", c.config, step, i)
			}
		}
	}
}
