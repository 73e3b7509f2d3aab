// Package match is the engine of edit_file: it finds the texts to be replaced
// and replaces them one after the other, each in the result of the one before,
// all or nothing.
//
// A text is looked for in up to three ways; the first that finds it counts:
//
//   - Exact: literally, LF and CRLF being the same.
//   - WhitespaceNormalized, if asked for: a run of blanks (space, tab) matches
//     any other, indentation and blanks at the end of a line do not count, line
//     breaks do. It counts only if there is exactly one such place.
//   - ConfusableNormalized, if asked for: characters that look like an ASCII
//     one (typographic quotes, dashes, special spaces, full-width punctuation)
//     match it and each other. If the second way was asked for too, blanks are
//     then normalized as well, in a last attempt.
//
// What is replaced is always the original text of the place. In the second way
// the indentation before it is a part of it if the text looked for began with
// blanks, and the blanks after it if it ended with some. Everything else keeps
// its bytes; how line breaks are matched and written is told in textedit.
package match

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness/textedit"
)

// Range is a run of bytes.
type Range = textedit.Range

// Mode is a way of matching.
type Mode string

// The modes, from strict to loose.
const (
	Exact                Mode = "exact"
	WhitespaceNormalized Mode = "whitespace_normalized"
	ConfusableNormalized Mode = "confusable_normalized"
)

// Replacement is one text and what comes in its place.
type Replacement struct{ Old, New string }

// Options say how to match. The zero value is the strictest.
type Options struct {
	IgnoreWhitespace   bool
	ConfusableFallback bool
	// ReplaceAll replaces every match; First takes the first of several,
	// where otherwise several are an error.
	ReplaceAll, First bool
	// MaxCandidates bounds the similar places that a failure lists; 0 lists
	// none.
	MaxCandidates int
}

// Result is the text after all replacements.
type Result struct {
	After []byte
	// Occurrences counts the places replaced, over all replacements.
	Occurrences int
	// Mode is the loosest that was needed.
	Mode Mode
	// Changes are the places in After that were written, ascending. A pure
	// deletion leaves an empty one.
	Changes []Range
}

// Kind tells failures apart. The values are the error kinds of the tool.
type Kind string

// The kinds of failure.
const (
	InvalidArguments    Kind = "invalid_arguments"
	NotText             Kind = "not_text"
	NoMatch             Kind = "no_match"
	Ambiguous           Kind = "ambiguous_match"
	AmbiguousWhitespace Kind = "ambiguous_whitespace_match"
	TooLarge            Kind = "too_large"
)

// Failure says which replacement failed and why.
type Failure struct {
	Kind Kind
	// Index is the replacement's, from 0; -1 where the file itself is at
	// fault.
	Index   int
	Message string
	// Count is the number of matches of an ambiguous text.
	Count int
	// Hint says what would help, where that is known.
	Hint string
	// Try is the option, by its argument's name, with which a text that was not
	// found would be; "" for none.
	Try string
	// Candidates are the most similar places of a text that was not found,
	// or the first places of an ambiguous one.
	Candidates []Candidate
}

// Error returns the message with the replacement's index.
func (f *Failure) Error() string {
	text := f.Message
	if f.Index >= 0 {
		text = fmt.Sprintf("replacement %d: %s", f.Index, f.Message)
	}
	if f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}

// Apply makes all replacements in before, which it does not change. It fails
// with a *Failure, or with ctx's error once ctx is done.
func Apply(ctx context.Context, before []byte, replacements []Replacement, o Options) (Result, error) {
	if !utf8.Valid(before) || bytes.IndexByte(before, 0) >= 0 {
		return Result{}, &Failure{Kind: NotText, Index: -1, Message: "the file is not UTF-8 text"}
	}
	for i, r := range replacements {
		if r.Old == "" {
			return Result{}, &Failure{Kind: InvalidArguments, Index: i, Message: "old_content must not be empty"}
		}
		if !utf8.ValidString(r.New) || strings.IndexByte(r.New, 0) >= 0 {
			return Result{}, &Failure{Kind: InvalidArguments, Index: i, Message: "new_content must be UTF-8 text without NUL"}
		}
	}
	e := &engine{before: before, text: before, options: o, mode: Exact, lf: bytes.IndexByte(before, '\r') < 0}
	for i, r := range replacements {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		if err := e.replace(i, r); err != nil {
			return Result{}, err
		}
	}
	return Result{After: e.text, Occurrences: e.occurrences, Mode: e.mode, Changes: e.changes}, nil
}

type engine struct {
	before  []byte // the text before all replacements
	text    []byte
	owned   bool // text is a copy that may be written to
	lf      bool // text has no carriage return
	options Options

	counts      *histogram // see byteCounts
	occurrences int
	mode        Mode
	changes     []Range
}

// byteCounts returns how often each byte occurs in the text as it was at
// first. They serve to search for what is rare: that edits change them a little
// does no harm.
func (e *engine) byteCounts() *histogram {
	if e.counts == nil {
		e.counts = count(e.before)
	}
	return e.counts
}

func (e *engine) loose(old string, blanks, fold bool) *loose {
	return newLoose(old, blanks, fold, e.byteCounts())
}

// replace makes one replacement.
func (e *engine) replace(index int, r Replacement) error {
	found, mode := e.exact(r.Old), Exact
	if len(found) == 0 && e.options.IgnoreWhitespace {
		found, mode = e.loose(r.Old, true, false).all(e.text), WhitespaceNormalized
	}
	if len(found) == 0 && e.options.ConfusableFallback {
		found, mode = e.loose(r.Old, false, true).all(e.text), ConfusableNormalized
		if len(found) == 0 && e.options.IgnoreWhitespace {
			found = e.loose(r.Old, true, true).all(e.text)
		}
	}
	switch {
	case len(found) == 0:
		return e.noMatch(index, r)
	case len(found) > 1 && mode == WhitespaceNormalized:
		return e.ambiguous(index, found, AmbiguousWhitespace, "matches %d places when whitespace is ignored")
	case len(found) > 1 && e.options.ReplaceAll:
		return e.replaceAll(index, found, r, mode)
	case len(found) > 1 && !e.options.First:
		return e.ambiguous(index, found, Ambiguous, "occurs %d times")
	}
	e.replaceOne(found[0], r.New)
	e.count(1, mode)
	return nil
}

func (e *engine) count(n int, mode Mode) {
	e.occurrences += n
	rank := []Mode{Exact, WhitespaceNormalized, ConfusableNormalized}
	if slices.Index(rank, mode) > slices.Index(rank, e.mode) {
		e.mode = mode
	}
}

// exact returns all literal matches.
func (e *engine) exact(old string) []Range {
	var found []Range
	if e.lf && !strings.Contains(old, "\r") {
		// Without carriage returns what is found is what matches, but for a
		// byte-order mark, which is not a part of the text.
		find := e.byteCounts().finder(old)
		for at := len(e.text) - len(bytes.TrimPrefix(e.text, []byte("\ufeff"))); ; {
			n := find.next(e.text[at:])
			if n < 0 {
				return found
			}
			found = append(found, Range{Start: at + n, End: at + n + len(old)})
			at += n + len(old)
		}
	}
	for r := range textedit.Matches(e.text, old) {
		found = append(found, r)
	}
	return found
}

// replaceOne replaces one place. Only the lines around it are looked at: they
// decide the style of breaks.
func (e *engine) replaceOne(r Range, text string) {
	put := e.written(r, text)
	delta := len(put) - (r.End - r.Start)
	if !e.owned {
		// Some room lets later replacements grow the text in place.
		grown := make([]byte, len(e.text), len(e.text)+max(delta, 0)+len(e.text)/16+1024)
		copy(grown, e.text)
		e.text, e.owned = grown, true
	}
	e.text = slices.Replace(e.text, r.Start, r.End, put...)
	e.lf = e.lf && bytes.IndexByte(put, '\r') < 0
	e.shift([]Range{r}, []Range{{Start: r.Start, End: r.Start + len(put)}})
}

// written returns the bytes that take the place of r.
func (e *engine) written(r Range, text string) []byte {
	if e.lf && !strings.Contains(text, "\r") {
		return []byte(text)
	}
	start, end := e.lines(r)
	// Between two sentinels, the place is found once and where it should be,
	// and neither end of the new text can join a carriage return or line feed
	// outside to a break. What old and new have in common is not touched.
	head, tail := string(e.text[start:r.Start])+sentinel, sentinel+string(e.text[r.End:end])
	window := head + string(e.text[r.Start:r.End]) + tail
	result, err := textedit.Apply([]byte(window), window, head+text+tail, false)
	if err != nil {
		// The window is valid text, is not empty and occurs once in itself.
		return []byte(text)
	}
	return result.After[len(head) : len(result.After)-len(tail)]
}

// sentinel is any character that is neither blank nor break.
const sentinel = "\x01"

// lines returns whole lines around r which show the style of breaks: with the
// line before, or the one after for the first line.
func (e *engine) lines(r Range) (start, end int) {
	lineStart := func(at int) int { return bytes.LastIndexByte(e.text[:at], '\n') + 1 }
	start = lineStart(r.Start)
	if start > 0 {
		start = lineStart(start - 1)
	}
	if start == 0 && bytes.HasPrefix(e.text, []byte("\ufeff")) {
		start = len("\ufeff") // not a part of the text
	}
	end = r.End
	if n := bytes.IndexByte(e.text[end:], '\n'); n >= 0 {
		end += n + 1
	} else {
		end = len(e.text)
	}
	return start, end
}

// replaceAll replaces all places found.
func (e *engine) replaceAll(index int, found []Range, r Replacement, mode Mode) error {
	size := int64(len(e.text))
	for _, f := range found {
		size += int64(len(r.New) + strings.Count(r.New, "\n") - (f.End - f.Start))
	}
	if size > textedit.MaxResult {
		return &Failure{Kind: TooLarge, Index: index, Message: fmt.Sprintf("the result would have about %d bytes, the limit is %d", size, textedit.MaxResult)}
	}
	if mode == Exact {
		result, err := textedit.Apply(e.text, r.Old, r.New, true)
		if err != nil {
			return &Failure{Kind: NoMatch, Index: index, Message: err.Error()}
		}
		e.settle(found, result.After, textedit.NormalizeBreaks(r.New))
	} else {
		e.settle(found, e.assemble(found, r.New), textedit.NormalizeBreaks(r.New))
	}
	e.count(len(found), mode)
	return nil
}

// assemble builds the text with all places replaced.
func (e *engine) assemble(found []Range, text string) []byte {
	var out []byte
	at := 0
	for _, f := range found {
		out = append(out, e.text[at:f.Start]...)
		out = append(out, e.written(f, text)...)
		at = f.End
	}
	return append(out, e.text[at:]...)
}

// settle takes over a text in which the places found were replaced. norm is
// what was put there, with its breaks as LF.
func (e *engine) settle(found []Range, after []byte, norm string) {
	now := make([]Range, len(found))
	at, before := 0, 0
	for i, f := range found {
		at += f.Start - before
		now[i].Start = at
		for j := range len(norm) {
			if norm[j] == '\n' && after[at] == '\r' {
				at++
			}
			at++
		}
		now[i].End = at
		before = f.End
	}
	e.text, e.owned = after, true
	e.lf = e.lf && bytes.IndexByte(after, '\r') < 0
	e.shift(found, now)
}

// shift moves the changes made so far to where they are after the places gone
// became now. Changes that touch are joined.
func (e *engine) shift(gone, now []Range) {
	var all []Range
	i, delta := 0, 0
	add := func(r Range) {
		if n := len(all); n > 0 && r.Start <= all[n-1].End {
			all[n-1].End = max(all[n-1].End, r.End)
			return
		}
		all = append(all, r)
	}
	for _, c := range e.changes {
		for i < len(gone) && gone[i].End <= c.Start {
			add(now[i])
			delta = now[i].End - gone[i].End
			i++
		}
		start, end := c.Start+delta, c.End+delta
		if i < len(gone) && gone[i].Start < c.Start {
			start = now[i].Start // the change begins inside a place that is gone
		}
		for i < len(gone) && gone[i].Start < c.End {
			delta = now[i].End - gone[i].End
			end = max(c.End+delta, now[i].End)
			i++
		}
		add(Range{Start: start, End: end})
	}
	for ; i < len(gone); i++ {
		add(now[i])
	}
	e.changes = all
}
