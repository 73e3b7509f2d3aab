package fileops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// encode is json.Marshal for values that cannot fail, without the escaping of
// <, > and &.
func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return strconv.Quote(err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parseObject reads a JSON object and keeps numbers as they are spelled.
func parseObject(data []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return m, nil
}

// parseList reads a JSON array, or one object as an array of it.
func parseList(text string) ([]any, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		text = "[" + text + "]"
	}
	m, err := parseObject([]byte(`{"list":` + text + `}`))
	if err != nil {
		return nil, err
	}
	list, ok := m["list"].([]any)
	if !ok {
		return nil, fmt.Errorf("no array")
	}
	return list, nil
}

// loosened is the array that a string of JSON holds, or that of one object;
// anything else it leaves.
func loosened(v any) any {
	switch v := v.(type) {
	case string:
		if list, err := parseList(v); err == nil {
			return list
		}
	case map[string]any:
		return []any{v}
	}
	return v
}

// arguments are the checked arguments of an operation. What was null or not
// given is absent.
type arguments map[string]any

// checkArguments checks the caller's values against the operation's fields
// and returns them in the forms that the accessors expect. A failure names
// the first field that is wrong, in the order of the fields.
func checkArguments(op *operation, given map[string]any) (arguments, *failure) {
	args := arguments{}
	var problem *failure
	note := func(f *failure) {
		if problem == nil {
			problem = f
		}
	}
	for i := range op.fields {
		f := &op.fields[i]
		v, ok := given[f.name]
		if !ok || v == nil {
			if f.required && !f.lenient {
				if other := op.standIn(f, given); other != "" {
					note(op.unknownArgument(other))
				}
				note(badArgument(f.name, "%s needs %s%s", op.name, f.name, plainAbout(f.about)))
			}
			continue
		}
		value, why := f.convert(v)
		if why != "" {
			note(badArgument(f.name, "%s must be %s", f.name, why))
			continue
		}
		if bad := f.checkMembers(op, value); bad != nil {
			note(bad)
			continue
		}
		args[f.name] = value
	}
	for _, name := range sortedKeys(given) {
		if op.field(name) == nil && given[name] != nil {
			note(op.unknownArgument(name))
		}
	}
	return args, problem
}

// convert returns the value in the form of its kind, or what it must be.
func (f *field) convert(v any) (any, string) {
	switch f.kind {
	case text:
		s, ok := v.(string)
		if !ok {
			return nil, "a string"
		}
		if f.enum != nil && !slices.Contains(f.enum, s) {
			return nil, "one of " + strings.Join(f.enum, ", ")
		}
		return s, ""
	case boolean:
		if b, ok := v.(bool); ok {
			return b, ""
		}
		return nil, "true or false"
	case integer:
		n, ok := wholeNumber(v)
		if !ok {
			return nil, "a whole number"
		}
		if n < f.min {
			return nil, fmt.Sprintf("at least %d, not %d", f.min, n)
		}
		return n, ""
	case texts:
		list, ok := v.([]any)
		if !ok {
			return nil, "an array of strings"
		}
		out := make([]string, len(list))
		for i, e := range list {
			if out[i], ok = e.(string); !ok {
				return nil, fmt.Sprintf("an array of strings; element %d is none", i)
			}
		}
		return out, ""
	case objects:
		if f.loose {
			v = loosened(v)
		}
		list, ok := v.([]any)
		if s, isText := v.(string); isText && f.loose {
			_, err := parseList(s)
			return nil, fmt.Sprintf("an array of objects, or a string of JSON with one, and this string is none: %v", err)
		}
		if !ok {
			return nil, "an array of objects"
		}
		for i, e := range list {
			if _, ok := e.(map[string]any); !ok {
				return nil, fmt.Sprintf("an array of objects; element %d is none", i)
			}
		}
		return list, ""
	case object:
		if m, ok := v.(map[string]any); ok {
			return m, ""
		}
		return nil, "a JSON object, not a string with one"
	}
	return v, ""
}

// wholeNumber takes 10 and 10.0 alike, as JSON Schema does.
func wholeNumber(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	x, err := n.Float64()
	if err != nil || x != math.Trunc(x) {
		return 0, false
	}
	// Beyond the range every bound is exceeded anyway.
	if x >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	if x <= math.MinInt64 {
		return math.MinInt64, true
	}
	return int64(x), true
}

func (a arguments) has(name string) bool { _, ok := a[name]; return ok }

func (a arguments) text(name string) string { s, _ := a[name].(string); return s }

func (a arguments) flag(name string) bool { b, _ := a[name].(bool); return b }

func (a arguments) texts(name string) []string { l, _ := a[name].([]string); return l }

// number returns an integer argument, or def where it was not given.
func (a arguments) number(name string, def int64) int64 {
	if n, ok := a[name].(int64); ok {
		return n
	}
	return def
}

// count is number for values that are used as an int, cut to the range from 0
// to most.
func (a arguments) count(name string, def, most int) int {
	return int(min(max(a.number(name, int64(def)), 0), int64(most)))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
