package patch

import (
	"strings"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
)

// editor plans how one change is written into one text.
type editor struct {
	src      string
	yaml     bool
	docs     []*doc.Document
	document *doc.Document
	value    *doc.Node // the new value and the JSON text its offsets mean
	valueSrc string
	// conservative asks for the plainest way to write the value: on one
	// line, strings in double quotes.
	conservative bool

	style style
}

// style is how the documents at hand are laid out.
type style struct {
	unit string // one level of indentation of multi-line flow collections
	// multiline tells, for mappings and sequences in flow style, whether
	// they are spread over lines.
	multiline map[doc.Kind]bool
	colon     string // between key and value in flow style
	comma     string // between entries on one line
	step      int    // columns a block mapping is indented under its parent
	dash      int    // columns a block sequence is indented under its key
}

// layoutNodes bounds how many nodes layout looks at.
const layoutNodes = 10000

// layout reads the style off the first collections that show it.
func (e *editor) layout() {
	s := style{unit: "  ", multiline: map[doc.Kind]bool{}, colon: ": ", comma: ", ", step: 2, dash: 2}
	seen := map[string]bool{}
	first := func(what string) bool {
		was := seen[what]
		seen[what] = true
		return !was
	}
	looked := 0
	var walk func(n, parent *doc.Node)
	walk = func(n, parent *doc.Node) {
		looked++
		if n.Style == doc.Block && parent != nil && parent.Kind == doc.Mapping && parent.Style == doc.Block {
			if d := int(n.Indent - parent.Indent); n.Kind == doc.Mapping && d > 0 && first("step") {
				s.step = d
			} else if n.Kind == doc.Sequence && first("dash") {
				s.dash = d
			}
		}
		if n.Style == doc.Flow && len(n.Entries) > 0 {
			e.flowStyle(&s, n, first)
		}
		for _, entry := range n.Entries {
			walk(entry.Value, n)
			if looked > layoutNodes {
				return
			}
		}
	}
	for _, d := range e.docs {
		walk(d.Root, nil)
	}
	mapping, sequence := seen["mapping"], seen["sequence"]
	switch {
	case e.yaml: // only what the documents show is spread over lines
	case mapping && !sequence:
		s.multiline[doc.Sequence] = s.multiline[doc.Mapping]
	case sequence && !mapping:
		s.multiline[doc.Mapping] = s.multiline[doc.Sequence]
	case !mapping && !sequence && hasBreak(e.src):
		s.multiline[doc.Mapping], s.multiline[doc.Sequence] = true, true
	}
	if !e.yaml && len(e.src) > 1 && (mapping || sequence) && !strings.ContainsAny(e.src[:min(len(e.src), 1<<12)], " \t\r\n") && !seen["comma"] {
		s.comma = ","
		if !seen["colon"] {
			s.colon = ":"
		}
	}
	e.style = s
}

func (e *editor) flowStyle(s *style, n *doc.Node, first func(string) bool) {
	child := n.Entries[0].Start
	spread := hasBreak(e.src[n.Start:child])
	if first(n.Kind.String()) {
		s.multiline[n.Kind] = spread
	}
	if spread {
		inner, outer := linePrefix(e.src, child), linePrefix(e.src, n.Start)
		if unit, ok := strings.CutPrefix(inner, outer); ok && unit != "" && first("unit") {
			s.unit = unit
		}
	}
	if n.Kind == doc.Mapping && n.Entries[0].Indicator >= 0 {
		gap := e.src[n.Entries[0].Key.End:n.Entries[0].Value.Outer()]
		if pureGap(gap, ':') && !hasBreak(gap) && n.Entries[0].Value.Style != doc.Empty && first("colon") {
			s.colon = gap
		}
	}
	if len(n.Entries) > 1 {
		gap := e.src[n.Entries[0].End():n.Entries[1].Start]
		if pureGap(gap, ',') && !hasBreak(gap) && first("comma") {
			s.comma = gap
		}
	}
}

// pureGap reports whether a gap between two nodes is the separator and white
// space alone, without comment.
func pureGap(gap string, separator byte) bool {
	return strings.Trim(gap, " \t\r\n") == string(separator)
}

// insertIndex returns where a new member of a mapping goes: last. Only where
// the last one is a block scalar that ends with the text, without a line
// break, does it go before that, because a break after would become a part of
// the scalar.
func (e *editor) insertIndex(t *target) int {
	if t.action != insertEntry || t.parent.Kind != doc.Mapping || t.parent.Style != doc.Block || t.index == 0 {
		return t.index
	}
	n := t.parent.Entries[t.index-1].Value
	for len(n.Entries) > 0 {
		n = n.Entries[len(n.Entries)-1].Value
	}
	if (n.Style == doc.Literal || n.Style == doc.Folded) && n.End == len(e.src) {
		return t.index - 1
	}
	return t.index
}

// plan returns the edits that make the change, or nil where there is no way
// to write it.
func (e *editor) plan(t *target) []edit {
	switch t.action {
	case insertEntry:
		if t.parent.Style == doc.Block {
			return e.blockInsert(t)
		}
		return e.flowInsert(t)
	case removeEntry:
		if t.parent.Style == doc.Block {
			return e.blockRemove(t)
		}
		return e.flowRemove(t)
	}
	if t.parent != nil && t.parent.Style != doc.Block {
		return e.flowReplace(t)
	}
	if !e.yaml {
		return []edit{{t.node.Start, t.node.End, e.flowValue(e.value, linePrefix(e.src, t.node.Start), e.spread(t.node))}}
	}
	return e.blockReplace(t)
}

// spread reports whether a new collection in place of the old node may take
// several lines: not where the old one was written on one.
func (e *editor) spread(old *doc.Node) bool {
	return len(old.Entries) == 0 || hasBreak(e.src[old.Start:old.End])
}
