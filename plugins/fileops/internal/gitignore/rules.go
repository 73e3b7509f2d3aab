// Package gitignore decides which paths a tree of ignore files excludes, with
// git's own semantics: nested .gitignore files, .git/info/exclude, negation,
// anchoring, "**", character classes, escapes, and the rule that nothing below
// an excluded directory can be included again. It also has the pattern lists
// that file operations take as arguments ([Globs]) and a file-name glob with
// bounded brace expansion ([Name]).
//
// The package reads no files. [Parse] compiles the bytes of one ignore file,
// and a walker builds one [Dir] for each directory it enters; a Dir never
// changes, so many goroutines can walk below the same one. Paths use '/' and
// are relative to the directory of the root Dir. Matching works on bytes, as
// git's does, and takes time proportional to the length of the name times
// that of the pattern at worst, so no pattern can make it hang.
//
// Sources: gitignore(5) and the behaviour of "git check-ignore --no-index",
// with which the tests compare it. Rules apply to tracked files too: there is
// no index here.
package gitignore

import "strings"

// Rules are the compiled lines of one ignore file. The zero value and nil
// match nothing.
type Rules struct {
	source   string
	fold     bool
	patterns []pattern

	// Most lines are a bare name, "*.ext" or a plain path; these are found
	// by a map lookup, and only the rest is tried one by one. All values are
	// indices into patterns in ascending order.
	names, exts, paths map[string][]int
	rest               []int
}

// Options of [Parse].
type Options struct {
	// Source names the file in a [Match], for example "src/.gitignore".
	Source string
	// FoldCase compares ASCII letters without regard to case, as git does
	// with core.ignoreCase.
	FoldCase bool
}

// Parse compiles the content of an ignore file. It cannot fail: like git, it
// passes over what is malformed.
func Parse(data []byte, opts Options) *Rules {
	r := &Rules{source: opts.Source, fold: opts.FoldCase}
	lines(data, func(n int, line string) {
		if p, ok := parseLine(line, opts.FoldCase); ok {
			p.line = n
			r.add(p)
		}
	})
	return r
}

func (r *Rules) add(p pattern) {
	i := len(r.patterns)
	r.patterns = append(r.patterns, p)
	put := func(m *map[string][]int, key string) {
		if *m == nil {
			*m = map[string][]int{}
		}
		(*m)[key] = append((*m)[key], i)
	}
	switch {
	case p.base && p.literal:
		put(&r.names, p.prefix)
	case p.base && p.tokens == nil && strings.LastIndexByte(p.suffix, '.') == 0:
		put(&r.exts, p.suffix)
	case p.literal:
		put(&r.paths, p.prefix)
	default:
		r.rest = append(r.rest, i)
	}
}

// Len is the number of patterns.
func (r *Rules) Len() int {
	if r == nil {
		return 0
	}
	return len(r.patterns)
}

// find returns the last pattern that matches, nil for none. The last one in
// the file decides, so every group is searched from its end and only past the
// best index so far.
func (r *Rules) find(name, leaf string, isDir bool) *pattern {
	if r == nil || len(r.patterns) == 0 {
		return nil
	}
	if r.fold {
		name, leaf = lowerASCII(name), lowerASCII(leaf)
	}
	best := -1
	last := func(list []int) {
		for k := len(list) - 1; k >= 0 && list[k] > best; k-- {
			if isDir || !r.patterns[list[k]].dirOnly {
				best = list[k]
				return
			}
		}
	}
	if r.names != nil {
		last(r.names[leaf])
	}
	if r.exts != nil {
		if dot := strings.LastIndexByte(leaf, '.'); dot >= 0 {
			last(r.exts[leaf[dot:]])
		}
	}
	if r.paths != nil {
		last(r.paths[name])
	}
	for k := len(r.rest) - 1; k >= 0 && r.rest[k] > best; k-- {
		p := &r.patterns[r.rest[k]]
		if (isDir || !p.dirOnly) && p.match(name, leaf) {
			best = r.rest[k]
			break
		}
	}
	if best < 0 {
		return nil
	}
	return &r.patterns[best]
}
