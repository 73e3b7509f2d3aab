// Package patch changes single values of JSON and YAML documents and keeps
// every other byte: comments, key order, indentation, quoting, the spelling of
// numbers, line endings, byte-order mark, final newline or none.
//
// A value is addressed by a JSON pointer (RFC 6901). In a mapping of YAML a
// token matches the key of that text, whatever its type or quoting. A pointer
// sees what is written at its place: keys that a merge ("<<") brings in are
// not addressed, and a path through an alias is refused, because the change
// would show at every other place that shares the node. That is meant where the
// path leads to the anchored node itself: a new value there keeps the anchor,
// and with it all aliases. A tag goes with the old value. Taking away a node
// whose anchor is still referred to from outside is refused.
//
// In a stream of several documents a patch addresses the document its Document
// field names, counted from 0: the first where nothing is said.
//
// After each patch the new text is parsed and compared with the patch applied
// to the parsed input. Where they differ nothing is returned but an error.
package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// Format is the syntax of a document.
type Format string

// The formats. Auto is resolved by Detect.
const (
	Auto Format = "auto"
	JSON Format = "json"
	YAML Format = "yaml"
)

// Detect resolves Auto: by the file's extension (.json, .yaml, .yml), else by
// the content, which is JSON if it parses as JSON or begins with a brace or a
// bracket, and YAML otherwise.
func Detect(name, content string) Format {
	switch strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/"))) {
	case ".json":
		return JSON
	case ".yaml", ".yml":
		return YAML
	}
	text := strings.TrimLeft(strings.TrimPrefix(content, doc.BOM), " \t\r\n")
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return JSON
	}
	if _, err := doc.ParseJSON(content); err == nil {
		return JSON
	}
	return YAML
}

// Patch is one change.
type Patch struct {
	// Op is one of:
	//
	//	set      replaces a value or adds a member; "-" or the length adds an item
	//	replace  replaces a value, which must exist
	//	insert   puts an item before the one at the index; later ones shift
	//	append   adds an item to the array that Path names
	//	remove   deletes a member or an item
	Op string `json:"op"`
	// Path is a JSON pointer. "" is the whole document.
	Path string `json:"path"`
	// Value is the new value as JSON; null is a value, absent is not.
	Value json.RawMessage `json:"value,omitempty"`
	// Document is the index of the document in a YAML stream.
	Document int `json:"document,omitempty"`
}

// Error says which patch could not be applied, and why.
type Error struct {
	Index   int
	Op      string
	Path    string
	Message string
}

// Error returns index, operation, path and message in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("patch %d (%s %q): %s", e.Index, e.Op, e.Path, e.Message)
}

// Errors are the failures of one call of Apply, in the order of the patches.
type Errors []*Error

// Error returns all failures, one a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Apply returns src with all patches applied in order, each to the result of
// the one before, or an error and nothing. Failures of patches are Errors:
// what can be told from a patch alone is checked for all of them, and then the
// first that cannot be applied ends the run. A src that does not parse is a
// *doc.SyntaxError.
func Apply(src string, format Format, patches []Patch) (string, error) {
	prepared := make([]change, len(patches))
	var failures Errors
	for i, p := range patches {
		c, err := prepare(p, format)
		if err != nil {
			failures = append(failures, &Error{i, p.Op, p.Path, err.Error()})
		}
		prepared[i] = c
	}
	if failures != nil {
		return "", failures
	}
	docs, err := parse(src, format)
	if err != nil {
		return "", err
	}
	for i, c := range prepared {
		src, docs, err = apply(src, format, docs, c)
		if err != nil {
			p := patches[i]
			return "", Errors{{i, p.Op, p.Path, err.Error()}}
		}
	}
	return src, nil
}

func parse(src string, format Format) ([]*doc.Document, error) {
	if format == YAML {
		return doc.ParseYAML(src)
	}
	root, err := doc.ParseJSON(src)
	if err != nil {
		return nil, err
	}
	return []*doc.Document{{Root: root, Start: root.Start, End: root.End}}, nil
}

// change is a patch that was checked on its own.
type change struct {
	op       string
	tokens   []string
	path     string
	document int
	value    *doc.Node // nil for remove
	valueSrc string
}

func prepare(p Patch, format Format) (change, error) {
	c := change{op: p.Op, path: p.Path, document: p.Document}
	switch p.Op {
	case "set", "replace", "insert", "append":
		if len(p.Value) == 0 {
			return c, fmt.Errorf("%s needs a value", p.Op)
		}
		value, err := doc.ParseJSON(string(p.Value))
		if err != nil {
			return c, fmt.Errorf("value is not JSON: %w", err)
		}
		if format == YAML && !wellFormed(value) {
			return c, errors.New("value has an unpaired surrogate, which YAML cannot hold")
		}
		c.value, c.valueSrc = value, string(p.Value)
	case "remove":
	default:
		return c, fmt.Errorf("unknown op %q: use set, replace, insert, append or remove", p.Op)
	}
	if p.Document < 0 {
		return c, errors.New("document must not be negative")
	}
	tokens, err := parsePointer(p.Path)
	if err != nil {
		return c, err
	}
	c.tokens = tokens
	if len(tokens) == 0 && (p.Op == "remove" || p.Op == "insert") {
		return c, fmt.Errorf("%s needs a path below the root", p.Op)
	}
	return c, nil
}

func wellFormed(n *doc.Node) bool {
	if !utf8.ValidString(n.Text) {
		return false
	}
	for _, e := range n.Entries {
		if e.Key != nil && !wellFormed(e.Key) || !wellFormed(e.Value) {
			return false
		}
	}
	return true
}

// errRefused is the answer where no way of writing the change gave the
// intended document.
var errRefused = errors.New("the change cannot be written here without disturbing other parts of the document; edit the text instead")

// apply plans one change, and takes the first way of writing it that parses
// to the intended documents.
func apply(src string, format Format, docs []*doc.Document, c change) (string, []*doc.Document, error) {
	if c.document >= len(docs) && !(c.document == 0 && len(c.tokens) == 0 && c.op != "append") {
		if len(docs) == 0 {
			return "", nil, errors.New("the file holds no document; set \"\" to give it one")
		}
		return "", nil, fmt.Errorf("there is no document %d: the stream has %d, counted from 0", c.document, len(docs))
	}
	if len(docs) == 0 {
		docs = []*doc.Document{{Root: &doc.Node{Start: len(src), End: len(src)}, Start: len(src), End: len(src)}}
	}
	root := &docs[c.document].Root
	t, err := resolve(*root, c)
	if err != nil {
		return "", nil, err
	}
	e := &editor{src: src, yaml: format == YAML, docs: docs, document: docs[c.document], value: c.value, valueSrc: c.valueSrc}
	e.layout()
	t.index = e.insertIndex(t)
	var candidates []string
	for _, conservative := range []bool{false, true} {
		e.conservative = conservative
		if splices := e.plan(t); splices != nil {
			if text := splice(src, splices); !slices.Contains(candidates, text) {
				candidates = append(candidates, text)
			}
		}
	}
	t.carryOut(root, c.value)
	for _, text := range candidates {
		got, err := parse(text, format)
		if err == nil && sameDocuments(docs, got) {
			return text, got, nil
		}
	}
	return "", nil, errRefused
}

func sameDocuments(want, got []*doc.Document) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !doc.Equal(want[i].Root, got[i].Root) {
			return false
		}
	}
	return true
}
