package textdiff

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// noNewline follows a last line that has no line feed.
const noNewline = "\\ No newline at end of file\n"

// Unified prints what turns before into after in the unified format that patch
// and git apply read. Equal texts print as "".
//
// The names stand in the two header lines as they are given, so the caller
// chooses prefixes such as a/ and b/, or /dev/null for a text that does not
// exist. A name with a control character, a double quote or a backslash is
// quoted as git and patch do.
//
// maxChars limits the result in characters (code points); 0 or less means no
// limit. Whole lines are printed as long as they fit; if one does not,
// printing ends there and truncated is true. Such a text is for reading only.
func Unified(oldName, newName, before, after string, context, maxChars int) (text string, truncated bool) {
	a, b := newSides(before, after)
	list := changes(a, b)
	if len(list) == 0 {
		return "", false
	}
	p := &printer{left: maxChars, unlimited: maxChars <= 0}
	p.add("--- " + fileName(oldName) + "\n")
	p.add("+++ " + fileName(newName) + "\n")
	for _, g := range groups(a, b, list, context) {
		p.hunk(a, b, g)
		if p.full {
			break
		}
	}
	return p.out.String(), p.full
}

// printer collects lines until one exceeds what is left.
type printer struct {
	out       strings.Builder
	left      int
	unlimited bool
	full      bool
}

func (p *printer) add(line string) {
	if p.full {
		return
	}
	if !p.unlimited {
		n := utf8.RuneCountInString(line)
		if n > p.left {
			p.full = true
			return
		}
		p.left -= n
	}
	p.out.WriteString(line)
}

func (p *printer) hunk(a, b *side, g group) {
	p.add(fmt.Sprintf("@@ -%s +%s @@\n", span(g.a0, g.a1), span(g.b0, g.b1)))
	x := g.a0
	for _, c := range g.changes {
		p.lines(' ', a.slice(x, c.a0))
		p.lines('-', a.slice(c.a0, c.a1))
		p.lines('+', b.slice(c.b0, c.b1))
		x = c.a1
	}
	p.lines(' ', a.slice(x, g.a1))
}

func (p *printer) lines(mark byte, text string) {
	for at := 0; at < len(text) && !p.full; {
		end := lineEnd(text, at)
		line := string(mark) + text[at:end]
		if text[end-1] != '\n' {
			line += "\n" + noNewline
		}
		p.add(line)
		at = end
	}
}

// span prints the start and the count of lines lo to hi. A count of 1 is left
// out; an empty run names the line before it.
func span(lo, hi int) string {
	switch hi - lo {
	case 0:
		return fmt.Sprintf("%d,0", lo)
	case 1:
		return fmt.Sprintf("%d", lo+1)
	default:
		return fmt.Sprintf("%d,%d", lo+1, hi-lo)
	}
}

// fileName prints a name for a header line. A tab behind a name with a space
// tells patch where the name ends; it would take the rest for a date.
func fileName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }) {
		return quote(name)
	}
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// quote writes a name in double quotes with the escapes of C.
func quote(name string) string {
	letters := map[byte]byte{'\a': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\'}
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(name) {
		c := name[i]
		switch letter, ok := letters[c]; {
		case ok:
			out.WriteByte('\\')
			out.WriteByte(letter)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&out, "\\%03o", c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
