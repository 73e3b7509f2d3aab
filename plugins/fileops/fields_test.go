package fileops

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/plugins/fileops/internal/change"
)

// specified is one row of testdata/fields.txt.
type specified struct {
	direction, name, kind string
	required, deployment  bool
	def, most             string
	enum                  []string
}

// fieldList reads testdata/fields.txt: the rows by operation.
func fieldList(t *testing.T) map[string][]specified {
	t.Helper()
	data, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "\n\n")
	all := map[string][]specified{}
	var op string
	for line := range strings.Lines(body) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case !strings.HasPrefix(line, " "):
			op = words[0]
			continue
		}
		f := specified{direction: words[0], name: words[1], kind: words[2]}
		for note := range strings.SplitSeq(strings.Join(words[3:], " "), ", ") {
			what, value, _ := strings.Cut(note, " ")
			switch what {
			case "required":
				f.required = true
			case "deployment":
				f.deployment = true
			case "default":
				f.def = strings.Trim(value, `"`)
			case "most":
				f.most = value
			case "one":
				f.enum = strings.Fields(value)[1:]
			}
		}
		all[op] = append(all[op], f)
	}
	return all
}

// results are the results of the single operations.
var results = map[string]any{
	"view_file": viewed{}, "file_info": described{}, "list_directory": listing{}, "file_tree": drawn{},
	"search_files": searched{}, "diff_file": compared{}, "validate_file": validated{},
	"write_file": change.WriteResult{}, "edit_file": change.EditResult{}, "patch_file": change.PatchResult{},
	"copy_file": change.CopyResult{}, "move_file": change.MoveResult{}, "delete_file": change.DeleteResult{},
	"backup_file": change.BackupResult{}, "rollback_file": change.RollbackResult{},
}

// TestFieldList proves that the list is whole: 16 sections with 339 fields.
func TestFieldList(t *testing.T) {
	all := fieldList(t)
	n := 0
	for _, rows := range all {
		for _, f := range rows {
			if f.direction != "also" {
				n++
			}
		}
	}
	if len(all) != 16 || n != 339 || len(results) != 15 {
		t.Errorf("%d sections with %d fields, %d results", len(all), n, len(results))
	}
}

type property struct {
	Type        string
	Items       struct{ Type string }
	Enum        []string
	Default     any
	Description string
}

func properties(t *testing.T, schema json.RawMessage) (map[string]property, []string) {
	t.Helper()
	var s struct {
		Type       string
		Properties map[string]property
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "object" || s.Additional == nil || *s.Additional {
		t.Errorf("the schema is not that of a closed object: %s", schema)
	}
	return s.Properties, s.Required
}

// TestSchemasHaveTheFields holds every schema against the list: the same
// fields, with type, requirement, default and choices, and with the hard bound
// in the description. A value beyond a bound is cut to it and no error, so the
// schema itself must not refuse it.
func TestSchemasHaveTheFields(t *testing.T) {
	for op, rows := range fieldList(t) {
		if op == HubName {
			continue
		}
		t.Run(op, func(t *testing.T) {
			props, required := properties(t, operationNamed(op).schema())
			seen := map[string]bool{}
			for _, f := range rows {
				if f.direction != "in" {
					continue
				}
				seen[f.name] = true
				p, ok := props[f.name]
				if !ok {
					t.Errorf("%s is not in the schema", f.name)
					continue
				}
				kind := p.Type
				if kind == "array" {
					kind = p.Items.Type + "s"
				}
				if kind != f.kind {
					t.Errorf("%s is a %s, want %s", f.name, kind, f.kind)
				}
				if slices.Contains(required, f.name) != f.required {
					t.Errorf("%s: required is %v, want %v", f.name, !f.required, f.required)
				}
				if def := plain(p.Default); def != f.def {
					t.Errorf("%s: default %q, want %q", f.name, def, f.def)
				}
				if !slices.Equal(p.Enum, f.enum) {
					t.Errorf("%s: choices %q, want %q", f.name, p.Enum, f.enum)
				}
				if !strings.Contains(p.Description, f.most) {
					t.Errorf("%s: %q does not tell the bound %s", f.name, p.Description, f.most)
				}
				if p.Description == "" {
					t.Errorf("%s has no description", f.name)
				}
			}
			for name := range props {
				if !seen[name] {
					t.Errorf("%s is in the schema and not in the list", name)
				}
			}
		})
	}
}

// plain is a default as the list has it.
func plain(v any) string {
	if v == nil {
		return ""
	}
	return strings.Trim(encode(v), `"`)
}

// TestHubSchema proves that a model sees the call alone and nothing of the
// deployment's settings, all of which there are.
func TestHubSchema(t *testing.T) {
	o := &ops{}
	props, required := properties(t, o.hub().Input)
	var want, got, settings []string
	for _, f := range fieldList(t)[HubName] {
		switch {
		case f.direction != "in":
		case f.deployment:
			settings = append(settings, f.name)
		default:
			want = append(want, f.name+" "+f.kind)
		}
	}
	for name, p := range props {
		got = append(got, name+" "+p.Type)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(required) > 0 {
		t.Errorf("required are %q", required)
	}
	have := append(slices.Clone(Switches), "sandbox_root", "require_approval")
	slices.Sort(have)
	slices.Sort(settings)
	if diff := cmp.Diff(settings, have); diff != "" {
		t.Errorf("settings of a deployment (-want +got):\n%s", diff)
	}
	for _, name := range settings {
		if _, ok := props[name]; ok {
			t.Errorf("the model sees %s", name)
		}
	}
}

// TestResultsHaveTheFields holds the results against the list, both ways. The
// error of a failed operation comes from the shared vocabulary.
func TestResultsHaveTheFields(t *testing.T) {
	for op, v := range results {
		t.Run(op, func(t *testing.T) {
			got := map[string]string{"error": "string"}
			members(reflect.TypeOf(v), got)
			want := map[string]string{}
			for _, f := range fieldList(t)[op] {
				if f.direction != "in" {
					want[f.name] = f.kind
				}
			}
			if _, ok := want["error"]; !ok {
				t.Error("the list has no error")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// members collects the JSON members of a struct with their types.
func members(typ reflect.Type, into map[string]string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		ft := f.Type
		for ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			members(ft, into)
			continue
		}
		into[name] = kindOf(ft)
	}
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Slice:
		return kindOf(t.Elem()) + "s"
	case reflect.Struct:
		return "object"
	}
	return t.String()
}
