package fileops_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// TestProposedValues proves that a value in the wrong form or out of bounds is
// proposed as what it says that was meant, and that the proposed call works.
func TestProposedValues(t *testing.T) {
	for _, c := range []struct {
		op, path string
		config   object
		field    string
		want     any // nil: the argument is left out
	}{
		{"view_file", "a.txt", object{"start_line": 0}, "start_line", 1},
		{"view_file", "a.txt", object{"start_line": -5}, "start_line", 1},
		{"view_file", "a.txt", object{"start_line": " 2 "}, "start_line", 2},
		{"view_file", "a.txt", object{"start_line": 1.5}, "start_line", 1},
		{"view_file", "a.txt", object{"start_line": "first"}, "start_line", nil},
		{"view_file", "a.txt", object{"tail_lines": 0}, "tail_lines", 1},
		{"view_file", "a.txt", object{"offset_bytes": -1}, "offset_bytes", 0},
		{"view_file", "a.txt", object{"offset_bytes": 10_000}, "offset_bytes", 11},
		{"view_file", "a.txt", object{"offset_chars": 10_000}, "offset_chars", 11},
		{"view_file", "a.txt", object{"start_line": 10_000}, "start_line", 2},
		{"list_directory", ".", object{"page_size": 0}, "page_size", 50},
		{"list_directory", ".", object{"max_depth": -1}, "max_depth", 1},
		{"list_directory", ".", object{"show_hidden": "True"}, "show_hidden", true},
		{"list_directory", ".", object{"show_hidden": 0}, "show_hidden", false},
		{"list_directory", ".", object{"show_hidden": "perhaps"}, "show_hidden", nil},
		{"list_directory", ".", object{"pattern": "src/*.go"}, "pattern", "*.go"},
		{"list_directory", ".", object{"pattern": "**/*.go"}, "max_depth", 5},
		{"list_directory", ".", object{"pattern": "s*/*.go"}, "pattern", nil},
		{"file_tree", ".", object{"stats_scope": "SCANNED"}, "stats_scope", "scanned"},
		{"file_tree", ".", object{"include_patterns": []any{1}}, "include_patterns", []any{"1"}},
		{"search_files", ".", object{"query": 5}, "query", "5"},
		{"search_files", ".", object{"query": true}, "query", "true"},
		{"search_files", ".", object{"query": "a", "output_mode": "file_with_matches"}, "output_mode", "files_with_matches"},
		{"search_files", ".", object{"query": "a", "file_types": []any{"python", "Golang", ".yml"}}, "file_types", []any{"py", "go", "yaml"}},
		{"search_files", ".", object{"query": "a", "file_types": "javascript"}, "file_types", []any{"js"}},
		{"search_files", ".", object{"query": "a", "file_types": []any{"cobol", "ts"}}, "file_types", []any{"ts"}},
		{"search_files", ".", object{"query": "a", "file_types": []any{"cobol"}}, "file_types", nil},
		{"diff_file", "a.txt", object{"new_content": "x", "context_lines": -1}, "context_lines", 3},
		{"validate_file", "ok.json", object{"format": "JSON"}, "format", "json"},
		{"validate_file", "ok.json", object{"format": "yml"}, "format", "yaml"},
	} {
		d := inMemory(t, free, sample)
		got, _ := hub(t, d, c.op, c.path, c.config)
		if got["error_kind"] != "invalid_arguments" {
			t.Errorf("%s %v gives %v", c.op, c.config, got)
			continue
		}
		correct, _ := got["correct_call"].(object)
		config, _ := correct["config"].(object)
		if diff := cmp.Diff(normal(c.want), normal(config[c.field])); diff != "" {
			t.Errorf("%s %v proposes (-want +got):\n%s", c.op, c.config, diff)
		}
		if again, failed := call(t, d, fileops.HubName, correct); failed {
			t.Errorf("%s %v: the proposed call gives %v", c.op, c.config, again)
		}
	}
}

// TestNamesOfOtherTools proves that an operation or a path under the name that
// other tools have for it is understood in the call that is proposed.
func TestNamesOfOtherTools(t *testing.T) {
	d := inMemory(t, fileops.Config{NoApproval: true, Allow: map[string]bool{"allow_delete": false}}, sample)
	for name, want := range map[string]string{
		"read_file": "view_file", "cat": "view_file", "Read": "view_file", "ls": "list_directory", "grep": "search_files",
		"stat": "file_info", "mv": "move_file", "restore": "rollback_file", "view_fiel": "view_file",
	} {
		got, _ := hub(t, d, name, "a.txt", object{})
		correct, _ := got["correct_call"].(object)
		if got["error_kind"] != "invalid_operation" || correct["operation"] != want || correct["path"] != "a.txt" {
			t.Errorf("%s proposes %v: %v", name, correct, got["error"])
		}
	}
	// What is not enabled is not proposed.
	if got, _ := hub(t, d, "rm", "a.txt", object{}); got["correct_call"] != nil {
		t.Errorf("rm proposes %v", got["correct_call"])
	}
	for _, op := range fileops.Operations() {
		if op.Path == "" {
			continue
		}
		for _, name := range []string{"file", "dir", "file_path", "root_path"} {
			if _, own := argument(op, name); own {
				continue
			}
			got, _ := call(t, d, fileops.HubName, object{"operation": op.Name, "config": object{name: "a.txt"}})
			correct, _ := got["correct_call"].(object)
			if got["error_kind"] == "operation_not_enabled" {
				continue
			}
			if got["error_kind"] != "invalid_arguments" || correct["path"] != "a.txt" {
				t.Errorf("%s with %s proposes %v", op.Name, name, correct)
			}
		}
	}
}

func argument(op fileops.Operation, name string) (fileops.Argument, bool) {
	for _, a := range op.Arguments {
		if a.Name == name {
			return a, true
		}
	}
	return fileops.Argument{}, false
}

// TestNoFilesystem proves that while no filesystem is mounted a call says that
// sending it again, or another, is of no use, and that the next one works once
// there is one again.
func TestNoFilesystem(t *testing.T) {
	d := inMemory(t, free, sample)
	if err := d.Unmount(t.Context(), "memfs"); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{fileops.HubName, "file_info"} {
		args := object{"path": "a.txt"}
		if tool == fileops.HubName {
			args["operation"] = "file_info"
		}
		got, failed := call(t, d, tool, args)
		want := object{"error_kind": "unsupported_by_provider", "terminal": true, "retry_disposition": "do_not_retry", "suggested_action": "ask_user", "correct_call": nil, "error_field": nil}
		have := object{}
		for k := range want {
			have[k] = got[k]
		}
		if diff := cmp.Diff(want, have); diff != "" || !failed {
			t.Errorf("%s (-want +got):\n%s", tool, diff)
		}
	}
	if err := d.Mount(t.Context(), memfs.Plugin(memfs.Config{Files: sample})); err != nil {
		t.Fatal(err)
	}
	if got := result(t, d, "file_info", "a.txt", nil); got["exists"] != true {
		t.Errorf("afterwards: %v", got)
	}
}
