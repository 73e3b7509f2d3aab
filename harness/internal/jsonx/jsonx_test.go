package jsonx_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

func TestAppendString(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", `""`},
		{`a"b\c`, `"a\"b\\c"`},
		{"\b\f\n\r\t\x00\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\""},
		{"<&>\u2028\u2029é𝄞", "\"<&>\u2028\u2029é𝄞\""},
		{"a\xffb\xc3", "\"a\uFFFDb\uFFFD\""},
	}
	for _, tt := range tests {
		if got := string(jsonx.AppendString(nil, tt.in)); got != tt.want {
			t.Errorf("AppendString(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// Every string of UTF-8 comes back from its JSON, by the standard library and
// by Unquote.
func TestStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		raw := jsonx.AppendString(nil, s)
		var std string
		if err := json.Unmarshal(raw, &std); err != nil {
			t.Fatal(err)
		}
		own, err := jsonx.Unquote(raw)
		if err != nil {
			t.Fatal(err)
		}
		if std != s || own != s {
			t.Fatalf("%q came back as %q and %q", s, std, own)
		}
	})
}

func TestObject(t *testing.T) {
	o := jsonx.Begin([]byte("> "))
	o.String("s", "v")
	o.Int("i", -3)
	o.Bool("b", true)
	o.Raw("r", []byte(`[null]`))
	o.Ints("n", []int64{1, 2})
	in := jsonx.Begin(o.Key("o"))
	in.Ints("e", nil)
	o.Set(in.End())
	o.Extras(jsonx.Extra{"z": []byte("1"), "a": []byte("2")})
	want := `> {"s":"v","i":-3,"b":true,"r":[null],"n":[1,2],"o":{"e":[]},"a":2,"z":1}`
	if diff := cmp.Diff(want, string(o.End())); diff != "" {
		t.Error(diff)
	}
}

func TestSplit(t *testing.T) {
	tests := []struct{ in, want, err string }{
		{`{}`, ``, ``},
		{` { "a" : 1 , "b\u0063" : {"x":[1,"}"]} } `, `a=1 bc={"x":[1,"}"]}`, ``},
		{`{"a":"\\\"","b":[{},[]],"c":-1e5,"d":null}`, `a="\\\"" b=[{},[]] c=-1e5 d=null`, ``},
		{`{"a":1,"\u0061":2}`, ``, `the field "a" comes twice`},
		{`[1]`, ``, `it is not a JSON object`},
	}
	for _, tt := range tests {
		fields, err := jsonx.Split(nil, []byte(tt.in))
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", tt.in, err, tt.err)
			}
			continue
		}
		var got []string
		for _, f := range fields {
			got = append(got, f.Name+"="+string(f.Value))
		}
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, %v", tt.in, got, err)
		}
	}
}

// Split and Elements agree with the standard library on any valid document,
// and never go out of bounds on any other.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"]}"}],"c":"\\"}`, `[1,"a",[2]]`, `{`, `"`, `{"a"`, `[1,`, `{"a":`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fields map[string]json.RawMessage
		if jsonx.Check(data) != nil {
			jsonx.SkipValue(data, 0)
			return
		}
		if !utf8.Valid(data) {
			t.Fatal("Check let through what is not UTF-8")
		}
		if err := json.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		got, err := jsonx.Split(nil, data)
		if err != nil {
			return // a name twice
		}
		if len(got) != len(fields) {
			t.Fatalf("%d fields, want %d", len(got), len(fields))
		}
		for _, f := range got {
			if !bytes.Equal(f.Value, fields[f.Name]) {
				t.Fatalf("%q is %s, want %s", f.Name, f.Value, fields[f.Name])
			}
			var want []json.RawMessage
			if f.Value[0] != '[' {
				continue
			}
			if err := json.Unmarshal(f.Value, &want); err != nil {
				t.Fatal(err)
			}
			i := 0
			for e, err := range jsonx.Elements(f.Value) {
				if err != nil || i >= len(want) || !bytes.Equal(e, want[i]) {
					t.Fatalf("element %d is %s (%v)", i, e, err)
				}
				i++
			}
			if i != len(want) {
				t.Fatalf("%d elements, want %d", i, len(want))
			}
		}
	})
}
