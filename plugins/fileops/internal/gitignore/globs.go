package gitignore

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// MaxAlternatives bounds what the braces of one list of patterns may expand
// to; "{a,b}" repeated ten times would already be 1024.
const MaxAlternatives = 1000

// PatternError says why an entry of a pattern list is refused.
type PatternError struct {
	Index   int // position in the list, 0 for a single pattern
	Pattern string
	Reason  string
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("pattern %q: %s", e.Pattern, e.Reason)
}

// Use is what a list of patterns is for.
type Use int

const (
	// ExcludeEntries hides what matches. "dir/**" hides the directory too, unless
	// the list has negated patterns, which might bring something back.
	ExcludeEntries Use = iota
	// IncludeEntries keeps the entries that match and nothing else: "*/"
	// keeps directories.
	IncludeEntries
	// IncludeFiles keeps the files that match; a pattern for directories
	// ("src/") keeps every file below them.
	IncludeFiles
)

// Globs is a list of gitignore-style patterns given as an argument. On top of
// that syntax it takes braces ("*.{ts,tsx}"), reads "./x" as "/x", and in
// lists that include reads ".ext" as "*.ext" and "/" as "*/", which mean
// nothing otherwise. A list of negated patterns alone includes all the rest.
type Globs struct {
	rules       Rules
	includeRest bool
}

// NewGlobs compiles a list. An empty list gives nil.
func NewGlobs(patterns []string, use Use) (*Globs, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	g := &Globs{includeRest: use != ExcludeEntries}
	negated := false
	for _, p := range patterns {
		negated = negated || strings.HasPrefix(p, "!")
		g.includeRest = g.includeRest && strings.HasPrefix(p, "!")
	}
	total := 0
	for i, p := range patterns {
		refuse := func(reason string) error { return &PatternError{Index: i, Pattern: p, Reason: reason} }
		switch {
		case strings.TrimPrefix(p, "!") == "":
			return nil, refuse("is empty")
		case strings.IndexByte(p, 0) >= 0:
			return nil, refuse("contains a NUL byte")
		}
		expanded, ok := expandBraces(p, MaxAlternatives-total)
		if !ok {
			return nil, refuse(fmt.Sprintf("the braces of the list expand to more than %d patterns", MaxAlternatives))
		}
		total += len(expanded)
		for _, text := range expanded {
			for _, variant := range variants(text, use, negated) {
				c := compilePattern(variant, false)
				if len(c.tokens) == 1 && c.tokens[0].kind == never {
					return nil, refuse(`has an unterminated or unknown character class, or ends in a lone "\"`)
				}
				g.rules.add(c)
			}
		}
	}
	return g, nil
}

// variants rewrites one pattern into the ones that give it its meaning in a
// list for use.
func variants(text string, use Use, negatedInList bool) []string {
	sign := ""
	if strings.HasPrefix(text, "!") {
		sign, text = "!", text[1:]
	}
	if rest, ok := strings.CutPrefix(text, "./"); ok {
		text = "/" + rest
	}
	out := []string{sign + text}
	if use == ExcludeEntries {
		if dir, ok := strings.CutSuffix(text, "/**"); ok && !negatedInList && strings.Trim(dir, "*/") != "" {
			if !strings.Contains(dir, "/") {
				// "dir/**" has a slash and so is anchored; what is left of
				// it must stay so.
				dir = "/" + dir
			}
			out = append(out, dir+"/")
		}
		return out
	}
	if text == "/" {
		text = "*/"
		out[0] = sign + text
	}
	if len(text) > 1 && text[0] == '.' && !strings.ContainsAny(text[1:], `./`+wildcards) {
		out = append(out, sign+"*"+text)
	}
	if dir, ok := strings.CutSuffix(text, "/"); ok && use == IncludeFiles {
		if !strings.Contains(dir, "/") {
			dir = "**/" + dir
		}
		out = append(out, sign+dir+"/**")
	}
	return out
}

// Match reports whether the list selects the entry at path, which is relative
// to the directory that the patterns are meant for. A nil list selects
// nothing.
func (g *Globs) Match(path string, isDir bool) bool {
	if g == nil {
		return false
	}
	leaf := path[strings.LastIndexByte(path, '/')+1:]
	if p := g.rules.find(path, leaf, isDir); p != nil {
		return !p.negated
	}
	return g.includeRest
}

// Name is a glob for file names: "*", "?" (one character), classes, escapes
// with a backslash, and braces.
type Name struct{ patterns []string }

// NewName compiles a file-name glob. A slash is refused: names have none.
func NewName(pattern string) (*Name, error) {
	refuse := func(reason string) error { return &PatternError{Pattern: pattern, Reason: reason} }
	switch {
	case pattern == "":
		return nil, refuse("is empty")
	case strings.Contains(pattern, "/"):
		return nil, refuse("contains a slash, but only names are compared, never paths")
	}
	patterns, ok := expandBraces(pattern, MaxAlternatives)
	if !ok {
		return nil, refuse(fmt.Sprintf("the braces expand to more than %d patterns", MaxAlternatives))
	}
	for i, p := range patterns {
		patterns[i] = escapeBraces(p)
		if !doublestar.ValidatePattern(patterns[i]) {
			return nil, refuse("is not a valid glob")
		}
	}
	return &Name{patterns}, nil
}

// Match reports whether a file name matches.
func (n *Name) Match(name string) bool {
	for _, p := range n.patterns {
		if doublestar.MatchUnvalidated(p, name) {
			return true
		}
	}
	return false
}
