package jsonx

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how many objects and arrays Value follows into each other.
const maxDepth = 1000

// Value decodes one JSON value in one pass, into what encoding/json puts into
// an any; numbers are kept as they are spelled, as [json.Number]. Strings
// without escapes share the memory of text, which must be valid UTF-8.
//
// ok is false for what is not one valid value, for a \u escape that is half of
// a surrogate pair, which has no place in a string, and for nesting beyond a
// thousand levels. encoding/json is slower and says what is wrong.
func Value(text string) (v any, ok bool) {
	p := parser{text: text}
	p.space()
	if v, ok = p.value(0); !ok {
		return nil, false
	}
	p.space()
	if p.at < len(text) {
		return nil, false
	}
	return v, true
}

// parser reads text from at on. Its methods return false for what is not
// valid; then at stands anywhere.
type parser struct {
	text string
	at   int
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next skips c, if it follows.
func (p *parser) next(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// value reads a value that begins right here.
func (p *parser) value(depth int) (any, bool) {
	if depth > maxDepth || p.at >= len(p.text) {
		return nil, false
	}
	switch p.text[p.at] {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	return p.number()
}

func (p *parser) word(w string) bool {
	if !strings.HasPrefix(p.text[p.at:], w) {
		return false
	}
	p.at += len(w)
	return true
}

// object reads an object. Of two fields of one name the later counts.
func (p *parser) object(depth int) (any, bool) {
	p.at++
	fields := map[string]any{}
	p.space()
	if p.next('}') {
		return fields, true
	}
	for {
		p.space()
		name, ok := p.string()
		if !ok {
			return nil, false
		}
		if p.space(); !p.next(':') {
			return nil, false
		}
		p.space()
		if fields[name], ok = p.value(depth + 1); !ok {
			return nil, false
		}
		p.space()
		if p.next('}') {
			return fields, true
		}
		if !p.next(',') {
			return nil, false
		}
	}
}

func (p *parser) array(depth int) (any, bool) {
	p.at++
	elements := []any{}
	p.space()
	if p.next(']') {
		return elements, true
	}
	for {
		p.space()
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		elements = append(elements, v)
		p.space()
		if p.next(']') {
			return elements, true
		}
		if !p.next(',') {
			return nil, false
		}
	}
}

// number reads a number by the grammar of RFC 8259.
func (p *parser) number() (any, bool) {
	start := p.at
	p.next('-')
	if !p.next('0') && !p.digits() {
		return nil, false
	}
	if p.next('.') && !p.digits() {
		return nil, false
	}
	if p.next('e') || p.next('E') {
		if !p.next('+') {
			p.next('-')
		}
		if !p.digits() {
			return nil, false
		}
	}
	return json.Number(p.text[start:p.at]), true
}

// digits skips one digit and those that follow it.
func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}

// string reads a string. What stands between escapes is taken as a whole.
func (p *parser) string() (string, bool) {
	if !p.next('"') {
		return "", false
	}
	var decoded []byte // nil while there was no escape
	for {
		start := p.at
		for p.at < len(p.text) && p.text[p.at] >= 0x20 && p.text[p.at] != '"' && p.text[p.at] != '\\' {
			p.at++
		}
		piece := p.text[start:p.at]
		switch {
		case p.next('"'):
			if decoded == nil {
				return piece, true
			}
			return string(append(decoded, piece...)), true
		case p.next('\\'):
			if decoded == nil {
				decoded = make([]byte, 0, len(piece)+64)
			}
			var ok bool
			if decoded, ok = p.escape(append(decoded, piece...)); !ok {
				return "", false
			}
		default:
			return "", false // the end, or a control character
		}
	}
}

// escape appends what the escape behind a backslash stands for.
func (p *parser) escape(to []byte) ([]byte, bool) {
	if p.at >= len(p.text) {
		return nil, false
	}
	c := p.text[p.at]
	p.at++
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, ok := p.unit()
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if ok = ok && p.word(`\u`); ok {
				low, ok = p.unit()
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return nil, false
			}
		}
		return utf8.AppendRune(to, r), ok
	default:
		return nil, false
	}
	return append(to, c), true
}

// unit reads the four hexadecimal digits of a \u escape.
func (p *parser) unit() (rune, bool) {
	if len(p.text)-p.at < 4 {
		return 0, false
	}
	u, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 16)
	p.at += 4
	return rune(u), err == nil
}
