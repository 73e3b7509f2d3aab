package deploy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// maxNodes bounds what a file may spell out with its aliases.
const maxNodes = 10_000

// decoder puts nodes of a document into Go values, strictly: a key that does
// not exist and a value of another type are errors with their line.
type decoder struct {
	anchors map[string]ast.Node
	nodes   int
}

// lineError is what is wrong in a line of a file.
type lineError struct {
	line    int
	message string
}

func (e *lineError) Error() string { return e.message }

func wrong(n ast.Node, format string, args ...any) error {
	line := 1
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return &lineError{line, fmt.Sprintf(format, args...)}
}

// pair is a key of a mapping with its value.
type pair struct {
	key   string
	node  ast.Node // of the key
	value ast.Node
}

// plain returns the node that n stands for: what an alias or anchor names.
func (d *decoder) plain(n ast.Node) (ast.Node, error) {
	for range maxNodes {
		if d.nodes++; d.nodes > maxNodes {
			return nil, wrong(n, "the file spells out more than %d values", maxNodes)
		}
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.AliasNode:
			target, ok := d.anchors[v.Value.String()]
			if !ok {
				return nil, wrong(n, "there is no anchor %q before this line", v.Value.String())
			}
			n = target
		case *ast.TagNode:
			return nil, wrong(n, "tags such as %s have no meaning here", v.Start.Value)
		default:
			return n, nil
		}
	}
	return nil, wrong(n, "the alias stands for itself")
}

// pairs returns the entries of a mapping; none for null.
func (d *decoder) pairs(n ast.Node, what string) ([]pair, error) {
	n, err := d.plain(n)
	if err != nil {
		return nil, err
	}
	var values []*ast.MappingValueNode
	switch v := n.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		values = v.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{v}
	default:
		return nil, wrong(n, "%s must have settings, as in key: value", what)
	}
	out := make([]pair, len(values))
	for i, v := range values {
		if v.Key.IsMergeKey() {
			return nil, wrong(v.Key, "<< has no meaning here; write the settings out")
		}
		out[i] = pair{v.Key.GetToken().Value, v.Key, v.Value}
	}
	return out, nil
}

// decode puts a node into v. what names the setting in errors.
func (d *decoder) decode(n ast.Node, v reflect.Value, what string) error {
	if within, _ := within(v.Type()); within != nil && v.Kind() == reflect.Struct {
		return d.structure(n, v, what)
	}
	plain, err := d.plain(n)
	if err != nil {
		return err
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		return d.any(plain, v, what)
	}
	if _, null := plain.(*ast.NullNode); null {
		return nil // as if it were not there
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.decode(plain, v.Elem(), what)
	case reflect.Slice:
		return d.list(plain, v, what)
	case reflect.Map:
		return d.mapping(plain, v, what)
	}
	return d.scalar(plain, v, what)
}

func (d *decoder) structure(n ast.Node, v reflect.Value, what string) error {
	pairs, err := d.pairs(n, what)
	if err != nil {
		return err
	}
	fields := fieldsOf(v.Type())
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	for _, p := range pairs {
		found := false
		for _, f := range fields {
			if f.key == p.key {
				found = true
				if err := d.decode(p.value, v.FieldByIndex(f.Index), what+"."+p.key); err != nil {
					return err
				}
			}
		}
		if !found {
			return wrong(p.node, "%s has no setting %q%s", what, p.key, suggestion(p.key, keys))
		}
	}
	return nil
}

func (d *decoder) list(n ast.Node, v reflect.Value, what string) error {
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		return wrong(n, "%s must be a %s", what, typeName(v.Type()))
	}
	list := reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values))
	for i, item := range sequence.Values {
		if err := d.decode(item, list.Index(i), fmt.Sprintf("%s[%d]", what, i)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, what string) error {
	pairs, err := d.pairs(n, what)
	if err != nil {
		return err
	}
	m := reflect.MakeMapWithSize(v.Type(), len(pairs))
	for _, p := range pairs {
		value := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(p.value, value, what+"."+p.key); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(p.key), value)
	}
	v.Set(m)
	return nil
}

// any takes a value of any shape as JSON.
func (d *decoder) any(n ast.Node, v reflect.Value, what string) error {
	if err := d.count(n); err != nil {
		return err
	}
	var value any
	if err := yaml.NodeToValue(n, &value); err != nil {
		return wrong(n, "%s cannot be read", what)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return wrong(n, "%s has no JSON form", what)
	}
	v.SetBytes(data)
	return nil
}

// count refuses what has no plain form, and bounds the rest.
func (d *decoder) count(n ast.Node) error {
	switch v := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		pairs, err := d.pairs(n, "it")
		if err != nil {
			return err
		}
		for _, p := range pairs {
			if err := d.count(p.value); err != nil {
				return err
			}
		}
	case *ast.SequenceNode:
		for _, item := range v.Values {
			if err := d.count(item); err != nil {
				return err
			}
		}
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		return wrong(n, "aliases, anchors and tags have no meaning in a free value")
	}
	d.nodes++
	return nil
}

func (d *decoder) scalar(n ast.Node, v reflect.Value, what string) error {
	mismatch := func() error {
		hint := ""
		if v.Kind() == reflect.String {
			hint = "; put it in quotes"
		}
		return wrong(n, "%s must be a %s%s", what, typeName(v.Type()), hint)
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		text, ok := textOf(n)
		t, err := time.ParseDuration(text)
		if !ok || err != nil || t < 0 {
			return wrong(n, "%s must be a duration, such as 90s or 1h30m", what)
		}
		v.SetInt(int64(t))
	case v.Kind() == reflect.String:
		text, ok := textOf(n)
		if !ok {
			return mismatch()
		}
		if values := choices[v.Type()]; values != nil && !slices.Contains(values, text) {
			return wrong(n, "%s is %q, and must be one of %s%s", what, text, strings.Join(values, ", "), suggestion(text, values))
		}
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return wrong(n, "%s must be true or false", what)
		}
		v.SetBool(b.Value)
	case v.Kind() == reflect.Float64:
		switch x := n.(type) {
		case *ast.FloatNode:
			v.SetFloat(x.Value)
		case *ast.IntegerNode:
			i, ok := wholeNumber(x)
			if !ok {
				return mismatch()
			}
			v.SetFloat(float64(i))
		default:
			return mismatch()
		}
	default:
		x, ok := n.(*ast.IntegerNode)
		if !ok {
			return wrong(n, "%s must be a whole number", what)
		}
		i, ok := wholeNumber(x)
		if !ok || v.OverflowInt(i) {
			return wrong(n, "%s is too large a number", what)
		}
		v.SetInt(i)
	}
	return nil
}

func textOf(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	}
	return "", false
}

func wholeNumber(n *ast.IntegerNode) (int64, bool) {
	switch v := n.Value.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= 1<<63-1
	}
	return 0, false
}
