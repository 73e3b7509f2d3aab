package validate

import (
	"strings"
	"testing"

	"github.com/bridle-go/bridle/plugins/fileops/internal/patch"
)

// TestCheck gives position and reason of errors; a column is one character,
// whatever its bytes, and the byte-order mark is none.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, content string
		format        patch.Format
		want          string
	}{
		{"a.json", `{"a": [1, 2.5e-3, "\u00e9", true, null]}`, patch.Auto, "valid JSON"},
		{"a.json", "\ufeff{}", patch.Auto, "valid JSON"},
		{"a.json", "", patch.Auto, "not valid JSON: line 1, column 1: expected a value, found end of input"},
		{"a.json", "{\n  \"é\": tru\n}", patch.Auto, `not valid JSON: line 2, column 8: unknown word "tru"`},
		{"a.json", "\ufeff{\"é\":1,}", patch.Auto, "not valid JSON: line 1, column 7: trailing comma before '}'"},
		{"a.json", `{"a":1,"\u0061":2}`, patch.Auto, `not valid JSON: line 1, column 8: duplicate key "a"`},
		{"a.json", "[1,\r\n01]", patch.Auto, "not valid JSON: line 2, column 2: a number must not begin with 0"},
		{"a.json", "[1,\r2,\r\r3 4]", patch.Auto, "not valid JSON: line 4, column 3: expected ',' or ']', found '4'"},
		{"a.json", "[\"a\tb\"]", patch.Auto, "not valid JSON: line 1, column 4: control character U+0009 in a string must be escaped"},
		{"a.json", `["\x"]`, patch.Auto, `not valid JSON: line 1, column 3: unknown escape \x`},
		{"a.json", `["abc`, patch.Auto, `not valid JSON: line 1, column 2: string is not closed`},
		{"a.json", "[1] // c", patch.Auto, "not valid JSON: line 1, column 5: unexpected '/' after the top-level value (JSON has no comments)"},
		{"a.json", "[\"\xff\"]", patch.Auto, "not valid JSON: line 1, column 3: invalid UTF-8"},
		{"a.json", "[.5]", patch.Auto, "not valid JSON: line 1, column 2: expected a value, found '.'"},
		{"a.json", "[1.]", patch.Auto, "not valid JSON: line 1, column 4: expected a digit, found ']'"},
		{"a.json", "[NaN]", patch.Auto, "not valid JSON: line 1, column 2: expected a value, found 'N'"},
		{"a.json", "{'a':1}", patch.Auto, `not valid JSON: line 1, column 2: expected a name in double quotes, found '\''`},
		{"a.json", strings.Repeat("[", 20000), patch.Auto, "not valid JSON: line 1, column 10002: nested more than 10000 levels deep"},

		{"a.yaml", "a: 1\nb: [1, 2]\n", patch.Auto, "valid YAML"},
		{"a.yaml", "a: 1\n---\nb: 2\n", patch.Auto, "valid YAML, 2 documents"},
		{"a.yaml", "", patch.Auto, "valid YAML, 0 documents"},
		{"a.yaml", "a: 1\n---\nb: [1\n", patch.Auto, "not valid YAML: line 3, column 4: a flow collection is not closed: expected ]"},
		{"a.yaml", "a:\n\tb: 1\n", patch.Auto, "not valid YAML: line 2, column 1: a tab is not allowed as indentation"},
		{"a.yaml", "a: 1\n b: 2\n", patch.Auto, "not valid YAML: line 2, column 3: a mapping is not allowed here: by its indentation this line continues the text that begins on line 1"},
		{"a.yaml", "a: b: c\n", patch.Auto, "not valid YAML: line 1, column 5: a mapping is not allowed here: its first key must begin on its own line"},
		{"a.yaml", "é: 1\né: 2\n", patch.Auto, `not valid YAML: line 2, column 1: duplicate key "é"`},
		{"a.yaml", "a: \"x\n", patch.Auto, "not valid YAML: line 1, column 4: a quoted scalar is not closed"},
		{"a.yaml", "a: *b\n", patch.Auto, "not valid YAML: line 1, column 4: alias *b refers to no anchor before it"},
		{"a.yaml", "a:\n  - 1\n - 2\n", patch.Auto, "not valid YAML: line 3, column 2: wrong indentation: '-' belongs to no open collection"},
		{"a.yaml", "a: @x\n", patch.Auto, "not valid YAML: line 1, column 4: a plain scalar cannot begin with '@'"},
		{"a.yaml", "a: 'é' x\n", patch.Auto, "not valid YAML: line 1, column 8: unexpected 'x' after a value"},
		{"a.yaml", "\"k\n  l\": 1\n", patch.Auto, "not valid YAML: line 2, column 5: a key without '?' must be on one line"},
		{"a.yaml", "k\nl: 1\n", patch.Auto, "not valid YAML: line 2, column 2: a mapping is not allowed here: by its indentation this line continues the text that begins on line 1"},
		{"a.yaml", "a: \x01\n", patch.Auto, "not valid YAML: line 1, column 4: control character U+0001 is not allowed"},
		{"a.yaml", "{a: 1, a: 2}", patch.Auto, `not valid YAML: line 1, column 8: duplicate key "a"`},

		{"noext", "{\"a\": 1,}", "", "not valid JSON: line 1, column 8: trailing comma before '}'"},
		{"noext", "a: 1", "", "valid YAML"},
		{"a.json", "a: 1", patch.YAML, "valid YAML"},
		{"a.yaml", "a: 1", patch.JSON, `not valid JSON: line 1, column 1: unknown word "a"`},
	} {
		if got := Check(c.name, c.content, c.format).Summary(); got != c.want {
			t.Errorf("%s %q\n got %s\nwant %s", c.name, c.content[:min(40, len(c.content))], got, c.want)
		}
	}
}
