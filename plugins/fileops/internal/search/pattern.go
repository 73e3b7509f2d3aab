package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// MaxQuery is the longest accepted query in bytes.
const MaxQuery = 16 << 10

// Query is what to look for.
type Query struct {
	Text string
	// Regex takes Text as an RE2 expression, else it is literal.
	Regex bool
	// IgnoreCase compares by simple Unicode case folding.
	IgnoreCase bool
	// Multiline lets a match of an expression run over line ends; ^ and $
	// still mean the ends of any line. A literal text that holds a line feed
	// is always searched like this, and its line feeds also match CRLF.
	Multiline bool
	// MaxSpanBytes and MaxSpanLines pass over matches that are longer; 0 is no
	// limit.
	MaxSpanBytes, MaxSpanLines int
}

// QueryError says what is wrong with a query.
type QueryError struct {
	// Offset is the byte of the text at which the trouble begins, -1 when it
	// is about the text as a whole.
	Offset int
	Reason string
}

func (e *QueryError) Error() string {
	if e.Offset < 0 {
		return e.Reason
	}
	return fmt.Sprintf("invalid expression at byte %d: %s", e.Offset, e.Reason)
}

// Pattern is a compiled query, safe for concurrent use.
type Pattern struct {
	query Query
	lines bool // whether a match stays within a line

	literal finder         // finds the matches themselves
	re      *regexp.Regexp // else this does
	resumed *regexp.Regexp // the same for a text whose beginning is cut off
	onward  *regexp.Regexp // its first group is the match, on the same line as the text's first character but after it; nil for matches within a line
	before  finder         // finds what every match of re must contain, or nil
	dfa     *dfa
	size    int  // instructions of the program
	keepCR  bool // the query asks for a CR, so that one at a line's end stays
}

// ErrNeedsMultiline reports a query that can only match across lines.
var ErrNeedsMultiline error = &QueryError{-1, "the expression asks for a line feed, which is in no line: set multiline to true"}

// Compile compiles a query.
func Compile(q Query) (*Pattern, error) {
	if q.Text == "" {
		return nil, &QueryError{-1, "the query is empty"}
	}
	if len(q.Text) > MaxQuery {
		return nil, &QueryError{-1, fmt.Sprintf("the query has %d bytes, at most %d are allowed", len(q.Text), MaxQuery)}
	}
	if !q.Regex && !strings.Contains(q.Text, "\n") {
		p := &Pattern{query: q, lines: true, literal: newExact(q.Text)}
		if !q.IgnoreCase {
			return p, nil
		}
		if f := newFolded(q.Text); f != nil {
			p.literal = f
			return p, nil
		}
	}
	expr := q.Text
	if !q.Regex {
		q.Multiline = strings.Contains(expr, "\n")
		expr = regexp.QuoteMeta(strings.ReplaceAll(expr, "\r\n", "\n"))
		expr = strings.ReplaceAll(expr, "\n", `\r?\n`)
	}
	return compileExpr(q, expr)
}

func compileExpr(q Query, expr string) (*Pattern, error) {
	if _, err := syntax.Parse(expr, syntax.Perl); err != nil {
		return nil, locate(expr, err)
	}
	if q.Multiline {
		expr = "(?m)" + expr
	}
	if q.IgnoreCase {
		expr = "(?i)" + expr
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, &QueryError{-1, err.Error()}
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, &QueryError{-1, err.Error()}
	}
	if !q.Multiline && mentions(tree, '\n') {
		return nil, ErrNeedsMultiline
	}
	p := &Pattern{query: q, lines: !q.Multiline, re: re, resumed: re, keepCR: mentions(tree, '\r')}
	if q.Multiline && cutBeginText(tree) {
		// tree has changed; parse what follows from the text again.
		if p.resumed, err = regexp.Compile(tree.String()); err != nil {
			return nil, &QueryError{-1, err.Error()}
		}
		if tree, err = syntax.Parse(expr, syntax.Perl); err != nil {
			return nil, &QueryError{-1, err.Error()}
		}
	}
	if q.Multiline && crossesLines(tree) {
		if p.onward, err = regexp.Compile(`\A(?s:.)[^\n]*?(` + p.resumed.String() + ")"); err != nil {
			return nil, &QueryError{-1, err.Error()}
		}
	}
	tree = tree.Simplify()
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, &QueryError{-1, err.Error()}
	}
	p.size = len(prog.Inst)
	p.before = prefilter(tree, p.lines)
	p.dfa = newDFA(prog, p.lines)
	return p, nil
}

// mentions reports whether a literal of the expression holds r.
func mentions(re *syntax.Regexp, r rune) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, r) {
		return true
	}
	return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return mentions(sub, r) })
}

// crossesLines reports whether a match of the expression may hold a line feed.
func crossesLines(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpAnyChar:
		return true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(re.Sub, crossesLines)
}

// cutBeginText makes \A match nowhere, for texts whose beginning is not the
// beginning. It reports whether there was any.
func cutBeginText(re *syntax.Regexp) bool {
	if re.Op == syntax.OpBeginText {
		re.Op = syntax.OpNoMatch
		return true
	}
	found := false
	for _, sub := range re.Sub {
		found = cutBeginText(sub) || found
	}
	return found
}

// locate adds the place to an error of the parser, which tells the offending
// part but not where it stands. The parser reads from left to right, so the
// place is the end of the shortest beginning that fails in the same way.
func locate(expr string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return &QueryError{-1, err.Error()}
	}
	reason := se.Code.String()
	if se.Expr != expr {
		reason += fmt.Sprintf(": `%s`", se.Expr)
	}
	switch se.Code {
	case syntax.ErrMissingParen:
		return &QueryError{unpaired(expr, '('), reason}
	case syntax.ErrUnexpectedParen:
		return &QueryError{unpaired(expr, ')'), reason}
	}
	for from := 0; se.Expr != ""; {
		k := strings.Index(expr[from:], se.Expr)
		if k < 0 {
			break
		}
		at := from + k
		_, err := syntax.Parse(expr[:at+len(se.Expr)], syntax.Perl)
		var again *syntax.Error
		if errors.As(err, &again) && again.Code == se.Code && again.Expr == se.Expr {
			return &QueryError{at, reason}
		}
		from = at + 1
	}
	return &QueryError{0, reason}
}

// unpaired finds the parenthesis that has no partner.
func unpaired(expr string, which byte) int {
	var open []int
	for i := 0; i < len(expr); i++ {
		switch expr[i] {
		case '\\':
			if strings.HasPrefix(expr[i:], `\Q`) {
				if end := strings.Index(expr[i:], `\E`); end >= 0 {
					i += end
				} else {
					i = len(expr)
				}
			}
			i++
		case '[':
			i = classEnd(expr, i)
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return i
			}
			open = open[:len(open)-1]
		}
	}
	if which == '(' && len(open) > 0 {
		return open[len(open)-1]
	}
	return 0
}

// classEnd is the index of the bracket that ends the class beginning at i.
func classEnd(expr string, i int) int {
	k := i + 1
	if k < len(expr) && expr[k] == '^' {
		k++
	}
	for first := true; k < len(expr); k++ {
		switch {
		case expr[k] == '\\':
			k++
		case strings.HasPrefix(expr[k:], "[:"):
			if end := strings.Index(expr[k:], ":]"); end >= 0 {
				k += end + 1
			}
		case expr[k] == ']' && !first:
			return k
		}
		first = false
	}
	return i
}
