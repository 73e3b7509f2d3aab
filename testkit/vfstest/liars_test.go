package vfstest_test

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit/memfs"
	"github.com/bridle-go/bridle/testkit/vfstest"
)

// liar is the in-memory provider with some methods replaced. A method that is
// nil is the honest one.
type liar struct {
	*memfs.FS
	resolve  func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error)
	process  func(t vfs.Target) (string, error)
	contains func(dir, t vfs.Target) (bool, error)
	fileURL  func(t vfs.Target) (string, error)
	stat     func(ctx context.Context, t vfs.Target) (vfs.Info, error)
	lstat    func(ctx context.Context, t vfs.Target) (vfs.Info, error)
	text     func(ctx context.Context, t vfs.Target) (vfs.Text, error)
	stream   func(ctx context.Context, t vfs.Target) (vfs.TextStream, error)
	bytes    func(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error)
	list     func(ctx context.Context, t vfs.Target) ([]vfs.Entry, error)
	write    func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error)
	edit     func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error)

	remove    func(ctx context.Context, t vfs.Target, o vfs.Options) error
	removeDir func(ctx context.Context, t vfs.Target, o vfs.Options) error
	makeDir   func(ctx context.Context, t vfs.Target, o vfs.Options) error
	rename    func(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) error
	copy      func(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) (int64, error)
	symlink   func(ctx context.Context, content string, t vfs.Target, o vfs.Options) error
	raw       func(ctx context.Context, t vfs.Target, data []byte, a vfs.Attr, o vfs.Options) (vfs.WriteResult, error)
	open      func(ctx context.Context, t vfs.Target) (vfs.Reader, error)
	walk      func(ctx context.Context, t vfs.Target, fn vfs.WalkFunc) error
	dirAttr   func(ctx context.Context, t vfs.Target, a vfs.Attr, o vfs.Options) error
	same      func(want, got vfs.Version) bool
}

// or returns the lie, or the honest method where there is none.
func or[F any](lie, honest F, lies bool) F {
	if lies {
		return lie
	}
	return honest
}

func (l *liar) Resolve(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
	return or(l.resolve, l.FS.Resolve, l.resolve != nil)(ctx, p, o)
}
func (l *liar) ProcessPath(t vfs.Target) (string, error) {
	return or(l.process, l.FS.ProcessPath, l.process != nil)(t)
}
func (l *liar) Contains(dir, t vfs.Target) (bool, error) {
	return or(l.contains, l.FS.Contains, l.contains != nil)(dir, t)
}
func (l *liar) FileURL(t vfs.Target) (string, error) {
	return or(l.fileURL, l.FS.FileURL, l.fileURL != nil)(t)
}
func (l *liar) Stat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	return or(l.stat, l.FS.Stat, l.stat != nil)(ctx, t)
}
func (l *liar) Lstat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	return or(l.lstat, l.FS.Lstat, l.lstat != nil)(ctx, t)
}
func (l *liar) ReadText(ctx context.Context, t vfs.Target) (vfs.Text, error) {
	return or(l.text, l.FS.ReadText, l.text != nil)(ctx, t)
}
func (l *liar) StreamText(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
	return or(l.stream, l.FS.StreamText, l.stream != nil)(ctx, t)
}
func (l *liar) ReadBytes(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
	return or(l.bytes, l.FS.ReadBytes, l.bytes != nil)(ctx, t, limit)
}
func (l *liar) List(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
	return or(l.list, l.FS.List, l.list != nil)(ctx, t)
}
func (l *liar) WriteText(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
	return or(l.write, l.FS.WriteText, l.write != nil)(ctx, t, content, o)
}
func (l *liar) EditText(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
	return or(l.edit, l.FS.EditText, l.edit != nil)(ctx, t, e, o)
}
func (l *liar) SetDirAttr(ctx context.Context, t vfs.Target, a vfs.Attr, o vfs.Options) error {
	return or(l.dirAttr, l.FS.SetDirAttr, l.dirAttr != nil)(ctx, t, a, o)
}
func (l *liar) SameVersion(want, got vfs.Version) bool {
	return l.same != nil && l.same(want, got)
}
func (l *liar) Remove(ctx context.Context, t vfs.Target, o vfs.Options) error {
	return or(l.remove, l.FS.Remove, l.remove != nil)(ctx, t, o)
}
func (l *liar) RemoveDir(ctx context.Context, t vfs.Target, o vfs.Options) error {
	return or(l.removeDir, l.FS.RemoveDir, l.removeDir != nil)(ctx, t, o)
}
func (l *liar) MakeDir(ctx context.Context, t vfs.Target, o vfs.Options) error {
	return or(l.makeDir, l.FS.MakeDir, l.makeDir != nil)(ctx, t, o)
}
func (l *liar) Rename(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) error {
	return or(l.rename, l.FS.Rename, l.rename != nil)(ctx, from, to, replace, o)
}
func (l *liar) Copy(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) (int64, error) {
	return or(l.copy, l.FS.Copy, l.copy != nil)(ctx, from, to, replace, o)
}
func (l *liar) Symlink(ctx context.Context, content string, t vfs.Target, o vfs.Options) error {
	return or(l.symlink, l.FS.Symlink, l.symlink != nil)(ctx, content, t, o)
}
func (l *liar) WriteBytes(ctx context.Context, t vfs.Target, data []byte, a vfs.Attr, o vfs.Options) (vfs.WriteResult, error) {
	return or(l.raw, l.FS.WriteBytes, l.raw != nil)(ctx, t, data, a, o)
}
func (l *liar) Open(ctx context.Context, t vfs.Target) (vfs.Reader, error) {
	return or(l.open, l.FS.Open, l.open != nil)(ctx, t)
}
func (l *liar) WalkDir(ctx context.Context, t vfs.Target, fn vfs.WalkFunc) error {
	return or(l.walk, l.FS.WalkDir, l.walk != nil)(ctx, t, fn)
}

// lie breaks one promise.
type lie struct {
	name   string
	clause string // that must catch it
	tell   func(l *liar, honest *memfs.FS)
}

// Lies about names and places.
var lies = []lie{
	{"the key is the path as spelled", "resolve/one key by any route", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			t, err := fs.Resolve(ctx, p, o)
			t.Key = vfs.Key(t.Path)
			return t, err
		}
	}},
	{"files of one directory share a key", "resolve/one key by any route", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			t, err := fs.Resolve(ctx, p, o)
			t.Key = vfs.Key(path.Dir(string(t.Key)))
			return t, err
		}
	}},
	{"symlinks count only for what exists", "resolve/key before it exists", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			t, err := fs.Resolve(ctx, p, o)
			if info, _ := fs.Stat(ctx, t); err == nil && !info.Exists() {
				t.Key = vfs.Key(t.Path)
			}
			return t, err
		}
	}},
	{"dot-dot is taken off the text", "resolve/dot-dot after a symlink", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			if path.IsAbs(p) {
				p = path.Clean(p)
			}
			return fs.Resolve(ctx, p, o)
		}
	}},
	{"the caller's directory is ignored", "resolve/relative to the caller", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, _ vfs.ResolveOptions) (vfs.Target, error) {
			return fs.Resolve(ctx, p, vfs.ResolveOptions{Cwd: dir + "/one"})
		}
	}},
	{"symlinks are resolved in the display path", "resolve/display path", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			t, err := fs.Resolve(ctx, p, o)
			t.Path = string(t.Key)
			return t, err
		}
	}},
	{"a tilde is a name", "resolve/refused paths", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			if strings.HasPrefix(p, "~") {
				p = "./" + p
			}
			return fs.Resolve(ctx, p, o)
		}
	}},
	{"a path ends at its NUL", "resolve/refused paths", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			p, _, _ = strings.Cut(p, "\x00")
			return fs.Resolve(ctx, p, o)
		}
	}},
	{"blanks around a name are dropped", "resolve/odd names", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			return fs.Resolve(ctx, path.Dir(p)+"/"+strings.TrimSpace(path.Base(p)), o)
		}
	}},
	{"a symlink loop goes on for ever", "resolve/symlink loop", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			t, err := fs.Resolve(ctx, p, o)
			if err != nil {
				<-ctx.Done()
			}
			return t, err
		}
	}},
	{"a symlink loop is an empty file", "resolve/symlink loop", func(l *liar, fs *memfs.FS) {
		l.resolve = func(ctx context.Context, p string, o vfs.ResolveOptions) (vfs.Target, error) {
			t, err := fs.Resolve(ctx, p, o)
			if err != nil {
				return vfs.Target{Key: "/loop", Path: p}, nil
			}
			return t, err
		}
		l.text = func(context.Context, vfs.Target) (vfs.Text, error) { return vfs.Text{}, nil }
	}},
	{"containing goes by prefix", "contains/by components", func(l *liar, _ *memfs.FS) {
		l.contains = func(dir, t vfs.Target) (bool, error) { return strings.HasPrefix(string(t.Key), string(dir.Key)), nil }
	}},
	{"containing goes by display path", "contains/by components", func(l *liar, _ *memfs.FS) {
		l.contains = func(dir, t vfs.Target) (bool, error) {
			return t.Path == dir.Path || strings.HasPrefix(t.Path, strings.TrimSuffix(dir.Path, "/")+"/"), nil
		}
	}},
	{"a directory does not contain itself", "contains/by components", func(l *liar, fs *memfs.FS) {
		l.contains = func(dir, t vfs.Target) (bool, error) {
			in, err := fs.Contains(dir, t)
			return in && dir.Key != t.Key, err
		}
	}},
	{"the file URL is not escaped", "paths/process path and file URL", func(l *liar, _ *memfs.FS) {
		l.fileURL = func(t vfs.Target) (string, error) { return "file://" + string(t.Key), nil }
	}},
	{"the process path is that of another file", "paths/process path and file URL", func(l *liar, _ *memfs.FS) {
		l.process = func(t vfs.Target) (string, error) { return string(t.Key) + "~", nil }
	}},

	// Lies about what is there.
	{"absent is an error", "stat/absent is no error", func(l *liar, fs *memfs.FS) {
		l.stat = func(ctx context.Context, t vfs.Target) (vfs.Info, error) {
			info, err := fs.Stat(ctx, t)
			if err == nil && !info.Exists() {
				err = errs.New(errs.NotFound, "not found")
			}
			return info, err
		}
	}},
	{"stat counts characters", "stat/type, size and version", func(l *liar, fs *memfs.FS) {
		l.stat = func(ctx context.Context, t vfs.Target) (vfs.Info, error) {
			info, err := fs.Stat(ctx, t)
			if text, textErr := fs.ReadText(ctx, t); textErr == nil {
				info.Size = int64(len([]rune(text.Content)))
			}
			return info, err
		}
	}},
	{"stat does not follow symlinks", "stat/type, size and version", func(l *liar, fs *memfs.FS) { l.stat = fs.Lstat }},
	{"stat gives no version", "stat/type, size and version", func(l *liar, fs *memfs.FS) {
		l.stat = func(ctx context.Context, t vfs.Target) (vfs.Info, error) {
			info, err := fs.Stat(ctx, t)
			info.Version = ""
			return info, err
		}
	}},
	{"a FIFO is a file", "stat/type, size and version", func(l *liar, fs *memfs.FS) {
		l.stat = func(ctx context.Context, t vfs.Target) (vfs.Info, error) {
			info, err := fs.Stat(ctx, t)
			if info.Type == vfs.Other {
				info.Type, info.Version = vfs.File, "v"
			}
			return info, err
		}
	}},
	{"lstat follows symlinks", "lstat/does not follow", func(l *liar, fs *memfs.FS) { l.lstat = fs.Stat }},
	{"versions go by time", "version/equal content stays fresh", func(l *liar, fs *memfs.FS) { byMetadata(l, fs, true) }},
	{"versions go by size and time", "version/changed content is stale", func(l *liar, fs *memfs.FS) { byMetadata(l, fs, true) }},
	{"versions go by size", "version/changed content is stale", func(l *liar, fs *memfs.FS) { byMetadata(l, fs, false) }},
	{"edits return no version", "version/of every operation", func(l *liar, fs *memfs.FS) {
		l.edit = func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) (vfs.WriteResult, error) {
			res, err := fs.EditText(ctx, t, e, o)
			res.Version = ""
			return res, err
		}
	}},
	{"writes return the version of before", "version/of every operation", func(l *liar, fs *memfs.FS) {
		l.write = func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
			info, _ := fs.Stat(ctx, t)
			res, err := fs.WriteText(ctx, t, content, o)
			res.Version = info.Version
			return res, err
		}
	}},

	// Lies about content.
	{"a read is cut short", "read text/as it is", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			text, err := fs.ReadText(ctx, t)
			text.Content = text.Content[:min(len(text.Content), 64<<10)]
			return text, err
		}
	}},
	{"the byte-order mark is shown", "read text/as it is", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			text, err := fs.ReadText(ctx, t)
			if data, readErr := fs.ReadBytes(ctx, t, 1<<30); err == nil && readErr == nil {
				text.Content = string(data.Data)
			}
			return text, err
		}
	}},
	{"line endings are normalized", "read text/as it is", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			text, err := fs.ReadText(ctx, t)
			text.Content = strings.ReplaceAll(text.Content, "\r\n", "\n")
			return text, err
		}
	}},
	{"invalid bytes are replaced", "read text/not text", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			text, err := fs.ReadText(ctx, t)
			if errs.CodeOf(err) == errs.NotText {
				data, err := fs.ReadBytes(ctx, t, 1<<30)
				return vfs.Text{Content: strings.ToValidUTF8(string(data.Data), "\ufffd"), Version: data.Version}, err
			}
			return text, err
		}
	}},
	{"only the beginning is checked", "read text/not text", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			text, err := fs.ReadText(ctx, t)
			if data, readErr := fs.ReadBytes(ctx, t, 1<<30); err != nil && readErr == nil && len(data.Data) > 8192 {
				if _, headErr := vfs.DecodeText(t, data.Data[:8190]); headErr == nil {
					return vfs.Text{Content: string(data.Data), Version: data.Version}, nil
				}
			}
			return text, err
		}
	}},
	{"streams lose the last piece", "stream text/same as read", func(l *liar, fs *memfs.FS) {
		l.stream = func(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
			s, err := fs.StreamText(ctx, t)
			return &changed{TextStream: s, cut: true}, err
		}
	}},
	{"streams know their version too early", "stream text/same as read", func(l *liar, fs *memfs.FS) {
		l.stream = func(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
			s, err := fs.StreamText(ctx, t)
			return &changed{TextStream: s, version: "v"}, err
		}
	}},
	{"streams end quietly at what is no text", "stream text/not text", func(l *liar, fs *memfs.FS) {
		l.stream = func(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
			s, err := fs.StreamText(ctx, t)
			return &changed{TextStream: s, quiet: true}, err
		}
	}},
	{"a stream is read whole first", "stream text/constant memory", func(l *liar, fs *memfs.FS) {
		l.stream = func(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
			data, err := fs.ReadBytes(ctx, t, 1<<30)
			if err != nil || len(data.Data) == 0 {
				return nil, err
			}
			return fs.StreamText(ctx, t)
		}
	}},
	{"the bytes of a cache are given out", "read bytes/the caller's own", func(l *liar, fs *memfs.FS) {
		cache := map[vfs.Key]vfs.Bytes{}
		l.bytes = func(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
			if b, ok := cache[t.Key]; ok {
				return b, nil
			}
			b, err := fs.ReadBytes(ctx, t, limit)
			cache[t.Key] = b
			return b, err
		}
	}},
	{"the bytes written are kept as they are", "read bytes/the caller's own", func(l *liar, fs *memfs.FS) {
		kept := map[vfs.Key][]byte{}
		l.raw = func(ctx context.Context, t vfs.Target, data []byte, a vfs.Attr, o vfs.Options) (vfs.WriteResult, error) {
			kept[t.Key] = data
			return fs.WriteBytes(ctx, t, data, a, o)
		}
		l.bytes = func(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
			b, err := fs.ReadBytes(ctx, t, limit)
			if data, ok := kept[t.Key]; ok {
				b.Data = data
			}
			return b, err
		}
	}},
	{"the limit is applied afterwards", "read bytes/bounded memory", func(l *liar, fs *memfs.FS) {
		l.bytes = func(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
			if data, err := fs.ReadBytes(ctx, t, 1<<30); err != nil || int64(len(data.Data)) <= limit {
				return data, err
			}
			return fs.ReadBytes(ctx, t, limit)
		}
	}},
	{"bytes beyond the limit are dropped", "read bytes/limit", func(l *liar, fs *memfs.FS) {
		l.bytes = func(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
			b, err := fs.ReadBytes(ctx, t, 1<<30)
			if limit >= 0 && int64(len(b.Data)) > limit {
				b.Data = b.Data[:limit]
			}
			return b, err
		}
	}},
	{"the limit is exclusive", "read bytes/limit", func(l *liar, fs *memfs.FS) {
		l.bytes = func(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
			return fs.ReadBytes(ctx, t, limit-1)
		}
	}},
	{"a missing file is an I/O error", "read/missing", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			text, err := fs.ReadText(ctx, t)
			if errs.CodeOf(err) == errs.NotFound {
				err = errs.Wrap(errs.IO, "no such file", err)
			}
			return text, err
		}
	}},
	{"errors show names raw", "read/missing", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			text, err := fs.ReadText(ctx, t)
			if err != nil {
				err = errs.New(errs.CodeOf(err), t.Path+" not found")
			}
			return text, err
		}
	}},
	{"a FIFO is waited for", "read/regular files only", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			if info, _ := fs.Stat(ctx, t); info.Type == vfs.Other {
				<-ctx.Done()
			}
			return fs.ReadText(ctx, t)
		}
	}},
	{"a directory reads as its listing", "read/regular files only", func(l *liar, fs *memfs.FS) {
		l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
			if entries, err := fs.List(ctx, t); err == nil {
				return vfs.Text{Content: fmt.Sprint(entries), Version: "v"}, nil
			}
			return fs.ReadText(ctx, t)
		}
	}},
	{"no permission is missing", "read/no permission", func(l *liar, fs *memfs.FS) {
		l.list = func(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
			entries, err := fs.List(ctx, t)
			if errs.CodeOf(err) == errs.Permission {
				err = errs.New(errs.NotFound, "not found")
			}
			return entries, err
		}
	}},
	{"listings are not sorted", "list/sorted, typed, one level", func(l *liar, fs *memfs.FS) {
		l.list = func(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
			entries, err := fs.List(ctx, t)
			slices.SortFunc(entries, func(a, b vfs.Entry) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
			return entries, err
		}
	}},
	{"broken symlinks are left out", "list/sorted, typed, one level", func(l *liar, fs *memfs.FS) {
		l.list = func(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
			entries, err := fs.List(ctx, t)
			return slices.DeleteFunc(entries, func(e vfs.Entry) bool { return e.Name == "broken" }), err
		}
	}},
	{"listed targets are not resolved", "list/sorted, typed, one level", func(l *liar, fs *memfs.FS) {
		l.list = func(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
			entries, err := fs.List(ctx, t)
			for i := range entries {
				entries[i].Target.Key = vfs.Key(entries[i].Target.Path)
			}
			return entries, err
		}
	}},
	{"a file lists as empty", "list/not a directory", func(l *liar, fs *memfs.FS) {
		l.list = func(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
			entries, err := fs.List(ctx, t)
			if errs.CodeOf(err) == errs.NotDirectory {
				err = nil
			}
			return entries, err
		}
	}},
}

// byMetadata makes versions of size and, with times, modification time.
func byMetadata(l *liar, fs *memfs.FS, times bool) {
	of := func(ctx context.Context, t vfs.Target) vfs.Version {
		info, _ := fs.Stat(ctx, t)
		v := fmt.Sprint(info.Size)
		if times {
			v += info.Modified.String()
		}
		return vfs.Version(v)
	}
	l.text = func(ctx context.Context, t vfs.Target) (vfs.Text, error) {
		text, err := fs.ReadText(ctx, t)
		text.Version = of(ctx, t)
		return text, err
	}
	l.bytes = func(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
		b, err := fs.ReadBytes(ctx, t, limit)
		b.Version = of(ctx, t)
		return b, err
	}
	l.stat = func(ctx context.Context, t vfs.Target) (vfs.Info, error) {
		info, err := fs.Stat(ctx, t)
		info.Version = of(ctx, t)
		return info, err
	}
	l.write = func(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
		if v, guarded := o.Guard.Version(); guarded {
			if v != of(ctx, t) {
				return vfs.WriteResult{}, vfs.Stale(t, true)
			}
			o.Guard = vfs.Guard{}
		}
		res, err := fs.WriteText(ctx, t, content, o)
		res.Version = of(ctx, t)
		return res, err
	}
}

// changed is a stream that does not tell the truth.
type changed struct {
	vfs.TextStream
	cut, quiet bool
	version    vfs.Version
}

func (c *changed) Read(p []byte) (int, error) {
	n, err := c.TextStream.Read(p)
	switch {
	case c.cut && n > 1:
		return n - 1, err
	case c.quiet && err != nil:
		return n, io.EOF
	}
	return n, err
}

func (c *changed) Version() vfs.Version {
	if c.version != "" {
		return c.version
	}
	return c.TextStream.Version()
}

// TestLiars shows that each clause catches the providers that break its
// promise.
func TestLiars(t *testing.T) {
	clauses := map[string]vfstest.Clause{}
	caught := map[string]int{}
	for _, c := range vfstest.Clauses() {
		clauses[c.Name] = c
		caught[c.Name] = 0
	}
	for _, lie := range slices.Concat(lies, writeLies, abilityLies, confineLies) {
		t.Run(lie.name, func(t *testing.T) {
			c, ok := clauses[lie.clause]
			if !ok {
				t.Fatalf("there is no clause %q", lie.clause)
			}
			w := memWorld(func(fs *memfs.FS) vfs.FileSystem {
				l := &liar{FS: fs}
				lie.tell(l, fs)
				return l
			})
			w.Patience = 100 * time.Millisecond
			v := c.Check(t.Context(), w)
			if len(v.Failures) == 0 {
				t.Errorf("the clause %q does not notice that %s (skipped: %q)", c.Name, lie.name, v.Skipped)
			}
			for _, f := range v.Failures {
				if strings.HasPrefix(f, "the world could not be prepared") || strings.HasPrefix(f, "the provider panicked") {
					t.Errorf("the clause %q fails for another reason: %s", c.Name, f)
				}
			}
			caught[c.Name]++
		})
	}
	for name, n := range caught {
		if n == 0 {
			t.Errorf("no liar tries the clause %q", name)
		}
	}
}
