package fileops_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops"
)

// TestMissingPathsAreMadeUp proves that the call proposed for one without its
// path names no file that could be there, and no destination that is the
// source.
func TestMissingPathsAreMadeUp(t *testing.T) {
	d, _ := changing(t, free)
	for _, op := range fileops.Operations() {
		if op.Path == "" || strings.HasSuffix(op.Path, "root_path") || op.Path == "directory_path" || op.Path == "search_path" {
			continue // "." is always there, and reading it harms nobody
		}
		got, _ := hub(t, d, op.Name, "", object{})
		if op.Name == "validate_file" {
			continue // takes content instead
		}
		call, _ := got["correct_call"].(object)
		if call["path"] != "path/to/file.txt" {
			t.Errorf("%s proposes %v", op.Name, call["path"])
		}
		config, _ := call["config"].(object)
		if to, ok := config["destination_path"]; ok && to != "path/to/destination.txt" {
			t.Errorf("%s proposes the destination %v", op.Name, to)
		}
	}
}

// TestMeantArguments proves that what a caller calls by another name, or sends
// in another form, is named where the caller has it, and that the call
// proposed has it right.
func TestMeantArguments(t *testing.T) {
	edit := func(members object) object { return object{"replacements": []any{members}} }
	fixed := func(config object) object { return object{"config": config} }
	good := edit(object{"old_content": "alpha", "new_content": "b"})
	for _, c := range []struct {
		name, op string
		config   object
		field    string // through the hub; a tool of its own has it without config.
		words    string
		correct  object
	}{
		{"pattern", "search_files", object{"pattern": "alpha"}, "config.pattern", `did you mean "query"?`, fixed(object{"query": "alpha", "pattern": nil})},
		{"regex", "search_files", object{"regex": "alpha"}, "config.regex", `did you mean "query"?`, fixed(object{"query": "alpha"})},
		{"text", "search_files", object{"text": "alpha"}, "config.text", `did you mean "query"?`, fixed(object{"query": "alpha"})},
		{"a slip", "search_files", object{"qurey": "alpha"}, "config.qurey", `did you mean "query"?`, fixed(object{"query": "alpha"})},
		{"one type", "search_files", object{"query": "alpha", "file_types": "md"}, "config.file_types", "array of strings", fixed(object{"file_types": []any{"md"}})},
		{"one pattern", "search_files", object{"query": "alpha", "include_patterns": "*.txt"}, "config.include_patterns", "array of strings", fixed(object{"include_patterns": []any{"*.txt"}})},
		{"patterns in a string", "search_files", object{"query": "alpha", "exclude_patterns": `["*.md","d/"]`}, "config.exclude_patterns", "array of strings", fixed(object{"exclude_patterns": []any{"*.md", "d/"}})},
		{"a number in a string", "search_files", object{"query": "alpha", "context_lines": "2"}, "config.context_lines", "whole number", fixed(object{"context_lines": 2})},
		{"old_string", "edit_file", edit(object{"old_string": "alpha", "new_string": "b"}), "config.replacements[0].new_string", "did you mean new_content?", fixed(good)},
		{"only old_string", "edit_file", edit(object{"old_string": "alpha", "new_content": "b"}), "config.replacements[0].old_string", "did you mean old_content?", fixed(good)},
		{"old_string in JSON", "edit_file", object{"replacements_json": `[{"old_string":"alpha","new_content":"b"}]`}, "config.replacements_json[0].old_string", "did you mean old_content?",
			fixed(object{"replacements_json": `[{"new_content":"b","old_content":"alpha"}]`})},
		{"no list", "edit_file", object{"old_string": "alpha", "new_string": "b"}, "config.new_string", "did you mean new_content of an object in replacements?", fixed(good)},
		{"half of it", "edit_file", object{"old_content": "alpha"}, "config.old_content", "did you mean old_content of an object in replacements?", nil},
		{"an option within", "edit_file", edit(object{"old_content": "alpha", "new_content": "b", "replace_all": true}), "config.replacements[0].replace_all", "beside replacements", fixed(good)},
		{"nothing new", "edit_file", edit(object{"old_content": "alpha"}), "config.replacements[0].new_content", "needs new_content", nil},
		{"a number", "edit_file", edit(object{"old_content": "alpha", "new_content": 5}), "config.replacements[0].new_content", "must be a string", nil},
		{"no JSON", "edit_file", object{"replacements": "x"}, "config.replacements", "a string of JSON", nil},
		{"no JSON in replacements_json", "edit_file", object{"replacements_json": "x"}, "config.replacements_json", "a string of JSON", nil},
		{"a patch", "patch_file", object{"dry_run": false, "patches": []any{object{"operation": "set", "path": "/a", "value": 1}}}, "config.patches[0].operation", "did you mean op?",
			fixed(object{"patches": []any{object{"op": "set", "path": "/a", "value": 1}}})},
		{"dest", "copy_file", object{"dest": "b.txt"}, "config.dest", `did you mean "destination_path"?`, fixed(object{"destination_path": "b.txt"})},
	} {
		t.Run(c.op+"/"+c.name, func(t *testing.T) {
			d, _ := changing(t, free)
			check := func(got object, field string, correct object) {
				t.Helper()
				msg, _ := got["error"].(string)
				if got["error_kind"] != "invalid_arguments" || got["error_field"] != field || !strings.Contains(msg, c.words) {
					t.Errorf("%v at %v, want %s: %s", got["error_kind"], got["error_field"], field, msg)
				}
				if correct != nil && !matches(correct, got["correct_call"]) {
					t.Errorf("proposed %s\nwant %s", pretty(got["correct_call"]), pretty(correct))
				}
			}
			path := "a.txt"
			if c.op == "patch_file" {
				path = "c.json"
			}
			got, _ := hub(t, d, c.op, path, c.config)
			check(got, c.field, c.correct)
			if again, failed := call(t, d, fileops.HubName, got["correct_call"].(object)); failed && again["error_kind"] != "no_match" {
				t.Errorf("the proposed call fails: %s", pretty(again))
			}
			args := cloneObject(c.config)
			for _, o := range fileops.Operations() {
				if o.Name == c.op {
					args[o.Path] = path
				}
			}
			var correct object
			if c.correct != nil {
				correct = c.correct["config"].(object)
			}
			d, _ = changing(t, free)
			got, _ = call(t, d, c.op, args)
			check(got, strings.TrimPrefix(c.field, "config."), correct)
		})
	}
}

// TestItemsOfABatch proves that an operation of a batch is checked like a call
// of the hub: nothing in it is passed over in silence, and messages speak of
// what the hub calls path.
func TestItemsOfABatch(t *testing.T) {
	for _, c := range []struct {
		name    string
		item    object
		field   string
		words   string
		correct object
	}{
		{"arguments", object{"operation": "write_file", "path": "n.txt", "arguments": object{"content": "x"}}, "arguments", `did you mean "config"?`,
			object{"operation": "write_file", "path": "n.txt", "config": object{"content": "x"}}},
		{"beside config", object{"operation": "write_file", "path": "n.txt", "content": "x"}, "content", "belongs into config",
			object{"operation": "write_file", "path": "n.txt", "config": object{"content": "x"}}},
		{"file_path", object{"operation": "view_file", "file_path": "a.txt"}, "file_path", "takes file_path as path", object{"operation": "view_file", "path": "a.txt"}},
		{"no path", object{"operation": "view_file"}, "path", "view_file needs path (", object{"path": "path/to/file.txt"}},
		{"a number as path", object{"operation": "view_file", "path": 5}, "path", "path must be a string", nil},
		{"config in a string", object{"operation": "view_file", "path": "a.txt", "config": `{"start_line":1}`}, "config", "not a string", object{"config": object{"start_line": 1}}},
		{"op", object{"op": "view_file", "path": "a.txt"}, "operation", `by "op"`, object{"operation": "view_file", "path": "a.txt"}},
		{"a slip", object{"operation": "view_fiel", "path": "a.txt"}, "operation", `did you mean "view_file"?`, object{"operation": "view_file", "path": "a.txt"}},
		{"a number as operation", object{"operation": 5, "path": "a.txt"}, "operation", "must be a string", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := changing(t, free)
			got, _ := hub(t, d, "batch_file_ops", "", object{"operations": []any{c.item}})
			item := got["result"].(object)["results"].([]any)[0].(object)
			msg, _ := item["error"].(string)
			if item["error_field"] != "config.operations[0]."+c.field || !strings.Contains(msg, c.words) {
				t.Errorf("at %v: %s", item["error_field"], msg)
			}
			if c.correct != nil && !matches(c.correct, item["correct_call"]) {
				t.Errorf("proposed %s\nwant %s", pretty(item["correct_call"]), pretty(c.correct))
			}
		})
	}
}

// TestProposedEdits proves that a text that was not found, or more than once,
// is answered with a call that does find it, where one is known.
func TestProposedEdits(t *testing.T) {
	const line = "func handler(w http.ResponseWriter, r *http.Request) error {"
	for _, c := range []struct {
		name, text, old string
		want            object // config; nil: the call as it was
		after           string
	}{
		{"several", "a\na\n", "a", object{"replace_all": true}, "NEW\nNEW\n"},
		{"blanks", "if  x {\n", "if x {", object{"ignore_whitespace": true}, "NEW\n"},
		{"look-alikes", "say “x”\n", `say "x"`, object{"confusable_fallback": true}, "NEW\n"},
		{"a near miss", "one\n\t" + line + "\n", strings.Replace(line, "error", "eror", 1), object{"replacements": []any{object{"old_content": line, "new_content": "NEW"}}}, "one\n\tNEW\n"},
		{"two near misses", line + "1\n" + line + "2\n", line + "3", nil, ""},
		{"nothing like it", "one\n", "something else", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := inMemory(t, fileops.Config{NoApproval: true}, map[string]string{"f.txt": c.text})
			sent := replace(c.old, "NEW")
			got, failed := hub(t, d, "edit_file", "f.txt", sent)
			if !failed {
				t.Fatal("the edit was made")
			}
			proposed := got["correct_call"].(object)
			if c.want == nil {
				if diff := cmp.Diff(normal(sent), normal(proposed["config"])); diff != "" {
					t.Errorf("(-sent +proposed):\n%s", diff)
				}
				return
			}
			if !matches(c.want, proposed["config"]) {
				t.Errorf("proposed %s", pretty(proposed))
			}
			if again, failed := call(t, d, fileops.HubName, proposed); failed {
				t.Fatalf("the proposed call fails: %s", pretty(again))
			}
			content := result(t, d, "view_file", "f.txt", object{"offset_bytes": 0})["content"]
			if content != c.after {
				t.Errorf("it gives %q, want %q", content, c.after)
			}
		})
	}
}

// TestDigestOfRefusalsAlone proves that edit_file and patch_file name the
// digest of what is there where they refuse, and nowhere else.
func TestDigestOfRefusalsAlone(t *testing.T) {
	d, _ := changing(t, free)
	wrong := strings.Repeat("0", 64)
	for _, dry := range []bool{true, false} {
		edit := replace("alpha", "beta")
		edit["dry_run"] = dry
		patch := object{"patches": []any{object{"op": "set", "path": "/a", "value": 2}}, "dry_run": dry}
		if r := result(t, d, "edit_file", "a.txt", edit); r["current_sha256"] != nil {
			t.Errorf("edit, dry run %v: %s", dry, pretty(r))
		}
		if r := result(t, d, "patch_file", "c.json", patch); r["current_sha256"] != nil {
			t.Errorf("patch, dry run %v: %s", dry, pretty(r))
		}
	}
	edit := replace("beta", "gamma")
	edit["expected_sha256"] = wrong
	got, _ := hub(t, d, "edit_file", "a.txt", edit)
	if r, _ := got["result"].(object); r["current_sha256"] == nil {
		t.Errorf("a refusal lacks it: %s", pretty(got))
	}
}

// TestNullIsNothing proves that null means the default, whatever the argument,
// for the hub and its tools alike.
func TestNullIsNothing(t *testing.T) {
	for _, op := range fileops.Operations() {
		args := object{}
		for _, a := range op.Arguments {
			if !a.Required && a.Name != op.Path && a.Name != "dry_run" {
				args[a.Name] = nil
			}
		}
		given := object{"destination_path": "new.txt", "query": "alpha", "content": "x", "backup_id": "last",
			"replacements": replace("alpha", "b")["replacements"], "patches": []any{object{"op": "set", "path": "/a", "value": 2}},
			"operations": []any{object{"operation": "file_info", "path": "a.txt", "config": nil}}, "new_content": "n", "dry_run": false}
		for name, v := range given {
			for _, a := range op.Arguments {
				if a.Name == name && !(op.Name == "patch_file" && name == "content") && !(op.Name == "validate_file" && name == "content") {
					args[name] = v
				}
			}
		}
		path := map[string]string{"patch_file": "c.json", "validate_file": "c.json", "create_file": "fresh.txt", "write_file": "fresh.txt",
			"list_directory": ".", "file_tree": ".", "search_files": "."}[op.Name]
		if path == "" {
			path = "a.txt"
		}
		if op.Path == "" {
			path = ""
		}
		d, _ := changing(t, free)
		hub(t, d, "backup_file", "a.txt", nil)
		if got, failed := hub(t, d, op.Name, path, args); failed {
			t.Errorf("%s by the hub: %s", op.Name, pretty(got))
		}
		if _, err := d.Tools().Lookup(nil, op.Name); err != nil {
			continue
		}
		d, _ = changing(t, free)
		hub(t, d, "backup_file", "a.txt", nil)
		args[op.Path] = path
		if got, failed := call(t, d, op.Name, args); failed {
			t.Errorf("%s: %s", op.Name, pretty(got))
		}
	}
}

// TestObservationsHaveSizes proves that every observation of a file tells its
// size.
func TestObservationsHaveSizes(t *testing.T) {
	sizes := map[string]int64{}
	listener := plug.Plugin{Name: "listener", Options: fx.Invoke(func(bus *event.Bus, scope *plug.Scope) {
		vfs.Observed.On(bus, scope, func(_ context.Context, o vfs.Observation) error {
			sizes[vfs.DisplayName(o.Target.Path)] = o.Size
			return nil
		})
	})}
	d, _ := changing(t, free, listener)
	result(t, d, "view_file", "crlf.txt", object{"start_line": 1, "end_line": 1})
	result(t, d, "edit_file", "a.txt", replace("alpha", "xy"))
	result(t, d, "write_file", "new.txt", object{"content": "1234"})
	want := map[string]int64{"/project/crlf.txt": 10, "/project/a.txt": 3, "/project/new.txt": 4}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
