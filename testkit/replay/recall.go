package replay

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// What a call took from the world, such as the time it took or the id of a
// receipt, is recorded where the call told it: in the events that it logged,
// and in the JSON of its result. A replay gives it from there.

// telling is what one recorded call told.
type telling struct {
	events, results [][]byte // JSON objects, in order

	values map[string][]any // by name, those that are still to be given
}

// tellings reads what the calls of a recording told.
func tellings(events []session.Event) map[callKey]*telling {
	out := map[callKey]*telling{}
	of := func(k callKey) *telling {
		if out[k] == nil {
			out[k] = &telling{values: map[string][]any{}}
		}
		return out[k]
	}
	running := map[string]callKey{} // by the call's id
	for _, e := range events {
		switch {
		case e.Type == session.TypeToolCall:
			var b session.ToolCall
			if e.Decode(&b) == nil {
				running[b.CallID] = callKey{b.Turn, b.Step, b.CallID}
			}
		case e.Ignorable && bytes.Contains(e.Data, []byte(`"callId"`)):
			var b struct {
				CallID string `json:"callId"`
			}
			if json.Unmarshal(e.Data, &b) != nil {
				continue
			}
			if k, ok := running[b.CallID]; ok {
				of(k).events = append(of(k).events, e.Data)
			}
		}
	}
	for _, m := range calls(events) {
		var blocks []llm.Block
		if json.Unmarshal(m.outcome.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if text := []byte(b.Text); b.Type == llm.TextBlock && bytes.HasPrefix(text, []byte("{")) && json.Valid(text) {
				t := of(m.key())
				t.results = append(t.results, text)
			}
		}
	}
	return out
}

// take puts the next value of a name that fits into a pointer.
func (t *telling) take(name string, into any) bool {
	values, read := t.values[name]
	if !read {
		values = t.find(name)
	}
	for i, v := range values {
		data, err := json.Marshal(v)
		if err == nil && json.Unmarshal(data, into) == nil {
			t.values[name] = values[i+1:]
			return true
		}
	}
	t.values[name] = nil
	return false
}

// find returns the values of a name in order: of the events, where one has it,
// else of the results. An event may tell an id twice, as the receipt of a
// backup does; results tell of one time after the other.
func (t *telling) find(name string) []any {
	var out []any
	for _, data := range t.events {
		scalars(data, name, func(v any) {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		})
	}
	if out != nil {
		return out
	}
	for _, data := range t.results {
		scalars(data, name, func(v any) { out = append(out, v) })
	}
	return out
}

// scalars visits the texts, numbers and truth values of a field's name in valid
// JSON, in the order in which they are written.
func scalars(data []byte, name string, visit func(any)) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var walk func(field string)
	walk = func(field string) {
		token, err := dec.Token()
		if err != nil {
			return
		}
		switch token {
		case json.Delim('{'):
			for dec.More() {
				key, err := dec.Token()
				if err != nil {
					return
				}
				walk(key.(string)) // the keys of an object are texts
			}
			_, _ = dec.Token() // the brace
		case json.Delim('['):
			for dec.More() {
				walk("")
			}
			_, _ = dec.Token() // the bracket
		default:
			if field == name && token != nil {
				visit(token)
			}
		}
	}
	walk("")
}

// recall gives a call what it told when it was recorded.
func (p *player) recall(callID, name string, into any) bool {
	key := p.keyOf(callID)
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.plan.told[key]
	return t != nil && t.take(name, into)
}
