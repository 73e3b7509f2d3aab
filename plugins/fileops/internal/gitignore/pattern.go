package gitignore

import (
	"bytes"
	"strings"
)

// pattern is one compiled line of an ignore file.
//
// Git looks at a line in three ways, and the differences show: a pattern
// without a slash is compared with the last path component alone; the literal
// start of any other pattern is compared byte for byte and cut off before the
// rest goes to the wildcard matcher; and "*literal" is a plain suffix test.
// The cut matters: after it a "**" that followed literal text stands at the
// start of what is left and so spans directories ("foo**/bar" matches
// "foo/x/bar"), which git does as well.
type pattern struct {
	text    string // the line as written, for messages
	line    int    // 1-based
	negated bool
	dirOnly bool
	base    bool   // compare with the last component only
	prefix  string // literal start of an anchored pattern
	suffix  string // for "*literal" without a slash
	literal bool   // no wildcard at all: prefix is the whole pattern
	tokens  []token
}

const wildcards = `*?[\`

// parseLine compiles one line, which has lost its line ending. The second
// result is false for blank lines and comments.
func parseLine(line string, fold bool) (pattern, bool) {
	// Git handles lines as C strings: a NUL ends one.
	if i := strings.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	if line == "" || line[0] == '#' {
		return pattern{}, false
	}
	return compilePattern(trimTrailingSpaces(line), fold), true
}

// compilePattern compiles what is left of a line.
func compilePattern(line string, fold bool) pattern {
	p := pattern{text: line}
	body := line
	if strings.HasPrefix(body, "!") {
		p.negated = true
		body = body[1:]
	}
	if strings.HasSuffix(body, "/") {
		p.dirOnly = true
		body = body[:len(body)-1]
	}
	if fold {
		body = foldPattern(body)
	}
	p.base = !strings.Contains(body, "/")
	if !p.base {
		body = strings.TrimPrefix(body, "/")
	}
	literal := len(body)
	if i := strings.IndexAny(body, wildcards); i >= 0 {
		literal = i
	}
	p.literal = literal == len(body)
	switch {
	case p.literal:
		p.prefix = body
	case p.base && body[0] == '*' && !strings.ContainsAny(body[1:], wildcards):
		p.suffix = body[1:]
	case p.base:
		p.tokens = compile(body, false, fold)
	default:
		p.prefix = body[:literal]
		p.tokens = compile(body[literal:], true, fold)
	}
	return p
}

// trimTrailingSpaces drops unescaped blanks (not tabs) at the end of a line.
func trimTrailingSpaces(s string) string {
	end := len(s)
	run := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if !run {
				end, run = i, true
			}
		case '\\':
			i++
			if i == len(s) {
				// A lone backslash at the end keeps the line as it is.
				return s
			}
			run = false
		default:
			run = false
		}
	}
	if run {
		return s[:end]
	}
	return s
}

// match reports whether the pattern matches name, the path of an entry
// relative to the directory of the ignore file; leaf is its last component.
func (p *pattern) match(name, leaf string) bool {
	switch {
	case p.base && p.literal:
		return leaf == p.prefix
	case p.base && p.tokens == nil:
		return strings.HasSuffix(leaf, p.suffix)
	case p.base:
		return matchTokens(p.tokens, leaf)
	case p.literal:
		return name == p.prefix
	default:
		rest, ok := strings.CutPrefix(name, p.prefix)
		return ok && matchTokens(p.tokens, rest)
	}
}

// foldPattern lowers ASCII letters outside of character classes and escapes.
// Ranges take in both cases when they are compiled. That an escaped capital or
// one alone in a class then matches nothing is git's behaviour.
func foldPattern(s string) string {
	b := []byte(s)
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '[':
			_, next, ok := parseClass(s, i, true)
			if !ok {
				// The pattern matches nothing whatever its case.
				return string(b)
			}
			i = next - 1
		default:
			b[i] = lowerByte(b[i])
		}
	}
	return string(b)
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if lowerByte(s[i]) != s[i] {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				b[j] = lowerByte(b[j])
			}
			return string(b)
		}
	}
	return s
}

// lines calls yield for every line of an ignore file with its 1-based number:
// a leading UTF-8 byte-order mark is dropped, and one CR before the line end.
func lines(data []byte, yield func(n int, line string)) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		yield(n, string(bytes.TrimSuffix(line, []byte{'\r'})))
	}
}
