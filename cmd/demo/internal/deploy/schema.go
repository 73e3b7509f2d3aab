package deploy

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness/llm"
)

// Setting is one setting of a configuration file.
type Setting struct {
	// Key is its path, as in "limits.maxImageBytes"; NAME stands for a key
	// that the file chooses.
	Key string `json:"key"`
	// Type is "text", "secret", "yes or no", "number", "decimal", "duration",
	// "any value", or "list of" and "map of" one of these.
	Type string `json:"type"`
	// Values are those that there are; empty where any will do.
	Values []string `json:"values,omitempty"`
	// Default is in words or a value; "" for none.
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// PluginSchema describes a plugin that a configuration file can name.
type PluginSchema struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Several tells that NAME/INSTANCE names further ones.
	Several  bool      `json:"several"`
	Settings []Setting `json:"settings"`
}

// Schema describes a configuration file.
type Schema struct {
	// Settings are those beside the plugins.
	Settings []Setting      `json:"settings"`
	Plugins  []PluginSchema `json:"plugins"`
}

// Describe returns the schema of a configuration file.
func Describe() Schema {
	s := Schema{Settings: []Setting{modelSetting}}
	s.Settings = append(s.Settings, settingsOf(reflect.TypeFor[AgentSettings](), "agent.")...)
	for _, e := range catalogue {
		t := reflect.TypeOf(e.settings(&Options{})).Elem()
		s.Plugins = append(s.Plugins, PluginSchema{Name: e.name, Doc: e.doc, Several: e.several, Settings: settingsOf(t, "")})
	}
	return s
}

var modelSetting = Setting{Key: "model", Type: "text", Doc: "the model of the agent, as provider/model"}

// settingsOf lists the settings of a struct, those of structs within it in
// their place.
func settingsOf(t reflect.Type, prefix string) []Setting {
	var out []Setting
	for _, f := range fieldsOf(t) {
		key := prefix + f.key
		switch inner, suffix := within(f.Type); {
		case inner != nil:
			out = append(out, settingsOf(inner, key+suffix+".")...)
		default:
			d := docs[f.doc]
			out = append(out, Setting{Key: key, Type: typeName(f.Type), Values: choices[elementOf(f.Type)], Default: d.standard, Doc: d.text})
		}
	}
	return out
}

// within returns the struct whose settings a field holds, directly or as the
// values of a map, and what to add to the field's key; nil for any other.
func within(t reflect.Type) (inner reflect.Type, suffix string) {
	switch {
	case t.Kind() == reflect.Struct:
		return t, ""
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct:
		return t.Elem(), ".NAME"
	}
	return nil, ""
}

// field is a field that a configuration file can set.
type field struct {
	reflect.StructField
	key string
	doc string // its key in docs
}

// fieldsOf lists them in the order of the struct. What is no plain data, such
// as a function, is set by programs only.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" || !isData(f.Type) {
			continue
		}
		key := tag
		if key == "" {
			key = lowerFirst(f.Name)
		}
		if t == reflect.TypeFor[llm.ModelInfo]() && (key == "provider" || key == "model") {
			continue // they stand in the key of the entry
		}
		out = append(out, field{f, key, path.Base(t.PkgPath()) + "." + t.Name() + "." + key})
	}
	return out
}

func isData(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Func, reflect.Interface, reflect.Chan:
		return false
	}
	return true
}

// lowerFirst turns a Go name into a key: Cwd is cwd, MaxBytes is maxBytes.
func lowerFirst(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(r)) + name[size:]
}

// elementOf returns the type of a list's or map's values, else t.
func elementOf(t reflect.Type) reflect.Type {
	if t != reflect.TypeFor[json.RawMessage]() && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return t
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return "any value"
	case reflect.TypeFor[llm.Secret]():
		return "secret"
	case reflect.TypeFor[time.Duration]():
		return "duration"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "map of " + typeName(t.Elem())
	case reflect.Bool:
		return "yes or no"
	case reflect.Float64:
		return "decimal"
	case reflect.Int, reflect.Int64:
		return "number"
	}
	return "text"
}

// Plugin returns the schema of one plugin.
func (s Schema) Plugin(name string) (PluginSchema, error) {
	e, _, ok := lookup(name)
	if !ok {
		return PluginSchema{}, fmt.Errorf("there is no plugin %q%s", name, suggestion(name, pluginNames()))
	}
	for _, p := range s.Plugins {
		if p.Name == e.name {
			return p, nil
		}
	}
	return PluginSchema{}, fmt.Errorf("there is no plugin %q", name)
}
