package change

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/vfs"
)

// A journal is a file in the workspace, and whoever may write there can forge
// one: an archive that is unpacked, or a call that is confined to the workspace.
// Following it must not do more than they could have done. So what a journal
// says counts by itself only below the root that it is the journal of, and not
// in a .git directory, into which no archive or clone puts files. For each path
// elsewhere there is a witness: a file in a directory above that path, which
// only somebody who may change things there can have made. It names the journal
// and holds a digest of each record and scratch path that needs one.

const (
	witnessHead = "fileops witness of "
	// maxWitness bounds a witness that is read: a line takes 65 bytes.
	maxWitness = 1 << 20
)

// witnessName is the file's name in each directory that has one.
func witnessName(id string) string { return ".fileops-witness-" + id }

// paths are all that a record has changed.
func (rec Record) paths() []string {
	var out []string
	for _, p := range append([]string{rec.Path, rec.From, rec.Aside, rec.Gone}, rec.Made...) {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// claims are the lines of a journal that need a witness, with their paths.
func (r *run) claims(doc journalDoc) (lines, paths []string, err error) {
	add := func(line string, all []string) {
		needed := slices.DeleteFunc(slices.Clone(all), func(p string) bool { free, _ := r.region(p); return free })
		if len(needed) > 0 {
			lines, paths = append(lines, line), append(paths, needed...)
		}
	}
	for _, rec := range doc.Records {
		line, err := recordLine(rec)
		if err != nil {
			return nil, nil, err
		}
		add(line, rec.paths())
	}
	for _, p := range doc.Scratch {
		add(scratchLine(p), []string{p})
	}
	return lines, paths, nil
}

func recordLine(rec Record) (string, error) {
	data, err := json.Marshal(rec)
	return lineOf("record", string(data)), err
}

func scratchLine(p string) string { return lineOf("scratch", p) }

func lineOf(kind, text string) string {
	sum := sha256.Sum256([]byte(kind + "\n" + text))
	return hex.EncodeToString(sum[:])
}

// region says whether a path needs no witness, and otherwise the outermost
// directory that may hold one; "" is none at all.
func (r *run) region(p string) (free bool, outermost string) {
	rel, in := r.within(r.base, p)
	if !in {
		return false, "/"
	}
	parts := strings.Split(rel, "/")
	// Some filesystems have several spellings of the name.
	i := slices.IndexFunc(parts, func(part string) bool { return strings.EqualFold(part, ".git") })
	switch {
	case i < 0:
		return true, ""
	case i == len(parts)-1:
		return false, "" // it may itself be what is moved
	}
	return false, strings.TrimSuffix(p, "/"+strings.Join(parts[i+1:], "/"))
}

// above yields the directories above a path, innermost first, up to one.
func above(p, outermost string) func(func(string) bool) {
	return func(yield func(string) bool) {
		if outermost == "" {
			return
		}
		for d := path.Dir(p); yield(d) && d != outermost && d != path.Dir(d); {
			d = path.Dir(d)
		}
	}
}

// witness writes down, in the directories that need it, what a journal is about
// to say. Where that is not possible the change goes on: all that is lost is
// that it could be finished after a crash.
func (r *run) witness(ctx context.Context, j *journal) error {
	lines, paths, err := r.claims(j.doc)
	if err != nil || len(lines) == 0 && len(j.doc.Witnesses) == 0 {
		return err
	}
	var dirs []string
	for _, p := range paths {
		if d := r.witnessDir(ctx, p, paths); d != "" && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	fresh := slices.ContainsFunc(lines, func(l string) bool { return !slices.Contains(j.witnessed, l) })
	for _, l := range lines {
		if !slices.Contains(j.witnessed, l) {
			j.witnessed = append(j.witnessed, l)
		}
	}
	var names []string
	for _, d := range dirs {
		if name := path.Join(d, witnessName(j.doc.ID)); fresh || !slices.Contains(j.doc.Witnesses, name) {
			names = append(names, name)
		}
	}
	if err := r.announce(ctx, j, names); err != nil {
		return err
	}
	text := witnessHead + j.path + "\n" + strings.Join(j.witnessed, "\n") + "\n"
	for _, name := range names {
		if t, err := r.fs.Resolve(ctx, name, vfs.ResolveOptions{}); err == nil {
			_, _ = r.put(ctx, t, []byte(text), vfs.Attr{}, r.options(vfs.Guard{}))
		}
	}
	// One in a directory that is about to move would move with it; the one above
	// that directory stands for it now.
	j.doc.Witnesses = slices.DeleteFunc(j.doc.Witnesses, func(name string) bool {
		if slices.Contains(dirs, path.Dir(name)) || !slices.ContainsFunc(paths, func(q string) bool { return holds(q, name) }) {
			return false
		}
		r.dropWitness(ctx, name)
		return true
	})
	return nil
}

// announce puts new witnesses into the journal as it was last written, so that
// they are found, before they are there.
func (r *run) announce(ctx context.Context, j *journal, names []string) error {
	known := len(j.doc.Witnesses)
	for _, name := range names {
		if !slices.Contains(j.doc.Witnesses, name) {
			j.doc.Witnesses = append(j.doc.Witnesses, name)
		}
	}
	if len(j.doc.Witnesses) == known {
		return nil
	}
	before := j.written
	before.Witnesses = j.doc.Witnesses
	return r.writeDown(ctx, j, before)
}

// witnessDir is where the witness for a path goes: the innermost directory that
// is there, and stays there whatever becomes of the paths.
func (r *run) witnessDir(ctx context.Context, p string, paths []string) string {
	_, outermost := r.region(p)
	for d := range above(p, outermost) {
		if outermost != "/" && d != outermost {
			continue // what git keeps below .git it may read
		}
		if slices.ContainsFunc(paths, func(q string) bool { return holds(q, d) }) {
			continue
		}
		t, err := r.fs.Resolve(ctx, d, vfs.ResolveOptions{})
		if err != nil {
			return ""
		}
		if info, err := r.fs.Stat(ctx, t); err == nil && info.Type == vfs.Directory {
			return d
		}
	}
	return ""
}

// holds reports whether a path is dir or below it.
func holds(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

func (r *run) dropWitness(ctx context.Context, name string) {
	if t, err := r.fs.Resolve(ctx, name, vfs.ResolveOptions{}); err == nil {
		_ = vfs.Remove(ctx, r.fs, t, r.options(vfs.Guard{})) // one too many does no harm
	}
}

// dismiss removes the witnesses of a journal that has nothing left to do. It
// says so first: without its witnesses the journal would not count.
func (r *run) dismiss(ctx context.Context, j *journal) {
	if len(j.doc.Witnesses) == 0 {
		return
	}
	j.doc.Records, j.doc.Scratch, j.doc.Complete = nil, nil, true
	if err := r.save(ctx, j); err != nil {
		return // they are removed with the journal, the next time
	}
	for _, name := range j.doc.Witnesses {
		r.dropWitness(ctx, name)
	}
}

// doubt says why what a journal tells must not be believed; "" when it may be.
func (r *run) doubt(ctx context.Context, j *journal) string {
	for _, rec := range j.doc.Records {
		line, err := recordLine(rec)
		if err != nil || rec.Aside != "" && !besides(rec.Aside, rec.Path) || rec.Gone != "" && !besides(rec.Gone, rec.From) {
			return "it is not of the form that operations give it"
		}
		for _, p := range rec.paths() {
			if why := r.doubtPath(ctx, j, p, line); why != "" {
				return why
			}
		}
	}
	for _, p := range j.doc.Scratch {
		if !isScratch(p) {
			continue // stays in any case
		}
		if why := r.doubtPath(ctx, j, p, scratchLine(p)); why != "" {
			return why
		}
	}
	for _, name := range j.doc.Witnesses {
		if path.Base(name) != witnessName(j.doc.ID) || !r.isPhysical(ctx, name) {
			return "it is not of the form that operations give it"
		}
	}
	return ""
}

// besides reports whether p is scratch of a change of another path.
func besides(p, of string) bool { return isScratch(p) && path.Dir(p) == path.Dir(of) }

func (r *run) doubtPath(ctx context.Context, j *journal, p, line string) string {
	if !r.isPhysical(ctx, p) {
		return fmt.Sprintf("%s leads elsewhere", vfs.DisplayName(p))
	}
	free, outermost := r.region(p)
	if free {
		return ""
	}
	for d := range above(p, outermost) {
		if text, ok := r.testimony(ctx, path.Join(d, witnessName(j.doc.ID))); ok && text[0] == witnessHead+j.path && slices.Contains(text[1:], line) {
			return ""
		}
	}
	return fmt.Sprintf("it would change %s, where nothing shows that it was written by somebody who may", vfs.DisplayName(p))
}

// isPhysical reports whether a path holds no symlink before its last part.
func (r *run) isPhysical(ctx context.Context, p string) bool {
	t, err := r.fs.Resolve(ctx, path.Dir(p), vfs.ResolveOptions{})
	if err != nil || path.Clean(p) != p {
		return false
	}
	dir, err := r.processPath(t)
	return err == nil && dir == path.Dir(p)
}

func (r *run) testimony(ctx context.Context, name string) ([]string, bool) {
	t, err := r.fs.Resolve(ctx, name, vfs.ResolveOptions{})
	if err != nil {
		return nil, false
	}
	b, err := r.fs.ReadBytes(ctx, t, maxWitness)
	return strings.Split(string(b.Data), "\n"), err == nil
}
