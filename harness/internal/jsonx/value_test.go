package jsonx_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// standard decodes one value the way Value replaces.
func standard(text string) (any, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, err == io.EOF
}

func TestValueRefuses(t *testing.T) {
	for _, text := range []string{
		"", " ", "{", "[", `"`, `"\`, `"\u12`, "tru", "nul", "-", "01", "1.", ".5", "1e", "+1", "1 2", "{} {}",
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{,}`, "[1,]", "[,1]", "[1 2]", "\"a\nb\"", `"\x"`, `"\u00g0"`, "'a'", "NaN",
		`"\ud83d"`, `"\ud83d\n"`, `"\ude00\ud83d"`, `"\ud83d\ud83d"`, // halves of pairs
		strings.Repeat("[", 100_000), strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	} {
		if v, ok := jsonx.Value(text); ok {
			t.Errorf("%.40q gave %v", text, v)
		}
	}
}

// What Value takes, it decodes as the standard library does; and it takes
// every document that the standard library writes.
func TestValueRoundTrip(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		text := rapid.String().AsAny()
		kinds := []*rapid.Generator[any]{
			text, rapid.Bool().AsAny(), rapid.Float64().AsAny(), rapid.Int64().AsAny(), rapid.Just[any](nil),
		}
		if depth > 0 {
			kinds = append(kinds, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(),
				rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())
		}
		return rapid.OneOf(kinds...)
	}
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.MarshalIndent(value(3).Draw(t, "value"), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		got, ok := jsonx.Value(string(data))
		want, _ := standard(string(data))
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Fatalf("%s: %v, %s", data, ok, diff)
		}
	})
}

func FuzzValue(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+7,{"b":"]}"}],"c":"\\\"\/\b\f\n\r\t"}`, ` [true , false , null] `, `"é\u00e9\ud834\udd1e"`, `"\ud834"`,
		`{"a":1,"a":2}`, `{"a":{},"b":[],"":""}`, `-0`, `1E9`, `"` + "\x7f\u2028" + `"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		got, ok := jsonx.Value(text)
		want, valid := standard(text)
		if ok && !valid {
			t.Fatalf("%q is no JSON and gave %v", text, got)
		}
		if diff := cmp.Diff(want, got); ok && diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
		if valid && !ok && !strings.Contains(text, `\u`) && strings.Count(text, "[")+strings.Count(text, "{") < 1000 {
			t.Fatalf("%q is JSON and was refused", text)
		}
	})
}
