package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// checkPatches draws patches for a document that was drawn and written, applies
// them, and compares the parsed result with the model.
func checkPatches(t *rapid.T, format Format, v any, text string) (string, any) {
	model := v
	for range rapid.IntRange(1, 4).Draw(t, "patches") {
		tokens, op, value := genPatch(t, model)
		p := Patch{Op: op, Path: formatPointer(tokens), Value: json.RawMessage(toJSON(value))}
		if op == "remove" {
			p.Value = nil
		}
		want, ok := applyModel(model, tokens, op, value)
		got, err := Apply(text, format, []Patch{p})
		if !ok {
			if err == nil {
				t.Fatalf("%s %q must fail\n%s\n=>\n%s", op, p.Path, text, got)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s %q %s: %v\n%s", op, p.Path, p.Value, err, text)
		}
		docs, err := parse(got, format)
		if err != nil || len(docs) != 1 {
			t.Fatalf("%s %q %s: result does not parse: %v\n%s", op, p.Path, p.Value, err, got)
		}
		if parsed := fromNode(docs[0].Root); toJSON(parsed) != toJSON(want) {
			t.Fatalf("%s %q %s\n%s\n=>\n%s\n got %s\nwant %s", op, p.Path, p.Value, text, got, toJSON(parsed), toJSON(want))
		}
		checkBytes(t, text, got, op)
		model, text = want, got
	}
	return text, model
}

// checkBytes: what an edit keeps is a common head and tail of lines; comments
// are never lost by an operation that adds something, final newline and line
// breaks stay of one kind, and a byte-order mark stays.
func checkBytes(t *rapid.T, before, after, op string) {
	if strings.HasPrefix(before, doc.BOM) != strings.HasPrefix(after, doc.BOM) {
		t.Fatalf("byte-order mark changed\n%q\n%q", before, after)
	}
	if crlf := strings.Count(before, "\r\n"); crlf > 0 && crlf == strings.Count(before, "\n") && strings.Count(after, "\r\n") != strings.Count(after, "\n") {
		t.Fatalf("line breaks became mixed\n%q\n%q", before, after)
	}
	if strings.HasSuffix(before, "\n") != strings.HasSuffix(after, "\n") {
		t.Fatalf("final newline changed\n%q\n%q", before, after)
	}
	if op == "insert" || op == "append" {
		// Every line of before is there, in order; one may have grown.
		i, grown := 0, 0
		lines := strings.Split(after, "\n")
		for line := range strings.SplitSeq(before, "\n") {
			j := slices.Index(lines[i:], line)
			if j < 0 {
				grown++
				continue
			}
			i += j + 1
		}
		if grown > 1 {
			t.Fatalf("%d lines changed\n%s\n=>\n%s", grown, before, after)
		}
	}
}

// TestJSONProperties: random patches of random documents in random layouts.
func TestJSONProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "document")
		var b bytes.Buffer
		text := toJSON(v)
		if rapid.Bool().Draw(t, "indent") {
			if err := json.Indent(&b, []byte(text), "", rapid.SampledFrom([]string{"  ", "\t", "    "}).Draw(t, "unit")); err != nil {
				t.Fatal(err)
			}
			text = b.String()
		}
		text += rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
		if rapid.Bool().Draw(t, "CRLF") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		text = rapid.SampledFrom([]string{"", doc.BOM}).Draw(t, "mark") + text
		got, model := checkPatches(t, JSON, v, text)
		var std, want any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(got, doc.BOM)), &std); err != nil {
			t.Fatalf("encoding/json refuses the result: %v\n%s", err, got)
		}
		if err := json.Unmarshal([]byte(toJSON(model)), &want); err != nil || !reflect.DeepEqual(std, want) {
			t.Fatalf("encoding/json reads %v, want %v", std, want)
		}
	})
}

// yamlWriter writes a model in a random style.
type yamlWriter struct {
	t *rapid.T
	e editor
	b strings.Builder
}

func (w *yamlWriter) pick(name string, n int) bool { return rapid.IntRange(0, n).Draw(w.t, name) == 0 }

func (w *yamlWriter) scalar(v any, flow bool) string {
	s, ok := v.(string)
	if !ok {
		return toJSON(v)
	}
	return w.e.yamlString(s, rapid.SampledFrom([]doc.Style{doc.Plain, doc.SingleQuoted, doc.DoubleQuoted}).Draw(w.t, "style"), flow)
}

func (w *yamlWriter) comment() string {
	if w.pick("comment", 4) {
		return rapid.SampledFrom([]string{" # c", "   # it's: [a]", "\t#"}).Draw(w.t, "text")
	}
	return ""
}

func (w *yamlWriter) flow(v any) string {
	var parts []string
	switch v := v.(type) {
	case object:
		for _, m := range v {
			parts = append(parts, w.scalar(m.key, true)+": "+w.flow(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case array:
		for _, item := range v {
			parts = append(parts, w.flow(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return w.scalar(v, true)
}

// value writes v after a "key:" or "-" whose collection is at column col.
func (w *yamlWriter) value(v any, col int, item bool) {
	empty := false
	switch v := v.(type) {
	case object:
		empty = len(v) == 0
	case array:
		empty = len(v) == 0
	case nil:
		if w.pick("no null", 2) {
			w.b.WriteString(w.comment() + "\n")
			return
		}
		empty = true
	case string:
		if f, ok := w.e.literal(v, col+2); ok && w.pick("literal", 1) {
			w.b.WriteString(" " + f.head + w.comment() + "\n" + strings.Join(f.tail, "\n") + "\n")
			return
		}
		empty = true
	default:
		empty = true
	}
	if empty || w.pick("flow", 4) {
		w.b.WriteString(" " + w.flow(v) + w.comment() + "\n")
		return
	}
	if _, isArray := v.(array); item && w.pick("compact", 1) {
		w.b.WriteByte(' ')
		w.block(v, col+2, true)
		return
	} else if isArray && !item && w.pick("dash at the key", 1) {
		w.b.WriteString(w.comment() + "\n")
		w.block(v, col, false)
		return
	}
	w.b.WriteString(w.comment() + "\n")
	w.block(v, col+rapid.IntRange(1, 4).Draw(w.t, "step"), false)
}

// block writes a collection at column col; compact means that the position is
// there already.
func (w *yamlWriter) block(v any, col int, compact bool) {
	line := func() {
		if compact {
			compact = false
			return
		}
		if w.pick("line between", 5) {
			w.b.WriteString(rapid.SampledFrom([]string{"\n", "# c\n", "      # c: d\n", "  \n"}).Draw(w.t, "between"))
		}
		w.b.WriteString(strings.Repeat(" ", col))
	}
	switch v := v.(type) {
	case object:
		for _, m := range v {
			line()
			w.b.WriteString(w.scalar(m.key, false) + ":")
			w.value(m.value, col, false)
		}
	case array:
		for _, item := range v {
			line()
			w.b.WriteString("-")
			w.value(item, col, true)
		}
	}
}

// TestYAMLProperties: random patches of random documents in random styles, with
// comments everywhere. What we write is read the same by another parser.
func TestYAMLProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "document")
		w := &yamlWriter{t: t}
		w.b.WriteString(rapid.SampledFrom([]string{"", "# top\n", "---\n", "# top\n--- # d\n"}).Draw(t, "top"))
		size := 0
		switch v := v.(type) {
		case object:
			size = len(v)
		case array:
			size = len(v)
		}
		if size > 0 {
			w.block(v, 0, false)
		} else {
			w.b.WriteString(w.flow(v) + "\n")
		}
		text := w.b.String()
		if rapid.Bool().Draw(t, "CRLF") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		text = rapid.SampledFrom([]string{"", doc.BOM}).Draw(t, "mark") + text
		docs, err := doc.ParseYAML(text)
		if err != nil || len(docs) != 1 || toJSON(fromNode(docs[0].Root)) != toJSON(v) {
			t.Fatalf("the test writes YAML that reads otherwise: %v\n%s\nwant %s", err, text, toJSON(v))
		}
		checkPatches(t, YAML, v, text)
	})
}

// TestEmittedYAML: values that we write are read the same by another parser.
func TestEmittedYAML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		text, err := Apply("k: 1\n", YAML, []Patch{{Op: "set", Path: "/k", Value: json.RawMessage(toJSON(v))}})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "12345678901234567890123") {
			t.Skip("the other parser reads a number this large as a string")
		}
		var got, want map[string]any
		if err := yaml.Unmarshal([]byte(text), &got); err != nil {
			t.Skip("the other parser does not take it")
		}
		if err := json.Unmarshal([]byte(`{"k":`+toJSON(v)+`}`), &want); err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(normal(got)), fmt.Sprint(normal(want)); a != b {
			t.Fatalf("%s\n got %s\nwant %s", text, a, b)
		}
	})
}

// normal makes the numbers of both decoders comparable.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range v {
			m[k] = normal(e)
		}
		return m
	case []any:
		a := []any{}
		for _, e := range v {
			a = append(a, normal(e))
		}
		return a
	case int, int64, uint64, float64:
		f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil {
			return v
		}
		return f
	}
	return v
}

func BenchmarkJSON5MiB(b *testing.B) {
	var s strings.Builder
	s.WriteString("{\n  \"items\": [")
	for i := 0; s.Len() < 5<<20; i++ {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, "\n    {\n      \"id\": %d,\n      \"name\": \"item %d\",\n      \"tags\": [\"a\", \"b\"],\n      \"price\": %d.50\n    }", i, i, i)
	}
	s.WriteString("\n  ],\n  \"last\": true\n}\n")
	for _, n := range []int{1, 20} {
		var patches []Patch
		for i := range n {
			patches = append(patches, Patch{Op: "set", Path: fmt.Sprintf("/items/%d/name", i*1000), Value: json.RawMessage(`"changed"`)})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(s.Len()))
			for b.Loop() {
				if _, err := Apply(s.String(), JSON, patches); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
