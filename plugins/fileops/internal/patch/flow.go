package patch

import (
	"strings"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// flowValue writes the new value in flow style, which JSON has alone. prefix
// is the indentation of the line it begins on; spread allows several lines.
func (e *editor) flowValue(v *doc.Node, prefix string, spread bool) string {
	var b strings.Builder
	e.writeFlow(&b, v, prefix, spread)
	return b.String()
}

func (e *editor) writeFlow(b *strings.Builder, v *doc.Node, prefix string, spread bool) {
	if v.Kind == doc.Scalar {
		b.WriteString(e.flowScalar(v))
		return
	}
	open, closing := "[", "]"
	if v.Kind == doc.Mapping {
		open, closing = "{", "}"
	}
	b.WriteString(open)
	lines := spread && !e.conservative && e.style.multiline[v.Kind] && len(v.Entries) > 0
	for i, entry := range v.Entries {
		if i > 0 && lines {
			b.WriteByte(',')
		} else if i > 0 {
			b.WriteString(e.style.comma)
		}
		if lines {
			b.WriteString(newline(e.src, e.document.Root.Start) + prefix + e.style.unit)
		}
		if entry.Key != nil {
			e.writeKey(b, entry.Key.Text, e.valueSrc[entry.Key.Start:entry.Key.End])
		}
		e.writeFlow(b, entry.Value, prefix+e.style.unit, lines)
	}
	if lines {
		b.WriteString(newline(e.src, e.document.Root.Start) + prefix)
	}
	b.WriteString(closing)
}

// flowScalar spells a scalar of the new value.
func (e *editor) flowScalar(v *doc.Node) string {
	raw := e.valueSrc[v.Start:v.End]
	if !e.yaml || v.Style != doc.DoubleQuoted {
		return raw
	}
	return e.yamlString(v.Text, doc.Plain, true)
}

// writeKey writes a key of a flow mapping and the colon after it. raw is its
// JSON spelling.
func (e *editor) writeKey(b *strings.Builder, key, raw string) {
	if !e.yaml {
		b.WriteString(raw + e.style.colon)
		return
	}
	text := e.yamlString(key, doc.Plain, true)
	b.WriteString(text)
	if colon := e.style.colon; text[0] == '"' || strings.HasSuffix(colon, " ") {
		b.WriteString(colon)
	} else {
		b.WriteString(": ")
	}
}

// flowInsert adds an entry to a flow collection.
func (e *editor) flowInsert(t *target) []edit {
	p := t.parent
	if p.Style == doc.FlowPair {
		// [a: b] gains a second pair: it needs its braces now.
		return []edit{
			{p.Start, p.Start, "{"},
			{p.End, p.End, e.style.comma + e.flowEntry(t, "", false) + "}"},
		}
	}
	n := len(p.Entries)
	if n == 0 {
		return e.flowFill(t)
	}
	lines := beginsLine(e.src, p.Entries[0].Start)
	entry := e.flowEntry(t, linePrefix(e.src, p.Entries[n-1].Start), lines)
	gap := e.flowGap(p, t.index, lines)
	if t.index == n {
		pos := p.Entries[n-1].End()
		return []edit{{pos, pos, gap + entry}}
	}
	pos := p.Entries[t.index].Start
	return []edit{{pos, pos, entry + gap}}
}

// flowEntry writes "key: value", or the value alone for an item.
func (e *editor) flowEntry(t *target, prefix string, spread bool) string {
	var b strings.Builder
	if t.parent.Kind == doc.Mapping {
		e.writeKey(&b, t.key, quoteJSON(t.key))
	}
	e.writeFlow(&b, e.value, prefix, spread)
	return b.String()
}

// flowFill puts the first entry into an empty collection.
func (e *editor) flowFill(t *target) []edit {
	p := t.parent
	inner := e.src[p.Start+1 : p.End-1]
	if strings.Contains(inner, "#") {
		return []edit{{p.Start + 1, p.Start + 1, e.flowEntry(t, "", false)}}
	}
	if !e.style.multiline[p.Kind] || e.conservative || !e.roomFor(t) {
		return []edit{{p.Start + 1, p.End - 1, e.flowEntry(t, "", false)}}
	}
	prefix, nl := linePrefix(e.src, p.Start), newline(e.src, p.Start)
	entry := e.flowEntry(t, prefix+e.style.unit, true)
	return []edit{{p.Start + 1, p.End - 1, nl + prefix + e.style.unit + entry + nl + prefix}}
}

// roomFor reports whether an empty collection may be spread over lines: not
// inside one that is itself on one line.
func (e *editor) roomFor(t *target) bool {
	if len(t.path) == 0 {
		return true
	}
	around := t.path[len(t.path)-1].node
	return around.Style == doc.Block || beginsLine(e.src, around.Entries[0].Start)
}

// flowGap returns the separator to write beside the new entry at index: the
// one that is there already, where there are two entries to show it.
func (e *editor) flowGap(p *doc.Node, index int, lines bool) string {
	n := len(p.Entries)
	if n >= 2 {
		left := min(max(index-1, 0), n-2)
		if index < n-1 {
			left = index
		}
		gap := e.src[p.Entries[left].End():p.Entries[left+1].Start]
		if pureGap(gap, ',') {
			if !hasBreak(gap) {
				return gap
			}
			return "," + newline(e.src, p.Entries[left].End()) + linePrefix(e.src, p.Entries[left+1].Start)
		}
	}
	if lines {
		return "," + newline(e.src, p.Entries[0].Start) + linePrefix(e.src, p.Entries[0].Start)
	}
	return e.style.comma
}

// flowRemove takes an entry and one comma out of a flow collection.
func (e *editor) flowRemove(t *target) []edit {
	p, i, n := t.parent, t.index, len(t.parent.Entries)
	entry := p.Entries[i]
	if p.Style == doc.FlowPair {
		return []edit{{p.Start, p.End, "{}"}}
	}
	if n == 1 && !e.comment(p.Start+1, p.End-1, entry) {
		return []edit{{p.Start + 1, p.End - 1, ""}}
	}
	if i < n-1 {
		next := p.Entries[i+1].Start
		if pureGap(e.src[entry.End():next], ',') {
			return []edit{{entry.Start, next, ""}}
		}
		return e.cutEntry(entry, next)
	}
	if n > 1 && pureGap(e.src[p.Entries[i-1].End():entry.Start], ',') {
		return []edit{{p.Entries[i-1].End(), entry.End(), ""}}
	}
	return e.cutEntry(entry, p.End-1)
}

// comment reports whether a comment stands beside the only entry.
func (e *editor) comment(start, end int, entry doc.Entry) bool {
	return strings.Contains(e.src[start:entry.Start], "#") || strings.Contains(e.src[entry.End():end], "#")
}

// cutEntry removes an entry and the comma after it, but not the comments
// around them.
func (e *editor) cutEntry(entry doc.Entry, limit int) []edit {
	edits := []edit{{entry.Start, entry.End(), ""}}
	for i := entry.End(); i < limit; i++ {
		switch c := e.src[i]; {
		case c == ',':
			return append(edits, edit{i, i + 1, ""})
		case c == '#' && isBlank(e.src[i-1]):
			i = lineEnd(e.src, i)
		}
	}
	return edits
}

// flowReplace writes a new value in place of one inside a flow collection.
func (e *editor) flowReplace(t *target) []edit {
	entry, old := t.parent.Entries[t.index], t.node
	text := e.value
	var b strings.Builder
	if a := old.Anchor(); a != "" {
		b.WriteString("&" + a + " ")
	}
	if e.yaml && text.Kind == doc.Scalar && text.Style == doc.DoubleQuoted {
		b.WriteString(e.yamlString(text.Text, old.Style, true))
	} else {
		e.writeFlow(&b, text, linePrefix(e.src, old.Start), e.spread(old) && e.onOwnLine(t))
	}
	switch {
	case old.Style != doc.Empty || old.Props != nil:
		return []edit{{old.Outer(), old.End, b.String()}}
	case entry.Indicator < 0 && entry.Key != nil:
		return []edit{{entry.Key.End, entry.Key.End, ": " + b.String()}}
	default:
		return []edit{{old.Start, old.End, " " + b.String()}}
	}
}

// onOwnLine reports whether the entries around the target have lines of their
// own, so that a value spread over lines fits in.
func (e *editor) onOwnLine(t *target) bool {
	return beginsLine(e.src, t.parent.Entries[0].Start)
}
