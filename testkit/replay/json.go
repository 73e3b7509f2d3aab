package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// encode is json.Marshal without the escaping of <, > and &, as logs have it.
// Values here always encode.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// jsonIndent writes JSON for readers.
func jsonIndent(b *bytes.Buffer, data []byte) error {
	if err := json.Indent(b, data, "", "  "); err != nil {
		return err
	}
	return b.WriteByte('\n')
}

// parse reads JSON with its numbers as they are spelled.
func parse(data []byte) any {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return string(data)
	}
	return v
}

// absent is the value of a field that is not there.
type absent struct{}

// firstDifference compares two parsed values and returns the path of the first
// place where they differ, below path, with both values.
func firstDifference(path string, a, b any) (where string, av, bv any, differ bool) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := slices.Collect(maps.Keys(x))
		for name := range y {
			if _, both := x[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if where, av, bv, differ = firstDifference(join(path, name), field(x, name), field(y, name)); differ {
				return where, av, bv, true
			}
		}
		return "", nil, nil, false
	case []any:
		y, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(x), len(y)) {
			if where, av, bv, differ = firstDifference(fmt.Sprintf("%s[%d]", path, i), element(x, i), element(y, i)); differ {
				return where, av, bv, true
			}
		}
		return "", nil, nil, false
	default:
		switch b.(type) {
		case map[string]any, []any:
		default:
			if a == b {
				return "", nil, nil, false
			}
		}
	}
	return path, a, b, true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func field(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// spell is a value as a difference shows it: texts as they are.
func spell(v any) string {
	switch v := v.(type) {
	case absent:
		return "(absent)"
	case string:
		return v
	}
	return string(encode(v))
}
