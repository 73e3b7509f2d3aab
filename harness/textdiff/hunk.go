package textdiff

import (
	"errors"
	"fmt"
	"strings"
)

// Hunk is a piece of the old text and the piece of the new text that takes its
// place, both as whole lines with the context around the changes.
type Hunk struct {
	// OldStart and NewStart are the numbers of the first line, from 1. As in
	// unified diffs, where the count of lines is 0 they name the line before,
	// which is 0 at the beginning of the text.
	OldStart, OldLines int
	NewStart, NewLines int
	// OldText and NewText are the lines with their terminators. They share
	// memory with the compared texts.
	OldText, NewText string
}

// Hunks returns what turns before into after, in ascending order, with up to
// context lines of context before and after each change. Changes whose context
// touches or overlaps are in one hunk. Equal texts have no hunks. A negative
// context counts as 0.
func Hunks(before, after string, context int) []Hunk {
	a, b := newSides(before, after)
	var out []Hunk
	for _, g := range groups(a, b, changes(a, b), context) {
		h := Hunk{
			OldStart: g.a0 + 1, OldLines: g.a1 - g.a0,
			NewStart: g.b0 + 1, NewLines: g.b1 - g.b0,
			OldText: a.slice(g.a0, g.a1), NewText: b.slice(g.b0, g.b1),
		}
		if h.OldLines == 0 {
			h.OldStart--
		}
		if h.NewLines == 0 {
			h.NewStart--
		}
		out = append(out, h)
	}
	return out
}

// group is one hunk: its lines, context included, and the changes within.
type group struct {
	change
	changes []change
}

// groups joins changes that are at most twice the context apart.
func groups(a, b *side, list []change, context int) []group {
	context = max(context, 0)
	var out []group
	for i := 0; i < len(list); {
		j := i + 1
		// The subtraction keeps a huge context from overflowing.
		for j < len(list) && (list[j].a0-list[j-1].a1)-context <= context {
			j++
		}
		first, last := list[i], list[j-1]
		lead := min(context, first.a0)
		trail := min(context, a.total-last.a1)
		out = append(out, group{
			change:  change{first.a0 - lead, last.a1 + trail, first.b0 - lead, last.b1 + trail},
			changes: list[i:j],
		})
		i = j
	}
	return out
}

// ErrMismatch is wrapped by the errors of [Apply] and [ApplyCards].
var ErrMismatch = errors.New("the change does not fit the text")

// Apply carries out hunks on the text they were made from. Hunks must be in
// ascending order and their OldText must stand at OldStart; otherwise the
// error wraps [ErrMismatch] and names the hunk, counted from 1.
func Apply(before string, hunks []Hunk) (string, error) {
	var out strings.Builder
	at, line := 0, 1
	for i, h := range hunks {
		start := h.OldStart
		if h.OldLines == 0 {
			start++
		}
		from := at
		for ; line < start && from < len(before); line++ {
			from = lineEnd(before, from)
		}
		if line != start || !strings.HasPrefix(before[from:], h.OldText) || countLines(h.OldText) != h.OldLines {
			return "", fmt.Errorf("hunk %d at line %d: %w", i+1, start, ErrMismatch)
		}
		out.WriteString(before[at:from])
		out.WriteString(h.NewText)
		at = from + len(h.OldText)
		line += h.OldLines
	}
	out.WriteString(before[at:])
	return out.String(), nil
}

// Stat counts the lines that after has and before has not, and the reverse. A
// changed line counts on both sides.
func Stat(before, after string) (added, removed int) {
	for _, c := range changes(newSides(before, after)) {
		added += c.b1 - c.b0
		removed += c.a1 - c.a0
	}
	return added, removed
}

// Range is a run of lines, First to Last, both included.
type Range struct{ First, Last int }

// ChangedRanges returns the lines of after that are new or changed, in
// ascending order and apart from each other. Where lines were only removed the
// line that now stands in their place is named, or the last line when they
// were at the end, or line 1 when nothing is left.
func ChangedRanges(before, after string) []Range {
	a, b := newSides(before, after)
	var out []Range
	for _, c := range changes(a, b) {
		r := Range{c.b0 + 1, c.b1}
		if c.b0 == c.b1 {
			r.First = max(1, min(c.b0+1, b.total))
			r.Last = r.First
		}
		if len(out) > 0 && r.First <= out[len(out)-1].Last+1 {
			out[len(out)-1].Last = max(out[len(out)-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

// FormatRanges renders line ranges for people: "line 9", "lines 3-5, 9". At
// most limit ranges are spelled out and the rest is counted: "lines 1, 3 and 7
// more places". A limit below 1 means no limit. No ranges give "".
func FormatRanges(ranges []Range, limit int) string {
	if len(ranges) == 0 {
		return ""
	}
	if len(ranges) == 1 && ranges[0].First == ranges[0].Last {
		return fmt.Sprintf("line %d", ranges[0].First)
	}
	shown := ranges
	if limit >= 1 && len(ranges) > limit {
		shown = ranges[:limit]
	}
	var out strings.Builder
	out.WriteString("lines ")
	for i, r := range shown {
		if i > 0 {
			out.WriteString(", ")
		}
		if r.First == r.Last {
			fmt.Fprintf(&out, "%d", r.First)
		} else {
			fmt.Fprintf(&out, "%d-%d", r.First, r.Last)
		}
	}
	switch more := len(ranges) - len(shown); {
	case more == 1:
		out.WriteString(" and 1 more place")
	case more > 1:
		fmt.Fprintf(&out, " and %d more places", more)
	}
	return out.String()
}
