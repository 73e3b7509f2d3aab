package doc

import (
	"strings"
	"unicode/utf8"
)

// plain parses a plain scalar, over several lines unless oneLine.
func (p *yamlParser) plain(parent int, flow, oneLine bool) *Node {
	switch c := p.src[p.pos]; c {
	case '-', '?', ':':
		next := p.at(p.pos + 1)
		if isSpace(next) || flow && isFlowIndicator(next) {
			p.fail(p.pos, "a plain scalar cannot begin with "+p.here())
		}
	}
	n := p.node(Scalar, Plain, p.pos, 0)
	end := p.plainLine(flow)
	var folded []byte // the text, once it is not a piece of the source
	for !oneLine {
		// What follows the line decides whether the next one belongs to it.
		pos, line := p.pos, p.lineStart
		breaks := 0
		for p.blanks(); isBreak(p.at(p.pos)); p.blanks() {
			p.lineBreak()
			breaks++
		}
		if breaks == 0 || !p.plainGoesOn(parent, flow) {
			p.pos, p.lineStart = pos, line
			break
		}
		if folded == nil {
			folded = []byte(p.src[n.Start:end])
		}
		start := p.pos
		end = p.plainLine(flow)
		if breaks == 1 {
			folded = append(folded, ' ')
		}
		for range breaks - 1 {
			folded = append(folded, '\n')
		}
		folded = append(folded, p.src[start:end]...)
	}
	n.Text, n.End = p.src[n.Start:end], end
	if folded != nil {
		n.Text = string(folded)
	}
	return n
}

// plainGoesOn reports whether the line at the position continues a plain
// scalar.
func (p *yamlParser) plainGoesOn(parent int, flow bool) bool {
	if p.eof() || p.marker() || p.column() <= parent || p.at(p.pos) == '#' {
		return false
	}
	return p.plainChar(p.pos, flow)
}

// plainLine moves past the part of a plain scalar on this line and returns
// where its last character ends; the position is there too.
func (p *yamlParser) plainLine(flow bool) int {
	end := p.pos
	for i := p.pos; p.plainChar(i, flow); i++ {
		if !isBlank(p.src[i]) {
			end = i + 1
		}
	}
	p.pos = end
	return end
}

// plainChar reports whether the byte at i can be part of a plain scalar.
func (p *yamlParser) plainChar(i int, flow bool) bool {
	c := p.at(i)
	switch {
	case c == 0 || isBreak(c):
		return false
	case c == '#':
		return !isBlank(p.src[i-1])
	case c == ':':
		next := p.at(i + 1)
		return !isSpace(next) && !(flow && isFlowIndicator(next))
	}
	return !flow || !isFlowIndicator(c)
}

// quotedBreak folds the line breaks inside a quoted scalar. It returns what
// they stand for: a blank, or newlines.
func (p *yamlParser) quotedBreak(parent, start int) string {
	breaks := 0
	for isBreak(p.at(p.pos)) {
		p.lineBreak()
		breaks++
		if p.marker() {
			p.fail(p.pos, "a document marker inside a quoted scalar")
		}
		p.blanks()
	}
	if p.eof() {
		p.fail(start, "a quoted scalar is not closed")
	}
	if p.column() <= parent {
		p.fail(p.pos, "a quoted scalar must be indented more than its parent")
	}
	if breaks == 1 {
		return " "
	}
	return strings.Repeat("\n", breaks-1)
}

func (p *yamlParser) singleQuoted(parent int) *Node {
	n := p.node(Scalar, SingleQuoted, p.pos, 0)
	p.pos++
	var b strings.Builder
	for {
		switch c := p.at(p.pos); {
		case p.eof():
			p.fail(n.Start, "a quoted scalar is not closed")
		case c == '\'':
			p.pos++
			if p.at(p.pos) != '\'' {
				n.Text, n.End = b.String(), p.pos
				return n
			}
			b.WriteByte('\'')
			p.pos++
		case isBlank(c) || isBreak(c):
			b.WriteString(p.quotedBlanks(parent, n.Start))
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
}

// quotedBlanks consumes a run of blanks and breaks: the blanks themselves
// where no break follows, else what the breaks stand for.
func (p *yamlParser) quotedBlanks(parent, start int) string {
	from := p.pos
	p.blanks()
	if isBreak(p.at(p.pos)) {
		return p.quotedBreak(parent, start)
	}
	return p.src[from:p.pos]
}

func (p *yamlParser) doubleQuoted(parent int) *Node {
	n := p.node(Scalar, DoubleQuoted, p.pos, 0)
	p.pos++
	if end := p.pos + strings.IndexAny(p.src[p.pos:], "\"\\\r\n"); end >= p.pos && p.src[end] == '"' {
		n.Text = p.src[p.pos:end]
		p.pos = end + 1
		n.End = p.pos
		return n
	}
	var b []byte
	for {
		switch c := p.at(p.pos); {
		case p.eof():
			p.fail(n.Start, "a quoted scalar is not closed")
		case c == '"':
			p.pos++
			n.Text, n.End = string(b), p.pos
			return n
		case c == '\\' && isBreak(p.at(p.pos+1)):
			// An escaped break joins the lines; the blanks before it count.
			p.pos++
			if folded := p.quotedBreak(parent, n.Start); folded != " " {
				b = append(b, folded...)
			}
		case c == '\\':
			b = p.escape(b)
		case isBlank(c) || isBreak(c):
			b = append(b, p.quotedBlanks(parent, n.Start)...)
		default:
			b = append(b, c)
			p.pos++
		}
	}
}

// yamlEscapes are the escapes of one character (YAML 1.2.2, section 5.7).
var yamlEscapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v",
	'f': "\f", 'r': "\r", 'e': "\x1b", ' ': " ", '"': "\"", '/': "/", '\\': "\\",
	'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

func (p *yamlParser) escape(b []byte) []byte {
	at := p.pos
	c := p.at(p.pos + 1)
	p.pos += 2
	if s, ok := yamlEscapes[c]; ok {
		return append(b, s...)
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 {
		p.fail(at, "unknown escape \\"+strings.Trim(describe(p.src, at+1), "'"))
	}
	r := rune(0)
	for range digits {
		if !isHex(p.at(p.pos)) || r > utf8.MaxRune {
			p.fail(at, "bad hexadecimal escape")
		}
		r = r<<4 | hexValue(p.src[p.pos:p.pos+1])
		p.pos++
	}
	if 0xD800 <= r && r < 0xDC00 && strings.HasPrefix(p.src[p.pos:], "\\u") {
		// JSON writes characters beyond the basic plane as a pair.
		rest := p.src[p.pos+2:]
		if len(rest) >= 4 && isHex(rest[0]) && isHex(rest[1]) && isHex(rest[2]) && isHex(rest[3]) {
			if low := hexValue(rest[:4]); 0xDC00 <= low && low < 0xE000 {
				p.pos += 6
				return utf8.AppendRune(b, 0x10000+(r-0xD800)<<10+(low-0xDC00))
			}
		}
	}
	if r > utf8.MaxRune {
		p.fail(at, "escape beyond U+10FFFF")
	}
	return appendRune(b, r)
}

// blockScalar parses a literal or folded scalar. The position is at "|" or ">".
func (p *yamlParser) blockScalar(parent int) *Node {
	n := p.node(Scalar, Literal, p.pos, 0)
	if p.src[p.pos] == '>' {
		n.Style = Folded
	}
	p.pos++
	chomp, explicit := byte(0), 0
	for {
		c := p.at(p.pos)
		if (c == '+' || c == '-') && chomp == 0 {
			chomp = c
		} else if '1' <= c && c <= '9' && explicit == 0 {
			explicit = int(c - '0')
		} else {
			break
		}
		p.pos++
	}
	n.End = p.pos
	p.blanks()
	if p.at(p.pos) == '#' && p.pos > n.End {
		for c := p.at(p.pos); c != 0 && !isBreak(c); c = p.at(p.pos) {
			p.pos++
		}
	}
	if !p.eof() && !isBreak(p.src[p.pos]) {
		p.fail(p.pos, "unexpected "+p.here()+" in the header of a block scalar")
	}
	if p.eof() {
		return n
	}
	p.lineBreak()
	indent := 0
	if explicit > 0 {
		indent = max(parent, 0) + explicit
	} else {
		indent = p.scalarIndent(parent)
	}
	p.blockLines(n, indent, chomp)
	return n
}

// scalarIndent finds the indentation of a block scalar from its first line
// that is not blank.
func (p *yamlParser) scalarIndent(parent int) int {
	widest, widestAt := 0, p.pos
	for i := p.pos; ; {
		line := i
		for p.at(i) == ' ' {
			i++
		}
		spaces := i - line
		switch c := p.at(i); {
		case isBreak(c):
			if spaces > widest {
				widest, widestAt = spaces, line
			}
			if c == '\r' && p.at(i+1) == '\n' {
				i++
			}
			i++
			continue
		case c == 0:
			return max(widest, spaces, parent+1)
		}
		if spaces <= parent || p.markerAt(line) {
			return max(widest, parent+1)
		}
		if widest > spaces {
			p.fail(widestAt, "a leading blank line has more spaces than the text of the block scalar")
		}
		return spaces
	}
}

// blockLines reads the lines of a block scalar indented by indent.
func (p *yamlParser) blockLines(n *Node, indent int, chomp byte) {
	var b strings.Builder
	pending := 0       // line breaks not yet written
	folding := false   // the line before can be folded into the next
	lastBreak := false // the last line of text ended with a break
	for !p.eof() {
		i := p.pos
		for i-p.lineStart < indent && p.at(i) == ' ' {
			i++
		}
		c := p.at(i)
		if c == '\t' && i-p.lineStart < indent {
			p.fail(i, "a tab is not allowed as indentation of a block scalar")
		}
		if !isBreak(c) && (i-p.lineStart < indent || c == 0 || p.marker()) {
			break
		}
		if isBreak(c) {
			if chomp == '+' {
				n.End = i
			}
			p.pos = i
			p.lineBreak()
			pending++
			continue
		}
		start := i
		for !isBreak(p.at(i)) && i < len(p.src) {
			i++
		}
		text := p.src[start:i]
		foldable := n.Style == Folded && !isBlank(text[0])
		switch {
		case b.Len() == 0 && !lastBreak:
			b.WriteString(strings.Repeat("\n", pending))
		case folding && foldable && pending == 1:
			b.WriteByte(' ')
		case folding && foldable:
			b.WriteString(strings.Repeat("\n", pending-1))
		default:
			b.WriteString(strings.Repeat("\n", pending))
		}
		b.WriteString(text)
		folding, pending, lastBreak = foldable, 0, false
		n.End, p.pos = i, i
		if !p.eof() {
			p.lineBreak()
			pending, lastBreak = 1, true
		}
	}
	switch {
	case chomp == '+':
		b.WriteString(strings.Repeat("\n", pending))
	case chomp == 0 && lastBreak:
		b.WriteByte('\n')
	}
	n.Text = b.String()
}
