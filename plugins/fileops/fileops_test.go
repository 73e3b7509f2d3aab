package fileops_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/memfs"
)

type object = map[string]any

// call runs a tool and returns its JSON object and whether it failed.
func call(t testing.TB, d *harness.Deployment, name string, args object) (object, bool) {
	t.Helper()
	r := testkit.Call(t, d, nil, name, args)
	var v object
	if err := json.Unmarshal([]byte(r.Text()), &v); err != nil {
		t.Fatalf("%s %v: %v in %s", name, args, err, r.Text())
	}
	return v, r.IsError
}

func hub(t testing.TB, d *harness.Deployment, op, path string, config object) (object, bool) {
	t.Helper()
	args := object{"operation": op}
	if path != "" {
		args["path"] = path
	}
	if config != nil {
		args["config"] = config
	}
	return call(t, d, fileops.HubName, args)
}

// result is hub for a call that must succeed.
func result(t testing.TB, d *harness.Deployment, op, path string, config object) object {
	t.Helper()
	v, failed := hub(t, d, op, path, config)
	if failed {
		t.Fatalf("%s %s %v: %v", op, path, config, v["error"])
	}
	return v["result"].(object)
}

func inMemory(t testing.TB, cfg fileops.Config, files map[string]string) *harness.Deployment {
	t.Helper()
	return testkit.Compose(t, memfs.Plugin(memfs.Config{Files: files}), fileops.Plugin(cfg))
}

// TestSchemas holds the schemas against the specification: every field with
// its type, and what is required.
func TestSchemas(t *testing.T) {
	d := inMemory(t, fileops.Config{Register: fileops.Both}, nil)
	want := map[string]string{
		"file_ops_hub":   "operation:string path:string config:object",
		"view_file":      "file_path:string! start_line:integer end_line:integer tail_lines:integer offset_bytes:integer limit_bytes:integer offset_chars:integer limit_chars:integer known_sha256:string known_size:integer known_modified_at:string",
		"file_info":      "path:string!",
		"list_directory": "directory_path:string! max_depth:integer offset:integer page_size:integer pattern:string show_hidden:boolean verbose:boolean",
		"file_tree":      "root_path:string! max_depth:integer max_chars:integer offset:integer show_hidden:boolean include_patterns:array exclude_patterns:array max_file_size:integer include_stats:boolean stats_scope:string max_scanned_files:integer max_scan_ms:integer",
		"search_files":   "query:string! search_path:string! is_regex:boolean case_insensitive:boolean multiline:boolean output_mode:string context_lines:integer include_patterns:array exclude_patterns:array file_types:array max_results:integer max_files:integer max_scanned_files:integer max_scanned_bytes:integer max_match_span_bytes:integer max_match_span_lines:integer timeout_ms:integer",
		"diff_file":      "file_path:string! compare_path:string new_content:string context_lines:integer",
		"validate_file":  "file_path:string content:string format:string",
	}
	for name, spec := range want {
		checkSchema(t, d, name, spec)
	}
}

// checkSchema compares the fields of a tool's input, with their types and a mark
// for required ones, and wants each described. spec is "name:type name:type!".
func checkSchema(t *testing.T, d *harness.Deployment, name, spec string) {
	t.Helper()
	def, err := d.Tools().Lookup(nil, name)
	if err != nil {
		t.Error(err)
		return
	}
	var s struct {
		Properties map[string]struct{ Type, Description string }
		Required   []string
	}
	if err := json.Unmarshal(def.Input, &s); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	got := map[string]string{}
	for p, v := range s.Properties {
		got[p] = v.Type
		if slices.Contains(s.Required, p) {
			got[p] += "!"
		}
		if v.Description == "" {
			t.Errorf("%s.%s has no description", name, p)
		}
	}
	want := map[string]string{}
	for f := range strings.FieldsSeq(spec) {
		p, typ, _ := strings.Cut(f, ":")
		want[p] = typ
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestRegistration(t *testing.T) {
	names := func(cfg fileops.Config) (out []string) {
		for _, def := range inMemory(t, cfg, nil).Tools().Definitions(nil) {
			out = append(out, def.Name)
		}
		return out
	}
	if got := names(fileops.Config{}); !slices.Equal(got, []string{"file_ops_hub"}) {
		t.Errorf("by default: %q", got)
	}
	if got := names(fileops.Config{Register: fileops.Tools}); slices.Contains(got, "file_ops_hub") || !slices.Contains(got, "view_file") {
		t.Errorf("tools: %q", got)
	}
	if got := names(fileops.Config{Register: fileops.Both, Allow: map[string]bool{"allow_search": false}}); !slices.Contains(got, "file_ops_hub") || slices.Contains(got, "search_files") || !slices.Contains(got, "file_tree") {
		t.Errorf("both without search: %q", got)
	}
	for _, cfg := range []fileops.Config{{Register: "all"}, {Allow: map[string]bool{"allow_everything": true}}} {
		if _, err := harness.Compose(t.Context(), memfs.Plugin(memfs.Config{}), fileops.Plugin(cfg)); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// sample is what most tests work on.
var sample = map[string]string{
	"a.txt": "alpha\nbeta\n", "src/main.go": "package main\n\nfunc main() {}\n", "src/sub/b.go": "package sub\n",
	"bin.dat": "x\x00y", "latin.txt": "caf\xe9\n", "ok.json": `{"a":1}`, "bad.yaml": "a: [1\n", "empty/": "",
	"/outside/secret.txt": "secret\n",
}

// TestHubAndToolsAgree proves that an operation gives the same by both ways.
func TestHubAndToolsAgree(t *testing.T) {
	d := inMemory(t, fileops.Config{Register: fileops.Both, SandboxRoot: memfs.DefaultCwd}, sample)
	for _, c := range []struct {
		op, field, path string
		config          object
	}{
		{"view_file", "file_path", "a.txt", object{"start_line": 2}},
		{"view_file", "file_path", "gone", nil},
		{"file_info", "path", "a.txt", nil},
		{"list_directory", "directory_path", ".", object{"verbose": true, "max_depth": 3}},
		{"file_tree", "root_path", ".", object{"include_stats": true}},
		{"search_files", "search_path", ".", object{"query": "package"}},
		{"diff_file", "file_path", "a.txt", object{"new_content": "alpha\n"}},
		{"validate_file", "file_path", "bad.yaml", nil},
	} {
		args := object{c.field: c.path}
		for k, v := range c.config {
			args[k] = v
		}
		single, singleFailed := call(t, d, c.op, args)
		both, hubFailed := hub(t, d, c.op, c.path, c.config)
		if singleFailed != hubFailed {
			t.Errorf("%s: tool failed %v, hub failed %v", c.op, singleFailed, hubFailed)
			continue
		}
		if hubFailed {
			for _, k := range []string{"error", "error_kind", "terminal", "retry_disposition", "suggested_action"} {
				if single[k] != both[k] {
					t.Errorf("%s: %s is %v and %v", c.op, k, single[k], both[k])
				}
			}
			continue
		}
		got := both["result"].(object)
		delete(got, "elapsed_ms")
		delete(single, "elapsed_ms")
		if diff := cmp.Diff(single, got); diff != "" {
			t.Errorf("%s (-tool +hub):\n%s", c.op, diff)
		}
		if both["operation"] != c.op || both["summary"] == "" {
			t.Errorf("%s: operation %v, summary %v", c.op, both["operation"], both["summary"])
		}
	}
}

// TestFailures gives the whole vocabulary of each failure, and tries the call
// that it proposes.
func TestFailures(t *testing.T) {
	d := inMemory(t, fileops.Config{SandboxRoot: memfs.DefaultCwd, Allow: map[string]bool{"allow_diff": false}}, sample)
	for _, c := range []struct {
		name     string
		args     object
		kind     string
		terminal bool
		retry    string
		action   string
		field    string
		words    string // in the message
		works    bool   // whether the proposed call succeeds
	}{
		{"misspelt operation", object{"operation": "veiw_file", "path": "a.txt"}, "invalid_operation", false, "retry_after_correction", "choose_enabled_operation", "operation", `did you mean "view_file"`, true},
		{"unknown operation", object{"operation": "compile"}, "invalid_operation", false, "retry_after_correction", "choose_enabled_operation", "operation", `"compile"`, false},
		{"no operation", object{"operation": ""}, "invalid_operation", false, "retry_after_correction", "choose_enabled_operation", "operation", "empty", false},
		{"disabled", object{"operation": "diff_file", "path": "a.txt"}, "operation_not_enabled", true, "do_not_retry", "choose_enabled_operation", "operation", "diff_file", false},
		{"not there", object{"operation": "view_file", "path": "a.tx"}, "path_not_found", false, "retry_after_correction", "use_file_tree", "path", `did you mean "a.txt"`, true},
		{"not there below", object{"operation": "view_file", "path": "src/mian.go"}, "path_not_found", false, "retry_after_correction", "use_file_tree", "path", `did you mean "src/main.go"`, true},
		{"not there by several parts", object{"operation": "view_file", "path": "./scr/Sub/b.og"}, "path_not_found", false, "retry_after_correction", "use_file_tree", "path", `did you mean "./src/sub/b.go"`, true},
		{"backslashes", object{"operation": "view_file", "path": `src\sub\b.go`}, "path_not_found", false, "retry_after_correction", "use_file_tree", "path", `did you mean "src/sub/b.go"`, true},
		{"path in config", object{"operation": "view_file", "path": "a.txt", "config": object{"path": "a.txt"}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.path", "beside config", true},
		{"not there at all", object{"operation": "view_file", "path": "scr/nothing.txt"}, "path_not_found", false, "retry_after_correction", "use_file_tree", "path", "scr/nothing.txt", false},
		{"outside", object{"operation": "view_file", "path": "../outside/secret.txt"}, "path_outside_sandbox", true, "do_not_retry", "use_path_inside_sandbox", "path", "outside", false},
		{"outside, absolute", object{"operation": "search_files", "path": "/outside", "config": object{"query": "s"}}, "path_outside_sandbox", true, "do_not_retry", "use_path_inside_sandbox", "path", "outside", false},
		{"a directory", object{"operation": "view_file", "path": "src"}, "not_a_file", false, "retry_after_correction", "use_list_directory", "path", "directory", false},
		{"a file", object{"operation": "file_tree", "path": "a.txt"}, "not_a_directory", false, "retry_after_correction", "use_view_file", "path", "not a directory", true},
		{"below a file", object{"operation": "view_file", "path": "a.txt/x"}, "path_not_found", false, "retry_after_correction", "use_file_tree", "path", "a.txt/x", false},
		{"binary", object{"operation": "view_file", "path": "bin.dat"}, "not_text", false, "retry_after_correction", "use_file_info", "path", "not a UTF-8", false},
		{"other encoding", object{"operation": "view_file", "path": "latin.txt"}, "not_text", false, "retry_after_correction", "use_file_info", "path", "not a UTF-8", false},
		{"empty path", object{"operation": "file_tree", "path": ""}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "path", "path must name", true},
		{"missing argument", object{"operation": "search_files", "path": "."}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.query", "query", true},
		{"unknown argument", object{"operation": "view_file", "path": "a.txt", "config": object{"start_lin": 1}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.start_lin", `did you mean "start_line"`, true},
		{"wrong type", object{"operation": "view_file", "path": "a.txt", "config": object{"start_line": "2", "end_line": 2}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.start_line", "whole number", true},
		{"too small", object{"operation": "view_file", "path": "a.txt", "config": object{"start_line": 0}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.start_line", "at least 1", true},
		{"not one of", object{"operation": "search_files", "path": ".", "config": object{"query": "a", "output_mode": "lines"}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.output_mode", "files_with_matches", true},
		{"path twice", object{"operation": "view_file", "path": "a.txt", "config": object{"file_path": "b.txt"}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.file_path", "send one", true},
		{"two modes", object{"operation": "view_file", "path": "a.txt", "config": object{"tail_lines": 1, "offset_chars": 1}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.offset_chars", "different modes", true},
		{"beyond the end", object{"operation": "view_file", "path": "a.txt", "config": object{"start_line": 9}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.start_line", "2 lines", true},
		{"backwards", object{"operation": "view_file", "path": "a.txt", "config": object{"start_line": 2, "end_line": 1}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.end_line", "before", true},
		{"bad expression", object{"operation": "search_files", "path": ".", "config": object{"query": "func (", "is_regex": true}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.query", "byte 5", true},
		{"expression over lines", object{"operation": "search_files", "path": ".", "config": object{"query": `a\nb`, "is_regex": true}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.query", "multiline", true},
		{"bad pattern", object{"operation": "list_directory", "path": ".", "config": object{"pattern": "src/*"}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.pattern", "slash", true},
		{"bad exclude", object{"operation": "file_tree", "path": ".", "config": object{"exclude_patterns": []string{"ok", "[a"}}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.exclude_patterns", "[a", true},
		{"unknown type", object{"operation": "search_files", "path": ".", "config": object{"query": "a", "file_types": []string{"cobol"}}}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "config.file_types", "rust", true},
		{"nothing to validate", object{"operation": "validate_file"}, "invalid_arguments", false, "retry_after_correction", "correct_arguments", "path", "content", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, failed := call(t, d, fileops.HubName, c.args)
			if !failed {
				t.Fatalf("it succeeds: %v", got)
			}
			want := object{"error_kind": c.kind, "terminal": c.terminal, "retry_disposition": c.retry, "suggested_action": c.action}
			have := object{}
			for k := range want {
				have[k] = got[k]
			}
			if c.field != "" || got["error_field"] != nil {
				want["error_field"], have["error_field"] = c.field, got["error_field"]
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if msg, _ := got["error"].(string); !strings.Contains(msg, c.words) {
				t.Errorf("the message %q lacks %q", msg, c.words)
			}
			correct, proposed := got["correct_call"].(object)
			if c.works && !proposed {
				t.Fatal("no call is proposed")
			}
			if c.terminal && proposed {
				t.Errorf("a call is proposed for what cannot work: %v", correct)
			}
			if proposed {
				again, failed := call(t, d, fileops.HubName, correct)
				if failed == c.works || failed && again["error_kind"] == "invalid_arguments" {
					t.Errorf("the proposed call %v gives %v", correct, again)
				}
			}
			if c.kind == "invalid_operation" || c.kind == "operation_not_enabled" {
				if !slices.Contains(got["enabled_operations"].([]any), any("view_file")) || !slices.Contains(got["disabled_operations"].([]any), any("diff_file")) {
					t.Errorf("enabled %v, disabled %v", got["enabled_operations"], got["disabled_operations"])
				}
			}
		})
	}
}

func TestSandboxFollowsSymlinks(t *testing.T) {
	fs, err := memfs.New(memfs.Config{Files: sample})
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"door": "/outside", "alias.txt": "a.txt", "dangling": "/outside/new"} {
		target, err := fs.Resolve(t.Context(), name, vfs.ResolveOptions{})
		if err == nil {
			err = vfs.Symlink(t.Context(), fs, to, target, vfs.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d := testkit.Compose(t, provider(fs), fileops.Plugin(fileops.Config{SandboxRoot: memfs.DefaultCwd}))
	for _, path := range []string{"door/secret.txt", "dangling"} {
		got, failed := hub(t, d, "view_file", path, nil)
		if !failed || got["error_kind"] != "path_outside_sandbox" {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := result(t, d, "view_file", "alias.txt", nil); got["content"] != "1 alpha\n2 beta" {
		t.Errorf("a symlink inside: %v", got)
	}
	// A walk does not go through the door.
	if got := result(t, d, "search_files", ".", object{"query": "secret"}); got["total_matches"] != 0.0 {
		t.Errorf("search: %v", got)
	}
	if got := result(t, d, "search_files", "alias.txt", object{"query": "beta"}); got["total_matches"] != 1.0 {
		t.Errorf("search of a symlink that was named: %v", got)
	}
	if got := result(t, d, "file_info", "alias.txt", nil); got["entry_type"] != "symlink" || got["size_bytes"] != 11.0 {
		t.Errorf("info: %v", got)
	}
}

// provider mounts a filesystem that exists already.
func provider(fs vfs.FileSystem) plug.Plugin {
	return plug.Plugin{Name: "provider", Services: []plug.Declaration{plug.Provides[vfs.FileSystem]()}, Options: fx.Supply(fx.Annotate(fs, fx.As(new(vfs.FileSystem))))}
}

// bare hides the abilities of a provider.
type bare struct{ vfs.FileSystem }

func TestProviderWithoutAbilities(t *testing.T) {
	files := map[string]string{"a.txt": "hit\n", "d/b.txt": "hit\n", "big.txt": strings.Repeat("0123456789\n", 500_000)}
	fs, err := memfs.New(memfs.Config{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	d := testkit.Compose(t, provider(bare{fs}), fileops.Plugin(fileops.Config{}))
	if got := result(t, d, "search_files", ".", object{"query": "hit"}); got["total_matches"] != 2.0 {
		t.Errorf("search: %v", got)
	}
	if got := result(t, d, "file_tree", ".", nil); got["rendered_files"] != 3.0 {
		t.Errorf("tree: %v", got)
	}
	if got := result(t, d, "list_directory", ".", object{"verbose": true, "pattern": "a*"}); got["total_entries"] != 1.0 {
		t.Errorf("list: %v", got)
	}
	if got := result(t, d, "view_file", "a.txt", nil); got["content"] != "1 hit" {
		t.Errorf("view: %v", got)
	}
	got, failed := hub(t, d, "view_file", "big.txt", object{"tail_lines": 1})
	if !failed || got["error_kind"] != "unsupported_by_provider" || got["terminal"] != true {
		t.Errorf("a file that can only be read in parts: %v", got)
	}
}

// TestViewObserves proves that a view takes part in read-before-change.
func TestViewObserves(t *testing.T) {
	d := inMemory(t, fileops.Config{}, sample)
	var seen []string
	scope := plug.NewScope("test")
	defer func() { _ = scope.Close() }()
	vfs.Observed.On(d.Bus(), scope, func(_ context.Context, o vfs.Observation) error {
		seen = append(seen, fmt.Sprintf("%s absent=%v version=%v", o.Target.Path, o.Absent, o.Version != ""))
		return nil
	})
	result(t, d, "view_file", "a.txt", nil)
	hub(t, d, "view_file", "gone", nil)
	result(t, d, "file_info", "missing", nil)
	want := []string{"/project/a.txt absent=false version=true", "/project/gone absent=true version=false", "/project/missing absent=true version=false"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCursors follows the cursors of every operation through the hub.
func TestCursors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	for i := range 1200 {
		text.WriteString(strings.Repeat("é", r.IntN(30)) + fmt.Sprint(i) + []string{"\n", "\r\n"}[r.IntN(2)])
	}
	files := map[string]string{"t.txt": text.String()}
	for i := range 300 {
		files[fmt.Sprintf("d/%d/é%d.txt", i%7, i)] = "x"
	}
	d := inMemory(t, fileops.Config{}, files)

	follow := func(op, path string, config object, cursor, next string, take func(object)) {
		t.Helper()
		config = cloneObject(config)
		for steps := 0; steps < 10_000; steps++ {
			got := result(t, d, op, path, config)
			take(got)
			at, more := got[next]
			if !more {
				return
			}
			config[cursor] = at
		}
		t.Fatalf("%s does not end", op)
	}
	var lines []string
	follow("view_file", "t.txt", object{"start_line": 1}, "start_line", "next_start_line", func(v object) {
		for l := range strings.SplitSeq(v["content"].(string), "\n") {
			_, l, _ = strings.Cut(strings.TrimLeft(l, " "), " ")
			lines = append(lines, l)
		}
	})
	if want := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text.String(), "\r\n", "\n"), "\n"), "\n"); !slices.Equal(lines, want) {
		t.Errorf("%d lines, want %d", len(lines), len(want))
	}
	for cursor, config := range map[string]object{
		"offset_bytes": {"offset_bytes": 0, "limit_bytes": 777},
		"offset_chars": {"offset_chars": 0, "limit_chars": 500},
	} {
		var b strings.Builder
		follow("view_file", "t.txt", config, cursor, "next_"+cursor, func(v object) { b.WriteString(v["content"].(string)) })
		if b.String() != text.String() {
			t.Errorf("%s: %d bytes, want %d", cursor, b.Len(), text.Len())
		}
	}
	var listed []string
	follow("list_directory", "d", object{"max_depth": 2, "page_size": 37}, "offset", "next_offset", func(v object) {
		for _, e := range v["entries"].([]any) {
			listed = append(listed, e.(object)["relative_path"].(string))
		}
	})
	var drawn int
	follow("file_tree", "d", object{"max_chars": 300}, "offset", "next_offset", func(v object) {
		drawn += strings.Count(v["tree"].(string), "\n")
	})
	if len(listed) != 307 || drawn != 307 || len(slices.Compact(listed)) != 307 {
		t.Errorf("%d entries listed and %d drawn, want 307", len(listed), drawn)
	}
}

func cloneObject(o object) object {
	c := object{}
	for k, v := range o {
		c[k] = v
	}
	return c
}

// TestConfiguredLimits proves that a call cannot ask for more than the
// deployment allows.
func TestConfiguredLimits(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("f%02d", i)] = "x\n"
	}
	d := inMemory(t, fileops.Config{MaxScannedFiles: 5, MaxScannedBytes: 7, MaxScanMS: 20_000}, files)
	for _, config := range []object{nil, {"max_scanned_files": 10}} {
		if got := result(t, d, "file_tree", ".", config); got["scan_truncated"] != true || got["scanned_files"] != 5.0 {
			t.Errorf("tree %v: %v", config, got)
		}
	}
	for _, config := range []object{{"query": "x"}, {"query": "x", "max_scanned_bytes": 1000}} {
		if got := result(t, d, "search_files", ".", config); got["searched_files"] != 3.0 || got["truncated_reason"] != "max_scanned_bytes was reached" {
			t.Errorf("search %v: %v", config, got)
		}
	}
	if got := result(t, d, "file_tree", ".", object{"max_scanned_files": 2}); got["scanned_files"] != 2.0 {
		t.Errorf("a call that asks for less: %v", got)
	}
	_, err := harness.Compose(t.Context(), memfs.Plugin(memfs.Config{}), fileops.Plugin(fileops.Config{MaxScanMS: -1}))
	if err == nil || !strings.Contains(err.Error(), "maxScanMs must not be negative") {
		t.Errorf("a negative bound: %v", err)
	}
}

// TestHundredThousandEntries proves that what comes back of a huge directory is
// bounded, and that the bounds are told.
func TestHundredThousandEntries(t *testing.T) {
	const n = 100_000
	files := make(map[string]string, n)
	for i := range n {
		files[fmt.Sprintf("f%05d.txt", i)] = "x\n"
	}
	d := inMemory(t, fileops.Config{}, files)
	for _, c := range []struct {
		op     string
		config object
		want   object
		size   int // of the result at most
	}{
		{"list_directory", nil, object{"total_entries": float64(n), "returned_entries": 50.0, "next_offset": 50.0}, 10_000},
		{"list_directory", object{"offset": n - 1, "verbose": true}, object{"returned_entries": 1.0, "truncated": false}, 1_000},
		{"list_directory", object{"page_size": n}, object{"returned_entries": 200.0}, 30_000},
		{"file_tree", nil, object{"truncated": true, "scan_truncated": false}, 30_000},
		{"file_tree", object{"stats_scope": "scanned"}, object{"scan_truncated": true, "scanned_files": 20_000.0, "stats_complete": false}, 30_000},
		{"file_tree", object{"max_chars": 1 << 40, "max_scanned_files": 2 * n, "stats_scope": "scanned", "include_stats": true},
			object{"scanned_files": float64(n), "stats_complete": true}, 300_000},
		{"search_files", object{"query": "x"}, object{"total_matches": 200.0, "truncated_reason": "max_results was reached"}, 50_000},
		{"search_files", object{"query": "x", "output_mode": "count", "max_files": 1}, object{"searched_files": 50_000.0, "total_matches": 50_000.0, "truncated_reason": "max_scanned_files was reached"}, 1_000},
		{"search_files", object{"query": "nothing", "max_scanned_files": 2 * n}, object{"searched_files": float64(n), "truncated": false}, 1_000},
	} {
		got := result(t, d, c.op, ".", c.config)
		have := object{}
		for k := range c.want {
			have[k] = got[k]
		}
		if diff := cmp.Diff(c.want, have); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", c.op, c.config, diff)
		}
		if data, err := json.Marshal(got); err != nil || len(data) > c.size {
			t.Errorf("%s %v: the result has %d bytes: %v", c.op, c.config, len(data), err)
		}
	}
}

// TestListedAsDescribed proves that a list with all details tells of each entry
// what file_info does, also of a text in another encoding and of one whose first
// bytes end within a character.
func TestListedAsDescribed(t *testing.T) {
	files := maps.Clone(sample)
	files["long.txt"] = strings.Repeat("é", 10_000)
	files["odd.txt"] = "x" + strings.Repeat("é", 10_000)
	d := inMemory(t, fileops.Config{}, files)
	for _, e := range result(t, d, "list_directory", ".", object{"verbose": true})["entries"].([]any) {
		e := e.(object)
		info := result(t, d, "file_info", e["name"].(string), nil)
		for _, field := range []string{"is_binary", "modified", "entry_type", "size_bytes"} {
			if e[field] != info[field] {
				t.Errorf("%s: %s is listed as %v, described as %v", e["name"], field, e[field], info[field])
			}
		}
	}
}
