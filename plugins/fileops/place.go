package fileops

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/near"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

// base is the directory that relative paths start from.
func (r *request) base() string {
	if r.cfg.SandboxRoot != "" {
		return r.cfg.SandboxRoot
	}
	return r.call.Cwd()
}

// resolve names the file that an argument is the path of, and refuses one
// outside the sandbox root, by where its symlinks lead.
func (r *request) resolve(ctx context.Context, field string) (vfs.Target, error) {
	given := r.args.text(field)
	if strings.TrimSpace(given) == "" {
		return vfs.Target{}, with(badArgument(field, "%s must name a file or directory", field), field, r.op.field(field).example)
	}
	t, err := r.fs.Resolve(ctx, given, vfs.ResolveOptions{Cwd: r.base()})
	if err != nil {
		f := fault.Of(err, field)
		f.Field = field
		if f.Kind == fault.InvalidArguments {
			// A name that begins with "~", or one with a NUL byte.
			fix := strings.ReplaceAll(given, "\x00", "")
			if strings.HasPrefix(fix, "~") {
				fix = "./" + fix
			}
			if with(f, field, fix); fix == "" {
				with(f, field, nil)
			}
		}
		return t, f
	}
	inside, root, err := r.open(ctx, t)
	if err != nil {
		return t, err
	}
	if !inside {
		return t, refuse(fault.PathOutsideSandbox, field, "\"%s\" leads outside the directory that is open to you, \"%s\"",
			vfs.DisplayName(given), vfs.DisplayName(root.Path))
	}
	return t, nil
}

// open reports whether a target is inside the sandbox root, by where its
// symlinks lead. Without a root everything is.
func (r *request) open(ctx context.Context, t vfs.Target) (inside bool, root vfs.Target, err error) {
	if r.cfg.SandboxRoot == "" {
		return true, root, nil
	}
	if root, err = r.fs.Resolve(ctx, r.cfg.SandboxRoot, vfs.ResolveOptions{}); err == nil {
		inside, err = r.fs.Contains(root, t)
	}
	return inside, root, err
}

// existing resolves an argument and looks at what is there.
func (r *request) existing(ctx context.Context, field string) (vfs.Target, vfs.Info, error) {
	t, err := r.resolve(ctx, field)
	if err != nil {
		return t, vfs.Info{}, err
	}
	info, err := r.fs.Stat(ctx, t)
	if err != nil {
		return t, info, fault.Of(err, field)
	}
	if !info.Exists() {
		if err := r.absent(ctx, t); err != nil {
			return t, info, err
		}
		return t, info, r.notFound(ctx, t, field)
	}
	return t, info, nil
}

// maxSiblings bounds the names among which a missing one is looked for.
const maxSiblings = 10_000

// notFound is the failure of a path with nothing at it. It names what may have
// been meant: the path whose parts that do not exist are nearly those that do.
func (r *request) notFound(ctx context.Context, t vfs.Target, field string) *failure {
	f := refuse(fault.PathNotFound, field, "there is nothing at \"%s\"", shown(t))
	if best, ok := r.slashes(ctx, field); ok {
		f.Message += fmt.Sprintf("; did you mean \"%s\"?", vfs.DisplayName(best))
		return with(f, field, best)
	}
	dir, missing, ok := r.nearestDir(ctx, t)
	if !ok {
		return f
	}
	var found []string
	for at := dir; len(found) < len(missing); {
		names, ok := r.namesIn(ctx, at)
		if !ok {
			return f
		}
		best := missing[len(found)]
		switch here := slices.Contains(names, best); {
		case here && found == nil:
			f.Message = fmt.Sprintf("\"%s\" leads nowhere: %s is a symlink to what does not exist", shown(t), vfs.DisplayName(best))
			return f
		case !here:
			if best = near.Miss(best, names); best == "" {
				return f
			}
		}
		found = append(found, best)
		var err error
		if at, err = r.fs.Resolve(ctx, below(at, best), vfs.ResolveOptions{}); err != nil {
			return f
		}
		if inside, _, err := r.open(ctx, at); err != nil || !inside {
			return f
		}
	}
	best := below(dir, strings.Join(found, "/"))
	// In the caller's own spelling, unless that leads around.
	parts := strings.Split(strings.TrimRight(slashed(r.args.text(field)), "/"), "/")
	if n := len(parts) - len(found); n >= 0 && slices.Equal(parts[n:], missing) {
		best = strings.Join(append(parts[:n:n], found...), "/")
	}
	f.Message += fmt.Sprintf("; did you mean \"%s\"?", vfs.DisplayName(best))
	return with(f, field, best)
}

// slashes is the path with slashes for the backslashes of another system, if
// that leads to something.
func (r *request) slashes(ctx context.Context, field string) (string, bool) {
	best := strings.ReplaceAll(r.args.text(field), `\`, "/")
	if best == slashed(r.args.text(field)) {
		return "", false
	}
	t, err := r.fs.Resolve(ctx, best, vfs.ResolveOptions{Cwd: r.base()})
	if err != nil {
		return "", false
	}
	if inside, _, err := r.open(ctx, t); err != nil || !inside {
		return "", false
	}
	info, err := r.fs.Stat(ctx, t)
	return best, err == nil && info.Exists()
}

// nearestDir is the nearest directory above t that exists and is open to the
// caller, and the names that lead from it to t.
func (r *request) nearestDir(ctx context.Context, t vfs.Target) (dir vfs.Target, missing []string, ok bool) {
	for at := slashed(t.Path); len(missing) < maxAbove; {
		up, name := path.Dir(at), path.Base(at)
		if up == at || up == "." {
			break
		}
		missing = append(missing, name)
		parent, err := r.fs.Resolve(ctx, up, vfs.ResolveOptions{})
		if err != nil {
			break
		}
		if inside, _, err := r.open(ctx, parent); err != nil || !inside {
			break
		}
		info, err := r.fs.Stat(ctx, parent)
		if err != nil {
			break
		}
		if info.Exists() {
			slices.Reverse(missing)
			return parent, missing, info.Type == vfs.Directory
		}
		at = up
	}
	return vfs.Target{}, nil, false
}

func (r *request) namesIn(ctx context.Context, dir vfs.Target) ([]string, bool) {
	entries, err := vfs.ReadDir(ctx, r.fs, dir)
	if err != nil || len(entries) > maxSiblings {
		return nil, false
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return names, true
}

// absent tells the policies that nothing is at a target.
func (r *request) absent(ctx context.Context, t vfs.Target) error {
	return vfs.Observed.Send(ctx, r.Bus, vfs.Observation{Target: t, Absent: true, Actor: r.call})
}

// existingFile is existing for a regular file.
func (r *request) existingFile(ctx context.Context, field string) (vfs.Target, vfs.Info, error) {
	t, info, err := r.existing(ctx, field)
	switch {
	case err != nil:
		return t, info, err
	case info.Type == vfs.Directory:
		return t, info, refuse(fault.NotAFile, field, "\"%s\" is a directory", shown(t))
	case info.Type != vfs.File:
		return t, info, refuse(fault.NotAFile, field, "\"%s\" is not a regular file", shown(t))
	}
	return t, info, nil
}

// existingDir is existing for a directory.
func (r *request) existingDir(ctx context.Context, field string) (vfs.Target, error) {
	t, info, err := r.existing(ctx, field)
	if err != nil || info.Type == vfs.Directory {
		return t, err
	}
	f := refuse(fault.NotADirectory, field, "\"%s\" is not a directory", shown(t))
	if up := path.Dir(slashed(r.args.text(field))); !strings.HasSuffix(up, "..") {
		with(f, field, up) // the directory that it is in
	}
	return t, f
}

// shown is a target's path as people and models see it.
func shown(t vfs.Target) string { return vfs.DisplayName(t.Path) }

// maxAbove bounds how far up the ignore files of a directory are looked for.
const maxAbove = 64

// rulesAbove are the ignore rules in force in the directory t: those of the
// repository that it is in, or, where there is none, of the directories below
// the base of relative paths. Rules of t's own files are among them.
func (r *request) rulesAbove(ctx context.Context, t vfs.Target, d walk.Dir) (*gitignore.Dir, error) {
	entries, err := d.Entries(ctx)
	if err != nil {
		return nil, err
	}
	chain, err := r.above(ctx, t, hasGit(entries))
	if err != nil {
		return nil, err
	}
	// From the outermost inwards; t itself is last.
	var rules *gitignore.Dir
	for i := len(chain) - 1; i >= 0; i-- {
		if rules, err = enter(ctx, r.fs, chain[i], rules); err != nil {
			return nil, err
		}
	}
	if rules == nil {
		return walk.RootRules(ctx, d, entries), nil
	}
	return walk.EnterExplicitRules(ctx, rules, path.Base(slashed(t.Path)), d, entries), nil
}

func enter(ctx context.Context, fs vfs.FileSystem, t vfs.Target, outer *gitignore.Dir) (*gitignore.Dir, error) {
	d, err := walk.Open(ctx, fs, t)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.Entries(ctx)
	if err != nil {
		return nil, err
	}
	if outer == nil {
		return walk.RootRules(ctx, d, entries), nil
	}
	return walk.EnterExplicitRules(ctx, outer, path.Base(slashed(t.Path)), d, entries), nil
}

// above lists the directories above t whose ignore files count, the nearest
// first.
func (r *request) above(ctx context.Context, t vfs.Target, isRepository bool) ([]vfs.Target, error) {
	if isRepository {
		return nil, nil
	}
	var base vfs.Target
	if dir := r.base(); dir != "" {
		var err error
		if base, err = r.fs.Resolve(ctx, dir, vfs.ResolveOptions{}); err != nil {
			return nil, err
		}
	}
	var chain, counted []vfs.Target
	for at := t; len(chain) < maxAbove && at.Key != base.Key; {
		up := path.Dir(slashed(at.Path))
		if up == slashed(at.Path) || up == "." {
			break
		}
		parent, err := r.fs.Resolve(ctx, up, vfs.ResolveOptions{})
		if err != nil {
			return nil, err
		}
		if r.cfg.SandboxRoot != "" {
			if inside, err := r.fs.Contains(base, parent); err != nil || !inside {
				return counted, err
			}
		}
		chain = append(chain, parent)
		git, err := r.fs.Resolve(ctx, up+"/.git", vfs.ResolveOptions{})
		if err != nil {
			return nil, err
		}
		info, err := r.fs.Lstat(ctx, git)
		if err != nil && errs.CodeOf(err) != errs.Permission {
			return nil, err
		}
		if info.Exists() || parent.Key == base.Key {
			counted = chain
		}
		if info.Exists() {
			break
		}
		at = parent
	}
	return counted, nil
}

func hasGit(entries []walk.Entry) bool {
	for _, e := range entries {
		if e.Name == ".git" {
			return true
		}
	}
	return false
}

// slashed is a path with slashes, whatever the system separates by.
func slashed(p string) string { return filepath.ToSlash(p) }

// below is the path of an entry under a directory.
func below(dir vfs.Target, rel string) string {
	return strings.TrimSuffix(dir.Path, "/") + "/" + rel
}
