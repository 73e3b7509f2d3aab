package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/bridle-go/bridle/plugins/internal/answer"
	"github.com/bridle-go/bridle/plugins/internal/dialog"
)

// calls puts the tool calls of an answer together from deltas of many kinds:
// numbered or not, with an id in the first, in each or in none, whole or in
// pieces, with the name once, again and again, or empty.
type calls struct {
	w     *answer.Writer
	names *dialog.Names
	seed  string // of the ids of calls that come without one
	list  []*building
}

// building is one call. It is begun, and so numbered among the blocks, when
// its name is known and its arguments come, or at the end.
type building struct {
	index    int // the server's, or -1
	id, name string
	args     string // what came before it was begun
	call     *answer.Call
}

// add takes one delta. The result is false when there are too many calls.
func (c *calls) add(d callDelta) bool {
	id, name, args := text(d.ID), text(d.Function.Name), d.Function.arguments()
	b := c.find(d.Index, id, name)
	if b != nil && id == "" && name != "" && args != "" && b.call != nil && b.call.Whole() {
		b = nil // a further call, which has neither an id nor a number of its own
	}
	if b == nil {
		if id == "" && name == "" && args == "" {
			return true // says nothing of a call that there is not
		}
		if len(c.list) >= answer.MaxCalls {
			return false
		}
		b = &building{index: -1}
		if d.Index != nil {
			b.index = *d.Index
		}
		c.list = append(c.list, b)
	}
	if b.id == "" && b.call == nil {
		b.id = id
	}
	// A name in pieces goes on; one that is repeated does not.
	if name != b.name && b.call == nil {
		b.name += name
	}
	if args == "" {
		return true
	}
	if b.name == "" {
		b.args += args
		return true
	}
	c.begin(b)
	b.call.Add(args)
	return true
}

// find returns the call that a delta continues, or nil for a new one.
func (c *calls) find(index *int, id, name string) *building {
	if index == nil {
		for _, b := range c.list {
			if id != "" && b.id == id {
				return b
			}
		}
		// Without a number, an id or a name begins a call.
		if id != "" || name != "" || len(c.list) == 0 {
			return nil
		}
		return c.list[len(c.list)-1]
	}
	var last *building
	for _, b := range c.list {
		if b.index == *index {
			last = b
		}
	}
	// Some servers give every call the number 0; then its id tells it apart.
	if last != nil && id != "" && last.id != "" && last.id != id && name != "" {
		for _, b := range c.list {
			if b.id == id {
				return b
			}
		}
		return nil
	}
	return last
}

func (c *calls) begin(b *building) {
	if b.call != nil {
		return
	}
	n := 0
	for c.list[n] != b {
		// Those before it that have no arguments keep their place.
		if c.list[n].name != "" {
			c.begin(c.list[n])
		}
		n++
	}
	if b.id == "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", c.seed, n))
		b.id = "call_" + hex.EncodeToString(sum[:12])
	}
	b.call = c.w.Call(b.id, c.names.Own(b.name))
	b.call.Add(b.args)
	b.args = ""
}

// finish begins what has not begun: calls without arguments. The result is
// false when there are arguments that are for no tool.
func (c *calls) finish() bool {
	for _, b := range c.list {
		switch {
		case b.name != "":
			c.begin(b)
		case b.args != "":
			return false
		}
	}
	return true
}
