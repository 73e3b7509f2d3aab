package patch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// The model of a document: objects keep their order.
type (
	object []member
	member struct {
		key   string
		value any
	}
	array  []any
	number string
)

func genValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 7
		if depth == 0 {
			kinds = 5
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return number(rapid.SampledFrom([]string{"0", "-1", "42", "1.50", "12345678901234567890123", "2.5e+10", "-0.0"}).Draw(t, "number"))
		case 3, 4:
			return genString().Draw(t, "string")
		case 5:
			var a array
			for range rapid.IntRange(0, 4).Draw(t, "items") {
				a = append(a, genValue(depth-1).Draw(t, "item"))
			}
			return a
		}
		var o object
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			key := genString().Draw(t, "key")
			if !slices.ContainsFunc(o, func(m member) bool { return m.key == key }) {
				o = append(o, member{key, genValue(depth-1).Draw(t, "value")})
			}
		}
		return o
	})
}

func genString() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,6}`),
		rapid.SampledFrom([]string{"", " ", "a b", "yes", "~", "null", "0x1F", "1", "1.5", "- a", "a: b", "a #b", "#", "é", "日本", "😀", "'", `"`, `\`, "a/b", "m~n", "a\nb", "a\nb\n", "\n", "\ta", "a\t", "[x]", "{", "&a", "*a", "!t", "|", ">", "%", "@", "---", "...", "<<", "=", "?", ": ", "a:", "\u00a0", "\u0007", "\u2028", "-", "-x", "true ", "2001-01-01", "1:20", "a,b"}),
		rapid.StringN(0, 6, 24),
	).Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
}

func toJSON(v any) string {
	switch v := v.(type) {
	case object:
		var parts []string
		for _, m := range v {
			parts = append(parts, quoteJSON(m.key)+":"+toJSON(m.value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case array:
		var parts []string
		for _, item := range v {
			parts = append(parts, toJSON(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return quoteJSON(v)
	case number:
		return string(v)
	}
	return fmt.Sprint(map[any]string{nil: "null", true: "true", false: "false"}[v])
}

// apply is the model of one patch; nil, false where it must fail.
func applyModel(v any, tokens []string, op string, value any) (any, bool) {
	if len(tokens) == 0 {
		switch op {
		case "set", "replace":
			return value, true
		case "append":
			a, ok := v.(array)
			return append(slices.Clip(a), value), ok
		}
		return nil, false
	}
	token, rest := tokens[0], tokens[1:]
	last := len(rest) == 0 && op != "append"
	switch v := v.(type) {
	case object:
		i := slices.IndexFunc(v, func(m member) bool { return m.key == token })
		v = slices.Clone(v)
		switch {
		case last && op == "insert":
			return nil, false
		case last && i < 0 && op == "set":
			return append(v, member{token, value}), true
		case i < 0:
			return nil, false
		case last && op == "remove":
			return slices.Delete(v, i, i+1), true
		}
		child, ok := applyModel(v[i].value, rest, op, value)
		v[i].value = child
		return v, ok
	case array:
		i := len(v)
		if token != "-" {
			var err error
			if i, err = strconv.Atoi(token); err != nil || strconv.Itoa(i) != token || i < 0 {
				return nil, false
			}
		}
		if op == "append" && token == "-" && len(rest) == 0 {
			return append(slices.Clip(v), value), true
		}
		v = slices.Clone(v)
		switch {
		case last && op == "insert" && i <= len(v), last && op == "set" && i == len(v):
			return slices.Insert(v, i, value), true
		case i >= len(v):
			return nil, false
		case last && op == "remove":
			return slices.Delete(v, i, i+1), true
		}
		child, ok := applyModel(v[i], rest, op, value)
		v[i] = child
		return v, ok
	}
	return nil, false
}

// genPatch draws a patch, most often for a place that is there.
func genPatch(t *rapid.T, v any) (tokens []string, op string, value any) {
	op = rapid.SampledFrom([]string{"set", "set", "replace", "insert", "append", "remove"}).Draw(t, "op")
	for rapid.IntRange(0, 4).Draw(t, "deeper") > 0 {
		var token string
		switch c := v.(type) {
		case object:
			if len(c) == 0 || rapid.IntRange(0, 4).Draw(t, "new") == 0 {
				token, v = genString().Draw(t, "token"), nil
			} else {
				m := c[rapid.IntRange(0, len(c)-1).Draw(t, "member")]
				token, v = m.key, m.value
			}
		case array:
			i := rapid.IntRange(0, len(c)).Draw(t, "index")
			token = strconv.Itoa(i)
			if i == len(c) {
				v = nil
				token = rapid.SampledFrom([]string{token, "-"}).Draw(t, "end")
			} else {
				v = c[i]
			}
		default:
			if len(tokens) > 0 {
				return tokens, op, genValue(2).Draw(t, "new value")
			}
			token = "x"
		}
		tokens = append(tokens, token)
	}
	return tokens, op, genValue(2).Draw(t, "new value")
}

// fromNode reads a parsed document back into the model.
func fromNode(n *doc.Node) any {
	switch n.Kind {
	case doc.Mapping:
		var o object
		for _, e := range n.Entries {
			o = append(o, member{e.Key.Text, fromNode(e.Value)})
		}
		return o
	case doc.Sequence:
		var a array
		for _, e := range n.Entries {
			a = append(a, fromNode(e.Value))
		}
		return a
	}
	switch t, text := n.Resolve(); t {
	case doc.Null:
		return nil
	case doc.Bool:
		return text == "true"
	case doc.Int, doc.Float:
		return number(n.Text)
	default:
		return text
	}
}
