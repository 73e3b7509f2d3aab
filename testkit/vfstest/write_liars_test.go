package vfstest_test

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// write is the form of WriteText.
type write = func(context.Context, vfs.Target, string, vfs.Options) (vfs.WriteResult, error)

// writing makes a lie of what comes of honest writes.
func writing(change func(honest write, fs *memfs.FS) write) func(*liar, *memfs.FS) {
	return func(l *liar, fs *memfs.FS) { l.write = change(fs.WriteText, fs) }
}

// result makes a lie of the outcome of honest writes alone.
func result(change func(*vfs.WriteResult)) func(*liar, *memfs.FS) {
	return writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			res, err := honest(ctx, t, content, o)
			if err == nil {
				change(&res)
			}
			return res, err
		}
	})
}

// edit is the form of EditText.
type edit = func(context.Context, vfs.Target, vfs.Edit, vfs.Options) (vfs.WriteResult, error)

func editing(change func(honest edit, fs *memfs.FS) edit) func(*liar, *memfs.FS) {
	return func(l *liar, fs *memfs.FS) { l.edit = change(fs.EditText, fs) }
}

// whole is an edit that reads, changes and writes the file by itself.
func whole(fs *memfs.FS, apply func(before string, e vfs.Edit) (string, error)) edit {
	return func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
		b, err := fs.ReadBytes(ctx, t, 1<<30)
		if err != nil {
			return vfs.WriteResult{}, err
		}
		after, err := apply(string(b.Data), e)
		if err != nil {
			return vfs.WriteResult{}, err
		}
		return fs.WriteBytes(ctx, t, []byte(after), vfs.Attr{}, o)
	}
}

// Lies about changes.
var writeLies = []lie{
	{"missing parents are not made", "write/create", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if names, err := fs.World().Names(path.Dir(t.Path)); err != nil || names == nil {
				return vfs.WriteResult{}, errs.New(errs.NotFound, "no such directory")
			}
			return honest(ctx, t, content, o)
		}
	})},
	{"a final newline is added", "write/create", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if content != "" && !strings.HasSuffix(content, "\n") {
				content += "\n"
			}
			return honest(ctx, t, content, o)
		}
	})},
	{"every write is an update", "write/create", result(func(r *vfs.WriteResult) { r.Operation = vfs.Update })},
	{"every write is a create", "write/update", result(func(r *vfs.WriteResult) { r.Operation = vfs.Create })},
	{"the size is that of the text without its mark", "write/create", result(func(r *vfs.WriteResult) { r.Size = int64(len(r.After)) })},
	{"before is missing", "write/update", result(func(r *vfs.WriteResult) { r.Before = nil })},
	{"after shows the byte-order mark", "write/update", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			res, err := honest(ctx, t, content, o)
			res.After = content
			return res, err
		}
	})},
	{"the old line endings are kept", "write/update", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			return honest(ctx, t, strings.ReplaceAll(content, "\r\n", "\n"), o)
		}
	})},
	{"a file can have files below it", "write/below a file", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			res, err := honest(ctx, t, content, o)
			if errs.CodeOf(err) == errs.NotDirectory {
				return vfs.WriteResult{Operation: vfs.Create, Version: "v", After: content}, nil
			}
			return res, err
		}
	})},
	{"a file gives way to a directory", "write/below a file", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if parent := path.Dir(t.Path); path.Base(parent) == "f" {
				if err := fs.World().Remove(parent); err != nil {
					return vfs.WriteResult{}, err
				}
			}
			return honest(ctx, t, content, o)
		}
	})},
	{"before is given whatever the size", "write/diff basis limit", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			o.Exact = true
			return honest(ctx, t, content, o)
		}
	})},
	{"Exact is ignored", "write/diff basis limit", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			o.Exact = false
			return honest(ctx, t, content, o)
		}
	})},
	{"content comes in two halves", "write/atomic for readers", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if _, err := honest(ctx, t, content[:len(content)/2], o); err != nil {
				return vfs.WriteResult{}, err
			}
			time.Sleep(time.Millisecond)
			return honest(ctx, t, content, vfs.Options{})
		}
	})},
	{"the file is removed and made anew", "write/atomic for readers", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if err := fs.Remove(ctx, t, vfs.Options{}); err != nil && errs.CodeOf(err) != errs.NotFound {
				return vfs.WriteResult{}, err
			}
			time.Sleep(time.Millisecond)
			return honest(ctx, t, content, o)
		}
	})},
	{"a written file gets a new file's mode", "write/keeps the mode", writing(func(_ write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			return fs.WriteBytes(ctx, t, []byte(content), vfs.Attr{Mode: 0o644, SetMode: true}, o)
		}
	})},
	{"an edited file gets a new file's mode", "write/keeps the mode", editing(func(honest edit, fs *memfs.FS) edit {
		return func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
			res, err := honest(ctx, t, e, o)
			_ = fs.World().Chmod(t.Path, 0o644)
			return res, err
		}
	})},
	{"a symlink is replaced", "write/symlink stays", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if info, _ := fs.Lstat(ctx, t); info.Type == vfs.Link {
				_ = fs.World().Remove(t.Path)
				t.Key = vfs.Key(t.Path)
			}
			return honest(ctx, t, content, o)
		}
	})},
	{"a staging file stays", "write/nothing left behind", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			_ = fs.World().Put(t.Path+".tmp", []byte(content))
			return honest(ctx, t, content, o)
		}
	})},
	{"a staging file stays after a failure", "write/nothing left behind", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			res, err := honest(ctx, t, content, o)
			if err != nil {
				_ = fs.World().Put(t.Path+".tmp", []byte(content))
			}
			return res, err
		}
	})},
	{"a failed create leaves its parents", "write/nothing left behind", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			_ = fs.World().MakeDir(path.Dir(t.Path))
			return honest(ctx, t, content, o)
		}
	})},
	{"only staged writes work", "write/no permission", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if mode, err := fs.World().Mode(path.Dir(t.Path)); err == nil && mode&0o200 == 0 {
				return vfs.WriteResult{}, errs.New(errs.Permission, "permission denied")
			}
			return honest(ctx, t, content, o)
		}
	})},
	{"all changes wait for one another", "write/targets in parallel", func(l *liar, fs *memfs.FS) {
		lock := make(chan struct{}, 1)
		l.write = func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			select {
			case lock <- struct{}{}:
			case <-ctx.Done():
				return vfs.WriteResult{}, errs.New(errs.FSAborted, "aborted")
			}
			defer func() { <-lock }()
			return fs.WriteText(ctx, t, content, o)
		}
	}},

	// Lies about guards.
	{"create-if-absent replaces", "guard/create if absent", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if o.Guard.Absent() {
				o.Guard = vfs.Guard{}
			}
			return honest(ctx, t, content, o)
		}
	})},
	{"create-if-absent fails after it wrote", "guard/create if absent", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			res, err := honest(ctx, t, content, o)
			if errs.CodeOf(err) == errs.NotObserved {
				_, _ = honest(ctx, t, content, vfs.Options{})
			}
			return res, err
		}
	})},
	{"creating checks, then writes", "guard/one creator wins", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if info, _ := fs.Stat(ctx, t); o.Guard.Absent() && info.Exists() {
				return vfs.WriteResult{}, vfs.NotObserved(t)
			}
			time.Sleep(time.Millisecond)
			return honest(ctx, t, content, vfs.Options{})
		}
	})},
	{"a stale version is accepted", "guard/replace if version", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			return honest(ctx, t, content, vfs.Options{})
		}
	})},
	{"replacing a missing file creates it", "guard/replace if version", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if info, _ := fs.Stat(ctx, t); !info.Exists() {
				o.Guard = vfs.Guard{}
			}
			return honest(ctx, t, content, o)
		}
	})},
	{"a missing file is not found, rather than stale", "guard/replace if version", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			res, err := honest(ctx, t, content, o)
			if info, _ := fs.Stat(ctx, t); err != nil && !info.Exists() {
				err = errs.New(errs.NotFound, "not found")
			}
			return res, err
		}
	})},
	{"the guard is judged before the lock", "guard/judged at commit", writing(func(honest write, fs *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			if v, guarded := o.Guard.Version(); guarded {
				if info, _ := fs.Stat(ctx, t); info.Version != v {
					return vfs.WriteResult{}, vfs.Stale(t, true)
				}
				time.Sleep(100 * time.Microsecond)
			}
			return honest(ctx, t, content, vfs.Options{})
		}
	})},

	// Lies about edits.
	{"endings are normalized outside of the match", "edit/every other byte stays", editing(func(_ edit, fs *memfs.FS) edit {
		return whole(fs, func(before string, e vfs.Edit) (string, error) {
			before = strings.ReplaceAll(before, "\r\n", "\n")
			after, err := vfs.ApplyEdit(vfs.Target{}, []byte(before), e)
			return string(after), err
		})
	})},
	{"the byte-order mark is lost", "edit/every other byte stays", editing(func(_ edit, fs *memfs.FS) edit {
		return whole(fs, func(before string, e vfs.Edit) (string, error) {
			after, err := vfs.ApplyEdit(vfs.Target{}, []byte(strings.TrimPrefix(before, "\xef\xbb\xbf")), e)
			return string(after), err
		})
	})},
	{"a final newline is added by edits", "edit/every other byte stays", editing(func(_ edit, fs *memfs.FS) edit {
		return whole(fs, func(before string, e vfs.Edit) (string, error) {
			after, err := vfs.ApplyEdit(vfs.Target{}, []byte(before), e)
			return strings.TrimSuffix(string(after), "\n") + "\n", err
		})
	})},
	{"endings must match exactly", "edit/every other byte stays", editing(func(honest edit, fs *memfs.FS) edit {
		return func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
			if b, err := fs.ReadBytes(ctx, t, 1<<30); err == nil && !strings.Contains(string(b.Data), e.Old) {
				return vfs.WriteResult{}, errs.New(errs.EditNotFound, "not found")
			}
			return honest(ctx, t, e, o)
		}
	})},
	{"only the first match is replaced", "edit/every other byte stays", editing(func(honest edit, fs *memfs.FS) edit {
		return whole(fs, func(before string, e vfs.Edit) (string, error) {
			if e.All {
				return strings.Replace(before, e.Old, e.New, 1), nil
			}
			after, err := vfs.ApplyEdit(vfs.Target{}, []byte(before), e)
			return string(after), err
		})
	})},
	{"matching ignores case", "edit/not found", editing(func(honest edit, fs *memfs.FS) edit {
		return func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
			if b, err := fs.ReadBytes(ctx, t, 1<<30); err == nil && e.Old != "" {
				if at := strings.Index(strings.ToLower(string(b.Data)), strings.ToLower(e.Old)); at >= 0 {
					e.Old = string(b.Data)[at : at+len(e.Old)]
				}
			}
			return honest(ctx, t, e, o)
		}
	})},
	{"an empty needle is found", "edit/not found", editing(func(honest edit, fs *memfs.FS) edit {
		return func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
			if e.Old == "" {
				return vfs.WriteResult{Operation: vfs.Update}, nil
			}
			return honest(ctx, t, e, o)
		}
	})},
	{"the first of several matches is taken", "edit/ambiguous", editing(func(_ edit, fs *memfs.FS) edit {
		return whole(fs, func(before string, e vfs.Edit) (string, error) { return strings.Replace(before, e.Old, e.New, 1), nil })
	})},
	{"an ambiguous edit does not say where", "edit/ambiguous", editing(func(honest edit, _ *memfs.FS) edit {
		return func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
			res, err := honest(ctx, t, e, o)
			if errs.CodeOf(err) == errs.AmbiguousEdit {
				err = errs.New(errs.AmbiguousEdit, "there are 4 matches")
			}
			return res, err
		}
	})},
	{"the match is judged before the guard", "edit/guard first", editing(func(honest edit, fs *memfs.FS) edit {
		return func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
			if b, err := fs.ReadBytes(ctx, t, 1<<30); err == nil {
				if _, err := vfs.ApplyEdit(t, b.Data, e); err != nil {
					return vfs.WriteResult{}, err
				}
			}
			return honest(ctx, t, e, o)
		}
	})},
	{"a late NUL may be edited", "edit/not text", editing(func(honest edit, fs *memfs.FS) edit {
		return func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
			if text, err := fs.ReadText(ctx, t); err == nil {
				return fs.WriteText(ctx, t, strings.Replace(text.Content, e.Old, e.New, 1), o)
			}
			return honest(ctx, t, e, o)
		}
	})},
	{"edits read and write without a lock", "edit/serialised", editing(func(_ edit, fs *memfs.FS) edit {
		return whole(fs, func(before string, e vfs.Edit) (string, error) {
			after, err := vfs.ApplyEdit(vfs.Target{}, []byte(before), e)
			time.Sleep(100 * time.Microsecond)
			return string(after), err
		})
	})},

	// Lies about cancellation.
	{"cancellation is ignored", "cancel/before", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			return honest(context.WithoutCancel(ctx), t, content, o)
		}
	})},
	{"cancellation has no code", "cancel/before", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			if ctx.Err() != nil {
				return vfs.Text{}, ctx.Err()
			}
			return fs.ReadText(ctx, t)
		}
	}},
	{"what a context was cancelled with passes for the call's own failure", "cancel/before", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			if ctx.Err() != nil {
				return vfs.Text{}, errs.Wrap(errs.FSAborted, "aborted", context.Cause(ctx))
			}
			return fs.ReadText(ctx, t)
		}
	}},
	{"streams cannot be cancelled", "cancel/stream", func(l *liar, fs *memfs.FS) {
		l.stream = func(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
			return fs.StreamText(context.WithoutCancel(ctx), t)
		}
	}},
	{"a waiting change is not cancelled", "cancel/waiting", writing(func(honest write, _ *memfs.FS) write {
		return func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			return honest(context.WithoutCancel(ctx), t, content, o)
		}
	})},
}
