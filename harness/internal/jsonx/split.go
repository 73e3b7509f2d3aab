package jsonx

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"unicode/utf8"
)

// Field is one field of an object: its decoded name and the raw bytes of its
// value.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Check reports why data is not one JSON object in UTF-8, or nil.
func Check(data []byte) error {
	if err := CheckValue(data); err != nil {
		return err
	}
	if data[skipSpace(data, 0)] != '{' {
		return errors.New("it is not a JSON object")
	}
	return nil
}

// CheckValue reports why data is not one JSON value in UTF-8, or nil.
func CheckValue(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("it holds bytes that are not UTF-8")
	}
	if !json.Valid(data) {
		// Unmarshal names the position, which Valid does not.
		var any json.RawMessage
		if err := json.Unmarshal(data, &any); err != nil {
			return fmt.Errorf("it is not valid JSON: %w", err)
		}
		return errors.New("it is not valid JSON")
	}
	return nil
}

// Split appends the fields of the object in data to dst, in their order.
// Values alias data. The data must be valid JSON, as [Check] makes sure; a
// value that is no object, and a name that comes twice, are errors.
func Split(dst []Field, data []byte) ([]Field, error) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return dst, errors.New("it is not a JSON object")
	}
	first := len(dst)
	i = skipSpace(data, i+1)
	for i < len(data) && data[i] != '}' {
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
		end := skipString(data, i)
		name, err := Unquote(data[i:end])
		if err != nil {
			return dst, err
		}
		for _, f := range dst[first:] {
			if f.Name == name {
				return dst, fmt.Errorf("the field %q comes twice", name)
			}
		}
		i = skipSpace(data, end)
		i = skipSpace(data, i+1) // the colon
		end = SkipValue(data, i)
		dst = append(dst, Field{Name: name, Value: data[i:end:end]})
		i = skipSpace(data, end)
	}
	return dst, nil
}

// Elements yields the raw elements of the array in data, which must be valid
// JSON. A value that is no array is the one error.
func Elements(data []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		i := skipSpace(data, 0)
		if i >= len(data) || data[i] != '[' {
			yield(nil, errors.New("it is not a JSON array"))
			return
		}
		i = skipSpace(data, i+1)
		for i < len(data) && data[i] != ']' {
			if data[i] == ',' {
				i = skipSpace(data, i+1)
			}
			end := SkipValue(data, i)
			if !yield(data[i:end:end], nil) {
				return
			}
			i = skipSpace(data, end)
		}
	}
}

// Unquote decodes a JSON string. Most names and pieces have no escape, and
// those cost one copy.
func Unquote(raw []byte) (string, error) {
	if len(raw) >= 2 && raw[0] == '"' && raw[len(raw)-1] == '"' {
		plain := true
		for _, c := range raw[1 : len(raw)-1] {
			if c == '\\' || c == '"' || c < 0x20 {
				plain = false
				break
			}
		}
		if plain {
			return string(raw[1 : len(raw)-1]), nil
		}
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	return s, nil
}

// SkipValue returns the index after the value that begins at i.
func SkipValue(data []byte, i int) int {
	if i >= len(data) {
		return i
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		depth := 0
		for i < len(data) {
			switch data[i] {
			case '"':
				i = skipString(data, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(data) {
		switch data[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// Extra is the fields of an object that its reader does not know.
type Extra = map[string]json.RawMessage

// Keep stores a field in extra, copying its value, and returns the map.
func Keep(extra Extra, f Field) Extra {
	if extra == nil {
		extra = Extra{}
	}
	extra[f.Name] = slices.Clone(f.Value)
	return extra
}

// Extras appends the fields of extra in byte order of their names.
func (o *Object) Extras(extra Extra) {
	if len(extra) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		o.Raw(name, extra[name])
	}
}
