package doc

import (
	"fmt"
	"regexp"
	"strings"
)

var versionPattern = regexp.MustCompile(`^1\.[0-9]+$`)

// ParseYAML parses every document of a YAML 1.2 stream. An empty text is a
// stream of no documents. An error is a *SyntaxError.
func ParseYAML(src string) (docs []*Document, err error) {
	defer catch(&err)
	if at := invalidUTF8(src); at >= 0 {
		return nil, syntaxError(src, at, "invalid UTF-8")
	}
	for i := range len(src) {
		if c := src[i]; c < 0x20 && c != '\t' && c != '\n' && c != '\r' {
			return nil, syntaxError(src, i, fmt.Sprintf("control character %#U is not allowed", rune(c)))
		}
	}
	p := &yamlParser{src: src}
	p.stream()
	return p.docs, nil
}

// yamlParser is a recursive-descent parser over the text. Lines matter in
// YAML, so it always knows where the current one begins.
type yamlParser struct {
	arena
	src       string
	pos       int
	lineStart int
	depth     int
	docs      []*Document
	anchors   map[string]*Props
	handles   map[string]bool
	// identities of collections that are keys, see identity
	identities map[*Node]string
}

func (p *yamlParser) fail(at int, message string) {
	panic(bailout{syntaxError(p.src, at, message)})
}

func (p *yamlParser) here() string { return describe(p.src, p.pos) }

// at returns the byte at offset i, or 0 at the end of the text (NUL itself is
// refused before parsing).
func (p *yamlParser) at(i int) byte {
	if i < len(p.src) {
		return p.src[i]
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
func isBreak(c byte) bool { return c == '\n' || c == '\r' }

// isSpace reports whether c separates tokens; the end of the text does.
func isSpace(c byte) bool { return c == 0 || isBlank(c) || isBreak(c) }

func isFlowIndicator(c byte) bool {
	return c == ',' || c == '[' || c == ']' || c == '{' || c == '}'
}

// lineBreak consumes one line break.
func (p *yamlParser) lineBreak() {
	if p.src[p.pos] == '\r' && p.at(p.pos+1) == '\n' {
		p.pos++
	}
	p.pos++
	p.lineStart = p.pos
}

func (p *yamlParser) blanks() {
	for isBlank(p.at(p.pos)) {
		p.pos++
	}
}

// skip moves over blanks, comments and line breaks to the next token.
func (p *yamlParser) skip() {
	for {
		p.blanks()
		if p.at(p.pos) == '#' && (p.pos == p.lineStart || isBlank(p.src[p.pos-1])) {
			for c := p.at(p.pos); c != 0 && !isBreak(c); c = p.at(p.pos) {
				p.pos++
			}
		}
		if !isBreak(p.at(p.pos)) {
			return
		}
		p.lineBreak()
	}
}

// lineBegin reports whether only blanks precede the position on its line.
func (p *yamlParser) lineBegin() bool {
	i := p.lineStart
	for i < p.pos && isBlank(p.src[i]) {
		i++
	}
	return i == p.pos
}

// column returns the indentation of a token that begins its line, which counts
// spaces alone, or else the distance from the start of the line.
func (p *yamlParser) column() int {
	if !p.lineBegin() {
		return p.pos - p.lineStart
	}
	i := p.lineStart
	for i < p.pos && p.src[i] == ' ' {
		i++
	}
	return i - p.lineStart
}

// tabBefore reports whether the blanks before the position contain a tab.
func (p *yamlParser) tabBefore() bool {
	for i := p.pos - 1; i >= p.lineStart && isBlank(p.src[i]); i-- {
		if p.src[i] == '\t' {
			return true
		}
	}
	return false
}

func (p *yamlParser) eof() bool { return p.pos >= len(p.src) }

// marker reports whether a document marker ("---" or "...") stands at the
// start of the current line, at the position.
func (p *yamlParser) marker() bool { return p.pos == p.lineStart && p.markerAt(p.pos) }

func (p *yamlParser) markerAt(i int) bool {
	return strings.HasPrefix(p.src[i:], "---") && isSpace(p.at(i+3)) ||
		strings.HasPrefix(p.src[i:], "...") && isSpace(p.at(i+3))
}

// indicator reports whether the indicator c stands at the position, followed
// by white space.
func (p *yamlParser) indicator(c byte) bool {
	return p.at(p.pos) == c && isSpace(p.at(p.pos+1))
}

// stream parses all documents.
func (p *yamlParser) stream() {
	ended := true // the document before was closed by "...", or there is none
	for {
		if strings.HasPrefix(p.src[p.pos:], BOM) && p.pos == p.lineStart {
			p.pos += len(BOM)
			p.lineStart = p.pos
		}
		p.skip()
		d := &Document{Start: p.pos}
		p.anchors = make(map[string]*Props)
		p.handles = map[string]bool{"!": true, "!!": true}
		directives := ended && p.directives()
		switch {
		case p.eof():
			if directives {
				p.fail(p.pos, "directives must be followed by '---'")
			}
			return
		case p.marker() && p.src[p.pos] == '-':
			d.Start = p.pos
			d.Explicit = true
			p.pos += 3
		case directives:
			p.fail(p.pos, "directives must be followed by '---'")
		case p.marker():
			p.documentEnd()
			continue
		}
		d.Root = p.blockNode(-1, inDocument)
		d.End = d.Root.End
		p.docs = append(p.docs, d)
		p.skip()
		if !p.eof() && !p.marker() {
			p.unexpected()
		}
		ended = p.marker() && p.src[p.pos] == '.'
		if ended {
			p.documentEnd()
		}
	}
}

// documentEnd consumes "..." and the rest of its line.
func (p *yamlParser) documentEnd() {
	p.pos += 3
	line := p.lineStart
	p.skip()
	if !p.eof() && p.lineStart == line {
		p.fail(p.pos, "unexpected content after '...'")
	}
}

// directives parses the lines that begin with "%" and reports whether there
// were any.
func (p *yamlParser) directives() bool {
	found, version := false, false
	for p.at(p.pos) == '%' && p.pos == p.lineStart {
		found = true
		at := p.pos
		end := p.pos
		for !isBreak(p.at(end)) && end < len(p.src) {
			end++
		}
		line := p.src[at:end]
		if i := strings.Index(line, " #"); i >= 0 {
			line = line[:i]
		}
		fields := strings.Fields(line)
		switch fields[0] {
		case "%YAML":
			if version {
				p.fail(at, "two %YAML directives in one document")
			}
			version = true
			if len(fields) != 2 || !versionPattern.MatchString(fields[1]) {
				p.fail(at, "only %YAML 1.x is understood")
			}
		case "%TAG":
			if len(fields) != 3 {
				p.fail(at, "%TAG needs a handle and a prefix")
			}
			p.handles[fields[1]] = true
		}
		p.pos = end
		p.skip()
	}
	return found
}

// unexpected fails with the most helpful message for a token that cannot
// continue the document.
func (p *yamlParser) unexpected() {
	switch {
	case p.lineBegin() && p.tabBefore():
		p.fail(p.lineStart, "a tab is not allowed as indentation")
	case p.at(p.pos) == '#':
		p.fail(p.pos, "a comment must be separated by a blank")
	case p.lineBegin():
		p.fail(p.pos, "wrong indentation: "+p.here()+" belongs to no open collection")
	default:
		p.fail(p.pos, "unexpected "+p.here()+" after a value")
	}
}

func (p *yamlParser) enter() {
	p.depth++
	if p.depth > MaxDepth {
		p.fail(p.pos, fmt.Sprintf("nested more than %d levels deep", MaxDepth))
	}
}

func (p *yamlParser) leave() { p.depth-- }

// properties parses an anchor and a tag in either order. The position is at
// "&" or "!".
func (p *yamlParser) properties() *Props {
	props := &Props{Start: p.pos}
	for {
		switch p.at(p.pos) {
		case '&':
			if props.Anchor != "" {
				p.fail(p.pos, "a node can have one anchor only")
			}
			p.pos++
			props.Anchor = p.anchorName()
		case '!':
			if props.Tag != "" {
				p.fail(p.pos, "a node can have one tag only")
			}
			props.Tag = p.tag()
		}
		props.End = p.pos
		p.blanks()
		if c := p.at(p.pos); p.pos == props.End || c != '&' && c != '!' {
			break
		}
	}
	p.pos = props.End
	if props.Anchor != "" {
		p.anchors[props.Anchor] = props
	}
	return props
}

// anchorName parses the name after "&" or "*".
func (p *yamlParser) anchorName() string {
	start := p.pos
	for c := p.at(p.pos); !isSpace(c) && !isFlowIndicator(c); c = p.at(p.pos) {
		p.pos++
	}
	if start == p.pos {
		p.fail(p.pos, "a name must follow '&' or '*'")
	}
	return p.src[start:p.pos]
}

func (p *yamlParser) tag() string {
	start := p.pos
	if strings.HasPrefix(p.src[p.pos:], "!<") {
		end := strings.IndexByte(p.src[p.pos:], '>')
		if end < 0 || strings.ContainsAny(p.src[p.pos:p.pos+end], " \t\r\n") {
			p.fail(p.pos, "a verbatim tag must end with '>'")
		}
		p.pos += end + 1
	} else {
		for c := p.at(p.pos); !isSpace(c) && !isFlowIndicator(c); c = p.at(p.pos) {
			p.pos++
		}
		if i := strings.IndexByte(p.src[start+1:p.pos], '!'); i >= 0 && !p.handles[p.src[start:start+i+2]] {
			p.fail(start, fmt.Sprintf("tag handle %q is not declared", p.src[start:start+i+2]))
		}
	}
	if c := p.at(p.pos); !isSpace(c) && c != ',' && c != ']' && c != '}' {
		p.fail(p.pos, "a tag must be followed by a blank")
	}
	return p.src[start:p.pos]
}

// alias parses "*name".
func (p *yamlParser) alias() *Node {
	n := p.node(Alias, Plain, p.pos, 0)
	p.pos++
	n.Text = p.anchorName()
	n.End = p.pos
	n.Target = p.anchors[n.Text]
	if n.Target == nil {
		p.fail(n.Start, fmt.Sprintf("alias *%s refers to no anchor before it", n.Text))
	}
	n.Target.Aliases++
	return n
}
