package change

import (
	"context"

	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/vfs"
)

// knowledge is what the policies are to be told once a change is taken back.
// The zero value is nothing.
type knowledge struct {
	r     *run
	paths []string // physical
}

// knowing finds out, before a change is taken back, what the session that made
// it knows. Another session is told nothing: it has not seen what comes back,
// and notices by the version of what it has.
func (r *run) knowing(ctx context.Context, rec Record, owner string) knowledge {
	ctx = context.WithoutCancel(ctx)
	k := knowledge{r: r}
	s := r.call.Session()
	if idOf(s) != owner {
		return k
	}
	// What was changed in place had been seen, or the policies would not have
	// let it be changed. What was moved away need not have been.
	k.paths = append(k.paths, rec.Path)
	if rec.From != "" && r.knewSource(ctx, s, rec) {
		k.paths = append(k.paths, rec.From)
	}
	return k
}

func idOf(s *session.Session) string {
	if s == nil {
		return ""
	}
	return s.ID()
}

// knewSource reports whether a session knows what was moved: at its new path,
// or by no policy that keeps observations in the log, which would have one of
// the old path.
func (r *run) knewSource(ctx context.Context, s *session.Session, rec Record) bool {
	if s == nil {
		return true
	}
	from, err := r.fs.Resolve(ctx, rec.From, vfs.ResolveOptions{})
	if err != nil {
		return false
	}
	if _, logged := s.Observation(string(from.Key)); !logged {
		return true
	}
	at, err := r.fs.Resolve(ctx, rec.Path, vfs.ResolveOptions{})
	if err != nil {
		return false
	}
	o, ok := s.Observation(string(at.Key))
	if !ok || o.State != session.ObservedPresent {
		return false
	}
	f := r.seenAgain(ctx, at)
	return f != nil && f.exists && vfs.SameVersion(r.fs, vfs.Version(o.Version), f.version)
}

// seenAgain reads what is at a target; nil is something else than a file, or
// one that cannot be read.
func (r *run) seenAgain(ctx context.Context, t vfs.Target) *file {
	info, err := r.fs.Lstat(ctx, t)
	if err != nil {
		return nil
	}
	switch info.Type {
	case vfs.Absent:
		return &file{}
	case vfs.File:
		if f, err := r.read(ctx, &place{t: t, info: info}); err == nil {
			return f
		}
	}
	return nil
}

// tell lets the policies know what is at those paths now. What one of them
// cannot take is told with the last receipt: the change is taken back anyway.
func (k knowledge) tell(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, p := range k.paths {
		t, err := k.r.fs.Resolve(ctx, p, vfs.ResolveOptions{})
		if err != nil {
			continue // nothing can be said of what cannot be named
		}
		f := k.r.seenAgain(ctx, t)
		if f == nil {
			continue
		}
		if err := k.r.tell(ctx, t, f); err != nil {
			k.r.remark(err)
		}
	}
}
