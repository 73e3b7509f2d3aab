package doc

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ParseJSON parses one JSON text by RFC 8259. A leading byte-order mark is
// skipped. Duplicate names in an object, which the RFC leaves open, are an
// error: no two programs agree on what they mean. An error is a *SyntaxError.
func ParseJSON(src string) (root *Node, err error) {
	defer catch(&err)
	if at := invalidUTF8(src); at >= 0 {
		return nil, syntaxError(src, at, "invalid UTF-8")
	}
	p := &jsonParser{src: src}
	if strings.HasPrefix(src, BOM) {
		p.pos = len(BOM)
	}
	p.space()
	root = p.value(0)
	p.space()
	if p.pos < len(src) {
		p.fail(p.pos, "unexpected "+p.here()+" after the top-level value")
	}
	return root, nil
}

type jsonParser struct {
	arena
	src string
	pos int
	// pending holds the entries of all open collections, so that each can be
	// given a slice of its exact size when it closes.
	pending []Entry
	entries []Entry // room for those slices
	keys    []keySet
}

// finish takes the entries of a collection off the stack, from mark on.
func (p *jsonParser) finish(n *Node, mark int) *Node {
	p.pos++
	n.End = p.pos
	count := len(p.pending) - mark
	if len(p.entries) < count {
		p.entries = make([]Entry, max(count, 1024))
	}
	n.Entries = p.entries[:count:count]
	p.entries = p.entries[count:]
	copy(n.Entries, p.pending[mark:])
	p.pending = p.pending[:mark]
	return n
}

func (p *jsonParser) fail(at int, message string) {
	if rest := p.src[min(at, len(p.src)):]; strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") {
		message += " (JSON has no comments)"
	}
	panic(bailout{syntaxError(p.src, at, message)})
}

// here names the character at the current position for a message.
func (p *jsonParser) here() string { return describe(p.src, p.pos) }

func describe(src string, at int) string {
	if at >= len(src) {
		return "end of input"
	}
	r, _ := utf8.DecodeRuneInString(src[at:])
	return fmt.Sprintf("%q", r)
}

func (p *jsonParser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *jsonParser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *jsonParser) value(depth int) *Node {
	if depth > MaxDepth {
		p.fail(p.pos, fmt.Sprintf("nested more than %d levels deep", MaxDepth))
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.string()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case 'a' <= c && c <= 'z':
		return p.word()
	}
	p.fail(p.pos, "expected a value, found "+p.here())
	return nil
}

func (p *jsonParser) object(depth int) *Node {
	n := p.node(Mapping, Flow, p.pos, 0)
	p.pos++
	p.space()
	if p.peek() == '}' {
		p.pos++
		n.End = p.pos
		return n
	}
	mark := len(p.pending)
	for len(p.keys) <= depth {
		p.keys = append(p.keys, keySet{})
	}
	p.keys[depth].reset()
	for {
		if p.peek() != '"' {
			p.fail(p.pos, "expected a name in double quotes, found "+p.here())
		}
		key := p.string()
		if !p.keys[depth].add(key.Text) {
			p.fail(key.Start, fmt.Sprintf("duplicate key %q", key.Text))
		}
		p.space()
		colon := p.pos
		if p.peek() != ':' {
			p.fail(p.pos, "expected ':' after a name, found "+p.here())
		}
		p.pos++
		p.space()
		p.pending = append(p.pending, Entry{Key: key, Value: p.value(depth + 1), Start: key.Start, Indicator: colon})
		p.space()
		switch p.peek() {
		case ',':
			comma := p.pos
			p.pos++
			p.space()
			if p.peek() == '}' {
				p.fail(comma, "trailing comma before '}'")
			}
		case '}':
			return p.finish(n, mark)
		default:
			p.fail(p.pos, "expected ',' or '}', found "+p.here())
		}
	}
}

func (p *jsonParser) array(depth int) *Node {
	n := p.node(Sequence, Flow, p.pos, 0)
	p.pos++
	p.space()
	if p.peek() == ']' {
		p.pos++
		n.End = p.pos
		return n
	}
	mark := len(p.pending)
	for {
		v := p.value(depth + 1)
		p.pending = append(p.pending, Entry{Value: v, Start: v.Start, Indicator: -1})
		p.space()
		switch p.peek() {
		case ',':
			comma := p.pos
			p.pos++
			p.space()
			if p.peek() == ']' {
				p.fail(comma, "trailing comma before ']'")
			}
		case ']':
			return p.finish(n, mark)
		default:
			p.fail(p.pos, "expected ',' or ']', found "+p.here())
		}
	}
}

func (p *jsonParser) word() *Node {
	start := p.pos
	for p.pos < len(p.src) && 'a' <= p.src[p.pos] && p.src[p.pos] <= 'z' {
		p.pos++
	}
	switch w := p.src[start:p.pos]; w {
	case "true", "false", "null":
		n := p.node(Scalar, Plain, start, p.pos)
		n.Text = w
		return n
	default:
		p.fail(start, fmt.Sprintf("unknown word %q", w))
		return nil
	}
}

func (p *jsonParser) number() *Node {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	switch c := p.peek(); {
	case c == '0':
		p.pos++
		if c := p.peek(); '0' <= c && c <= '9' {
			p.fail(p.pos, "a number must not begin with 0")
		}
	case '1' <= c && c <= '9':
		p.digits()
	default:
		p.fail(p.pos, "expected a digit, found "+p.here())
	}
	if p.peek() == '.' {
		p.pos++
		p.digits()
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		p.digits()
	}
	n := p.node(Scalar, Plain, start, p.pos)
	n.Text = p.src[start:p.pos]
	return n
}

func (p *jsonParser) digits() {
	if c := p.peek(); c < '0' || c > '9' {
		p.fail(p.pos, "expected a digit, found "+p.here())
	}
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
}

func (p *jsonParser) string() *Node {
	start := p.pos
	p.pos++
	escaped := false
	for {
		if p.pos >= len(p.src) {
			p.fail(start, "string is not closed")
		}
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			n := p.node(Scalar, DoubleQuoted, start, p.pos)
			n.Text = p.src[start+1 : p.pos-1]
			if escaped {
				n.Text = unescapeJSON(n.Text)
			}
			return n
		case c == '\\':
			escaped = true
			p.escape()
		case c < 0x20:
			if c == '\n' || c == '\r' {
				p.fail(p.pos, "line break in a string")
			}
			p.fail(p.pos, fmt.Sprintf("control character %#U in a string must be escaped", rune(c)))
		default:
			p.pos++
		}
	}
}

func (p *jsonParser) escape() {
	at := p.pos
	p.pos++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.pos++
	case 'u':
		p.pos++
		for range 4 {
			if !isHex(p.peek()) {
				p.fail(at, "\\u must be followed by four hexadecimal digits")
			}
			p.pos++
		}
	default:
		p.fail(at, "unknown escape \\"+strings.Trim(p.here(), "'"))
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func hexValue(s string) rune {
	var r rune
	for i := range len(s) {
		switch c := s[i]; {
		case c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a':
			r = r<<4 | rune(c-'a'+10)
		default:
			r = r<<4 | rune(c-'A'+10)
		}
	}
	return r
}

// unescapeJSON decodes the checked inside of a string. An unpaired surrogate,
// which RFC 8259 allows, becomes its three-byte generalised form, so that two
// different ones stay different.
func unescapeJSON(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b = append(b, s[i])
			i++
			continue
		}
		i += 2
		switch c := s[i-1]; c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := hexValue(s[i : i+4])
			i += 4
			if 0xD800 <= r && r < 0xDC00 && i+6 <= len(s) && s[i] == '\\' && s[i+1] == 'u' {
				if low := hexValue(s[i+2 : i+6]); 0xDC00 <= low && low < 0xE000 {
					r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
					i += 6
				}
			}
			b = appendRune(b, r)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func appendRune(b []byte, r rune) []byte {
	if 0xD800 <= r && r < 0xE000 {
		return append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(b, r)
}
