package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Body is the JSON object of a request. Its fields stand in the order in
// which they were first set, so equal requests have equal bytes.
type Body struct {
	names  []string
	values map[string]any
}

// Set sets a field.
func (b *Body) Set(name string, value any) {
	if b.values == nil {
		b.values = map[string]any{}
	}
	if _, ok := b.values[name]; !ok {
		b.names = append(b.names, name)
	}
	b.values[name] = value
}

// Merge sets fields in byte order of their names. A null takes the field out:
// a server may refuse one that others want.
func (b *Body) Merge(extra map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if string(bytes.TrimSpace(extra[name])) != "null" {
			b.Set(name, extra[name])
		} else if _, ok := b.values[name]; ok {
			delete(b.values, name)
			b.names = slices.DeleteFunc(b.names, func(n string) bool { return n == name })
		}
	}
}

// Encode returns the JSON. Only a value that is no valid JSON makes it fail.
func (b *Body) Encode() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, name := range b.names {
		if i > 0 {
			out.WriteByte(',')
		}
		for j, v := range []any{name, b.values[name]} {
			if err := enc.Encode(v); err != nil {
				return nil, fmt.Errorf("the field %q of the request: %w", name, err)
			}
			out.Truncate(out.Len() - 1) // the line feed that Encode adds
			if j == 0 {
				out.WriteByte(':')
			}
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
