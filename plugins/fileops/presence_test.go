package fileops_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// keys are the names of an object's members, in order.
func keys(o object) string { return strings.Join(slices.Sorted(maps.Keys(o)), " ") }

// TestFieldsThatApply proves that a result has exactly the fields that apply
// to it: those that do not are absent, not null or empty.
func TestFieldsThatApply(t *testing.T) {
	const (
		info   = "entry_type exists is_binary is_readable is_writable metadata mime_type modified path size_bytes total_lines"
		list   = "directory_path elapsed_ms entries offset page_size returned_entries total_entries truncated"
		tree   = "elapsed_ms omitted_entries rendered_dirs rendered_files root_path scan_cancelled scan_truncated scanned_dirs scanned_files snapshot_fingerprint stats_complete stats_scope tree truncated"
		search = "elapsed_ms matched_files matches searched_files total_matches truncated"
		line   = "content encoding end_line eof file_path mode sha256 start_line total_bytes total_lines truncated"
	)
	with := func(fields string, more ...string) string {
		all := append(strings.Fields(fields), more...)
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	without := func(fields string, less ...string) string {
		return strings.Join(slices.DeleteFunc(strings.Fields(fields), func(f string) bool { return slices.Contains(less, f) }), " ")
	}
	d := inMemory(t, fileops.Config{}, sample)
	for _, c := range []struct {
		name, op, path string
		config         object
		want           string
		part           string // a list whose first element is compared instead
	}{
		{"a text", "file_info", "a.txt", nil, info, ""},
		{"binary", "file_info", "bin.dat", nil, without(info, "total_lines"), ""},
		{"directory", "file_info", "src", nil, "entry_type exists is_readable is_writable metadata modified path", ""},
		{"nothing", "file_info", "gone", nil, "exists metadata path", ""},

		{"all lines", "view_file", "a.txt", nil, line, ""},
		{"some lines", "view_file", "a.txt", object{"end_line": 1}, line, ""},
		{"tail", "view_file", "a.txt", object{"tail_lines": 1}, with(line, "requested_tail_lines"), ""},
		{"bytes to the end", "view_file", "a.txt", object{"offset_bytes": 1},
			with(without(line, "start_line", "end_line"), "offset_bytes", "shown_bytes"), ""},
		{"bytes", "view_file", "a.txt", object{"limit_bytes": 1},
			with(without(line, "start_line", "end_line"), "offset_bytes", "shown_bytes", "next_offset_bytes", "truncated_reason"), ""},
		{"characters to the end", "view_file", "a.txt", object{"offset_chars": 1},
			with(without(line, "start_line", "end_line"), "offset_chars", "shown_bytes", "shown_chars", "total_chars"), ""},
		{"characters", "view_file", "a.txt", object{"limit_chars": 1},
			with(without(line, "start_line", "end_line"), "offset_chars", "shown_bytes", "shown_chars", "total_chars", "next_offset_chars", "truncated_reason"), ""},

		{"the last page", "list_directory", ".", nil, list, ""},
		{"a page", "list_directory", ".", object{"page_size": 1}, with(list, "next_offset"), ""},
		{"a file", "list_directory", ".", object{"pattern": "a.txt"}, "depth entry_type name relative_path size_bytes", "entries"},
		{"a directory", "list_directory", ".", object{"pattern": "src"}, "depth entry_type name relative_path", "entries"},
		{"a file, verbose", "list_directory", ".", object{"pattern": "a.txt", "verbose": true},
			"absolute_path depth entry_type is_binary modified name relative_path size_bytes", "entries"},

		{"a tree", "file_tree", ".", nil, tree, ""},
		{"a tree with statistics", "file_tree", ".", object{"include_stats": true}, with(tree, "extension_stats", "largest_dirs"), ""},
		{"a tree that is cut", "file_tree", ".", object{"max_chars": 20}, with(tree, "next_offset", "truncated_reason"), ""},
		{"a tree that is cut by depth", "file_tree", ".", object{"max_depth": 0}, with(tree, "truncated_reason"), ""},

		{"matches", "search_files", ".", object{"query": "package"}, search, ""},
		{"matches that are cut", "search_files", ".", object{"query": "package", "max_results": 1}, with(search, "truncated_reason"), ""},
		{"files", "search_files", ".", object{"query": "package", "output_mode": "files_with_matches"},
			with(without(search, "matches"), "file_match_counts", "files_with_matches"), ""},
		{"counts", "search_files", ".", object{"query": "package", "output_mode": "count"}, with(without(search, "matches"), "file_match_counts"), ""},
		{"a match", "search_files", "a.txt", object{"query": "beta"}, "column file_path line line_number match_text", "matches"},
		{"a match in context", "search_files", "a.txt", object{"query": "beta", "context_lines": 1},
			"column context_before file_path line line_number match_text", "matches"},
		{"a match of lines", "search_files", "a.txt", object{"query": "alpha\nbeta", "multiline": true},
			"column end_line_number file_path line line_number match_text", "matches"},

		{"a diff to content", "diff_file", "a.txt", object{"new_content": ""}, "added_lines diff file_path has_changes removed_lines truncated", ""},
		{"a diff of files", "diff_file", "a.txt", object{"compare_path": "ok.json"},
			"added_lines compare_path diff file_path has_changes removed_lines truncated", ""},

		{"well formed", "validate_file", "ok.json", nil, "file_path format summary valid", ""},
		{"not well formed", "validate_file", "bad.yaml", nil, "column error_message file_path format line summary valid", ""},
		{"inline", "validate_file", "", object{"content": "{}"}, "format summary valid", ""},
	} {
		t.Run(c.op+"/"+c.name, func(t *testing.T) {
			got := result(t, d, c.op, c.path, c.config)
			if c.part != "" {
				got = got[c.part].([]any)[0].(object)
			}
			if diff := cmp.Diff(c.want, keys(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	known := result(t, d, "view_file", "a.txt", nil)["sha256"]
	if got := keys(result(t, d, "view_file", "a.txt", object{"known_sha256": known})); got != "file_path file_unchanged sha256 total_bytes total_lines" {
		t.Errorf("of an unchanged file: %s", got)
	}
}

// TestHubFields proves that the hub's own outputs are those of the field list,
// each where it applies.
func TestHubFields(t *testing.T) {
	const failed = "correct_call error error_field error_kind operation retry_disposition suggested_action summary terminal"
	const change = "mutation_receipt mutation_summary operation result summary workspace_delta"
	d := inMemory(t, fileops.Config{NoApproval: true, SandboxRoot: memfs.DefaultCwd, Allow: map[string]bool{"allow_diff": false}}, sample)
	seen := map[string]bool{}
	for _, c := range []struct {
		op, path string
		config   object
		want     string
	}{
		{"view_file", "a.txt", nil, "operation result summary"},
		{"view_file", "gone", nil, failed},
		{"view_file", "/outside/secret.txt", nil, "error error_field error_kind operation retry_disposition suggested_action summary terminal"},
		{"diff_file", "a.txt", nil, "disabled_operations enabled_operations error error_field error_kind operation retry_disposition suggested_action summary terminal"},
		{"diff", "a.txt", nil, "disabled_operations enabled_operations error error_field error_kind operation retry_disposition suggested_action summary terminal"},
		{"view_files", "a.txt", nil, "correct_call disabled_operations enabled_operations error error_field error_kind operation retry_disposition suggested_action summary terminal"},
		{"write_file", "new.txt", object{"content": "x", "dry_run": true}, "operation result summary"},
		{"write_file", "new.txt", object{"content": "x"}, change},
		{"batch_file_ops", "", object{"operations": []any{object{"operation": "file_info", "path": "a.txt"}}}, "mutation_receipts operation result summary"},
		{"batch_file_ops", "", object{"operations": []any{object{"operation": "delete_file", "path": "new.txt"}}},
			"mutation_receipts mutation_summary operation result summary workspace_delta"},
	} {
		got, _ := hub(t, d, c.op, c.path, c.config)
		if diff := cmp.Diff(c.want, keys(got)); diff != "" {
			t.Errorf("%s %s %v (-want +got):\n%s", c.op, c.path, c.config, diff)
		}
		for k := range got {
			seen[k] = true
		}
	}
	data, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n"+fileops.HubName+"\n")
	section, _, _ = strings.Cut(section, "\n\n")
	listed := map[string]bool{}
	for line := range strings.Lines(section) {
		if words := strings.Fields(line); words[0] == "out" {
			listed[words[1]] = true
		}
	}
	if diff := cmp.Diff(listed, seen); diff != "" {
		t.Errorf("outputs (-listed +seen):\n%s", diff)
	}
}
