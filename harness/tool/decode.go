package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
)

// argsOf returns the arguments of a call in the tool's own type.
func argsOf[A any](call *Call) (A, error) {
	if args, ok := call.decoded.(A); ok {
		return args, nil
	}
	return decodeArgs[A](call.Arguments)
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

// texts are the fields of a struct of arguments that are plain strings, by their
// names in JSON, with their index. What files are to hold comes in these and can
// be long: the strings that were parsed for the validation are put there as they
// are, and only what is left is decoded.
type texts map[string][]int

// textsOf returns the texts of A; none for a type that decodes itself, or whose
// fields take rules of encoding/json to tell apart.
func textsOf[A any]() texts {
	t := reflect.TypeFor[A]()
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	found, names := texts{}, map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, _, options := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct && tag == "":
			continue // its fields follow
		case f.Anonymous:
			return nil
		case !f.IsExported() || tag == "-":
			continue
		case name == "":
			name = f.Name
		}
		if folded := strings.ToLower(name); names[folded] {
			return nil
		} else {
			names[folded] = true
		}
		if f.Type == reflect.TypeFor[string]() && !options {
			found[name] = f.Index
		}
	}
	return found
}

// decodeParsed is decodeArgs for arguments that were parsed: canonical is the
// same as JSON.
func decodeParsed[A any](fields texts, canonical json.RawMessage, parsed any) (A, error) {
	given, _ := parsed.(map[string]any)
	rest := map[string]any{}
	for name, v := range given {
		if _, text := v.(string); text && fields[name] != nil {
			continue
		}
		if fields.spelled(name) {
			return decodeArgs[A](canonical) // which of the two counts is a rule, too
		}
		rest[name] = v
	}
	if len(rest) == len(given) {
		return decodeArgs[A](canonical)
	}
	encoded, err := encode(rest)
	if err != nil {
		var none A
		return none, err
	}
	args, err := decodeArgs[A](encoded)
	if err != nil {
		return args, err
	}
	to := reflect.ValueOf(&args).Elem()
	for name, index := range fields {
		if text, ok := given[name].(string); ok {
			to.FieldByIndex(index).SetString(text)
		}
	}
	return args, nil
}

// spelled reports whether a field has that name in another case, which
// encoding/json takes for its own.
func (t texts) spelled(name string) bool {
	for known := range t {
		if known != name && strings.EqualFold(known, name) {
			return true
		}
	}
	return false
}
