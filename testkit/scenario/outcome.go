package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
)

// Outcome is what came of a scenario.
type Outcome struct {
	Name        string       `json:"name"`
	Area        string       `json:"area,omitempty"`
	Pass        bool         `json:"pass"`
	Differences []Difference `json:"differences"`
	// Results has an entry a step; nil for a put.
	Results []*Result `json:"results,omitempty"`
	// After and OutsideAfter are all files there were in the end.
	After        []File `json:"after,omitempty"`
	OutsideAfter []File `json:"outsideAfter,omitempty"`
	// Asks are the approvals that were asked.
	Asks []Ask `json:"asks,omitempty"`
	// DistinctAttachments is how many objects the store held, 0 without one.
	DistinctAttachments int `json:"distinctAttachments,omitempty"`
}

// Result is what a step gave, in the form of [Expect].
type Result struct {
	IsError *bool   `json:"isError,omitempty"`
	Code    string  `json:"code,omitempty"`
	Text    *string `json:"text,omitempty"`
	// Content is what the model sees.
	Content []llm.Block `json:"content,omitempty"`
	// Value and Meta are decoded JSON; numbers are json.Number.
	Value any    `json:"value,omitempty"`
	Meta  any    `json:"meta,omitempty"`
	Path  string `json:"path,omitempty"`
	Image *Image `json:"image,omitempty"`
	// System and Tools are what a prompt step gave.
	System *string `json:"system,omitempty"`
	Tools  []Tool  `json:"tools,omitempty"`

	ref    *attachment.Ref
	stored int64
}

// MarshalJSON gives the result of a call all of isError, code, content, value
// and meta, with null for what it does not have.
func (r *Result) MarshalJSON() ([]byte, error) {
	type plain Result
	if r.IsError == nil {
		return encode((*plain)(r)), nil
	}
	var code *string
	if r.Code != "" {
		code = &r.Code
	}
	return encode(struct {
		*plain
		Code    *string     `json:"code"`
		Content []llm.Block `json:"content"`
		Value   any         `json:"value"`
		Meta    any         `json:"meta"`
	}{(*plain)(r), code, orEmpty(r.Content), r.Value, r.Meta}), nil
}

// Difference is one thing that was not as expected.
type Difference struct {
	// Field is where, as in steps[1].value.lines[0].text.
	Field string `json:"field"`
	Want  any    `json:"want"`
	Got   any    `json:"got"`
}

// String returns the difference in lines that a person can read.
func (d Difference) String() string {
	want, got := show(d.Want), show(d.Got)
	if at := differAt(want, got); at > 80 {
		want, got = from(want, at-40), from(got, at-40)
	}
	return fmt.Sprintf("%s\n  want %s\n  got  %s", d.Field, shorten(want), shorten(got))
}

// Line returns the outcome as one line of JSON, without the line break: name,
// area, pass and differences, and with results everything.
func (o Outcome) Line(results bool) []byte {
	var v any = o
	if !results {
		v = Outcome{Name: o.Name, Area: o.Area, Pass: o.Pass, Differences: o.Differences}
	} else {
		// An empty list is written as one: it is known that there was nothing.
		type whole struct {
			Outcome
			Results      []*Result `json:"results"`
			After        []File    `json:"after"`
			OutsideAfter []File    `json:"outsideAfter"`
			Asks         []Ask     `json:"asks"`

			DistinctAttachments int `json:"distinctAttachments"`
		}
		v = whole{o, orEmpty(o.Results), orEmpty(o.After), orEmpty(o.OutsideAfter), orEmpty(o.Asks), o.DistinctAttachments}
	}
	return encode(v)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (o *Outcome) fail(field string, want, got any) {
	o.Differences = append(o.Differences, Difference{Field: field, Want: want, Got: got})
}

// contract names the folders in everything that the outcome shows.
func (o *Outcome) contract(w *world) {
	for i := range o.Differences {
		d := &o.Differences[i]
		d.Want, d.Got = contractAny(w, d.Want), contractAny(w, d.Got)
	}
	for _, r := range o.Results {
		if r == nil {
			continue
		}
		for _, s := range []*string{r.Text, r.System, &r.Path} {
			if s != nil {
				*s = w.contract(*s)
			}
		}
		r.Content = contractBlocks(w, r.Content)
		r.Value, r.Meta = contractAny(w, r.Value), contractAny(w, r.Meta)
	}
	for _, files := range [][]File{o.After, o.OutsideAfter} {
		for i := range files {
			files[i] = contractFile(w, files[i])
		}
	}
	for i := range o.Asks {
		o.Asks[i].Reason = w.contract(o.Asks[i].Reason)
	}
}

func contractBlocks(w *world, blocks []llm.Block) []llm.Block {
	out := slices.Clone(blocks)
	for i := range out {
		out[i].Text = w.contract(out[i].Text)
		out[i].Content = contractBlocks(w, out[i].Content)
	}
	return out
}

func contractFile(w *world, f File) File {
	for _, s := range []**string{&f.Text, &f.Symlink} {
		if *s != nil {
			named := w.contract(**s)
			*s = &named
		}
	}
	return f
}

func contractAny(w *world, v any) any {
	switch v := v.(type) {
	case string:
		return w.contract(v)
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = w.contract(s)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = contractAny(w, e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[w.contract(k)] = contractAny(w, e)
		}
		return out
	case File:
		return contractFile(w, v)
	}
	return v
}

// encode is json.Marshal without the escaping of <, > and &.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Appendf(nil, `{"pass":false,"error":%q}`, err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// show writes a value for a difference.
func show(v any) string {
	if v == nil {
		return "nothing"
	}
	return string(encode(v))
}

const maxShown = 300

func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + fmt.Sprintf("... (%d bytes)", len(s))
}

func differAt(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func from(s string, at int) string {
	if at >= len(s) {
		return "..."
	}
	return "..." + strings.ToValidUTF8(s[at:], "")
}
