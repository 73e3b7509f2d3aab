package tool

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type embedded struct {
	Why string `json:"why"`
}

type plainArgs struct {
	Path    string `json:"path"`
	Content string
	Note    *string         `json:"note"`
	Count   int             `json:"count,omitempty"`
	Spelled string          `json:"spelled,omitempty"`
	Raw     json.RawMessage `json:"raw"`
	Skipped string          `json:"-"`
	embedded
}

type namedText string

type named struct {
	Text namedText `json:"text"`
}

type quoted struct {
	Text string `json:"text,string"`
}

type hiding struct {
	Why string `json:"why"`
	embedded
}

type folded struct {
	A string `json:"name"`
	B string `json:"NAME"`
}

type behindPointer struct{ *Embedded }

// Embedded has a field that is reached through a pointer.
type Embedded struct {
	Why string `json:"why"`
}

type decoding struct{ Text string }

func (d *decoding) UnmarshalJSON([]byte) error { d.Text = "by itself"; return nil }

// Whatever the type, arguments that were parsed decode as their JSON does.
func TestParsedArgumentsDecodeAsTheirJSON(t *testing.T) {
	t.Run("plain", same[plainArgs](`{"path":"a","Content":"b","content":"c","note":"n","count":2,"spelled":"s","raw":"r","why":"w","-":"x","Skipped":"k"}`,
		`{"path":1}`, `{"path":null,"Content":"b"}`, `{"why":["w"],"path":"a"}`, `{"count":1e99,"path":"a"}`, `{}`, `{"Path":"a","pAth":"b"}`))
	t.Run("named", same[named](`{"text":"a"}`))
	t.Run("quoted", same[quoted](`{"text":"\"a\""}`, `{"text":"a"}`))
	t.Run("hiding", same[hiding](`{"why":"a"}`))
	t.Run("folded", same[folded](`{"name":"a","NAME":"b"}`, `{"NAME":"b"}`, `{"Name":"b"}`))
	t.Run("pointer", same[behindPointer](`{"why":"a"}`, `{}`))
	t.Run("decoding", same[decoding](`{"Text":"a"}`))
	t.Run("map", same[map[string]string](`{"a":"b"}`))
	t.Run("any", same[any](`{"a":"b"}`))
	t.Run("no object", same[plainArgs](`["a"]`, `"a"`))
}

func same[A any](arguments ...string) func(*testing.T) {
	return func(t *testing.T) {
		for _, text := range arguments {
			parsed, err := parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			canonical, err := encode(parsed)
			if err != nil {
				t.Fatal(err)
			}
			want, wantErr := decodeArgs[A](canonical)
			got, gotErr := decodeParsed[A](textsOf[A](), canonical, parsed)
			if (wantErr == nil) != (gotErr == nil) || wantErr != nil && wantErr.Error() != gotErr.Error() {
				t.Errorf("%s: error %v, want %v", text, gotErr, wantErr)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(plainArgs{}, hiding{}, behindPointer{}), cmpopts.EquateEmpty()); wantErr == nil && diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
	}
}

// The long strings do take the short way.
func TestTexts(t *testing.T) {
	want := texts{"path": {0}, "Content": {1}, "why": {7, 0}}
	if diff := cmp.Diff(want, textsOf[plainArgs]()); diff != "" {
		t.Error(diff)
	}
}
