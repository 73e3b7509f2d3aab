package fileops_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/plugins/fileops"
)

// wrong are values that an argument of a type cannot have.
var wrong = map[string][]any{
	"string":           {5, true, []any{"x"}},
	"integer":          {"1", 1.5, true, -7},
	"boolean":          {"true", 1},
	"array":            {"*.go", []any{1}, object{}},
	"object":           {"{}", 3},
	"array of objects": {5, []any{1}, true},
}

// TestCorrectCalls breaks every argument of every operation in every way, both
// through the hub and the single tools, and proves that the failure names the
// argument as the caller has it, that the proposed call keeps all the others,
// and that it is valid.
func TestCorrectCalls(t *testing.T) {
	files := map[string]string{"a.txt": "{\"key\": 0}\n"}
	d := inMemory(t, fileops.Config{Register: fileops.Both, NoApproval: true}, files)
	tools := map[string]bool{}
	for _, def := range d.Tools().Definitions(nil) {
		tools[def.Name] = true
	}
	for _, op := range fileops.Operations() {
		// Where it is possible nothing is changed, so that every call finds the
		// same files.
		good := object{}
		for _, a := range op.Arguments {
			switch {
			case a.Name == op.Path:
				good[a.Name] = "a.txt"
			case a.Name == "dry_run":
				good[a.Name] = true
			case a.Required && a.Type == "string":
				good[a.Name] = "given " + a.Name
			case a.Required:
				good[a.Name] = []any{object{"operation": "file_info", "path": "a.txt"}}
			}
		}
		for _, a := range op.Arguments {
			bad := wrong[a.Type]
			if a.Enum != nil {
				bad = append(bad[:len(bad):len(bad)], "no such thing")
			}
			if len(bad) == 0 {
				t.Fatalf("%s.%s has the type %q", op.Name, a.Name, a.Type)
			}
			for _, v := range bad {
				args := object{}
				for k, x := range good {
					args[k] = x
				}
				args[a.Name] = v
				t.Run(op.Name+"/"+a.Name, func(t *testing.T) {
					config, field := object{}, "config."+a.Name
					whole := object{"operation": op.Name, "config": config}
					for k, x := range args {
						if k == op.Path {
							whole["path"] = x
						} else {
							config[k] = x
						}
					}
					if a.Name == op.Path {
						field = "path"
					}
					got, failed := call(t, d, fileops.HubName, whole)
					if !failed || got["error_kind"] != "invalid_arguments" || got["error_field"] != field {
						t.Fatalf("%v: %v %v %v, want field %s", v, got["error_kind"], got["error_field"], got["error"], field)
					}
					proposed := got["correct_call"].(object)
					again, _ := call(t, d, fileops.HubName, proposed)
					if again["error_kind"] == "invalid_arguments" {
						t.Errorf("%v: the proposed call %v fails: %v", v, proposed, again["error"])
					}
					kept := object{}
					if c, ok := proposed["config"].(object); ok {
						maps.Copy(kept, c)
					}
					if op.Path != "" {
						kept[op.Path] = proposed["path"]
					}
					for k, x := range good {
						if k != a.Name {
							if diff := cmp.Diff(x, kept[k]); diff != "" {
								t.Errorf("%v: %s is not kept (-given +proposed):\n%s", v, k, diff)
							}
						}
					}
					if !tools[op.Name] {
						return
					}
					got, failed = call(t, d, op.Name, args)
					if !failed || got["error_kind"] != "invalid_arguments" || got["error_field"] != a.Name {
						t.Fatalf("as a tool, %v: %v %v %v", v, got["error_kind"], got["error_field"], got["error"])
					}
					again, _ = call(t, d, op.Name, got["correct_call"].(object))
					if again["error_kind"] == "invalid_arguments" {
						t.Errorf("as a tool, %v: the proposed call %v fails: %v", v, got["correct_call"], again["error"])
					}
				})
			}
		}
	}
}
