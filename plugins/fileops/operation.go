package fileops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// operation is one row of the table of operations.
type operation struct {
	name   string
	enable string // the switch
	about  string // for the model
	// path is the field that the hub's path stands for; "" for none.
	path   string
	fields []field
	// hubOnly keeps it from being a tool of its own.
	hubOnly bool
	// changes marks what needs a person's approval.
	changes bool
	run     func(context.Context, *request) (result, error)
}

// result is what an operation returns: a value that encodes as one JSON
// object, and a line that says what it is.
type result interface{ summary() string }

// request is one call of an operation.
type request struct {
	*ops
	op   *operation
	call *tool.Call
	fs   vfs.FileSystem
	args arguments
}

// operations is the table, in the order in which they are named to the model.
var operations []*operation

// The table refers to itself through the batch, which runs any of it.
func init() { operations = slices.Concat(readOperations, changeOperations) }

// alternatives are fields of which an operation needs at least one; the first
// is the one that a correct call gets where the caller gave none.
var alternatives = map[string][]string{
	"diff_file":     {"new_content", "compare_path"},
	"validate_file": {"content", "file_path"},
	"edit_file":     {"replacements", "replacements_json"},
	"patch_file":    {"patches", "content"},
}

func operationNamed(name string) *operation {
	for _, op := range operations {
		if op.name == name {
			return op
		}
	}
	return nil
}

// field describes one argument of an operation.
type field struct {
	name     string
	kind     kind
	required bool
	about    string
	enum     []string
	def      any   // default, for the schema
	min      int64 // of integers
	example  any   // for a call that would do, where the caller gave nothing
	// lenient keeps a required field from being missed: the schema demands it,
	// and the operation knows what leaving it out means.
	lenient bool
	// loose takes a string of JSON, or one object, for an array of objects.
	loose bool
	// members are those of the objects that it holds, also as a string of JSON;
	// nil where they are not checked here.
	members []member
	// words are the only ones that an array of strings may hold; nil for any.
	words []string
	// hint is what the name and type leave open, for the hub's description.
	hint string
	// otherWords are what other tools call the words.
	otherWords map[string]string
}

// kind is the JSON type of a field.
type kind string

const (
	text    kind = "string"
	integer kind = "integer"
	boolean kind = "boolean"
	texts   kind = "array" // of strings
	objects kind = "array of objects"
	object  kind = "object"
	any_    kind = "any"
)

// schema writes the JSON Schema of an operation's arguments, the same to the
// byte on every machine.
func (op *operation) schema() tool.Schema {
	var props, required []string
	for _, f := range op.fields {
		props = append(props, fmt.Sprintf("%s:%s", encode(f.name), f.schema()))
		if f.required {
			required = append(required, f.name)
		}
	}
	s := fmt.Sprintf(`{"type":"object","properties":{%s}`, strings.Join(props, ","))
	if len(required) > 0 {
		s += `,"required":` + encode(required)
	}
	return tool.Schema(s + `,"additionalProperties":false}`)
}

func (f field) schema() string {
	var parts []string
	switch f.kind {
	case texts:
		parts = append(parts, `"type":"array","items":{"type":"string"}`)
	case objects:
		parts = append(parts, `"type":"array","items":`+itemSchema(f.members))
	case any_:
	default:
		parts = append(parts, `"type":`+encode(string(f.kind)))
	}
	if f.enum != nil {
		parts = append(parts, `"enum":`+encode(f.enum))
	}
	if f.kind == integer {
		parts = append(parts, fmt.Sprintf(`"minimum":%d`, f.min))
	}
	if f.def != nil {
		parts = append(parts, `"default":`+encode(f.def))
	}
	return "{" + strings.Join(append(parts, `"description":`+encode(f.about)), ",") + "}"
}

// itemSchema describes the objects of an array. It leaves names that it does
// not know to the operation, which says what was meant by them.
func itemSchema(members []member) string {
	if members == nil {
		return `{"type":"object"}`
	}
	var props, required []string
	for _, m := range members {
		schema := "{}"
		if m.kind == text {
			schema = `{"type":"string"}`
		}
		props = append(props, encode(m.name)+":"+schema)
		if m.required {
			required = append(required, m.name)
		}
	}
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s}`, strings.Join(props, ","), encode(required))
}

func (op *operation) field(name string) *field {
	for i := range op.fields {
		if op.fields[i].name == name {
			return &op.fields[i]
		}
	}
	return nil
}
