package fileops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/near"
)

// member describes one member of the objects of an argument.
type member struct {
	name     string
	kind     kind // text, or any_ for a value of any type
	required bool
	// hint is what the name leaves open, for the hub's description.
	hint string
	// example stands for one that is missing in a call that would do.
	example any
}

var replacementMembers = []member{
	{name: "old_content", kind: text, required: true, example: "old text"},
	{name: "new_content", kind: text, required: true, example: "new text"},
}

var patchMembers = []member{
	{name: "op", kind: text, required: true, hint: "set, replace, insert, append or remove", example: "set"},
	{name: "path", kind: text, required: true, hint: "a JSON pointer", example: "/key"},
	{name: "value", kind: any_},
	{name: "document", kind: any_, hint: "of a YAML stream, from 0"},
}

// otherNames are names that other tools have for an argument or member, with
// those that it may have here.
var otherNames = map[string][]string{
	"old_string": {"old_content"}, "old_str": {"old_content"}, "old_text": {"old_content"}, "oldText": {"old_content"},
	"old": {"old_content"}, "search": {"old_content", "query"}, "find": {"old_content", "query"},
	"new_string": {"new_content"}, "new_str": {"new_content"}, "new_text": {"new_content"}, "newText": {"new_content"},
	"new": {"new_content"}, "replace": {"new_content"}, "replacement": {"new_content"},
	"pattern": {"query"}, "regex": {"query"}, "regexp": {"query"}, "text": {"query", "content"}, "term": {"query"},
	"edits": {"replacements"}, "operations": {"patches"}, "ops": {"operations"}, "steps": {"operations"},
	"contents": {"content"}, "data": {"content"}, "destination": {"destination_path"}, "dest": {"destination_path"},
	"to": {"destination_path"}, "target": {"destination_path"}, "source": {"source_path"}, "src": {"source_path"},
	"from": {"source_path"}, "arguments": {"config"}, "args": {"config"}, "params": {"config"}, "parameters": {"config"},
	"input": {"config"}, "options": {"config"},
	"op": {"operation"}, "tool": {"operation"}, "action": {"operation"}, "command": {"operation"}, "name": {"operation"},
	"operation": {"op"},
}

// otherOperations are names that other tools have for an operation.
var otherOperations = map[string]string{
	"read": "view_file", "read_file": "view_file", "view": "view_file", "open": "view_file", "cat": "view_file", "head": "view_file",
	"tail": "view_file", "get_file": "view_file", "stat": "file_info", "info": "file_info", "exists": "file_info",
	"ls": "list_directory", "list": "list_directory", "list_dir": "list_directory", "list_files": "list_directory", "dir": "list_directory",
	"tree": "file_tree", "grep": "search_files", "rg": "search_files", "search": "search_files", "find": "search_files",
	"find_in_files": "search_files", "diff": "diff_file", "compare": "diff_file", "validate": "validate_file", "lint": "validate_file",
	"write": "write_file", "save": "write_file", "create": "create_file", "new_file": "create_file", "edit": "edit_file",
	"replace": "edit_file", "str_replace": "edit_file", "patch": "patch_file", "copy": "copy_file", "cp": "copy_file",
	"move": "move_file", "mv": "move_file", "rename": "move_file", "rename_file": "move_file", "delete": "delete_file",
	"remove": "delete_file", "remove_file": "delete_file", "rm": "delete_file", "unlink": "delete_file", "backup": "backup_file",
	"snapshot": "backup_file", "backups": "list_backups", "rollback": "rollback_file", "restore": "rollback_file",
	"restore_file": "rollback_file", "undo": "rollback_file", "batch": "batch_file_ops",
}

// meant is the one of names that somebody who wrote another probably meant, or
// "".
func meant(name string, names []string) string {
	for _, n := range otherNames[name] {
		if slices.Contains(names, n) {
			return n
		}
	}
	return near.Miss(name, names)
}

func (op *operation) fieldNames() []string {
	names := make([]string, len(op.fields))
	for i, f := range op.fields {
		names[i] = f.name
	}
	return names
}

// pathNames are names that the hub, other operations and other tools have for
// the path that an operation is about.
var pathNames = []string{
	"path", "file_path", "root_path", "directory_path", "search_path", "source_path",
	"file", "filename", "file_name", "filepath", "dir", "directory", "dir_path", "folder", "root", "uri",
}

// meant is the argument that an unknown one stands for, or "".
func (op *operation) meant(name string) string {
	if op.path != "" && slices.Contains(pathNames, name) {
		return op.path
	}
	return meant(name, op.fieldNames())
}

// standIn finds an unknown argument that was probably meant to be f, or "".
func (op *operation) standIn(f *field, given map[string]any) string {
	for _, name := range sortedKeys(given) {
		if op.field(name) == nil && given[name] != nil && op.meant(name) == f.name {
			return name
		}
	}
	return ""
}

// unknownArgument is the failure of an argument that the operation does not
// have.
func (op *operation) unknownArgument(name string) *failure {
	msg := fmt.Sprintf("%s has no argument %q", op.name, name)
	if best := op.meant(name); best != "" {
		return badArgument(name, "%s; did you mean %q?", msg, best)
	}
	for i := range op.fields {
		f := &op.fields[i]
		if best := meant(name, f.memberNames()); best != "" {
			return badArgument(name, "%s; did you mean %s of an object in %s?", msg, best, f.name)
		}
	}
	return badArgument(name, "%s", msg)
}

func (f *field) memberNames() []string {
	names := make([]string, len(f.members))
	for i, m := range f.members {
		names[i] = m.name
	}
	return names
}

// gathered is an object for f whose members stand among the arguments
// themselves, as those of a tool that makes one change have them.
func (f *field) gathered(op *operation, given map[string]any) (map[string]any, bool) {
	stray := map[string]any{}
	for name, v := range given {
		if op.field(name) == nil {
			stray[name] = v
		}
	}
	if len(stray) == 0 || f.members == nil {
		return nil, false
	}
	names := f.memberNames()
	for _, m := range f.members {
		if m.required && !slices.ContainsFunc(sortedKeys(stray), func(name string) bool { return meant(name, names) == m.name }) {
			return nil, false
		}
	}
	return f.repairedObject(stray), true
}

// elements are the objects of a value that f takes, whose members are known:
// also those that a string of JSON holds.
func (f *field) elements(value any) ([]any, bool) {
	if f.members == nil {
		return nil, false
	}
	if s, ok := value.(string); ok {
		list, err := parseList(s)
		return list, err == nil
	}
	list, ok := value.([]any)
	return list, ok
}

// checkMembers looks at the objects of a value. A failure names the member.
func (f *field) checkMembers(op *operation, value any) *failure {
	if s, ok := value.(string); ok && f.members != nil && strings.TrimSpace(s) != "" {
		if _, err := parseList(s); err != nil {
			return badArgument(f.name, "%s must be a string of JSON with an array of objects: %v", f.name, err)
		}
	}
	list, _ := f.elements(value)
	for i, e := range list {
		at := fmt.Sprintf("%s[%d]", f.name, i)
		o, ok := e.(map[string]any)
		if !ok {
			return badArgument(f.name, "%s must be an array of objects; element %d is none", f.name, i)
		}
		if bad := f.checkObject(op, at, o); bad != nil {
			return bad
		}
	}
	return nil
}

func (f *field) checkObject(op *operation, at string, o map[string]any) *failure {
	names := f.memberNames()
	for _, name := range sortedKeys(o) {
		if slices.Contains(names, name) {
			continue
		}
		field := at + "." + name
		if op.field(name) != nil {
			return badArgument(field, "%s belongs beside %s, not into its objects", name, f.name)
		}
		msg := fmt.Sprintf("%s has no member %q", at, name)
		if best := meant(name, names); best != "" {
			msg += fmt.Sprintf("; did you mean %s?", best)
		}
		return badArgument(field, "%s", msg)
	}
	for _, m := range f.members {
		v, there := o[m.name]
		_, isText := v.(string)
		switch {
		case m.required && v == nil:
			return badArgument(at+"."+m.name, "%s needs %s", at, m.name)
		case there && m.kind == text && !isText:
			return badArgument(at+"."+m.name, "%s.%s must be a string", at, m.name)
		}
	}
	return nil
}

// repaired is a value that f takes, made of what the caller gave as far as
// that says what was meant.
func (f *field) repaired(op *operation, v any) (any, bool) {
	v = f.coerced(v)
	value, why := f.convert(v)
	if why != "" || f.foreign(value) {
		return nil, false
	}
	if f.checkMembers(op, value) == nil {
		list, isList := value.([]any)
		return v, !isList || len(list) > 0
	}
	list, ok := f.elements(value)
	if !ok {
		return nil, false
	}
	fixed := make([]any, 0, len(list))
	for _, e := range list {
		if o, ok := e.(map[string]any); ok {
			fixed = append(fixed, f.repairedObject(o))
		}
	}
	if f.kind == text {
		return encode(fixed), len(fixed) > 0
	}
	return fixed, len(fixed) > 0
}

// foreign reports whether a list holds a word that the field does not know.
func (f *field) foreign(value any) bool {
	list, _ := value.([]string)
	return f.words != nil && slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(f.words, strings.ToLower(s)) })
}

func (f *field) repairedObject(o map[string]any) map[string]any {
	names := f.memberNames()
	out := map[string]any{}
	for _, m := range f.members {
		v, there := o[m.name]
		for _, name := range sortedKeys(o) {
			if !there && !slices.Contains(names, name) && meant(name, names) == m.name {
				v, there = o[name], true
			}
		}
		if _, isText := v.(string); !there || m.kind == text && !isText {
			if m.required {
				out[m.name] = m.example
			}
			continue
		}
		out[m.name] = v
	}
	return out
}

// plainAbout is what a field is about, within a sentence.
func plainAbout(about string) string {
	about = strings.TrimSuffix(about, ".")
	if about == "" {
		return ""
	}
	return " (" + strings.ToLower(about[:1]) + about[1:] + ")"
}
