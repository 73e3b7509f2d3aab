package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonschemago "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var english = message.NewPrinter(language.English)

// compile prepares a schema for validation; a nil schema allows anything.
func compile(name string, s Schema) (*jsonschema.Schema, error) {
	if s == nil {
		return nil, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s))
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	// A schema is self-contained; it never makes anything be loaded.
	c.UseLoader(noLoader{})
	url := "mem:///" + name + ".json"
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	return compiled, nil
}

// inferred holds the schemas of Go types: reflect.Type -> Schema.
var inferred sync.Map

// infer returns the schema of the JSON that encoding/json makes of a V. A type
// that has none, such as one with a channel, is a mistake in the program that
// shows when the tool is registered: its schema does not compile.
func infer[V any]() Schema {
	t := reflect.TypeFor[V]()
	if s, ok := inferred.Load(t); ok {
		return s.(Schema)
	}
	s := inferOf(t)
	inferred.Store(t, s)
	return s
}

func inferOf(t reflect.Type) Schema {
	opaque := &jsonschemago.Schema{}
	s, err := jsonschemago.ForType(t, &jsonschemago.ForOptions{TypeSchemas: map[reflect.Type]*jsonschemago.Schema{
		reflect.TypeFor[json.RawMessage](): opaque,
	}})
	if err != nil {
		return Schema(strconv.Quote(err.Error()))
	}
	data, err := json.Marshal(s)
	if err != nil {
		return Schema(strconv.Quote(err.Error()))
	}
	return data
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

// parse reads exactly one JSON value and keeps numbers as they are spelled.
func parse(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// explain says which properties are wrong and what was expected of them.
func explain(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err.Error()
	}
	problems := leaves(v, nil)
	slices.Sort(problems)
	return strings.Join(slices.Compact(problems), "; ")
}

func leaves(v *jsonschema.ValidationError, to []string) []string {
	if len(v.Causes) > 0 {
		for _, c := range v.Causes {
			to = leaves(c, to)
		}
		return to
	}
	at := pointer(v.InstanceLocation)
	switch k := v.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			to = append(to, join(at, name)+" is required")
		}
		return to
	case *kind.Type:
		return append(to, fmt.Sprintf("%s must be %s, not %s", orArguments(at), articled(k.Want...), articled(k.Got)))
	case *kind.Enum:
		want := make([]string, len(k.Want))
		for i, w := range k.Want {
			want[i] = spell(w)
		}
		return append(to, fmt.Sprintf("%s must be one of %s, not %s", orArguments(at), strings.Join(want, ", "), spell(k.Got)))
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			to = append(to, join(at, name)+" is not a known property")
		}
		return to
	}
	return append(to, orArguments(at)+": "+v.ErrorKind.LocalizedString(english))
}

// articled joins the names of JSON types: "an integer or a string", "null".
func articled(types ...string) string {
	out := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			out[i] = t
		case "array", "integer", "object":
			out[i] = "an " + t
		default:
			out[i] = "a " + t
		}
	}
	return strings.Join(out, " or ")
}

// pointer writes a location as code does: "operations[2].path".
func pointer(location []string) string {
	var b strings.Builder
	for _, part := range location {
		if _, err := strconv.Atoi(part); err == nil {
			b.WriteString("[" + part + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func orArguments(at string) string {
	if at == "" {
		return "the arguments"
	}
	return at
}

func spell(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(data) > 100 {
		data = append(data[:97:97], "..."...)
	}
	return string(data)
}
