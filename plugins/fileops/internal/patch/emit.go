package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// form is a value written in block style: what stands on the line of its key,
// and the lines below.
type form struct {
	head string
	tail []string
}

// form writes v. col is the column of its lines, if it takes lines of its own;
// like is the style of the scalar it replaces.
func (e *editor) form(v *doc.Node, col int, like doc.Style) form {
	switch {
	case v.Kind != doc.Scalar && (len(v.Entries) == 0 || e.conservative):
		return form{head: e.flowValue(v, "", false)}
	case v.Kind == doc.Scalar && v.Style != doc.DoubleQuoted:
		return form{head: e.valueSrc[v.Start:v.End]}
	case v.Kind == doc.Scalar:
		if f, ok := e.literal(v.Text, col); ok {
			return f
		}
		return form{head: e.yamlString(v.Text, like, false)}
	}
	return form{tail: e.lines(v, col)}
}

// lines writes a collection in block style at column col.
func (e *editor) lines(v *doc.Node, col int) []string {
	indent := strings.Repeat(" ", col)
	var lines []string
	for _, entry := range v.Entries {
		if entry.Key != nil {
			f := e.form(entry.Value, e.childColumn(nil, entry.Value, col), doc.Plain)
			lines = append(lines, indent+strings.TrimSuffix(e.yamlString(entry.Key.Text, doc.Plain, false)+": "+f.head, " "))
			lines = append(lines, f.tail...)
			continue
		}
		f := e.compact(e.form(entry.Value, col+2, doc.Plain), col+2)
		lines = append(lines, strings.TrimSuffix(indent+"- "+f.head, " "))
		lines = append(lines, f.tail...)
	}
	return lines
}

// compact moves the first line of a collection at column col up to the line of
// its parent: "- a: 1".
func (e *editor) compact(f form, col int) form {
	if f.head != "" || len(f.tail) == 0 {
		return f
	}
	return form{head: f.tail[0][col:], tail: f.tail[1:]}
}

// literal writes a text of several lines as a literal block scalar, if it can
// be told apart from its indentation and its end exactly.
func (e *editor) literal(s string, col int) (form, bool) {
	body := strings.TrimSuffix(s, "\n")
	if e.conservative || !strings.Contains(body, "\n") || col == 0 {
		return form{}, false
	}
	if strings.ContainsAny(body[:1], " \t\n") || strings.HasSuffix(body, "\n") {
		return form{}, false
	}
	for _, r := range body {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return form{}, false
		}
	}
	f := form{head: "|"}
	if body == s {
		f.head = "|-"
	}
	indent := strings.Repeat(" ", col)
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimRight(line, " \t") != line {
			return form{}, false
		}
		if line != "" {
			line = indent + line
		}
		f.tail = append(f.tail, line)
	}
	return f, true
}

// yamlString writes a string in the quoting of like where that can hold it,
// else plain, else in double quotes.
func (e *editor) yamlString(s string, like doc.Style, flow bool) string {
	printable := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
	switch {
	case e.conservative || like == doc.DoubleQuoted:
	case like == doc.SingleQuoted && printable:
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case printable && plainSafe(s, flow):
		return s
	}
	return quoteYAML(s)
}

// numberLike matches what YAML 1.1, which many programs still read, takes for
// a number, a date or a time although YAML 1.2 does not.
var numberLike = regexp.MustCompile(`^[-+.]?[0-9][-+0-9a-fA-FxXoO_.,:eETtZz ]*$|^[-+]?\.(?i:inf|nan)$`)

var plainStart = regexp.MustCompile(`^(?:[^-?:,\[\]{}#&*!|>'"%@` + "`" + `=~<\s]|-[A-Za-z])`)

// plainSafe reports whether a printable string can be written without quotes
// and will be read as a string by YAML 1.1 and 1.2 alike.
func plainSafe(s string, flow bool) bool {
	if s == "" || !plainStart.MatchString(s) || numberLike.MatchString(s) || strings.HasPrefix(s, "...") {
		return false
	}
	if strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") || strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	if flow && strings.ContainsAny(s, ",[]{}:") {
		return false
	}
	switch strings.ToLower(s) {
	case "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	t, _ := doc.ResolvePlain(s)
	return t == doc.String
}

// quoteYAML writes a string in double quotes. Only escapes that JSON and YAML
// share are used for the basic plane.
func quoteYAML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteJSON writes a string as JSON with no more escapes than needed.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A string always encodes.
	_ = enc.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}
