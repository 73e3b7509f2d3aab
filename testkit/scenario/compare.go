package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// check compares the result of a step with what the scenario expects.
func (r *run) check(i int, got *Result) {
	want := r.Expect[i]
	if want == nil {
		return
	}
	c := checker{run: r, field: fmt.Sprintf("steps[%d]", i)}
	if got == nil {
		c.fail("", "a result", nil)
		return
	}
	if want.IsError != nil && (got.IsError == nil || *want.IsError != *got.IsError) {
		c.fail(".isError", *want.IsError, map[string]any{"isError": got.IsError, "text": got.Text})
	}
	if want.Code != nil && *want.Code != got.Code {
		c.fail(".code", *want.Code, got.Code)
	}
	if want.HasCode != nil && *want.HasCode != (got.Code != "") {
		c.fail(".hasCode", *want.HasCode, got.Code)
	}
	c.text(want, got)
	c.json(".value", want.Value, got.Value, false)
	c.json(".valueHas", want.ValueHas, got.Value, true)
	c.json(".meta", want.Meta, got.Meta, false)
	if want.Path != nil && r.world.expand(*want.Path) != got.Path {
		c.fail(".path", r.world.expand(*want.Path), got.Path)
	}
	if want.Image != nil {
		c.image(*want.Image, got)
	}
	if want.Tools != nil {
		c.tools(want.Tools, got.Tools)
	}
}

// checker collects the differences of one step.
type checker struct {
	run   *run
	field string
}

func (c checker) fail(field string, want, got any) { c.run.out.fail(c.field+field, want, got) }

func (c checker) text(want *Expect, got *Result) {
	if want.Text == nil && want.TextEndsWith == nil && want.TextMatches == nil {
		return
	}
	if got.Text == nil {
		c.fail(".text", "a text", nil)
		return
	}
	if want.Text != nil {
		if full := c.run.world.expand(*want.Text); full != *got.Text {
			c.fail(".text", full, *got.Text)
		}
	}
	if want.TextEndsWith != nil {
		if end := c.run.world.expand(*want.TextEndsWith); !strings.HasSuffix(*got.Text, end) {
			c.fail(".textEndsWith", end, *got.Text)
		}
	}
	for i, part := range want.TextMatches {
		if part = c.run.world.expand(part); !strings.Contains(*got.Text, part) {
			c.fail(fmt.Sprintf(".textMatches[%d]", i), part, *got.Text)
		}
	}
}

// json compares a JSON value with what is expected of it.
func (c checker) json(field string, want json.RawMessage, got any, subset bool) {
	if want == nil {
		return
	}
	wanted, err := parse([]byte(c.run.expandJSON(want)))
	if err != nil {
		c.fail(field, "JSON in the scenario", err.Error())
		return
	}
	c.equal(field, wanted, got, subset)
}

// equal compares two decoded values, and reports each place where they differ.
// As a subset, an object may have more members than is expected.
func (c checker) equal(field string, want, got any, subset bool) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			value, there := got[key]
			if !there {
				c.fail(field+"."+key, want[key], nil)
				continue
			}
			c.equal(field+"."+key, want[key], value, subset)
		}
		for _, key := range slices.Sorted(maps.Keys(got)) {
			if _, there := want[key]; !there && !subset {
				c.fail(field+"."+key, nil, got[key])
			}
		}
		return
	case []any:
		got, ok := got.([]any)
		if !ok {
			break
		}
		for i := range want[:min(len(want), len(got))] {
			c.equal(fmt.Sprintf("%s[%d]", field, i), want[i], got[i], subset)
		}
		for i := len(got); i < len(want); i++ {
			c.fail(fmt.Sprintf("%s[%d]", field, i), want[i], nil)
		}
		for i := len(want); i < len(got); i++ {
			c.fail(fmt.Sprintf("%s[%d]", field, i), nil, got[i])
		}
		return
	}
	if !equalScalar(want, got) {
		c.fail(field, want, got)
	}
}

// equalScalar compares what is not both object or both array.
func equalScalar(want, got any) bool {
	a, aNumber := want.(json.Number)
	b, bNumber := got.(json.Number)
	if aNumber && bNumber {
		return equalNumber(a.String(), b.String())
	}
	switch want.(type) {
	case map[string]any, []any:
		return false
	}
	switch got.(type) {
	case map[string]any, []any:
		return false
	}
	return want == got
}

// equalNumber compares numbers by what they are worth, so 1 and 1.0 are equal.
func equalNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

func (c checker) tools(want, got []Tool) {
	names := func(tools []Tool) []string {
		out := make([]string, len(tools))
		for i, t := range tools {
			out[i] = t.Name
		}
		return out
	}
	if w, g := names(want), names(got); !slices.Equal(w, g) {
		c.fail(".tools", w, g)
		return
	}
	for i, w := range want {
		g := got[i]
		at := ".tools." + w.Name
		if !slices.Equal(sorted(w.Required), g.Required) {
			c.fail(at+".required", sorted(w.Required), g.Required)
		}
		for _, name := range slices.Sorted(maps.Keys(w.Properties)) {
			p, there := g.Properties[name]
			if !there {
				c.fail(at+"."+name, "the property", nil)
				continue
			}
			c.raw(at+"."+name+".type", w.Properties[name].Type, p.Type)
			c.raw(at+"."+name+".enum", w.Properties[name].Enum, p.Enum)
		}
		for _, name := range slices.Sorted(maps.Keys(g.Properties)) {
			if _, there := w.Properties[name]; !there {
				c.fail(at+"."+name, nil, "the property")
			}
		}
	}
}

// raw compares two pieces of a schema, either of which may be missing.
func (c checker) raw(field string, want, got json.RawMessage) {
	w, errW := parse(want)
	g, errG := parse(got)
	if errW != nil || errG != nil {
		c.fail(field, string(want), string(got))
		return
	}
	c.equal(field, w, g, false)
}

// checkEnd compares what there is in the end.
func (r *run) checkEnd() {
	r.files("after", r.After, r.out.After)
	r.files("outsideAfter", r.OutsideAfter, r.out.OutsideAfter)
	if r.Asks != nil {
		for i := range max(len(r.Asks), len(r.out.Asks)) {
			var want, got any
			if i < len(r.Asks) {
				a := r.Asks[i]
				a.Reason = r.world.expand(a.Reason)
				want = a
			}
			if i < len(r.out.Asks) {
				got = r.out.Asks[i]
			}
			if want != got {
				r.out.fail(fmt.Sprintf("asks[%d]", i), want, got)
			}
		}
	}
	if want, got := r.DistinctAttachments, r.out.DistinctAttachments; want != nil && *want != got {
		r.out.fail("distinctAttachments", *want, got)
	}
}

func (r *run) files(field string, want, got []File) {
	if want == nil {
		return
	}
	left := map[string]File{}
	for _, g := range got {
		left[g.Path] = g
	}
	for _, w := range want {
		at := field + "." + w.Path
		g, there := left[w.Path]
		if !there {
			r.out.fail(at, r.expandFile(w), nil)
			continue
		}
		delete(left, w.Path)
		r.file(at, r.expandFile(w), g)
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		r.out.fail(field+"."+path, nil, left[path])
	}
}

// expandFile puts the real folders into what is expected of a file.
func (r *run) expandFile(f File) File {
	for _, s := range []**string{&f.Text, &f.Symlink} {
		if *s != nil {
			full := r.world.expand(**s)
			*s = &full
		}
	}
	return f
}

func (r *run) file(field string, want, got File) {
	if want.Dir != got.Dir || (want.Symlink != nil) != (got.Symlink != nil) {
		r.out.fail(field, want, got)
		return
	}
	if want.Symlink != nil && *want.Symlink != *got.Symlink {
		r.out.fail(field+".symlink", *want.Symlink, *got.Symlink)
	}
	if want.Text != nil || want.Base64 != nil || want.Repeat != nil {
		if data, err := r.world.content(want); err != nil {
			r.out.fail(field, "content in the scenario", err.Error())
		} else if !bytes.Equal(data, got.data) {
			r.out.fail(field+".text", string(data), string(got.data))
		}
	}
	if want.SHA256 != "" && want.SHA256 != digest(got.data) {
		r.out.fail(field+".sha256", want.SHA256, digest(got.data))
	}
	if size := int64(len(got.data)); want.Bytes != nil && *want.Bytes != size {
		r.out.fail(field+".bytes", *want.Bytes, size)
	}
	if want.Mode != "" && want.Mode != got.Mode {
		r.out.fail(field+".mode", want.Mode, got.Mode)
	}
}

// parse decodes JSON and keeps its numbers as they are; nothing is nil.
func parse(data []byte) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return orEmpty(out)
}

func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}
