package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bridle-go/bridle/harness/errs"
)

// misspelt returns a complaint for each property, however deep, that a schema
// knows in another case only. encoding/json would take it for the known one,
// which no schema has validated and no guard has looked at.
func misspelt(s *jsonschema.Schema, value any, at string) []string {
	if s == nil {
		return nil
	}
	var found []string
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if known, ok := s.Properties[name]; ok {
				found = append(found, misspelt(known, value[name], join(at, name))...)
				continue
			}
			for known := range s.Properties {
				if strings.EqualFold(known, name) {
					found = append(found, fmt.Sprintf("%s is not a known property, did you mean %s", join(at, name), known))
				}
			}
		}
	case []any:
		for i, v := range value {
			found = append(found, misspelt(s.Items2020, v, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	return found
}

// decodeArgs turns arguments that were validated into their Go type.
func decodeArgs[A any](arguments json.RawMessage) (A, error) {
	var args A
	if err := json.Unmarshal(arguments, &args); err != nil {
		return args, errs.Wrap(errs.InvalidArgs, "invalid arguments: "+unfit(err), err)
	}
	return args, nil
}

// unfit says which argument its Go type has no room for. The value is left
// out: it can be of any length.
func unfit(err error) string {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return err.Error()
	}
	// The path to the field names embedded Go types, too, which no caller knows.
	name := t.Field[strings.LastIndexByte(t.Field, '.')+1:]
	kind, _, _ := strings.Cut(t.Value, " ")
	if kind == "number" && numeric(t) {
		return name + " is a number that is out of range"
	}
	return fmt.Sprintf("%s must not be of type %s", name, kind)
}

func numeric(t *json.UnmarshalTypeError) bool {
	switch k := t.Type.Kind().String(); {
	case strings.HasPrefix(k, "int"), strings.HasPrefix(k, "uint"), strings.HasPrefix(k, "float"):
		return true
	}
	return false
}
