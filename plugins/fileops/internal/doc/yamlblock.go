package doc

import (
	"fmt"
	"unicode/utf8"
)

// place says after what a block node stands; it decides whether a block
// collection may begin on the same line and whether a sequence may stand at
// the indentation of its parent.
type place uint8

const (
	inDocument place = iota // at the start of a document
	inSequence              // after "- "
	inExplicit              // after "? ", or after the ":" that goes with it
	inValue                 // after "key:"
)

// maxImplicitKey is the longest key, in characters, that may be written
// without "?" (YAML 1.2.2, section 7.4.2).
const maxImplicitKey = 1024

// blockNode parses the node whose parent is indented by parent columns (-1 for
// a document). The position is just past the indicator before the node.
func (p *yamlParser) blockNode(parent int, at place) *Node {
	p.enter()
	defer p.leave()
	after := p.pos
	p.skip()
	if p.nothing(parent, at) {
		return p.node(Scalar, Empty, after, after)
	}
	return p.blockContent(parent, at)
}

// nothing reports whether the next token belongs no more to a node under the
// given parent, so that the node is empty.
func (p *yamlParser) nothing(parent int, at place) bool {
	if p.eof() || p.marker() {
		return true
	}
	if !p.lineBegin() {
		return false
	}
	col := p.column()
	if col == parent && p.indicator('-') && (at == inValue || at == inExplicit) {
		return false
	}
	return col <= parent
}

// blockContent parses a node that is known to be there.
func (p *yamlParser) blockContent(parent int, at place) *Node {
	compact := at == inSequence || at == inExplicit
	block := p.lineBegin() || compact // a block collection may begin here
	start, col := p.pos, p.column()
	switch c := p.at(p.pos); {
	case p.indicator('-'):
		p.needBlock(block, "a block sequence must begin on its own line")
		return p.blockSequence(col)
	case p.indicator('?'):
		p.needBlock(block, "an explicit key must begin on its own line")
		return p.blockMapping(col, nil)
	case c == '|' || c == '>':
		return p.blockScalar(parent)
	case c == '&' || c == '!':
		return p.blockWithProperties(parent, at, block, col)
	}
	n := p.inlineOrEmptyKey(parent)
	return p.keyOrValue(n, block, start, col)
}

func (p *yamlParser) needBlock(ok bool, message string) {
	if !ok {
		p.fail(p.pos, message)
	}
	if p.tabBefore() {
		p.fail(p.pos, "a tab is not allowed as indentation of a block collection")
	}
}

// blockWithProperties parses an anchor or tag and what it belongs to: on the
// same line the scalar or the first key, on the next line the whole node.
func (p *yamlParser) blockWithProperties(parent int, at place, block bool, col int) *Node {
	start := p.pos
	props := p.properties()
	p.skip()
	if p.eof() || p.lineBegin() {
		if p.nothing(parent, at) {
			n := p.node(Scalar, Empty, props.End, props.End)
			n.Props = props
			return n
		}
		if at == inSequence || at == inExplicit {
			at = inValue // the node is on its own line now
			if p.indicator('-') && p.column() <= parent {
				p.unexpected()
			}
		}
		n := p.blockContent(parent, at)
		p.attach(n, props)
		return n
	}
	switch c := p.at(p.pos); {
	case p.indicator('-'):
		p.fail(p.pos, "a block sequence must begin on its own line")
	case p.indicator('?'):
		p.fail(p.pos, "an explicit key must begin on its own line")
	case c == '|' || c == '>':
		n := p.blockScalar(parent)
		p.attach(n, props)
		return n
	}
	n := p.inlineOrEmptyKey(parent)
	if n.Style == Empty {
		n.Start, n.End = props.End, props.End
	}
	p.attach(n, props)
	return p.keyOrValue(n, block, start, col)
}

func (p *yamlParser) attach(n *Node, props *Props) {
	if n.Kind == Alias {
		p.fail(n.Start, "an alias can have neither anchor nor tag")
	}
	inner := n.Props
	switch {
	case inner == nil:
		n.Props = props
	case inner.Anchor == "" && props.Tag == "":
		// Anchor and tag may stand on lines of their own. Aliases hold on
		// to the Props that has the anchor.
		props.Tag, props.End = inner.Tag, inner.End
		n.Props = props
	case inner.Tag == "" && props.Anchor == "":
		inner.Tag, inner.Start = props.Tag, props.Start
	default:
		p.fail(inner.Start, "a node can have one anchor and one tag only")
	}
}

// inlineOrEmptyKey parses a node without block structure, or nothing where a
// ":" follows at once.
func (p *yamlParser) inlineOrEmptyKey(parent int) *Node {
	if p.indicator(':') {
		return p.node(Scalar, Empty, p.pos, p.pos)
	}
	return p.inline(parent, false)
}

// keyOrValue makes n the first key of a block mapping if a ":" follows it.
func (p *yamlParser) keyOrValue(n *Node, block bool, start, col int) *Node {
	end, line := p.pos, p.lineStart
	p.blanks()
	if !p.indicator(':') {
		p.pos, p.lineStart = end, line
		return n
	}
	if start < p.lineStart {
		p.manyLines(n)
	}
	if !block {
		p.fail(p.pos, "a mapping is not allowed here: its first key must begin on its own line")
	}
	tab := false
	for i := start - 1; i >= p.lineStart && isBlank(p.src[i]); i-- {
		tab = tab || p.src[i] == '\t'
	}
	if tab {
		p.fail(p.lineStart, "a tab is not allowed as indentation of a block collection")
	}
	return p.blockMapping(col, &Entry{Key: n, Start: start})
}

// blockMapping parses the entries at column col. The first key may have been
// parsed already; the position is then at its ":".
func (p *yamlParser) blockMapping(col int, first *Entry) *Node {
	m := p.node(Mapping, Block, p.pos, 0)
	m.Indent = int32(col)
	if first != nil {
		m.Start = first.Start
	}
	var keys keySet
	for {
		e := Entry{Start: p.pos, Indicator: -1}
		switch {
		case first != nil:
			e, first = *first, nil
			p.implicitValue(&e, col)
		case p.indicator('?'):
			p.explicitEntry(&e, col)
		default:
			e.Key = p.implicitKey(col)
			p.implicitValue(&e, col)
		}
		if !keys.add(p.identity(e.Key)) {
			p.fail(e.Key.Start, "duplicate key "+p.quote(e.Key))
		}
		m.Entries = append(m.Entries, e)
		m.End = e.End()
		p.skip()
		if !p.another(col) {
			return m
		}
	}
}

// another reports whether the next token begins another entry at column col;
// it fails where the token fits nowhere.
func (p *yamlParser) another(col int) bool {
	if p.eof() || p.marker() {
		return false
	}
	if !p.lineBegin() {
		p.unexpected()
	}
	if p.tabBefore() {
		p.fail(p.lineStart, "a tab is not allowed as indentation")
	}
	c := p.column()
	if c > col {
		p.unexpected()
	}
	return c == col
}

func (p *yamlParser) implicitKey(col int) *Node {
	start := p.pos
	var props *Props
	if c := p.at(p.pos); c == '&' || c == '!' {
		props = p.properties()
		p.blanks()
	}
	if p.indicator('-') {
		p.fail(p.pos, "a sequence item is not allowed among the keys of a mapping")
	}
	var key *Node
	if p.indicator(':') {
		key = p.node(Scalar, Empty, p.pos, p.pos)
		if props != nil {
			key.Start, key.End = props.End, props.End
		}
	} else {
		key = p.inline(col, true)
	}
	if props != nil {
		p.attach(key, props)
	}
	p.blanks()
	if !p.indicator(':') {
		if p.at(p.pos) == ':' {
			p.fail(p.pos, "a blank must follow ':'")
		}
		p.fail(start, "expected a key followed by ':'")
	}
	if start < p.lineStart {
		p.manyLines(key)
	}
	return key
}

// manyLines fails at the ":" after a key of several lines. Most often that is
// a plain value which a line of wrong indentation seems to continue.
func (p *yamlParser) manyLines(key *Node) {
	if key.Style != Plain {
		p.fail(p.pos, "a key without '?' must be on one line")
	}
	line, _ := Position(p.src, key.Start)
	p.fail(p.pos, fmt.Sprintf("a mapping is not allowed here: by its indentation this line continues the text that begins on line %d", line))
}

// implicitValue parses what follows a key without "?". The position is at ":".
func (p *yamlParser) implicitValue(e *Entry, col int) {
	if n := p.pos - e.Start; n > maxImplicitKey && utf8.RuneCountInString(p.src[e.Start:p.pos]) > maxImplicitKey {
		p.fail(e.Start, fmt.Sprintf("a key without '?' may have at most %d characters", maxImplicitKey))
	}
	e.Indicator = p.pos
	p.pos++
	e.Value = p.blockNode(col, inValue)
}

func (p *yamlParser) explicitEntry(e *Entry, col int) {
	if p.tabBefore() {
		p.fail(p.pos, "a tab is not allowed as indentation of a block collection")
	}
	p.pos++
	e.Key = p.blockNode(col, inExplicit)
	p.skip()
	if !p.eof() && p.lineBegin() && !p.tabBefore() && p.column() == col && p.indicator(':') {
		e.Indicator = p.pos
		p.pos++
		e.Value = p.blockNode(col, inExplicit)
		return
	}
	e.Value = p.node(Scalar, Empty, e.Key.End, e.Key.End)
}

// blockSequence parses the items at column col.
func (p *yamlParser) blockSequence(col int) *Node {
	s := p.node(Sequence, Block, p.pos, 0)
	s.Indent = int32(col)
	for {
		e := Entry{Start: p.pos, Indicator: p.pos}
		p.pos++
		e.Value = p.blockNode(col, inSequence)
		s.Entries = append(s.Entries, e)
		s.End = e.End()
		p.skip()
		if !p.another(col) || !p.indicator('-') {
			return s
		}
	}
}
