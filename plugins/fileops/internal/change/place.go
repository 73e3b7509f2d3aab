package change

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

// place is one path of a call, resolved and judged.
type place struct {
	// field is the argument it came in.
	field string
	// t is the target. Operations on content follow a symlink to it; those on
	// entries go by its path.
	t vfs.Target
	// parent is the directory that holds the entry.
	parent vfs.Target
	// show is the path for people and models.
	show string
	// physical is the absolute path, with "/", of what changes: with all
	// symlinks resolved, but for the last part of an entry.
	physical string
	// info is what is there, a symlink itself only for entries.
	info vfs.Info
	// sensitive says why the path is, or "".
	sensitive string
}

// follow says what an operation is about.
type follow bool

const (
	content follow = true  // the file that a symlink leads to
	entry   follow = false // the symlink itself
)

// locate resolves a path and makes sure that it lies in the sandbox root,
// wherever it leads.
func (r *run) locate(ctx context.Context, field, given string, f follow) (*place, error) {
	if strings.TrimSpace(given) == "" {
		return nil, fault.New(fault.InvalidArguments, field, field+" must be a path")
	}
	t, err := r.fs.Resolve(ctx, given, vfs.ResolveOptions{Cwd: r.base.Path})
	if err != nil {
		return nil, fault.Of(err, field)
	}
	p := &place{field: field, t: t, show: vfs.DisplayName(t.Path)}
	dir, name := splitPath(t.Path)
	if p.parent, err = r.fs.Resolve(ctx, dir, vfs.ResolveOptions{}); err != nil {
		return nil, fault.Of(err, field)
	}
	judged := t
	if f == entry && name != "" {
		judged = p.parent
	}
	err = r.confine(judged, p.show, field)
	if err != nil && judged != t && t.Key == r.root.Key {
		// The root itself has no place in the root, but it is inside.
		f, judged, err = content, t, nil
	}
	if err != nil {
		return nil, err
	}
	if p.physical, err = r.fs.ProcessPath(judged); err != nil {
		return nil, fault.Of(err, field)
	}
	p.physical = filepath.ToSlash(p.physical)
	if f == entry && name != "" {
		p.physical = path.Join(p.physical, name)
		p.info, err = r.fs.Lstat(ctx, t)
	} else {
		p.info, err = r.fs.Stat(ctx, t)
	}
	if err != nil {
		return nil, fault.Of(err, field)
	}
	p.sensitive = r.sensitive(p)
	return p, nil
}

// confine refuses what lies outside of the sandbox root.
func (r *run) confine(t vfs.Target, show, field string) error {
	if r.root.Key == "" {
		return nil
	}
	in, err := r.fs.Contains(r.root, t)
	if err != nil {
		return fault.Of(err, field)
	}
	if !in {
		return fault.New(fault.PathOutsideSandbox, field, fmt.Sprintf("\"%s\" is outside of the sandbox root \"%s\"; use a path inside it", show, vfs.DisplayName(r.root.Path)))
	}
	return nil
}

// splitPath cuts a provider's absolute path before its last part. name is ""
// where the path has none of its own.
func splitPath(p string) (dir, name string) {
	p = filepath.ToSlash(p)
	dir, name = path.Split(strings.TrimRight(p, "/"))
	if name == "" || name == "." || name == ".." {
		return p, ""
	}
	return dir, name
}

// within returns physical relative to the physical path of dir, and whether it
// lies there.
func (r *run) within(dir vfs.Target, physical string) (string, bool) {
	root, err := r.fs.ProcessPath(dir)
	if err != nil {
		return "", false
	}
	root = strings.TrimRight(filepath.ToSlash(root), "/")
	if physical == root {
		return ".", true
	}
	return strings.CutPrefix(physical, root+"/")
}

// rel is a path as workspace deltas have it.
func (r *run) rel(physical string) string {
	if rel, ok := r.within(r.base, physical); ok {
		return vfs.DisplayName(rel)
	}
	return vfs.DisplayName(physical)
}

// sensitive says why a path is sensitive. Below a sandbox root the parts above
// it do not count: the deployment has chosen them.
func (r *run) sensitive(p *place) string {
	shown := filepath.ToSlash(p.t.Path)
	physical := p.physical
	if r.root.Key != "" {
		if rel, ok := r.within(r.root, physical); ok {
			physical = rel
		}
		if rel, ok := strings.CutPrefix(shown, strings.TrimRight(filepath.ToSlash(r.root.Path), "/")+"/"); ok {
			shown = rel
		} else {
			shown = path.Base(shown)
		}
	}
	if why := r.cfg.Sensitive.Match(physical); why != "" {
		return why
	}
	return r.cfg.Sensitive.Match(shown)
}

// admit refuses a sensitive or ignored path that the call does not allow.
func (r *run) admit(ctx context.Context, p *place, a Allow) error {
	if rel, ok := r.within(r.base, p.physical); slices.Contains(strings.Split(rel, "/"), backup.Folder) || !ok && slices.Contains(strings.Split(p.physical, "/"), backup.Folder) {
		return fault.New(fault.IgnoredPath, p.field, fmt.Sprintf("\"%s\" belongs to the backups, which only the operations themselves change", p.show))
	}
	if p.sensitive != "" && !a.AllowSensitive {
		call := map[string]any{"allow_sensitive": true}
		if !a.AllowIgnored {
			if m, err := r.ignored(ctx, p); err == nil && m.Ignored {
				call["allow_ignored"] = true // which the next call would be told
			}
		}
		return &fault.Fault{Kind: fault.SensitivePath, Field: p.field,
			Message: fmt.Sprintf("\"%s\" %s and is not changed unless allow_sensitive is true", p.show, p.sensitive),
			Call:    call}
	}
	if a.AllowIgnored {
		return nil
	}
	m, err := r.ignored(ctx, p)
	if err != nil {
		return err
	}
	if m.Ignored {
		why := "inside an ignored directory"
		if m.Line > 0 {
			why = fmt.Sprintf("by line %d of %s: %s", m.Line, m.Source, m.Pattern)
		}
		return &fault.Fault{Kind: fault.IgnoredPath, Field: p.field,
			Message: fmt.Sprintf("\"%s\" is ignored (%s) and is not changed unless allow_ignored is true", p.show, vfs.DisplayName(why)),
			Call:    map[string]any{"allow_ignored": true}}
	}
	return nil
}

// ignored finds the line of an ignore file that decides about a place. Ignore
// files count from the sandbox root on, else from the repository that the
// place is in.
func (r *run) ignored(ctx context.Context, p *place) (gitignore.Match, error) {
	top, parts, err := r.ignoreTop(ctx, p)
	if err != nil || len(parts) == 0 {
		return gitignore.Match{}, err
	}
	dir, err := walk.Open(ctx, r.fs, top)
	if err != nil {
		return gitignore.Match{}, ctx.Err() // nothing there: nothing ignores
	}
	rules := walk.RootRules(ctx, dir, r.ruleFiles(ctx, dir))
	defer func() {
		if dir != nil {
			dir.Close()
		}
	}()
	for i, name := range parts {
		last := i == len(parts)-1
		isDir := !last || p.info.Type == vfs.Directory
		m := rules.Explain(name, isDir)
		if m.Ignored || last {
			return m, ctx.Err()
		}
		var sub walk.Dir
		if dir != nil {
			if sub, err = dir.OpenDir(ctx, name); err != nil {
				sub = nil
			}
			dir.Close()
		}
		if dir = sub; dir == nil {
			rules = rules.Enter(name, nil)
			continue
		}
		rules = walk.EnterRules(ctx, rules, name, dir, r.ruleFiles(ctx, dir))
	}
	return gitignore.Match{}, nil
}

// ruleFiles are the entries of a directory that can hold rules. Whether they
// exist is found out by reading them, which is cheaper than to list a
// directory that may have very many.
func (r *run) ruleFiles(ctx context.Context, d walk.Dir) []walk.Entry {
	files := []walk.Entry{{Name: ".gitignore", Type: vfs.File}, {Name: ".ignore", Type: vfs.File}}
	if git, err := d.OpenDir(ctx, ".git"); err == nil {
		git.Close()
		return append(files, walk.Entry{Name: ".git", Type: vfs.Directory})
	}
	var small [1]byte
	// A work tree of its own, or a submodule, has a file.
	if _, rest, err := d.ReadFile(ctx, ".git", small[:]); err == nil {
		if rest != nil {
			rest.Close()
		}
		files = append(files, walk.Entry{Name: ".git", Type: vfs.File})
	}
	return files
}

// ignoreTop returns where the ignore rules for a place begin, and the names
// from there to it.
func (r *run) ignoreTop(ctx context.Context, p *place) (vfs.Target, []string, error) {
	if r.root.Key != "" {
		rel, ok := r.within(r.root, p.physical)
		if !ok || rel == "." {
			return r.root, nil, nil
		}
		return r.root, strings.Split(rel, "/"), nil
	}
	dir, name := path.Split(p.physical)
	parts := []string{name}
	top := strings.TrimRight(dir, "/")
	for at := top; ; {
		t, err := r.fs.Resolve(ctx, orRoot(at)+"/.git", vfs.ResolveOptions{})
		if err != nil {
			return vfs.Target{}, nil, err
		}
		if info, err := r.fs.Lstat(ctx, t); err == nil && info.Exists() {
			top = at
			break
		}
		up := path.Dir(orRoot(at))
		if up == orRoot(at) || strings.HasSuffix(up, ":") {
			break
		}
		at = strings.TrimRight(up, "/")
	}
	if rel, ok := strings.CutPrefix(p.physical, top+"/"); ok {
		parts = strings.Split(rel, "/")
	}
	t, err := r.fs.Resolve(ctx, orRoot(top), vfs.ResolveOptions{})
	return t, parts, err
}

func orRoot(p string) string {
	if p == "" {
		return "/"
	}
	return p
}

// missingParents returns the physical paths of the directories above a place
// that do not exist, outermost first. None can be made below what is no
// directory.
func (r *run) missingParents(ctx context.Context, physical string) ([]string, error) {
	var missing []string
	for at := path.Dir(physical); at != "/" && at != "."; at = path.Dir(at) {
		t, err := r.fs.Resolve(ctx, at, vfs.ResolveOptions{})
		if err != nil {
			return nil, err
		}
		info, err := r.fs.Stat(ctx, t)
		if err != nil {
			return nil, err
		}
		if info.Exists() && info.Type != vfs.Directory {
			return nil, &errs.Error{Code: errs.NotDirectory, Message: fmt.Sprintf("\"%s\" is not a directory", vfs.DisplayName(at))}
		}
		if info.Exists() {
			break
		}
		missing = append([]string{at}, missing...)
	}
	return missing, nil
}

// wantParents refuses a place whose directory is missing when the call does
// not want it made.
func (r *run) wantParents(missing []string, p *place, create bool) error {
	if create || len(missing) == 0 {
		return nil
	}
	return &fault.Fault{Kind: fault.PathNotFound, Field: p.field,
		Message: fmt.Sprintf("the directory \"%s\" does not exist; set create_dirs to true to have it made", vfs.DisplayName(missing[0])),
		Call:    map[string]any{"create_dirs": true}}
}

// processPath is the physical path of a target, with "/".
func (r *run) processPath(t vfs.Target) (string, error) {
	p, err := r.fs.ProcessPath(t)
	return filepath.ToSlash(p), err
}
