package walk

import (
	"context"
	"errors"
	"io"

	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
)

// MaxIgnoreFile is the number of bytes that are read of one ignore file; what
// lies beyond is not honoured. Real ones have a few hundred.
const MaxIgnoreFile = 1 << 20

// RootRules are the ignore rules in force in the directory that a walk starts
// in. Ignore files that cannot be read are passed over, as git does.
func RootRules(ctx context.Context, d Dir, entries []Entry) *gitignore.Dir {
	return gitignore.Root(readRules(ctx, d, entries, ""))
}

// EnterRules are the rules in the child called name, which is open as d and
// has the given entries. A directory with a ".git" of its own begins a new
// repository.
func EnterRules(ctx context.Context, parent *gitignore.Dir, name string, d Dir, entries []Entry) *gitignore.Dir {
	rules := readRules(ctx, d, entries, Join(parent.Path(), name))
	if has(entries, ".git") {
		return parent.EnterRepository(name, rules)
	}
	return parent.Enter(name, rules)
}

// EnterExplicitRules is EnterRules for a directory that the caller named: it
// is entered although a rule excludes it.
func EnterExplicitRules(ctx context.Context, parent *gitignore.Dir, name string, d Dir, entries []Entry) *gitignore.Dir {
	return parent.EnterExplicit(name, readRules(ctx, d, entries, Join(parent.Path(), name)))
}

func readRules(ctx context.Context, d Dir, entries []Entry, path string) map[gitignore.Kind]*gitignore.Rules {
	var rules map[gitignore.Kind]*gitignore.Rules
	add := func(kind gitignore.Kind, d Dir, name, source string) {
		data, err := readSome(ctx, d, name)
		if err != nil {
			return
		}
		if rules == nil {
			rules = map[gitignore.Kind]*gitignore.Rules{}
		}
		rules[kind] = gitignore.Parse(data, gitignore.Options{Source: source})
	}
	for _, e := range entries {
		switch e.Name {
		case ".gitignore":
			add(gitignore.GitIgnore, d, e.Name, Join(path, e.Name))
		case ".ignore":
			add(gitignore.Ignore, d, e.Name, Join(path, e.Name))
		case ".git":
			if !e.IsDir() {
				continue
			}
			if info, err := openDirs(ctx, d, ".git", "info"); err == nil {
				add(gitignore.Exclude, info, "exclude", Join(path, ".git/info/exclude"))
				info.Close()
			}
		}
	}
	return rules
}

func openDirs(ctx context.Context, d Dir, names ...string) (Dir, error) {
	for i, name := range names {
		next, err := d.OpenDir(ctx, name)
		if i > 0 {
			d.Close()
		}
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

func readSome(ctx context.Context, d Dir, name string) ([]byte, error) {
	buf := make([]byte, 8192)
	data, rest, err := d.ReadFile(ctx, name, buf)
	if err != nil || rest == nil {
		return data, err
	}
	more, err := io.ReadAll(io.LimitReader(rest, MaxIgnoreFile-int64(len(data))))
	return append(data, more...), errors.Join(err, rest.Close())
}

func has(entries []Entry, name string) bool {
	for i := range entries {
		if entries[i].Name == name {
			return true
		}
	}
	return false
}
