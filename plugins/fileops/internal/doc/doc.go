// Package doc parses JSON (RFC 8259) and YAML 1.2 text into a tree in which
// every node knows the bytes it came from. It exists for tools that change
// one value of a document and must keep every other byte: they look a node
// up in the tree and splice the text at its offsets.
//
// A Node is a mapping, a sequence, a scalar or an alias. Its span [Start, End)
// covers the content alone; the anchor and tag written before it are in
// Node.Props. Aliases are never expanded, so a document that would expand to
// billions of nodes costs no more than its text.
//
// The parsers are strict: duplicate keys, undefined aliases, invalid UTF-8 and
// control characters are errors, each with line and column. One leniency is
// deliberate because every common loader has it: in YAML the closing bracket
// of a flow collection may stand at the column of its parent key.
package doc

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds how deeply collections may nest. It is the limit of
// encoding/json.
const MaxDepth = 10000

// Kind says what a node is.
type Kind uint8

// The kinds of node.
const (
	Scalar Kind = iota
	Mapping
	Sequence
	Alias
)

// String returns the word used for the kind in messages.
func (k Kind) String() string {
	switch k {
	case Mapping:
		return "mapping"
	case Sequence:
		return "sequence"
	case Alias:
		return "alias"
	}
	return "scalar"
}

// Style says how a node is written.
type Style uint8

// The styles of nodes. JSON uses Plain for numbers and words, DoubleQuoted for
// strings and Flow for collections.
const (
	// Empty is the null of a value that is not written at all.
	Empty Style = iota
	Plain
	SingleQuoted
	DoubleQuoted
	Literal
	Folded
	Block
	Flow
	// FlowPair is the mapping of one pair that a flow sequence may hold
	// without braces: [a: b].
	FlowPair
)

// Node is one value of a document.
type Node struct {
	// Start and End are the byte offsets of the content in the source,
	// without properties. An Empty node has Start == End.
	Start, End int
	// Text is the decoded content of a scalar, or the name of an alias.
	Text string
	// Entries are the pairs of a mapping or the items of a sequence.
	Entries []Entry
	// Props is nil when the node has neither anchor nor tag.
	Props *Props
	// Target is what an alias refers to.
	Target *Props
	// Indent is the column, from 0, of the entries of a Block collection.
	Indent int32
	Kind   Kind
	Style  Style
}

// Entry is one pair of a mapping, or one item of a sequence (Key is nil).
type Entry struct {
	Key, Value *Node
	// Start is where the entry begins: its key with properties, its "?",
	// or its "-".
	Start int
	// Indicator is the offset of the ":" or "-" before the value, or -1
	// where none is written.
	Indicator int
}

// End returns the offset just past the entry.
func (e Entry) End() int {
	end := e.Value.End
	if e.Key != nil && e.Key.End > end {
		end = e.Key.End
	}
	return end
}

// Props are the properties written before a node.
type Props struct {
	Anchor, Tag string
	// Start and End are the offsets of the properties in the source.
	Start, End int
	// Aliases counts the aliases that refer to the anchor.
	Aliases int
}

// Outer returns where the node begins, with its properties.
func (n *Node) Outer() int {
	if n.Props != nil {
		return n.Props.Start
	}
	return n.Start
}

// Anchor returns the node's anchor or "".
func (n *Node) Anchor() string {
	if n.Props == nil {
		return ""
	}
	return n.Props.Anchor
}

// Tag returns the node's tag as written or "".
func (n *Node) Tag() string {
	if n.Props == nil {
		return ""
	}
	return n.Props.Tag
}

// Document is one document of a stream.
type Document struct {
	// Root is never nil. A document without content has an Empty root.
	Root *Node
	// Explicit is set when the document begins with "---".
	Explicit bool
	// Start and End are the offsets of the document in the source.
	Start, End int
}

// SyntaxError says what is wrong with a document and where.
type SyntaxError struct {
	Message string
	// Offset is in bytes from the start of the text.
	Offset int
	// Line and Column count from 1; a column is one character (code point),
	// and a byte-order mark is none.
	Line, Column int
}

// Error returns position and message in one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// BOM is the UTF-8 byte-order mark.
const BOM = "\ufeff"

// Position returns line and column of a byte offset, both from 1. Lines end
// with LF, CRLF or CR.
func Position(src string, offset int) (line, column int) {
	offset = min(max(offset, 0), len(src))
	line = 1
	start := 0
	if strings.HasPrefix(src, BOM) {
		start = len(BOM)
	}
	for i := start; i < offset; i++ {
		switch src[i] {
		case '\n':
			line++
			start = i + 1
		case '\r':
			if i+1 < len(src) && src[i+1] == '\n' {
				continue
			}
			line++
			start = i + 1
		}
	}
	if start > offset {
		return line, 1
	}
	return line, utf8.RuneCountInString(src[start:offset]) + 1
}

func syntaxError(src string, offset int, message string) *SyntaxError {
	line, column := Position(src, offset)
	return &SyntaxError{Message: message, Offset: offset, Line: line, Column: column}
}

// bailout carries a syntax error up through the recursive parsers.
type bailout struct{ err *SyntaxError }

// catch turns a bailout into an error; any other panic goes on.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case bailout:
		*err = r.err
	default:
		panic(r)
	}
}

// AsSyntaxError returns the syntax error in err's chain, if any.
func AsSyntaxError(err error) (*SyntaxError, bool) {
	var s *SyntaxError
	ok := errors.As(err, &s)
	return s, ok
}

// invalidUTF8 returns the offset of the first invalid sequence, or -1.
func invalidUTF8(src string) int {
	if utf8.ValidString(src) {
		return -1
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRuneInString(src[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// arena hands out nodes from blocks, because a large document has hundreds of
// thousands of them.
type arena struct {
	free []Node
	size int
}

// next grows the blocks: small documents stay small.
func (a *arena) next() int {
	a.size = min(max(16, 2*a.size), 4096)
	return a.size
}

func (a *arena) node(kind Kind, style Style, start, end int) *Node {
	if len(a.free) == 0 {
		a.free = make([]Node, a.next())
	}
	n := &a.free[0]
	a.free = a.free[1:]
	n.Kind, n.Style, n.Start, n.End = kind, style, start, end
	return n
}

// keySet finds duplicate keys: by comparison while there are few, with a map
// once there are many.
type keySet struct {
	few  []string
	many map[string]struct{}
}

const keySetFew = 8

// reset empties the set for use by another mapping.
func (s *keySet) reset() { s.few, s.many = s.few[:0], nil }

// add reports whether key is new.
func (s *keySet) add(key string) bool {
	if s.many != nil {
		if _, dup := s.many[key]; dup {
			return false
		}
		s.many[key] = struct{}{}
		return true
	}
	for _, k := range s.few {
		if k == key {
			return false
		}
	}
	s.few = append(s.few, key)
	if len(s.few) > keySetFew {
		s.many = make(map[string]struct{}, 4*keySetFew)
		for _, k := range s.few {
			s.many[k] = struct{}{}
		}
	}
	return true
}
