package patch

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ops parses "op path value" lines: a short notation for patches.
func ops(lines ...string) []Patch {
	var patches []Patch
	for _, line := range lines {
		f := strings.SplitN(line, " ", 3)
		p := Patch{Op: f[0], Path: f[1]}
		if p.Path == "." {
			p.Path = ""
		}
		if len(f) == 3 {
			p.Value = json.RawMessage(f[2])
		}
		patches = append(patches, p)
	}
	return patches
}

type applyCase struct {
	name    string
	in      string
	patches []Patch
	want    string // or
	err     string // a part of the error
}

func runCases(t *testing.T, format Format, cases []applyCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Apply(c.in, format, c.patches)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || got != "" {
					t.Fatalf("got %q, %v; want an error with %q", got, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	runCases(t, JSON, []applyCase{
		{name: "scenario", in: "{\n  \"b\": 1,\n  \"a\": [1, 2],\n  \"big\": 12345678901234567890\n}\n",
			patches: ops("set /b 2", "append /a 3"),
			want:    "{\n  \"b\": 2,\n  \"a\": [1, 2, 3],\n  \"big\": 12345678901234567890\n}\n"},
		{name: "new member on its own line", in: "{\n\t\"a\": 1\n}", patches: ops(`set /b {"x":[1,{}]}`),
			want: "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"x\": [\n\t\t\t1,\n\t\t\t{}\n\t\t]\n\t}\n}"},
		{name: "CRLF and BOM", in: "\ufeff{\r\n  \"a\": 1\r\n}\r\n", patches: ops(`set /b 2`),
			want: "\ufeff{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n"},
		{name: "minified", in: `{"a":1,"b":[1,2]}`, patches: ops(`set /c {"x":1,"y":[]}`, `insert /b/0 0`, `append /b/- 3`),
			want: `{"a":1,"b":[0,1,2,3],"c":{"x":1,"y":[]}}`},
		{name: "minified with one member", in: `{"a":1}`, patches: ops(`set /c 2`), want: `{"a":1,"c":2}`},
		{name: "into empty", in: `{}`, patches: ops(`set /a 1`), want: `{"a": 1}`},
		{name: "into empty of a spread document", in: "{\n  \"a\": {},\n  \"l\": []\n}\n", patches: ops(`set /a/x 1`, `append /l 1`),
			want: "{\n  \"a\": {\n    \"x\": 1\n  },\n  \"l\": [\n    1\n  ]\n}\n"},
		{name: "remove first, middle, last", in: "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": 4\n}", patches: ops("remove /a", "remove /c", "remove /d"),
			want: "{\n  \"b\": 2\n}"},
		{name: "remove the only one", in: "{\"a\": [ 1 ], \"b\": {\n \"x\": 1\n}}", patches: ops("remove /a/0", "remove /b/x"),
			want: "{\"a\": [], \"b\": {}}"},
		{name: "insert in rows", in: "[\n  1,\n  2\n]", patches: ops("insert /0 0", "insert /2 9", "insert /- 3"),
			want: "[\n  0,\n  1,\n  9,\n  2,\n  3\n]"},
		{name: "root", in: " [1] \n", patches: ops(`set . {"a": 1.0}`), want: " {\"a\": 1.0} \n"},
		{name: "append to root", in: "[]", patches: ops(`append . 1`, `append . 2`), want: "[1,2]"},
		{name: "number spelling of the value", in: "[0]", patches: ops("replace /0 1.50E+400"), want: "[1.50E+400]"},
		{name: "escaped pointer", in: `{"a/b": {"m~n": 1}, "": {"": 2}}`, patches: ops("set /a~1b/m~0n 3", "set // 4"),
			want: `{"a/b": {"m~n": 3}, "": {"": 4}}`},
		{name: "key found by its decoded text", in: `{"\u0061": 1}`, patches: ops("set /a 2"), want: `{"\u0061": 2}`},
		{name: "inline stays inline", in: "{\n  \"p\": { \"x\": 1, \"y\": 2 }\n}", patches: ops(`set /p/z {"k": [1]}`, `replace /p/x {"q": 1}`),
			want: "{\n  \"p\": { \"x\": {\"q\": 1}, \"y\": 2, \"z\": {\"k\": [1]} }\n}"},
		{name: "strings are not escaped for HTML", in: `{}`, patches: ops(`set /<&> "<&>"`), want: `{"<&>": "<&>"}`},
		{name: "null is a value", in: `{"a": 1}`, patches: ops(`set /a null`), want: `{"a": null}`},

		{name: "replace missing", in: `{"a": 1}`, patches: ops("replace /zz 1"), err: `patch 0 (replace "/zz"): the document has no member "zz": it has "a"`},
		{name: "all or nothing", in: `{"a": 1}`, patches: ops("set /a 2", "remove /b"), err: "patch 1 (remove"},
		{name: "missing parent", in: `{"a": 1}`, patches: ops("set /b/c 1"), err: `no member "b"`},
		{name: "parent is a scalar", in: `{"a": 1}`, patches: ops("set /a/c 1"), err: `"/a" is a number`},
		{name: "bad index", in: `[1]`, patches: ops("set /01 1"), err: "not an array index"},
		{name: "past the end", in: `[1]`, patches: ops("set /3 1"), err: "it has 1 items"},
		{name: "insert past the end", in: `[1]`, patches: ops("insert /3 1"), err: "past the end"},
		{name: "insert into an object", in: `{}`, patches: ops("insert /a 1"), err: "needs an array"},
		{name: "append to an object", in: `{"a": {}}`, patches: ops("append /a 1"), err: "append needs an array"},
		{name: "remove the end", in: `[1]`, patches: ops("remove /-"), err: `no item -`},
		{name: "remove root", in: `[1]`, patches: ops("remove ."), err: "below the root"},
		{name: "duplicate key", in: `{"a":1,"a":2}`, patches: ops("set /a 1"), err: `line 1, column 8: duplicate key "a"`},
		{name: "duplicate key in the value", in: `{}`, patches: ops(`set /a {"x":1,"x":1}`), err: "value is not JSON"},
		{name: "no value", in: `{}`, patches: ops(`set /a`), err: "set needs a value"},
		{name: "unknown op", in: `{}`, patches: ops(`add /a 1`), err: `unknown op "add"`},
		{name: "not a pointer", in: `{}`, patches: ops(`set a 1`), err: "not a JSON pointer"},
		{name: "bad tilde", in: `{}`, patches: ops(`set /a~2 1`), err: "~0"},
		{name: "all static failures are told", in: `{}`, patches: ops("set a 1", "frob /b", "set /c 1"), err: "\npatch 1 (frob"},
	})
}

func TestYAML(t *testing.T) {
	runCases(t, YAML, []applyCase{
		{name: "scenario", in: "# top\nname: demo # the name\nport: 8080\nlist:\n  - a # first\n  - b\n", patches: ops("set /port 9090"),
			want: "# top\nname: demo # the name\nport: 9090\nlist:\n  - a # first\n  - b\n"},
		{name: "comment after a value stays", in: "a: 1   # one\nb: 'x' # two\n", patches: ops(`set /a "z"`, `set /b "it's"`),
			want: "a: z   # one\nb: 'it''s' # two\n"},
		{name: "new keys", in: "a: 1\nm:\n    x: 1 # c\n# end\n", patches: ops(`set /m/y {"k":[1,{"z":"q","w":2}],"e":{}}`, `set /n [1,[2,3]]`),
			want: "a: 1\nm:\n    x: 1 # c\n    y:\n        k:\n          - 1\n          - z: q\n            w: 2\n        e: {}\nn:\n  - 1\n  - - 2\n    - 3\n# end\n"},
		{name: "no final newline", in: "a: 1", patches: ops(`set /b 2`), want: "a: 1\nb: 2"},
		{name: "CRLF and BOM", in: "\ufeffa: 1\r\nl:\r\n- x\r\n", patches: ops(`append /l "y\nz"`, `set /b {"c":1}`),
			want: "\ufeffa: 1\r\nl:\r\n- x\r\n- |-\r\n  y\r\n  z\r\nb:\r\n  c: 1\r\n"},
		{name: "sequences", in: "l:\n- a # first\n\n# about b\n- b\n", patches: ops(`insert /l/1 "n"`, `insert /l/0 {"p":1,"q":2}`, "append /l null"),
			want: "l:\n- p: 1\n  q: 2\n- a # first\n- n\n\n# about b\n- b\n- null\n"},
		{name: "remove", in: "a: 1 # one\n# about b\nb:\n  x: 1\n  y: 2\nc: 3\n", patches: ops("remove /a", "remove /b/x", "remove /c"),
			want: "# about b\nb:\n  y: 2\n"},
		{name: "remove the last of a file without newline", in: "a: 1\nb: 2", patches: ops("remove /b"), want: "a: 1"},
		{name: "remove the only one", in: "m: # why\n  x: 1\nl:\n- 1\nk: v\n", patches: ops("remove /m/x", "remove /l/0"),
			want: "m: {} # why\nl: []\nk: v\n"},
		{name: "remove all", in: "a: 1\n", patches: ops("remove /a"), want: "{}\n"},
		{name: "remove the first of a compact mapping", in: "- a: 1 # x\n  b: 2\n- c: 1\n  # about d\n  d: 2\n", patches: ops("remove /0/a", "remove /1/c"),
			want: "- b: 2\n-\n  # about d\n  d: 2\n"},
		{name: "flow", in: "f: {a: 1, 'b': [x, y]} # flow\n", patches: ops(`set /f/c "q, r"`, `append /f/b "z"`, "remove /f/a"),
			want: "f: {'b': [x, y, z], c: \"q, r\"} # flow\n"},
		{name: "flow over lines", in: "f: [\n  a, # one\n  b # two\n]\n", patches: ops(`append /f "c"`, "remove /f/0"),
			want: "f: [\n   # one\n  b,\n  c # two\n]\n"},
		{name: "empty collections", in: "a: {}\nb: [] # l\n", patches: ops(`set /a/x 1`, `append /b {"k": 1}`),
			want: "a: {x: 1}\nb: [{k: 1}] # l\n"},
		{name: "null value", in: "a:\nb: # nothing\nc:\n  - \n", patches: ops(`set /a 1`, `set /b {"x":1}`, `set /c/0 "v"`),
			want: "a: 1\nb: # nothing\n  x: 1\nc:\n  - v \n"},
		{name: "scalar to collection and back", in: "a: 1 # c\nb:\n  # in\n  x: 1 # cx\nc: 2\n", patches: ops(`set /a ["p"]`, `set /b "s"`),
			want: "a: # c\n  - p\nb: s\nc: 2\n"},
		{name: "collection to collection", in: "a:   # c\n    x: 1\n    y: 2\nb: 1\n", patches: ops(`set /a {"z":[1]}`),
			want: "a:   # c\n    z:\n      - 1\nb: 1\n"},
		{name: "block scalars", in: "s: | # head\n  one\n  two\nf: >+\n  x\n\nz: 1\n", patches: ops(`set /s "short"`, `set /f "a\nb\n"`, `set /z "\n odd"`),
			want: "s: short # head\nf: |\n  a\n  b\nz: \"\\n odd\"\n"},
		{name: "block scalar at the end without newline", in: "a: 1\ns: |\n  x", patches: ops(`set /b 2`), want: "a: 1\nb: 2\ns: |\n  x"},
		{name: "strings that need quotes", in: "a: x\n", patches: ops(`set /a "yes"`, `set /b "012"`, `set /c ""`, `set /d "a: b"`, `set /e "#x"`, `set /on "é…"`, `set /g "1:20"`, `set /h "\u0007\u00a0"`, `set /i "2001-01-01"`),
			want: "a: \"yes\"\nb: \"012\"\nc: \"\"\nd: \"a: b\"\ne: \"#x\"\n\"on\": é…\ng: \"1:20\"\nh: \"\\u0007\\u00A0\"\ni: \"2001-01-01\"\n"},
		{name: "quoting is kept", in: "a: \"x\"\nb: 'y'\nl:\n  - \"p\"\n", patches: ops(`set /a "z"`, `set /b "w"`, `append /l "q"`),
			want: "a: \"z\"\nb: 'w'\nl:\n  - \"p\"\n  - \"q\"\n"},
		{name: "keys by their text", in: "8080: a\ntrue: b\n\"q\": c\n~: d\n", patches: ops(`set /8080 1`, `set /true 2`, `set /q 3`, "set /~0 4"),
			want: "8080: 1\ntrue: 2\n\"q\": 3\n~: 4\n"},
		{name: "explicit keys", in: "? a\n: 1\n? b\n", patches: ops(`set /a 2`), want: "? a\n: 2\n? b\n"},
		{name: "explicit key without a value", in: "- ? a # c\n  ? b\n", patches: ops(`set /0/a {"x":[1]}`, `set /0/b "v"`), want: "- ? a # c\n  :\n    x:\n      - 1\n  ? b\n  : v\n"},
		{name: "documents", in: "a: 1\n---\na: 2\n...\n---\na: 3\n", patches: []Patch{{Op: "set", Path: "/a", Value: json.RawMessage("9")}, {Op: "set", Path: "/b", Value: json.RawMessage("8"), Document: 2}},
			want: "a: 9\n---\na: 2\n...\n---\na: 3\nb: 8\n"},
		{name: "no such document", in: "a: 1\n", patches: []Patch{{Op: "set", Path: "/a", Value: json.RawMessage("9"), Document: 1}}, err: "no document 1"},
		{name: "root", in: "# c\n--- # d\nold\n", patches: ops(`set . {"a":[1],"b":2}`), want: "# c\n--- # d\na:\n  - 1\nb: 2\n"},
		{name: "root on the line of the marker", in: "--- old # c\n", patches: ops(`set . {"a":1}`), want: "---  # c\na: 1\n"},
		{name: "empty file", in: "", patches: ops(`set . {"a":1}`), want: "a: 1"},
		{name: "file of comments", in: "# only\n", patches: ops(`set . {"a":1,"b":2}`), want: "# only\na: 1\nb: 2"},
		{name: "set into an empty file", in: "# only\n", patches: ops(`set /a 1`), err: "no document"},
		{name: "big numbers and odd spellings elsewhere", in: "n: 0x1F\nm: 1_000\nb: 123456789012345678901234567890\nx: 1\n", patches: ops("set /x 12345678901234567890123"),
			want: "n: 0x1F\nm: 1_000\nb: 123456789012345678901234567890\nx: 12345678901234567890123\n"},

		{name: "inside an anchored mapping", in: "d: &d # base\n  a: 1\nu:\n  <<: *d\n", patches: ops("set /d/a 2", "set /u/a 3"),
			want: "d: &d # base\n  a: 2\nu:\n  <<: *d\n  a: 3\n"},
		{name: "anchor without alias stays", in: "a: &x 1\nb: !!str 2\n", patches: ops("set /a 5", "set /b 6"), want: "a: &x 5\nb: 6\n"},
		{name: "empty anchored mapping", in: "d: &d\n  a: 1\nu: *d\n", patches: ops("remove /d/a"), want: "d: &d {}\nu: *d\n"},
		{name: "replacing an alias", in: "d: &d 1\nu: *d\n", patches: ops("set /u 2"), want: "d: &d 1\nu: 2\n"},
		{name: "anchor in use: set", in: "d: &d 1 # one\nu: *d\n", patches: ops("set /d 2"), want: "d: &d 2 # one\nu: *d\n"},
		{name: "anchor in use: set to a collection", in: "d: &d 1\nu: *d\n", patches: ops(`replace /d {"a":[1]}`), want: "d: &d\n  a:\n    - 1\nu: *d\n"},
		{name: "anchor in use: collection to a scalar", in: "d: &d\n  a: 1\n  b: [2]\nu: *d\n", patches: ops("set /d 2"), want: "d: &d 2\nu: *d\n"},
		{name: "anchor in use: flow", in: "{d: &d [1, 2], u: *d}\n", patches: ops("set /d 2"), want: "{d: &d 2, u: *d}\n"},
		{name: "anchor in use: item", in: "- &d one\n- *d\n", patches: ops(`set /0 "two"`), want: "- &d two\n- *d\n"},
		{name: "anchor in use: root", in: "&d\na: [1]\n--- # second\nb: 1\n", patches: ops(`set . {"c":1}`), want: "&d\nc: 1\n--- # second\nb: 1\n"},
		{name: "anchor in use: block scalar", in: "d: &d |\n  a\n  b\nu: *d\n", patches: ops(`set /d "x"`), want: "d: &d x\nu: *d\n"},
		{name: "anchor in use: tagged", in: "d: &d !!str 1\nu: *d\n", patches: ops(`set /d 2`), want: "d: &d 2\nu: *d\n"},
		{name: "anchor in use within the value", in: "d: &d {a: &a 1}\nu: *d\nv: *a\n", patches: ops("set /d 2"), err: "anchor &a here is still used by 1 alias"},
		{name: "merged: another mapping", in: "d: &d\n  a: 1\nu:\n  <<: *d\n", patches: ops(`set /d {"b":2}`), want: "d: &d\n  b: 2\nu:\n  <<: *d\n"},
		{name: "merged: a scalar", in: "d: &d\n  a: 1\nu:\n  <<: [*d]\n", patches: ops("set /d 2"), err: "a '<<' merges the node anchored with &d"},
		{name: "an anchor twice", in: "a: &x 1\nb: &x 2\nc: *x\n", patches: ops("set /a 3", "set /b 4"), want: "a: &x 3\nb: &x 4\nc: *x\n"},
		{name: "anchor in use: remove", in: "d: {x: &d 1}\nu: *d\n", patches: ops("remove /d"), err: "anchor &d here is still used"},
		{name: "anchor used inside only", in: "d: {x: &d 1, y: *d}\nu: 1\n", patches: ops("remove /d"), want: "u: 1\n"},
		{name: "through an alias", in: "d: &d {a: 1}\nu: *d\n", patches: ops("set /u/a 2"), err: `"/u" is the alias *d`},
		{name: "merged member", in: "d: &d {a: 1}\nu: {<<: *d}\n", patches: ops("replace /u/a 2"), err: "come in by '<<'"},
		{name: "duplicate key", in: "a: 1\na: 2\n", patches: ops("set /a 3"), err: "line 2, column 1: duplicate key"},
		{name: "ambiguous key", in: "1: a\n\"1\": b\n", patches: ops("set /1 c"), err: "value is not JSON"},
		{name: "ambiguous key text", in: "1: a\n\"1\": b\n", patches: ops("set /1 3"), err: "differ in type only"},
		{name: "surrogate", in: "a: 1\n", patches: ops(`set /a "\ud800"`), err: "unpaired surrogate"},
		{name: "pair in a flow sequence", in: "l: [a: b]\n", patches: ops(`set /l/0/a "c"`, `set /l/0/d 1`), want: "l: [{a: c, d: 1}]\n"},
		{name: "value without colon", in: "{a, b: }\n", patches: ops(`set /a 1`, `set /b 2`), want: "{a: 1, b: 2 }\n"},
	})
}

// TestBillionLaughs: aliases are not expanded, so a document that would
// expand to 9^9 nodes is patched like any other.
func TestBillionLaughs(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol]\n")
	for i := 1; i < 10; i++ {
		prev, cur := string(rune('0'+i-1)), string(rune('0'+i))
		b.WriteString("a" + cur + ": &a" + cur + " [" + strings.Repeat("*a"+prev+", ", 9) + "]\n")
	}
	got, err := Apply(b.String()+"x: 1\n", YAML, ops("set /x 2"))
	if err != nil || got != b.String()+"x: 2\n" {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestErrorDetails(t *testing.T) {
	_, err := Apply(`{"a": 1}`, JSON, ops("set /a 2", "remove /b"))
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Index != 1 || errs[0].Op != "remove" || errs[0].Path != "/b" {
		t.Fatalf("got %#v", err)
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          Format
	}{
		{"a.json", "a: 1", JSON}, {"a.YML", "{}", YAML}, {"b/a.yaml", "", YAML},
		{"conf", "{\"a\": 1", JSON}, {"conf", "\ufeff [1]", JSON}, {"conf", "a: 1\n", YAML}, {"conf", "12", JSON}, {"", "", YAML},
	} {
		if got := Detect(c.name, c.content); got != c.want {
			t.Errorf("Detect(%q, %q) = %s, want %s", c.name, c.content, got, c.want)
		}
	}
}
