package patch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// action is what a change comes down to.
type action uint8

const (
	replaceValue action = iota
	insertEntry
	removeEntry
)

// target is the place of a change.
type target struct {
	action action
	// path leads from the root to parent: at each step the entry taken.
	path []step
	// parent holds the entry; nil where the root itself is replaced.
	parent *doc.Node
	index  int
	// key is the name of a new member of a mapping.
	key string
	// node is the value to be replaced or removed.
	node *doc.Node
}

// step is one collection on the way and the entry taken in it.
type step struct {
	node  *doc.Node
	index int
}

// resolve finds the place of a change.
func resolve(root *doc.Node, c change) (*target, error) {
	t := &target{node: root}
	tokens := c.tokens
	appendTo := c.op == "append"
	if appendTo && len(tokens) > 0 && tokens[len(tokens)-1] == "-" {
		tokens = tokens[:len(tokens)-1] // "/list/-" says the same as "/list"
	}
	for i, token := range tokens {
		last := i == len(tokens)-1 && !appendTo
		index, err := t.member(tokens[:i], token, c.op, last)
		if err != nil {
			return nil, err
		}
		t.parent, t.index = t.node, index
		if last && t.action == insertEntry {
			t.key, t.node = token, nil
			return t, nil
		}
		t.node = t.parent.Entries[index].Value
		t.path = append(t.path, step{t.parent, index})
	}
	switch {
	case appendTo:
		if err := usable(t.node, tokens); err != nil {
			return nil, err
		}
		if t.node.Kind != doc.Sequence {
			return nil, fmt.Errorf("append needs an array, %s is %s", at(tokens), describe(t.node))
		}
		t.action, t.parent, t.index, t.node = insertEntry, t.node, len(t.node.Entries), nil
		return t, nil
	case c.op == "remove":
		t.action = removeEntry
	}
	if t.parent != nil {
		t.path = t.path[:len(t.path)-1]
	}
	return t, t.checkAnchors(root, c.value)
}

// member finds the entry that token names in t.node. For the last token of a
// path it settles what the operation does there.
func (t *target) member(before []string, token, op string, last bool) (int, error) {
	n := t.node
	if err := usable(n, before); err != nil {
		return 0, err
	}
	switch n.Kind {
	case doc.Mapping:
		if last && op == "insert" {
			return 0, fmt.Errorf("insert needs an array, %s is an object: use set to add a member", at(before))
		}
		index, err := findKey(n, token)
		if err != nil {
			return 0, err
		}
		if index >= 0 {
			return index, nil
		}
		if last && op == "set" {
			t.action = insertEntry
			return len(n.Entries), nil
		}
		return 0, fmt.Errorf("%s has no member %q%s", at(before), token, knownKeys(n))
	case doc.Sequence:
		length := len(n.Entries)
		index, err := parseIndex(token, length)
		if err != nil {
			return 0, fmt.Errorf("%s is an array: %w", at(before), err)
		}
		if last && (op == "insert" || op == "set" && index == length) {
			if index > length {
				return 0, fmt.Errorf("index %d is past the end of %s, which has %d items", index, at(before), length)
			}
			t.action = insertEntry
			return index, nil
		}
		if index >= length {
			return 0, fmt.Errorf("%s has no item %s: it has %d items, counted from 0", at(before), token, length)
		}
		return index, nil
	}
	hint := ""
	if op == "set" {
		hint = fmt.Sprintf("; set %q to an object or array first", formatPointer(before))
	}
	return 0, fmt.Errorf("%s is %s and has no member %q%s", at(before), describe(n), token, hint)
}

// usable refuses to go through an alias.
func usable(n *doc.Node, tokens []string) error {
	if n.Kind != doc.Alias {
		return nil
	}
	return fmt.Errorf("%s is the alias *%s; the change would show wherever the node is shared: patch the node anchored with &%s, or replace the alias itself", at(tokens), n.Text, n.Text)
}

func findKey(n *doc.Node, token string) (int, error) {
	found := -1
	for i, e := range n.Entries {
		if e.Key.Kind != doc.Scalar || e.Key.Text != token {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("two keys read %q and differ in type only", token)
		}
		found = i
	}
	return found, nil
}

// at names a place in a message.
func at(tokens []string) string {
	if len(tokens) == 0 {
		return "the document"
	}
	return strconv.Quote(formatPointer(tokens))
}

func describe(n *doc.Node) string {
	switch n.Kind {
	case doc.Mapping:
		return "an object"
	case doc.Sequence:
		return "an array"
	case doc.Alias:
		return "an alias"
	}
	switch t, _ := n.Resolve(); t {
	case doc.Null:
		return "null"
	case doc.Bool:
		return "a boolean"
	case doc.Int, doc.Float:
		return "a number"
	}
	return "a string"
}

// knownKeys lists the first keys of a mapping for a message.
func knownKeys(n *doc.Node) string {
	const show = 10
	var keys []string
	merge := ""
	for _, e := range n.Entries {
		if e.Key.Text == "<<" && e.Key.Style == doc.Plain {
			merge = "; members that come in by '<<' belong to the anchored mapping"
		}
		if len(keys) < show {
			keys = append(keys, strconv.Quote(e.Key.Text))
		}
	}
	if len(keys) == 0 {
		return ": it is empty"
	}
	more := ""
	if len(n.Entries) > show {
		more = ", ..."
	}
	return ": it has " + strings.Join(keys, ", ") + more + merge
}

// checkAnchors refuses to take away a node that an alias elsewhere refers to. A
// new value takes the anchor of the old one over, and the aliases with it;
// where they merge it into mappings it has to be something to merge.
func (t *target) checkAnchors(root, value *doc.Node) error {
	inside := map[*doc.Props]int{}
	var anchored []*doc.Props
	var walk func(n *doc.Node)
	walk = func(n *doc.Node) {
		if n.Kind == doc.Alias {
			inside[n.Target]++
		}
		if n.Props != nil && n.Props.Anchor != "" {
			anchored = append(anchored, n.Props)
		}
		for _, e := range n.Entries {
			if e.Key != nil {
				walk(e.Key)
			}
			walk(e.Value)
		}
	}
	walk(t.node)
	if t.action == removeEntry && t.parent.Entries[t.index].Key != nil {
		walk(t.parent.Entries[t.index].Key)
	}
	for _, p := range anchored {
		if t.action == replaceValue && p == t.node.Props {
			if value.Kind != t.node.Kind && value.Kind != doc.Mapping && merges(root, p) {
				return fmt.Errorf("a '<<' merges the node anchored with &%s, so that %s cannot take its place", p.Anchor, describe(value))
			}
			continue
		}
		if uses := p.Aliases - inside[p]; uses > 0 {
			return fmt.Errorf("the anchor &%s here is still used by %d alias(es) *%s elsewhere; change those first", p.Anchor, uses, p.Anchor)
		}
	}
	return nil
}

// merges reports whether a "<<" below n merges the node of an anchor.
func merges(n *doc.Node, p *doc.Props) bool {
	isIt := func(n *doc.Node) bool { return n.Kind == doc.Alias && n.Target == p }
	for _, e := range n.Entries {
		if e.Key != nil && e.Key.Text == "<<" && e.Key.Style == doc.Plain {
			if isIt(e.Value) || slices.ContainsFunc(e.Value.Entries, func(e doc.Entry) bool { return isIt(e.Value) }) {
				return true
			}
		}
		if e.Key != nil && merges(e.Key, p) || merges(e.Value, p) {
			return true
		}
	}
	return false
}

// carryOut makes the change in the parsed tree, to compare the new text with.
func (t *target) carryOut(root **doc.Node, value *doc.Node) {
	var node *doc.Node
	if value != nil {
		copied := *value
		node = &copied
	}
	switch t.action {
	case replaceValue:
		if anchor := t.node.Anchor(); anchor != "" {
			node.Props = &doc.Props{Anchor: anchor}
		}
		if t.parent == nil {
			*root = node
			return
		}
		t.parent.Entries[t.index].Value = node
	case insertEntry:
		e := doc.Entry{Value: node}
		if t.parent.Kind == doc.Mapping {
			e.Key = &doc.Node{Kind: doc.Scalar, Style: doc.DoubleQuoted, Text: t.key}
		}
		t.parent.Entries = slices.Insert(t.parent.Entries, t.index, e)
	case removeEntry:
		t.parent.Entries = slices.Delete(t.parent.Entries, t.index, t.index+1)
	}
}
