package patch

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bridle-go/bridle/harness/near"
	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// otherOps are names that other patch formats and tools have for an operation.
var otherOps = map[string]string{
	"add": "set", "update": "set", "upsert": "set", "put": "set", "write": "set", "create": "set", "modify": "replace", "change": "replace",
	"delete": "remove", "del": "remove", "unset": "remove", "rm": "remove", "push": "append", "prepend": "insert",
}

// Mended returns patches that can be applied in the place of ones that cannot,
// where it is plain what was meant: a name of an operation or a path as other
// formats write them, a slip in a key, an operation that fits what is there.
// The values are those of the patches.
func Mended(src string, format Format, patches []Patch) ([]Patch, bool) {
	docs, err := parse(src, format)
	if err != nil {
		return nil, false
	}
	list := slices.Clone(patches)
	for i := range list {
		if _, err := prepare(list[i], format); err != nil {
			list[i] = respell(list[i], docs)
		}
	}
	for i, p := range list {
		next, ok := tryPatch(src, format, p)
		for _, other := range alternatives(p, format, docs) {
			if ok {
				break
			}
			list[i] = other
			next, ok = tryPatch(src, format, other)
		}
		if !ok {
			return nil, false
		}
		if docs, err = parse(next, format); err != nil {
			return nil, false
		}
		src = next
	}
	return list, true
}

func tryPatch(src string, format Format, p Patch) (string, bool) {
	next, err := Apply(src, format, []Patch{p})
	return next, err == nil
}

var jsonPathIndex = regexp.MustCompile(`\[(\d+)\]`)

// respell writes operation and path as they are known here.
func respell(p Patch, docs []*doc.Document) Patch {
	p.Op = strings.ToLower(p.Op)
	if p.Path != "" && p.Path[0] != '/' {
		if strings.ContainsRune(p.Path, '/') || find(docs, p.Document, []string{p.Path}).exists() {
			p.Path = "/" + p.Path
		} else { // a JSONPath, or members with dots between
			plain := jsonPathIndex.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(p.Path, "$"), "."), ".$1")
			p.Path = "/" + strings.ReplaceAll(strings.TrimPrefix(plain, "."), ".", "/")
		}
	}
	if _, err := parsePointer(p.Path); err != nil {
		p.Path = strings.ReplaceAll(p.Path, "~", "~0")
	}
	op, ok := otherOps[p.Op]
	if !ok {
		return p
	}
	// RFC 6902 has one name for what are two operations here.
	if tokens, err := parsePointer(p.Path); p.Op == "add" && err == nil && len(tokens) > 0 {
		if parent := find(docs, p.Document, tokens[:len(tokens)-1]); parent.exists() && parent.node.Kind == doc.Sequence {
			op = "insert"
		}
	}
	p.Op = op
	return p
}

// finding is how far a path leads into a document: to a node, or to the one
// that lacks the token numbered at.
type finding struct {
	node *doc.Node
	at   int
	full bool
}

func (f finding) exists() bool { return f.full }

func find(docs []*doc.Document, document int, tokens []string) finding {
	if document < 0 || document >= len(docs) {
		return finding{}
	}
	n := docs[document].Root
	for i, token := range tokens {
		index := -1
		switch n.Kind {
		case doc.Mapping:
			index, _ = findKey(n, token) // an ambiguous key is not found
		case doc.Sequence:
			if at, err := parseIndex(token, len(n.Entries)); err == nil && at < len(n.Entries) {
				index = at
			}
		}
		if index < 0 || index >= len(n.Entries) {
			return finding{node: n, at: i}
		}
		n = n.Entries[index].Value
	}
	return finding{node: n, full: true}
}

// alternatives are patches that may be meant by one that cannot be applied,
// the likeliest first.
func alternatives(p Patch, format Format, docs []*doc.Document) (list []Patch) {
	c, err := prepare(p, format)
	if err != nil || len(c.tokens) == 0 {
		return nil
	}
	alter := func(op string, tokens []string, value json.RawMessage) {
		q := p
		q.Op, q.Path, q.Value = op, formatPointer(tokens), value
		list = append(list, q)
	}
	last := len(c.tokens) - 1
	f := find(docs, c.document, c.tokens)
	switch {
	case f.node == nil:
	case f.full && p.Op == "insert":
		alter("set", c.tokens, p.Value)
	case f.full:
	case f.node.Kind == doc.Sequence:
		if index := meantIndex(c.tokens[f.at], len(f.node.Entries)); index != "" && (index != "-" || f.at == last && (p.Op == "insert" || p.Op == "set")) {
			tokens := slices.Clone(c.tokens)
			tokens[f.at] = index
			alter(p.Op, tokens, p.Value)
		}
	case f.node.Kind == doc.Mapping:
		var keys []string // of a few characters any two are alike
		for _, e := range f.node.Entries {
			keys = append(keys, e.Key.Text)
		}
		if meant := near.Miss(c.tokens[f.at], keys); meant != "" && (len(meant) > 3 || strings.EqualFold(meant, c.tokens[f.at])) {
			tokens := slices.Clone(c.tokens)
			tokens[f.at] = meant
			alter(p.Op, tokens, p.Value)
		}
		if value, ok := nested(c.tokens[f.at+1:], p); ok {
			alter("set", c.tokens[:f.at+1], value)
		}
	}
	return list
}

// meantIndex is the index that a token stands for which is none of an array of
// that length: one with leading zeros, or counted from the end. What is past the
// end is meant to be the end.
func meantIndex(token string, length int) string {
	n, err := strconv.Atoi(token)
	switch {
	case err != nil:
		return ""
	case n < 0 && -n <= length:
		return strconv.Itoa(length + n)
	case n < 0:
		return ""
	case n < length:
		return strconv.Itoa(n)
	}
	return "-"
}

// nested wraps the value of a patch in the objects that are missing on its
// way. Whether an index would mean an array nobody knows.
func nested(tokens []string, p Patch) (json.RawMessage, bool) {
	value := p.Value
	switch p.Op {
	case "set", "replace", "insert":
	case "append":
		value = slices.Concat(json.RawMessage("["), value, json.RawMessage("]"))
	default:
		return nil, false
	}
	for _, token := range slices.Backward(tokens) {
		if _, err := parseIndex(token, 0); err == nil {
			return nil, false
		}
		key, err := json.Marshal(token)
		if err != nil {
			return nil, false
		}
		value = slices.Concat(json.RawMessage("{"), key, json.RawMessage(":"), value, json.RawMessage("}"))
	}
	return value, true
}
