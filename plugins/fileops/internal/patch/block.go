package patch

import (
	"strings"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// blockInsert adds an entry, on lines of its own, to a block collection.
func (e *editor) blockInsert(t *target) []edit {
	p := t.parent
	col := int(p.Indent)
	indent := strings.Repeat(" ", col)
	var text string
	if p.Kind == doc.Mapping {
		text = e.yamlString(t.key, keyStyle(p), false) + ":" + e.under(e.form(e.value, e.childColumn(nil, e.value, col), doc.Plain))
	} else {
		like := doc.Plain
		if v := p.Entries[len(p.Entries)-1].Value; v.Style == doc.SingleQuoted || v.Style == doc.DoubleQuoted {
			like = v.Style
		}
		text = "-" + e.under(e.compact(e.form(e.value, col+2, like), col+2))
	}
	text = strings.ReplaceAll(text, "\n", newline(e.src, p.Start))
	nl := newline(e.src, p.Start)
	if t.index == 0 {
		pos := p.Entries[0].Start
		return []edit{{pos, pos, text + nl + indent}}
	}
	pos := lineEnd(e.src, p.Entries[t.index-1].End())
	return []edit{{pos, pos, nl + indent + text}}
}

// keyStyle returns the style that all keys of a mapping share, or Plain.
func keyStyle(p *doc.Node) doc.Style {
	style := p.Entries[0].Key.Style
	for _, e := range p.Entries {
		if e.Key.Style != style {
			return doc.Plain
		}
	}
	return style
}

// blockRemove takes the lines of an entry out of a block collection. The
// comment at the end of its line goes too, comments on lines of their own stay.
func (e *editor) blockRemove(t *target) []edit {
	p := t.parent
	entry := p.Entries[t.index]
	if len(p.Entries) == 1 {
		return e.blockEmpty(t)
	}
	end := lineEnd(e.src, entry.End())
	if beginsLine(e.src, entry.Start) {
		start := lineStart(e.src, entry.Start)
		if next := skipBreak(e.src, end); next > end {
			return []edit{{start, next, ""}}
		}
		return []edit{{breakBefore(e.src, start), end, ""}}
	}
	// The first entry of a collection that begins after a "- ".
	next := p.Entries[t.index+1].Start
	if strings.Trim(e.src[end:next], " \r\n") == "" {
		return []edit{{entry.Start, next, ""}}
	}
	start := entry.Start
	for start > 0 && isBlank(e.src[start-1]) {
		start--
	}
	return []edit{{start, end, ""}}
}

// breakBefore returns where the line break before start begins.
func breakBefore(src string, start int) int {
	if start >= 2 && src[start-2:start] == "\r\n" {
		return start - 2
	}
	if start >= 1 && isBreak(src[start-1]) {
		return start - 1
	}
	return start
}

// blockEmpty writes {} or [] for a block collection that loses its only entry;
// anchor and tag of the collection stay.
func (e *editor) blockEmpty(t *target) []edit {
	p := t.parent
	text := "{}"
	if p.Kind == doc.Sequence {
		text = "[]"
	}
	if p.Props != nil {
		text = e.src[p.Props.Start:p.Props.End] + " " + text
	}
	if len(t.path) == 0 {
		return e.replaceAt(nil, p, form{head: text})
	}
	last := t.path[len(t.path)-1]
	return e.replaceAt(&last, p, form{head: text})
}

// blockReplace writes a new value in place of one in a block collection, or of
// the root.
func (e *editor) blockReplace(t *target) []edit {
	old := t.node
	anchor := ""
	if a := old.Anchor(); a != "" {
		anchor = "&" + a
	}
	var f form
	switch {
	case old.Style == doc.Flow && len(old.Entries) > 0 && e.value.Kind != doc.Scalar:
		f.head = e.flowValue(e.value, linePrefix(e.src, old.Start), e.spread(old))
	case t.parent == nil:
		f = e.form(e.value, 0, old.Style)
		if anchor == "" && beginsLine(e.src, old.Outer()) && !strings.HasPrefix(f.head, "|") {
			f = e.compact(f, 0)
		}
	case t.parent.Kind == doc.Sequence:
		f = e.form(e.value, int(t.parent.Indent)+2, old.Style)
		if anchor == "" {
			f = e.compact(f, int(t.parent.Indent)+2)
		}
	default:
		f = e.form(e.value, e.childColumn(old, e.value, int(t.parent.Indent)), old.Style)
	}
	f.head = strings.TrimSuffix(anchor+" "+f.head, " ")
	f.head = strings.TrimPrefix(f.head, " ")
	if t.parent == nil {
		return e.replaceAt(nil, old, f)
	}
	return e.replaceAt(&step{t.parent, t.index}, old, f)
}

// childColumn returns the column of the entries of a new collection under a
// key: that of the old value if it was of the same kind, else by the style of
// the document.
func (e *editor) childColumn(old, v *doc.Node, parent int) int {
	if old != nil && old.Style == doc.Block && old.Kind == v.Kind {
		return int(old.Indent)
	}
	if v.Kind == doc.Sequence {
		return parent + e.style.dash
	}
	return parent + e.style.step
}

// under joins a form to the "key:" or "-" before it.
func (e *editor) under(f form) string {
	text := ""
	if f.head != "" {
		text = " " + f.head
	}
	for _, line := range f.tail {
		text += "\n" + line
	}
	return text
}

// replaceAt puts f in the place of old, which is the value of the entry that
// at names, or the root where at is nil. A comment at the end of the line on
// which the value begins stays there, before the further lines of f.
func (e *editor) replaceAt(at *step, old *doc.Node, f form) []edit {
	start := old.Outer()
	if at != nil {
		entry := at.node.Entries[at.index]
		if entry.Indicator < 0 {
			// "? key" without a value gets a line with ":".
			pos, nl := lineEnd(e.src, entry.Key.End), newline(e.src, entry.Start)
			text := "\n" + strings.Repeat(" ", int(at.node.Indent)) + ":" + e.under(f)
			return []edit{{pos, pos, strings.ReplaceAll(text, "\n", nl)}}
		}
		start = entry.Indicator + 1
	}
	gap, comment, end := e.around(old, start)
	if at == nil && e.document.Explicit && !beginsLine(e.src, start) && gap == "" {
		gap = " "
		if start > 0 && isBlank(e.src[start-1]) {
			gap = ""
		}
	}
	if at == nil && len(e.src) > 0 && start == len(e.src) && !e.document.Explicit && !beginsLine(e.src, start) {
		gap = newline(e.src, start)
	}
	nl := newline(e.src, start)
	switch {
	case f.head == "":
		gap = ""
	case gap == "" && at != nil || len(f.tail) > 0 && hasBreak(gap):
		gap = " "
	}
	text := gap + f.head + comment
	for _, line := range f.tail {
		text += nl + strings.ReplaceAll(line, "\n", nl)
	}
	return []edit{{start, end, text}}
}

// around returns what stands between start and the old value and can be kept,
// the comment on the line where the value begins, and where the old text ends.
func (e *editor) around(old *doc.Node, start int) (gap, comment string, end int) {
	switch {
	case old.Style == doc.Block:
		// "key:  # comment" and then the collection on its own lines.
		from := start
		if old.Props != nil && old.Props.Start >= start && !hasBreak(e.src[start:old.Props.Start]) {
			from = old.Props.End
		}
		if from < old.Start && hasBreak(e.src[from:old.Start]) {
			comment = commentOnly(e.src[from:lineEnd(e.src, from)])
		} else if old.Outer() > start {
			gap = e.src[start:old.Outer()]
		}
		return gap, comment, lineEnd(e.src, old.End)
	case old.Style == doc.Literal || old.Style == doc.Folded:
		header := e.src[old.Start:lineEnd(e.src, old.Start)]
		if i := strings.IndexByte(header, '#'); i >= 0 {
			comment = commentOnly(header[len(strings.TrimRight(header[:i], " \t")):])
		}
		return e.src[start:old.Outer()], comment, old.End
	}
	end = lineEnd(e.src, old.End)
	return e.src[start:old.Outer()], e.src[old.End:end], end
}

// commentOnly returns s if it is a comment after blanks, else nothing.
func commentOnly(s string) string {
	if strings.HasPrefix(strings.TrimLeft(s, " \t"), "#") {
		return s
	}
	return ""
}
