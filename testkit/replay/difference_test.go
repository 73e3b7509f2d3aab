package replay

import (
	"strings"
	"testing"
)

// What differs in a long text is shown with its surroundings, and no more.
func TestDifferencesInLongTexts(t *testing.T) {
	long := strings.Repeat("abcdefghi ", 50)
	for _, tt := range []struct {
		name, recorded, replayed, want string
	}{
		{"short", "one", "two", "\n  recorded: one\n  replayed: two"},
		{"in the middle", long + "HERE" + long, long + "THERE" + long,
			"\n  recorded: …" + strings.Repeat("abcdefghi ", 4) + "HERE" + long[:76] + "…" +
				"\n  replayed: …" + strings.Repeat("abcdefghi ", 4) + "THERE" + long[:75] + "…"},
		{"at the beginning", "x" + long, "y" + long, "\n  recorded: x" + long[:119] + "…\n  replayed: y" + long[:119] + "…"},
		{"at the end", long + "é", long, "\n  recorded: …" + strings.Repeat("abcdefghi ", 4) + "é" + "\n  replayed: …" + strings.Repeat("abcdefghi ", 4)},
		{"a long line among others", "same\n" + long + "1" + long + "\nsame", "same\n" + long + "2" + long + "\nsame",
			", line 2\n  recorded: …" + long[:40] + "1" + long[:79] + "…\n  replayed: …" + long[:40] + "2" + long[:79] + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Difference{Event: -1, Where: "w", Recorded: tt.recorded, Replayed: tt.replayed}.String()
			if got != "w"+tt.want {
				t.Errorf("got  %q\nwant %q", got, "w"+tt.want)
			}
		})
	}
}

// The values of a name come in the order in which they were told, each once,
// from the events before the results, and only where they fit.
func TestTellings(t *testing.T) {
	told := &telling{
		events: [][]byte{[]byte(`{"id":"a","inner":{"id":"a"},"list":["id",{"id":"b"}]}`), []byte(`{"id":"c"}`)},
		results: [][]byte{[]byte(`{"id":"z","ms":1,"all":[{"ms":1},{"created":true},{"created":["x"]},{"created":"then"}],"none":null}`),
			[]byte(`{"ms":3}`)},
		values: map[string][]any{},
	}
	for _, want := range []string{"a", "b", "c", ""} {
		var id string
		if ok := told.take("id", &id); ok != (want != "") || id != want {
			t.Errorf("id %q, %v; want %q", id, ok, want)
		}
	}
	for _, want := range []int64{1, 1, 3, 0} {
		var ms int64
		if ok := told.take("ms", &ms); ok != (want != 0) || ms != want {
			t.Errorf("ms %d, %v; want %d", ms, ok, want)
		}
	}
	var created string
	if !told.take("created", &created) || created != "then" {
		t.Errorf("created %q", created)
	}
	if none := ""; told.take("none", &none) || told.take("other", &none) {
		t.Error("what was not told was given")
	}
}
