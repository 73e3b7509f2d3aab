package fileops_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/memfs"
)

const shaOfAlpha = "b6a98d9ce9a2d9149288fa3df42d377c3e42737afdcdaf714e33c0a100b51060" // alpha\n

// matches reports whether got has what want has: objects recurse, "*" is any
// value that is there, and nil is one that must be absent.
func matches(want, got any) bool {
	m, ok := want.(object)
	if !ok {
		return want == "*" && got != nil || cmp.Equal(normal(want), normal(got))
	}
	g, ok := got.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range m {
		value, there := g[k]
		if v == nil && there || v != nil && !matches(v, value) {
			return false
		}
	}
	return true
}

// normal is a value as JSON has it.
func normal(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var out any
	_ = json.Unmarshal(data, &out)
	return out
}

func changing(t testing.TB, cfg fileops.Config, more ...plug.Plugin) (*harness.Deployment, memfs.World) {
	t.Helper()
	fs := memfs.Must(memfs.Config{Files: map[string]string{
		"a.txt": "alpha\n", "crlf.txt": "one\r\ntwo\r\n", "c.json": "{\n  \"a\": 1\n}\n", "d/x.txt": "x\n", "d/.env": "S=1\n",
		".gitignore": "out/\n", "out/gen.txt": "g\n", ".env": "KEY=1\n", ".env.example": "KEY=\n", "bin": "a\x00b", "/outside/o.txt": "o\n",
	}})
	cfg.SandboxRoot = memfs.DefaultCwd
	return testkit.Compose(t, append([]plug.Plugin{memfs.Provide(fs), fileops.Plugin(cfg)}, more...)...), fs.World()
}

var free = fileops.Config{Register: fileops.Both, NoApproval: true}

// TestChangingSchemas holds the schemas against the specification.
func TestChangingSchemas(t *testing.T) {
	d, _ := changing(t, free)
	keep := " backup_label:string backup_root:string create_backup:boolean allow_ignored:boolean allow_sensitive:boolean"
	for name, spec := range map[string]string{
		"write_file":    "file_path:string! content:string! content_artifact:object content_artifact_uri:string source_encoding:string overwrite:boolean force_overwrite:boolean create_dirs:boolean append:boolean dry_run:boolean expected_sha256:string" + keep,
		"edit_file":     "file_path:string! confusable_fallback:boolean dry_run:boolean expected_sha256:string force_overwrite:boolean ignore_whitespace:boolean max_diagnostic_candidates:integer replace_all:boolean replacements:array replacements_json:string require_unique_match:boolean return_diff:boolean snippet_context_lines:integer" + keep,
		"patch_file":    "file_path:string! content:string dry_run:boolean! format:string patches:array" + keep,
		"copy_file":     "source_path:string! destination_path:string! create_dirs:boolean dry_run:boolean overwrite:boolean recursive:boolean" + keep,
		"move_file":     "source_path:string! destination_path:string! create_dirs:boolean dry_run:boolean overwrite:boolean" + keep,
		"delete_file":   "file_path:string! dry_run:boolean" + keep,
		"backup_file":   "file_path:string! backup_root:string label:string",
		"rollback_file": "file_path:string! backup_id:string! backup_root:string allow_target_override:boolean dry_run:boolean!",
	} {
		checkSchema(t, d, name, spec)
	}
}

// TestChanges goes through the operations field by field, each on a fresh
// tree: the hub's answer, and a file afterwards.
func TestChanges(t *testing.T) {
	const long = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		name, op, path string
		config         object
		want           object
		file, content  string // "" is that nothing is there
	}{
		{"create", "write_file", "n/f.txt", object{"content": "a\nb"}, object{"summary": "*",
			"result": object{"created": true, "bytes_written": 3, "requested_bytes": 3, "requested_lines": 2, "file_bytes_after": 3, "lines_after": 2,
				"self_verified": true, "dry_run": false, "sha256_after": "*", "requested_sha256": "*", "backup_id": nil, "current_sha256": nil, "diff": nil, "verification_error": nil, "summary": "*"},
			"mutation_receipt": object{"receipt_id": "*", "operation": "write_file", "path": "/project/n/f.txt", "effect": "created", "sha256_before": nil, "bytes_after": 3, "added_lines": 2, "removed_lines": 0, "self_verified": true},
			"workspace_delta":  object{"created": []string{"n/f.txt"}, "modified": nil}, "mutation_summary": "created n/f.txt (+2 -0), verified on disk"}, "n/f.txt", "a\nb"},
		{"no parents", "write_file", "n/f.txt", object{"content": "a", "create_dirs": false}, object{"error_kind": "path_not_found", "error_field": "path", "mutation_receipt": nil}, "n/f.txt", ""},
		{"not confirmed", "write_file", "a.txt", object{"content": "b\n", "overwrite": true}, object{"error_kind": "confirmation_required", "terminal": false, "suggested_action": "send_expected_sha256",
			"error_field": "config.expected_sha256", "result": object{"current_sha256": shaOfAlpha, "diff": "*", "created": nil, "bytes_written": nil, "requested_bytes": 2},
			"correct_call": object{"operation": "write_file", "path": "a.txt", "config": object{"content": "b\n", "overwrite": true, "expected_sha256": shaOfAlpha}}}, "a.txt", "alpha\n"},
		{"exists", "write_file", "a.txt", object{"content": "b\n"}, object{"error_kind": "already_exists", "correct_call": object{"config": object{"overwrite": true, "expected_sha256": shaOfAlpha}}}, "a.txt", "alpha\n"},
		{"another hash", "write_file", "a.txt", object{"content": "b\n", "overwrite": true, "expected_sha256": long}, object{"error_kind": "hash_mismatch", "result": object{"current_sha256": shaOfAlpha}}, "a.txt", "alpha\n"},
		{"confirmed", "write_file", "a.txt", object{"content": "b\n", "overwrite": true, "expected_sha256": strings.ToUpper(shaOfAlpha)}, object{
			"result":           object{"created": false, "backup_id": "*", "current_sha256": shaOfAlpha, "diff": "*"},
			"mutation_receipt": object{"effect": "updated", "sha256_before": shaOfAlpha, "bytes_before": 6, "backup_id": "*", "added_lines": 1, "removed_lines": 1}, "workspace_delta": object{"modified": []string{"a.txt"}}}, "a.txt", "b\n"},
		{"forced", "write_file", "a.txt", object{"content": "b\n", "force_overwrite": true, "expected_sha256": long, "create_backup": false}, object{"result": object{"backup_id": nil, "created": false}}, "a.txt", "b\n"},
		{"append", "write_file", "crlf.txt", object{"content": "three\nfour\n", "append": true}, object{"result": object{"created": false, "bytes_written": 13, "requested_bytes": 11, "self_verified": true, "lines_after": 4}}, "crlf.txt", "one\r\ntwo\r\nthree\r\nfour\r\n"},
		{"append to nothing", "write_file", "new", object{"content": "x", "append": true}, object{"result": object{"created": true, "bytes_written": 1}}, "new", "x"},
		{"dry write", "write_file", "n/f.txt", object{"content": "x", "dry_run": true}, object{"result": object{"dry_run": true, "created": true, "bytes_written": nil}, "mutation_receipt": nil, "workspace_delta": nil}, "n/f.txt", ""},
		{"over a directory", "write_file", "d", object{"content": "x", "force_overwrite": true}, object{"error_kind": "not_a_file", "error_field": "path"}, "d/x.txt", "x\n"},
		{"artifact without store", "write_file", "n", object{"content": "", "content_artifact_uri": "artifact://sha256:" + long}, object{"error_kind": "unsupported_by_provider"}, "n", ""},
		{"create_file", "create_file", "a.txt", object{"content": "x"}, object{"error_kind": "already_exists"}, "a.txt", "alpha\n"},
		{"sensitive", "write_file", ".env", object{"content": "x", "force_overwrite": true}, object{"error_kind": "sensitive_path", "suggested_action": "set_allow_sensitive", "correct_call": object{"config": object{"allow_sensitive": true}}}, ".env", "KEY=1\n"},
		{"sensitive, allowed", "write_file", ".env", object{"content": "x", "force_overwrite": true, "allow_sensitive": true}, object{"result": object{"created": false}}, ".env", "x"},
		{"example is not", "write_file", ".env.example", object{"content": "x", "force_overwrite": true}, object{"result": object{"created": false}}, ".env.example", "x"},
		{"ignored", "write_file", "out/new.txt", object{"content": "x"}, object{"error_kind": "ignored_path", "correct_call": object{"config": object{"allow_ignored": true}}}, "out/new.txt", ""},
		{"ignored, allowed", "write_file", "out/new.txt", object{"content": "x", "allow_ignored": true}, object{"result": object{"created": true}}, "out/new.txt", "x"},
		{"into the backups", "write_file", ".fileops-backups/x", object{"content": "x", "allow_ignored": true}, object{"error_kind": "ignored_path"}, ".fileops-backups/x", ""},
		{"outside", "write_file", "../outside/n", object{"content": "x"}, object{"error_kind": "path_outside_sandbox", "terminal": true, "retry_disposition": "do_not_retry"}, "/outside/n", ""},
		{"backups outside", "write_file", "a.txt", object{"content": "x", "force_overwrite": true, "backup_root": "/outside"}, object{"error_kind": "path_outside_sandbox", "error_field": "config.backup_root"}, "a.txt", "alpha\n"},

		{"edit", "edit_file", "a.txt", object{"replacements": []object{{"old_content": "alpha", "new_content": "beta"}}}, object{
			"result":           object{"changed": true, "applied_count": 1, "replacement_occurrences": 1, "match_mode": "exact", "used_confusable_fallback": false, "diff": "*", "snippets": "*", "total_lines_before": 1, "total_lines_after": 1, "backup_id": "*", "diagnostics": nil},
			"mutation_receipt": object{"operation": "edit_file", "effect": "updated"}}, "a.txt", "beta\n"},
		{"edit by a string", "edit_file", "a.txt", object{"replacements": `[{"old_content":"a","new_content":"b"}]`, "replace_all": true, "return_diff": false}, object{"result": object{"replacement_occurrences": 2, "diff": nil}}, "a.txt", "blphb\n"},
		{"edit by JSON", "edit_file", "a.txt", object{"replacements_json": `{"old_content":"a","new_content":"b"}`, "require_unique_match": false}, object{"result": object{"replacement_occurrences": 1}}, "a.txt", "blpha\n"},
		{"no match", "edit_file", "a.txt", object{"replacements": []object{{"old_content": "alpah", "new_content": "x"}}}, object{"error_kind": "no_match", "error_field": "config.replacements", "result": object{"diagnostics": "*", "changed": nil, "backup_id": nil}}, "a.txt", "alpha\n"},
		{"ambiguous", "edit_file", "a.txt", object{"replacements": []object{{"old_content": "a", "new_content": "x"}}}, object{"error_kind": "ambiguous_match", "suggested_action": "add_surrounding_context"}, "a.txt", "alpha\n"},
		{"no replacements", "edit_file", "a.txt", object{"replacements": []object{}}, object{"error_kind": "invalid_arguments", "error_field": "config.replacements"}, "a.txt", "alpha\n"},
		{"edit binary", "edit_file", "bin", object{"replacements": []object{{"old_content": "a", "new_content": "x"}}}, object{"error_kind": "not_text"}, "bin", "a\x00b"},
		{"edit nothing", "edit_file", "gone", object{"replacements": []object{{"old_content": "a", "new_content": "x"}}}, object{"error_kind": "path_not_found", "suggested_action": "use_file_tree"}, "gone", ""},
		{"edit without effect", "edit_file", "a.txt", object{"replacements": []object{{"old_content": "a", "new_content": "a"}}, "replace_all": true}, object{"result": object{"changed": false, "backup_id": nil}, "mutation_receipt": nil}, "a.txt", "alpha\n"},
		{"dry edit", "edit_file", "a.txt", object{"replacements": []object{{"old_content": "alpha", "new_content": "b"}}, "dry_run": true, "return_diff": false}, object{"result": object{"changed": true, "diff": "*", "dry_run": true, "backup_id": nil}}, "a.txt", "alpha\n"},
		{"edit of another state", "edit_file", "a.txt", object{"replacements": []object{{"old_content": "alpha", "new_content": "b"}}, "expected_sha256": long}, object{"error_kind": "hash_mismatch", "correct_call": object{"config": object{"expected_sha256": shaOfAlpha}}}, "a.txt", "alpha\n"},

		{"patch", "patch_file", "c.json", object{"patches": []object{{"op": "set", "path": "/b", "value": nil}}}, object{"result": object{"changed": true, "patches_applied": 1, "format": "json", "diff": "*", "backup_id": "*", "validation_after_patch": object{"valid": true, "format": "json"}, "error_details": nil}}, "c.json", "{\n  \"a\": 1,\n  \"b\": null\n}\n"},
		{"bad patch", "patch_file", "c.json", object{"patches": []object{{"op": "set", "path": "/b", "value": 1}, {"op": "replace", "path": "/zz", "value": 1}}, "dry_run": false}, object{"error_kind": "invalid_arguments", "result": object{"patches_applied": 0, "error_details": "*"}}, "c.json", "{\n  \"a\": 1\n}\n"},
		{"bad content", "patch_file", "c.json", object{"content": "{", "dry_run": false}, object{"error_kind": "invalid_format", "result": object{"validation_after_patch": object{"valid": false, "line": "*"}}}, "c.json", "{\n  \"a\": 1\n}\n"},
		{"new content", "patch_file", "c.json", object{"content": "[1]", "patches": []object{{"op": "remove", "path": "/a"}}, "dry_run": false}, object{"result": object{"changed": true, "patches_applied": 0}}, "c.json", "[1]"},
		{"patch of text", "patch_file", "a.txt", object{"patches": []object{{"op": "set", "path": "/b", "value": 1}}, "format": "json"}, object{"error_kind": "invalid_format"}, "a.txt", "alpha\n"},

		{"copy", "copy_file", "a.txt", object{"destination_path": "n/b.txt"}, object{
			"result":           object{"created": true, "overwritten": false, "is_dir": false, "bytes_copied": 6, "source_path": "/project/a.txt", "destination_path": "/project/n/b.txt", "backup_id": nil},
			"mutation_receipt": object{"effect": "copied", "path": "/project/a.txt", "destination_path": "/project/n/b.txt", "sha256_after": shaOfAlpha, "self_verified": true}, "workspace_delta": object{"created": []string{"n/b.txt"}}}, "n/b.txt", "alpha\n"},
		{"copy over", "copy_file", "a.txt", object{"destination_path": "crlf.txt", "overwrite": true}, object{"result": object{"created": false, "overwritten": true, "backup_id": "*"}, "workspace_delta": object{"modified": []string{"crlf.txt"}}}, "crlf.txt", "alpha\n"},
		{"copy over without leave", "copy_file", "a.txt", object{"destination_path": "crlf.txt"}, object{"error_kind": "already_exists", "error_field": "config.destination_path", "correct_call": object{"config": object{"overwrite": true}}}, "crlf.txt", "one\r\ntwo\r\n"},
		{"copy of nothing", "copy_file", "gone", object{"destination_path": "n"}, object{"error_kind": "path_not_found", "suggested_action": "correct_source_path"}, "n", ""},
		{"copy into itself", "copy_file", "d", object{"destination_path": "d/e/f", "recursive": true, "allow_sensitive": true}, object{"error_kind": "invalid_arguments", "error_field": "config.destination_path"}, "d/e/f/x.txt", ""},
		{"copy a directory", "copy_file", "d", object{"destination_path": "e"}, object{"error_kind": "invalid_arguments", "error_field": "config.recursive", "correct_call": object{"config": object{"recursive": true}}}, "e/x.txt", ""},
		{"copy secrets", "copy_file", "d", object{"destination_path": "e", "recursive": true}, object{"error_kind": "sensitive_path"}, "e/x.txt", ""},
		{"copy secrets, allowed", "copy_file", "d", object{"destination_path": "e", "recursive": true, "allow_sensitive": true}, object{"result": object{"is_dir": true, "bytes_copied": 6}}, "e/.env", "S=1\n"},
		{"copy outside", "copy_file", "a.txt", object{"destination_path": "/outside/x"}, object{"error_kind": "path_outside_sandbox"}, "/outside/x", ""},
		{"copy from outside", "copy_file", "/outside/o.txt", object{"destination_path": "x"}, object{"error_kind": "path_outside_sandbox", "error_field": "path"}, "x", ""},

		{"move", "move_file", "a.txt", object{"destination_path": "n/b.txt"}, object{"result": object{"moved": true, "overwritten": false}, "mutation_receipt": object{"effect": "moved"}, "workspace_delta": object{"renamed": []object{{"from": "a.txt", "to": "n/b.txt"}}}}, "a.txt", ""},
		{"move into itself", "move_file", "d", object{"destination_path": "d/e", "allow_sensitive": true}, object{"error_kind": "invalid_arguments"}, "d/x.txt", "x\n"},
		{"dry move", "move_file", "a.txt", object{"destination_path": "b", "dry_run": true}, object{"result": object{"dry_run": true, "overwritten": false}}, "a.txt", "alpha\n"},

		{"delete", "delete_file", "a.txt", nil, object{"result": object{"deleted": true, "file_size_bytes": 6, "backup_id": "*"}, "mutation_receipt": object{"effect": "deleted", "sha256_before": shaOfAlpha, "removed_lines": 1}, "workspace_delta": object{"deleted": []string{"a.txt"}}}, "a.txt", ""},
		{"delete a directory", "delete_file", "d", nil, object{"error_kind": "not_a_file"}, "d/x.txt", "x\n"},

		{"back up", "backup_file", "a.txt", object{"label": "l"}, object{"result": object{"backup_id": "*", "backup_path": "*", "bytes_copied": 6, "file_path": "/project/a.txt"}, "mutation_receipt": object{"effect": "created", "backup_id": "*"}, "workspace_delta": nil}, "a.txt", "alpha\n"},
		{"bad label", "backup_file", "a.txt", object{"label": "a\nb"}, object{"error_kind": "invalid_arguments", "error_field": "config.label"}, "a.txt", "alpha\n"},
		{"no backups", "list_backups", "a.txt", nil, object{"result": object{"total_entries": 0, "backups": []object{}}}, "a.txt", "alpha\n"},
		{"no backup", "rollback_file", "a.txt", object{"backup_id": "last"}, object{"error_kind": "backup_not_found", "suggested_action": "list_backups"}, "a.txt", "alpha\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, files := changing(t, free)
			got, _ := hub(t, d, c.op, c.path, c.config)
			if !matches(c.want, map[string]any(got)) {
				t.Errorf("got %s\nwant %s", pretty(got), pretty(c.want))
			}
			data, err := files.Get(c.file)
			if (err != nil) != (c.content == "") || string(data) != c.content {
				t.Errorf("%s is %q (%v), want %q", c.file, data, err, c.content)
			}
		})
	}
}

func pretty(v any) string {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestBatch tries order, switches, and what stops a batch.
func TestBatch(t *testing.T) {
	steps := func(bad string) []object {
		return []object{
			{"operation": "write_file", "path": "n.txt", "config": object{"content": "1\n"}},
			{"operation": bad, "path": "n.txt"},
			{"operation": "edit_file", "path": "a.txt", "config": object{"replacements": []object{{"old_content": "alpha", "new_content": "beta"}}}},
			{"operation": "view_file", "path": "a.txt"},
		}
	}
	for _, c := range []struct {
		name   string
		config object
		want   object
		n, a   string
	}{
		{"good", object{"operations": steps("file_info")}, object{"result": object{"succeeded": 4, "failed": 0, "total": 4}, "workspace_delta": object{"created": []string{"n.txt"}, "modified": []string{"a.txt"}}}, "1\n", "beta\n"},
		{"stops", object{"operations": steps("delete_file")}, object{"error_kind": "operation_not_enabled", "error_field": "config.operations[1]", "result": object{"succeeded": 1, "failed": 1, "skipped": 2, "failed_index": 1}, "mutation_receipts": "*"}, "1\n", "alpha\n"},
		{"goes on", object{"operations": steps("delete_file"), "continue_on_error": true}, object{"error_kind": "operation_not_enabled", "result": object{"succeeded": 3, "failed": 1, "skipped": 0}}, "1\n", "beta\n"},
		{"atomic", object{"operations": steps("delete_file"), "atomic": true}, object{"error_kind": "operation_not_enabled", "result": object{"rolled_back": true}, "workspace_delta": nil}, "", "alpha\n"},
		{"atomic and good", object{"operations": steps("file_info"), "atomic": true}, object{"result": object{"succeeded": 4, "rolled_back": nil}}, "1\n", "beta\n"},
		{"both", object{"operations": steps("file_info"), "atomic": true, "continue_on_error": true}, object{"error_kind": "invalid_arguments", "error_field": "config.continue_on_error"}, "", "alpha\n"},
		{"nested", object{"operations": steps("batch_file_ops")}, object{"error_kind": "invalid_operation"}, "1\n", "alpha\n"},
		{"none", object{"operations": []object{}}, object{"error_kind": "invalid_arguments", "error_field": "config.operations"}, "", "alpha\n"},
		{"too many", object{"operations": make([]object, 101)}, object{"error_kind": "invalid_arguments"}, "", "alpha\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := free
			cfg.Allow = map[string]bool{"allow_delete": false}
			d, files := changing(t, cfg)
			for i, op := range c.config["operations"].([]object) {
				if op == nil {
					c.config["operations"].([]object)[i] = object{"operation": "file_info", "path": "a.txt"}
				}
			}
			got, _ := hub(t, d, "batch_file_ops", "", c.config)
			if !matches(c.want, map[string]any(got)) {
				t.Errorf("got %s\nwant %s", pretty(got), pretty(c.want))
			}
			n, _ := files.Get("n.txt")
			a, _ := files.Get("a.txt")
			if string(n) != c.n || string(a) != c.a {
				t.Errorf("n.txt is %q, a.txt %q", n, a)
			}
		})
	}
}

// agentIn is an agent of a new session on the workspace.
func agentIn(t testing.TB) (*tool.Agent, *session.Session) {
	t.Helper()
	s, err := session.NewMemory(session.Header{Cwd: memfs.DefaultCwd}, session.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &tool.Agent{Session: s}, s
}

func callAs(t testing.TB, d *harness.Deployment, a *tool.Agent, name string, args object) object {
	t.Helper()
	r := testkit.Call(t, d, a, name, args)
	var v object
	if err := json.Unmarshal([]byte(r.Text()), &v); err != nil {
		return object{"text": r.Text(), "failed": r.IsError}
	}
	return v
}

// TestApproval counts the questions: one a change, none for a dry run or a
// change that cannot be made, and one for a sensitive path even where nothing
// else is asked.
func TestApproval(t *testing.T) {
	var asked []string
	answer := func(outcome approval.Outcome) plug.Plugin {
		return approve.Answerer("answers", func(ctx context.Context, q approval.Question, _ event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
			diff := ""
			if q.Diff != nil {
				diff, _ = q.Diff(ctx)
			}
			asked = append(asked, fmt.Sprintf("%s|%s|%t", q.Reason, q.Path, diff != ""))
			return outcome, nil
		})
	}
	write := func(path string, more object) object {
		config := object{"content": "x\n", "force_overwrite": true}
		for k, v := range more {
			config[k] = v
		}
		return object{"operation": "write_file", "path": path, "config": config}
	}
	for _, c := range []struct {
		name    string
		cfg     fileops.Config
		outcome approval.Outcome
		args    object
		kind    any
		asked   int
	}{
		{"asked", fileops.Config{}, approval.AllowedOnce, write("a.txt", nil), nil, 1},
		{"denied", fileops.Config{}, approval.Rejected, write("a.txt", nil), "approval_denied", 1},
		{"dry", fileops.Config{}, approval.Rejected, write("a.txt", object{"dry_run": true}), nil, 0},
		{"reading", fileops.Config{}, approval.Rejected, object{"operation": "view_file", "path": "a.txt"}, nil, 0},
		{"impossible", fileops.Config{}, approval.AllowedOnce, write("d", nil), "not_a_file", 0},
		{"free", fileops.Config{NoApproval: true}, approval.Rejected, write("a.txt", nil), nil, 0},
		{"sensitive", fileops.Config{NoApproval: true}, approval.Rejected, write(".env", object{"allow_sensitive": true}), "approval_denied", 1},
		{"batch", fileops.Config{}, approval.AllowedOnce, object{"operation": "batch_file_ops", "config": object{"operations": []object{write("a.txt", nil), write("b.txt", nil)}}}, nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked = nil
			d, files := changing(t, c.cfg, approve.Plugin(approve.Config{}), answer(c.outcome))
			a, _ := agentIn(t)
			got := callAs(t, d, a, fileops.HubName, c.args)
			if got["error_kind"] != c.kind || len(asked) != c.asked {
				t.Errorf("%v: %v; asked %q", got["error_kind"], got["error"], asked)
			}
			for _, q := range asked {
				if !strings.HasPrefix(q, "write_file /project/") || !strings.HasSuffix(q, "|true") {
					t.Errorf("question %q", q)
				}
			}
			if c.kind == "approval_denied" {
				if names, _ := files.Names("."); slices.Contains(names, fileops.BackupFolder) {
					t.Error("a backup was made of a change that was denied")
				}
			}
		})
	}
	d, _ := changing(t, fileops.Config{})
	a, _ := agentIn(t)
	if got := callAs(t, d, a, fileops.HubName, write("a.txt", nil)); got["error_kind"] != "approval_denied" {
		t.Errorf("without a service: %v", got)
	}
}

// TestObservation mounts the observation policy: what was not seen is not
// changed, a right hash counts as having seen it, and what was seen and is
// another by now is refused.
func TestObservation(t *testing.T) {
	edit := func(more object) object {
		config := object{"replacements": []object{{"old_content": "a", "new_content": "b"}}, "require_unique_match": false}
		for k, v := range more {
			config[k] = v
		}
		return object{"operation": "edit_file", "path": "a.txt", "config": config}
	}
	view := object{"operation": "view_file", "path": "a.txt"}
	d, files := changing(t, free, fspolicy.Plugin(fspolicy.Config{}))
	a, _ := agentIn(t)
	do := func(args object) any {
		t.Helper()
		got := callAs(t, d, a, fileops.HubName, args)
		return got["error_kind"]
	}
	for i, c := range []struct {
		args object
		kind any
	}{
		{edit(nil), "confirmation_required"},
		{object{"operation": "write_file", "path": "a.txt", "config": object{"content": "x", "force_overwrite": true}}, "confirmation_required"},
		{object{"operation": "write_file", "path": "a.txt", "config": object{"content": "x", "append": true}}, "confirmation_required"},
		{object{"operation": "delete_file", "path": "a.txt"}, "confirmation_required"},
		{object{"operation": "copy_file", "path": "crlf.txt", "config": object{"destination_path": "a.txt", "overwrite": true}}, "confirmation_required"},
		{object{"operation": "write_file", "path": "new.txt", "config": object{"content": "x"}}, nil},
		{edit(object{"expected_sha256": shaOfAlpha}), nil},
		{edit(nil), nil}, // its own change was seen
		{view, nil},
	} {
		if got := do(c.args); got != c.kind {
			t.Errorf("step %d: %v, want %v", i, got, c.kind)
		}
	}
	if err := files.Put("a.txt", []byte("another a\n")); err != nil {
		t.Fatal(err)
	}
	if got := do(edit(nil)); got != "hash_mismatch" {
		t.Errorf("after another's change: %v", got)
	}
	do(view)
	if got := do(edit(nil)); got != nil {
		t.Errorf("after viewing it: %v", got)
	}
}

// TestReceiptsAreLogged compares the hub's receipt with the session's event,
// and rewinds what the plain tools did.
func TestReceiptsAreLogged(t *testing.T) {
	fs := memfs.Must(memfs.Config{Files: map[string]string{"a.txt": "alpha\n"}})
	d := testkit.Compose(t, memfs.Provide(fs), toolfs.Plugin(toolfs.Config{}), fileops.Plugin(fileops.Config{NoApproval: true, BackupToolChanges: true}))
	a, s := agentIn(t)
	got := callAs(t, d, a, fileops.HubName, object{"operation": "write_file", "path": "n.txt", "config": object{"content": "1\n"}})
	callAs(t, d, a, "edit", object{"file_path": "a.txt", "old_string": "alpha", "new_string": "beta"})
	callAs(t, d, a, "write", object{"file_path": "w.txt", "content": "w\n"})
	callAs(t, d, a, "edit", object{"file_path": "a.txt", "old_string": "none", "new_string": "x"}) // fails
	var logged []fileops.Receipt
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type != fileops.TypeReceipt {
			continue
		}
		if !e.Ignorable {
			t.Error("the event is not ignorable")
		}
		var body struct{ Receipt fileops.Receipt }
		if err := e.Decode(&body); err != nil {
			t.Fatal(err)
		}
		logged = append(logged, body.Receipt)
	}
	if len(logged) != 3 || logged[0].ReceiptID != got["mutation_receipt"].(map[string]any)["receipt_id"] {
		t.Fatalf("logged %+v", logged)
	}
	if r := logged[1]; r.Operation != "edit" || r.Effect != "updated" || r.BackupID == "" || r.SHA256Before != shaOfAlpha {
		t.Errorf("edit: %+v", r)
	}
	report, err := fileops.Rewind(t.Context(), fs, s, fileops.Config{}, fileops.RewindOptions{})
	if err != nil || len(report.Changes) != 3 {
		t.Fatalf("%v %+v", err, report)
	}
	names, _ := fs.World().Names(".")
	data, _ := fs.World().Get("a.txt")
	if string(data) != "alpha\n" || slices.Contains(names, "w.txt") || slices.Contains(names, "n.txt") {
		t.Errorf("after the rewind: %q, a.txt %q", names, data)
	}
}

// TestArtifact writes an object of the attachment store, by its reference and
// by the URI of one that a message shows.
func TestArtifact(t *testing.T) {
	id := "sha256:" + strings.Repeat("ab", 32)
	ref := attachment.Ref{ID: id, MediaType: attachment.PNG, Bytes: 4, Width: 1, Height: 1}
	store := plug.Plugin{
		Name:     "store",
		Services: []plug.Declaration{plug.Provides[attachment.Store]()},
		Options:  fx.Provide(func() attachment.Store { return oneObject{id, "\x89PNG"} }),
	}
	d, files := changing(t, free, store)
	a, s := agentIn(t)
	message := llm.Message{Role: llm.User, ID: "m1", Source: llm.Source{Kind: llm.FromUser}, Content: []llm.Block{llm.Image(ref)}}
	if _, err := s.Append(session.Event{Type: session.TypeTurnStart, Data: []byte(`{"turn":1}`)}, session.UserMessage(message)); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		config object
		kind   any
	}{
		{object{"content_artifact": ref}, nil},
		{object{"content_artifact_uri": "artifact://" + id}, nil},
		{object{"content_artifact_uri": "artifact://" + id, "content": "not this"}, nil},
		{object{"content_artifact": ref, "source_encoding": "text"}, "not_text"},
		{object{"content_artifact": ref, "content_artifact_uri": "artifact://sha256:other"}, "invalid_arguments"},
		{object{"content_artifact_uri": "artifact://sha256:unknown"}, "invalid_arguments"},
		{object{"content_artifact_uri": "file:///etc/passwd"}, "invalid_arguments"},
		{object{"content_artifact": object{}}, "invalid_arguments"},
		{object{}, "invalid_arguments"},
	} {
		path := fmt.Sprintf("p%d.png", i)
		got := callAs(t, d, a, fileops.HubName, object{"operation": "write_file", "path": path, "config": c.config})
		data, err := files.Get(path)
		if got["error_kind"] != c.kind || (c.kind == nil) != (err == nil && string(data) == "\x89PNG") {
			t.Errorf("%d: %v %v; the file is %q", i, got["error_kind"], got["error"], data)
		}
	}
}

// oneObject is a store with one object.
type oneObject struct{ id, data string }

func (o oneObject) Read(_ context.Context, ref attachment.Ref) ([]byte, error) {
	if ref.ID != o.id {
		return nil, errs.New(errs.AttachmentNotFound, "no such object")
	}
	return []byte(o.data), nil
}
func (oneObject) SaveImage(context.Context, attachment.Image) (attachment.Ref, error) {
	return attachment.Ref{}, errs.New(errs.AttachmentWriteFailed, "read-only")
}
func (oneObject) SaveImages(context.Context, []attachment.Image) ([]attachment.Ref, error) {
	return nil, errs.New(errs.AttachmentWriteFailed, "read-only")
}
func (oneObject) Variant(context.Context, attachment.Ref, attachment.Variant) (attachment.Ref, []byte, error) {
	return attachment.Ref{}, nil, errs.New(errs.AttachmentReadFailed, "none")
}
func (oneObject) List(context.Context) iter.Seq2[string, error] {
	return func(func(string, error) bool) {}
}
func (oneObject) Collect(context.Context, map[string]bool) (int, int64, error) { return 0, 0, nil }
func (oneObject) Limits() attachment.Limits                                    { return attachment.Limits{} }
