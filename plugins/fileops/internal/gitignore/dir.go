package gitignore

// Match says which line decided about a path.
type Match struct {
	// Ignored is false where a negated pattern ("!keep") decided.
	Ignored bool
	// Source, Line and Pattern name the deciding line: the Source given to
	// Parse, the 1-based line number and the text as written. Line is 0 when
	// no line matched.
	Source  string
	Line    int
	Pattern string
}

// Dir is one directory of a walk with the rules in force in it. It is
// immutable: entering a subdirectory makes another with [Dir.Enter].
type Dir struct {
	parent  *Dir
	path    string // relative to the root, "" for the root itself
	ignored bool

	// One list for each kind of file, in rising precedence. Within a kind
	// the deepest directory decides first; between kinds the later one does.
	rules [kinds]*Rules
	// nearest[k] is the closest Dir from here upwards with rules of kind k,
	// so that levels without a file cost nothing.
	nearest [kinds]*Dir
}

// Kind is the file that rules come from. Higher kinds take precedence.
type Kind int

const (
	// Exclude is .git/info/exclude, valid for the whole repository.
	Exclude Kind = iota
	// GitIgnore is a .gitignore file.
	GitIgnore
	// Ignore is an .ignore file: the same syntax, honoured by search tools
	// and not by git. It overrides .gitignore wherever it stands.
	Ignore

	kinds = 3
)

// Root is the directory a walk starts in. The map gives the rules of the
// files found there; kinds may be absent.
func Root(rules map[Kind]*Rules) *Dir {
	return newDir(nil, "", rules)
}

// Enter is the directory called name inside d. What d ignores stays ignored
// below, whatever the rules of the deeper directory say.
func (d *Dir) Enter(name string, rules map[Kind]*Rules) *Dir {
	child := newDir(d, join(d.path, name), rules)
	child.ignored = d.Ignored(name, true)
	return child
}

// EnterRepository is like Enter for a directory that holds a repository of
// its own: the ignore files outside say nothing about its content.
func (d *Dir) EnterRepository(name string, rules map[Kind]*Rules) *Dir {
	child := newDir(nil, join(d.path, name), rules)
	child.ignored = d.Ignored(name, true)
	return child
}

// EnterExplicit is like Enter for a directory that the caller named: it is
// entered although a rule excludes it.
func (d *Dir) EnterExplicit(name string, rules map[Kind]*Rules) *Dir {
	return newDir(d, join(d.path, name), rules)
}

func newDir(parent *Dir, path string, rules map[Kind]*Rules) *Dir {
	d := &Dir{parent: parent, path: path}
	if parent != nil {
		d.nearest = parent.nearest
	}
	for k, r := range rules {
		if r.Len() > 0 {
			d.rules[k] = r
			d.nearest[k] = d
		}
	}
	return d
}

// Path is the directory's path relative to the root, "" for the root.
func (d *Dir) Path() string { return d.path }

// Ignored reports whether the entry called name in d is excluded.
func (d *Dir) Ignored(name string, isDir bool) bool {
	return d.ignored || d.Explain(name, isDir).Ignored
}

// Explain finds the line that decides about the entry called name in d. It
// looks at rules alone: inside an ignored directory every entry is ignored,
// and Explain may still say that a line of a deeper file includes it.
func (d *Dir) Explain(name string, isDir bool) Match {
	path := ""
	for k := kinds - 1; k >= 0; k-- {
		for at := d.nearest[k]; at != nil; at = at.above(k) {
			if path == "" {
				path = join(d.path, name)
			}
			rel := path
			if at.path != "" {
				rel = path[len(at.path)+1:]
			}
			if p := at.rules[k].find(rel, name, isDir); p != nil {
				return Match{
					Ignored: !p.negated,
					Source:  at.rules[k].source,
					Line:    p.line,
					Pattern: p.text,
				}
			}
		}
	}
	return Match{}
}

func (d *Dir) above(k int) *Dir {
	if d.parent == nil {
		return nil
	}
	return d.parent.nearest[k]
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
