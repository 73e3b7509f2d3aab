package doc

// inline parses an alias, a quoted or plain scalar or a flow collection.
// oneLine keeps a plain scalar, which is then a key, from going on.
func (p *yamlParser) inline(parent int, oneLine bool) *Node {
	switch c := p.at(p.pos); c {
	case '*':
		return p.alias()
	case '"':
		return p.doubleQuoted(parent)
	case '\'':
		return p.singleQuoted(parent)
	case '[':
		return p.flowCollection(parent, Sequence, ']')
	case '{':
		return p.flowCollection(parent, Mapping, '}')
	case ',', ']', '}', '#', '|', '>', '%', '@', '`', '&', '!':
		p.fail(p.pos, "a plain scalar cannot begin with "+p.here())
	case 0, '\n', '\r':
		p.fail(p.pos, "expected a key, found "+p.here())
	}
	return p.plain(parent, false, oneLine)
}

// flowSkip moves to the next token inside a flow collection.
func (p *yamlParser) flowSkip(parent int) {
	line := p.lineStart
	p.skip()
	if p.lineStart == line || p.eof() {
		return
	}
	if p.marker() {
		p.fail(p.pos, "a document marker inside a flow collection")
	}
	col, c := p.column(), p.src[p.pos]
	if col > parent || (c == ']' || c == '}') && col == parent {
		return
	}
	p.fail(p.pos, "a flow collection must be indented more than its parent")
}

// flowCollection parses "[...]" or "{...}".
func (p *yamlParser) flowCollection(parent int, kind Kind, closing byte) *Node {
	p.enter()
	defer p.leave()
	n := p.node(kind, Flow, p.pos, 0)
	p.pos++
	var keys keySet
	for {
		p.flowSkip(parent)
		switch p.at(p.pos) {
		case closing:
			p.pos++
			n.End = p.pos
			return n
		case 0:
			p.fail(n.Start, "a flow collection is not closed: expected "+string(closing))
		case ',':
			p.fail(p.pos, "an entry is missing before ','")
		}
		e := p.flowEntry(parent, kind)
		if kind == Mapping && !keys.add(p.identity(e.Key)) {
			p.fail(e.Key.Start, "duplicate key "+p.quote(e.Key))
		}
		n.Entries = append(n.Entries, e)
		p.flowSkip(parent)
		switch c := p.at(p.pos); c {
		case ',':
			p.pos++
		case closing:
		case 0:
			p.fail(n.Start, "a flow collection is not closed: expected "+string(closing))
		case '#':
			p.fail(p.pos, "a comment must be separated by a blank")
		default:
			p.fail(p.pos, "expected ',' or '"+string(closing)+"', found "+p.here())
		}
	}
}

// flowEntry parses one pair of a flow mapping, or one item of a flow sequence,
// which may be a pair without braces.
func (p *yamlParser) flowEntry(parent int, kind Kind) Entry {
	e := Entry{Start: p.pos, Indicator: -1}
	explicit := p.indicator('?')
	if explicit {
		p.pos++
		p.flowSkip(parent)
	}
	key := p.flowNode(parent, kind == Sequence && !explicit)
	end, line := p.pos, p.lineStart
	p.flowSkip(parent)
	if !p.flowColon(jsonLike(key)) {
		p.pos, p.lineStart = end, line
		if kind == Mapping || explicit {
			e.Key, e.Value = key, p.node(Scalar, Empty, key.End, key.End)
		} else {
			e.Value = key
			return e
		}
	} else {
		if kind == Sequence && !explicit && e.Start < p.lineStart {
			p.fail(p.pos, "a key without '?' must be on one line")
		}
		e.Key, e.Indicator = key, p.pos
		p.pos++
		end, line := p.pos, p.lineStart
		p.flowSkip(parent)
		e.Value = p.flowNode(parent, false)
		if e.Value.Style == Empty && e.Value.Props == nil {
			p.pos, p.lineStart = end, line
			e.Value.Start, e.Value.End = end, end
		}
	}
	if kind == Mapping {
		return e
	}
	pair := p.node(Mapping, FlowPair, e.Start, e.End())
	pair.Entries = []Entry{e}
	return Entry{Value: pair, Start: e.Start, Indicator: -1}
}

// jsonLike reports whether ":" may follow the key without a blank.
func jsonLike(key *Node) bool {
	return key.Style == DoubleQuoted || key.Style == SingleQuoted || key.Style == Flow
}

// flowColon reports whether the position is at the ":" before a value.
func (p *yamlParser) flowColon(adjacent bool) bool {
	if p.at(p.pos) != ':' {
		return false
	}
	next := p.at(p.pos + 1)
	return adjacent || isSpace(next) || isFlowIndicator(next)
}

// flowNode parses a node inside a flow collection; it may be empty.
func (p *yamlParser) flowNode(parent int, oneLineKey bool) *Node {
	var props *Props
	if c := p.at(p.pos); c == '&' || c == '!' {
		props = p.properties()
		p.flowSkip(parent)
	}
	var n *Node
	switch c := p.at(p.pos); {
	case c == ',' || c == ']' || c == '}' || p.flowColon(false):
		n = p.node(Scalar, Empty, p.pos, p.pos)
		if props != nil {
			n.Start, n.End = props.End, props.End
		}
	case c == '*' || c == '"' || c == '\'' || c == '[' || c == '{':
		n = p.inline(parent, false)
	case c == '#' || c == '|' || c == '>' || c == '%' || c == '@' || c == '`' || c == '&' || c == '!':
		p.fail(p.pos, "a plain scalar cannot begin with "+p.here())
	case c == 0:
		p.fail(p.pos, "a flow collection is not closed")
	default:
		n = p.plain(parent, true, false)
	}
	if props != nil {
		p.attach(n, props)
	}
	return n
}
