package change_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/testkit/memfs"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		helperMain()
		return
	}
	goleak.VerifyTestMain(m)
}

// world is a root with files, on one of the providers.
type world struct {
	t    testing.TB
	fs   vfs.FileSystem
	root string
}

// entryOf is how tests write a tree: a path that ends in "/" is a directory,
// content that begins with "->" is a symlink.
type tree map[string]string

// providers are those that every test of effects runs on.
var providers = map[string]func(testing.TB) (vfs.FileSystem, string){
	"memfs": func(t testing.TB) (vfs.FileSystem, string) {
		return memfs.Must(memfs.Config{}), memfs.DefaultCwd
	},
	"fslocal": func(t testing.TB) (vfs.FileSystem, string) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		fs, err := fslocal.New(fslocal.Config{Cwd: dir, RecoveryDir: filepath.Join(dir, "..", "recovery")})
		if err != nil {
			t.Fatal(err)
		}
		return fs, filepath.ToSlash(dir)
	},
}

func newWorld(t testing.TB, provider string, files tree) *world {
	t.Helper()
	fs, root := providers[provider](t)
	w := &world{t: t, fs: fs, root: root}
	w.put(files)
	return w
}

func (w *world) target(path string) vfs.Target {
	w.t.Helper()
	t, err := w.fs.Resolve(context.Background(), path, vfs.ResolveOptions{Cwd: w.root})
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func (w *world) put(files tree) {
	w.t.Helper()
	ctx := context.Background()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		content := files[path]
		var err error
		switch link, isLink := strings.CutPrefix(content, "->"); {
		case strings.HasSuffix(path, "/"):
			err = vfs.MakeDir(ctx, w.fs, w.target(strings.TrimSuffix(path, "/")), vfs.Options{})
		case isLink:
			if err = vfs.MakeDir(ctx, w.fs, w.target(pathpkg.Dir(path)), vfs.Options{}); err == nil {
				err = vfs.Symlink(ctx, w.fs, link, w.target(path), vfs.Options{})
			}
		default:
			_, err = vfs.WriteBytes(ctx, w.fs, w.target(path), []byte(content), vfs.Attr{}, vfs.Options{})
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// state reads the whole tree: type, mode and content by path. Backup folders
// are counted apart.
func (w *world) state() (files tree, backups int) {
	w.t.Helper()
	ctx := context.Background()
	files = tree{}
	err := vfs.WalkDir(ctx, w.fs, w.target("."), func(path string, e vfs.Entry, err error) error {
		if err != nil {
			return err
		}
		if strings.Contains("/"+path+"/", "/"+backup.Folder+"/") {
			backups++
			return nil
		}
		t := w.target(w.root + "/" + path)
		info, err := w.fs.Lstat(ctx, t)
		if err != nil {
			return err
		}
		switch info.Type {
		case vfs.Directory:
			files[path+"/"] = fmt.Sprintf("%o", info.Mode)
		case vfs.Link:
			link, err := vfs.Readlink(ctx, w.fs, t)
			if err != nil {
				return err
			}
			files[path] = "->" + link
		default:
			b, err := w.fs.ReadBytes(ctx, t, 1<<30)
			if err != nil {
				return err
			}
			files[path] = fmt.Sprintf("%o %s", info.Mode, b.Data)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files, backups
}

func (w *world) get(path string) string {
	w.t.Helper()
	b, err := w.fs.ReadBytes(context.Background(), w.target(path), 1<<30)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b.Data)
}

func (w *world) engine(cfg Config) *Engine {
	cfg.SandboxRoot = w.root
	return New(cfg, new(event.Bus), nil, nil)
}

// do runs an operation whose arguments are JSON.
func (w *world) do(op, args string) Outcome {
	w.t.Helper()
	return w.engine(Config{}).Do(context.Background(), w.fs, nil, op, decoded(w.t, op, args))
}

// must is do for an operation that has to succeed.
func (w *world) must(op, args string) Outcome {
	w.t.Helper()
	o := w.do(op, args)
	if o.Fault != nil {
		w.t.Fatalf("%s %s: %s: %v", op, args, o.Fault.Kind, o.Fault)
	}
	return o
}

func decoded(t testing.TB, op, args string) any {
	t.Helper()
	in := NewArgs(op)
	if err := json.Unmarshal([]byte(args), in); err != nil {
		t.Fatal(err)
	}
	return in
}

// batch runs a batch through an engine; every operation must be a changing
// one.
func batch(ctx context.Context, t testing.TB, e *Engine, fs vfs.FileSystem, call *tool.Call, args string) Outcome {
	t.Helper()
	var a BatchArgs
	if err := json.Unmarshal([]byte(args), &a); err != nil {
		t.Fatal(err)
	}
	return e.Batch(ctx, fs, call, &a, runStep)
}

// inSession is a call of a session with an open turn.
func inSession(t testing.TB, cwd string) (*tool.Call, *session.Session) {
	t.Helper()
	s, err := session.NewMemory(session.Header{Cwd: cwd}, session.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &tool.Call{ID: "c1", Name: "file_ops_hub", Agent: &tool.Agent{Session: s}}, s
}

// faulty fails one of a provider's calls: the one numbered at, from 1.
type faulty struct {
	vfs.FileSystem
	at    int
	after bool   // the call takes effect before it fails
	more  int    // so many calls after it fail, too
	stop  func() // ends the caller's context instead of failing
	die   func() // ends the process instead of failing
	hook  func(verb string)

	calls int
	hit   string
}

var errInjected = &errs.Error{Code: errs.IO, Message: "injected failure"}

// through runs one call of the provider.
func through[T any](f *faulty, verb string, fn func() (T, error)) (T, error) {
	f.calls++
	if f.hook != nil {
		f.hook(verb)
	}
	var zero T
	if f.at > 0 && f.calls > f.at && f.calls <= f.at+f.more {
		return zero, errInjected
	}
	if f.calls != f.at {
		return fn()
	}
	f.hit = verb
	if f.stop != nil {
		f.stop()
		return fn()
	}
	if f.die != nil && !f.after {
		f.die()
	}
	if f.after {
		v, err := fn()
		if f.die != nil {
			f.die()
		}
		if err == nil {
			if c, ok := any(v).(interface{ Close() error }); ok {
				c.Close()
			}
		}
	}
	return zero, errInjected
}

func does(f *faulty, verb string, fn func() error) error {
	_, err := through(f, verb, func() (struct{}, error) { return struct{}{}, fn() })
	return err
}

func (f *faulty) Resolve(ctx context.Context, path string, o vfs.ResolveOptions) (vfs.Target, error) {
	return through(f, "resolve", func() (vfs.Target, error) { return f.FileSystem.Resolve(ctx, path, o) })
}

func (f *faulty) Stat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	return through(f, "stat", func() (vfs.Info, error) { return f.FileSystem.Stat(ctx, t) })
}

func (f *faulty) Lstat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	return through(f, "lstat", func() (vfs.Info, error) { return f.FileSystem.Lstat(ctx, t) })
}

func (f *faulty) ReadBytes(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
	return through(f, "readbytes", func() (vfs.Bytes, error) { return f.FileSystem.ReadBytes(ctx, t, limit) })
}

func (f *faulty) List(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
	return through(f, "list", func() ([]vfs.Entry, error) { return f.FileSystem.List(ctx, t) })
}

func (f *faulty) ReadDir(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
	return through(f, "readdir", func() ([]vfs.Entry, error) { return vfs.ReadDir(ctx, f.FileSystem, t) })
}

func (f *faulty) WalkDir(ctx context.Context, t vfs.Target, fn vfs.WalkFunc) error {
	return does(f, "walkdir", func() error { return vfs.WalkDir(ctx, f.FileSystem, t, fn) })
}

func (f *faulty) Open(ctx context.Context, t vfs.Target) (vfs.Reader, error) {
	return through(f, "open", func() (vfs.Reader, error) { return vfs.Open(ctx, f.FileSystem, t) })
}

func (f *faulty) Readlink(ctx context.Context, t vfs.Target) (string, error) {
	return through(f, "readlink", func() (string, error) { return vfs.Readlink(ctx, f.FileSystem, t) })
}

func (f *faulty) WriteText(ctx context.Context, t vfs.Target, s string, o vfs.Options) (vfs.WriteResult, error) {
	return through(f, "writetext", func() (vfs.WriteResult, error) { return f.FileSystem.WriteText(ctx, t, s, o) })
}

func (f *faulty) WriteBytes(ctx context.Context, t vfs.Target, b []byte, a vfs.Attr, o vfs.Options) (vfs.WriteResult, error) {
	return through(f, "writebytes", func() (vfs.WriteResult, error) { return vfs.WriteBytes(ctx, f.FileSystem, t, b, a, o) })
}

func (f *faulty) Copy(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) (int64, error) {
	return through(f, "copy", func() (int64, error) { return vfs.Copy(ctx, f.FileSystem, from, to, replace, o) })
}

func (f *faulty) Rename(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) error {
	return does(f, "rename", func() error { return vfs.Rename(ctx, f.FileSystem, from, to, replace, o) })
}

func (f *faulty) Remove(ctx context.Context, t vfs.Target, o vfs.Options) error {
	return does(f, "remove", func() error { return vfs.Remove(ctx, f.FileSystem, t, o) })
}

func (f *faulty) RemoveDir(ctx context.Context, t vfs.Target, o vfs.Options) error {
	return does(f, "removedir", func() error { return vfs.RemoveDir(ctx, f.FileSystem, t, o) })
}

func (f *faulty) MakeDir(ctx context.Context, t vfs.Target, o vfs.Options) error {
	return does(f, "makedir", func() error { return vfs.MakeDir(ctx, f.FileSystem, t, o) })
}

func (f *faulty) SetDirAttr(ctx context.Context, t vfs.Target, a vfs.Attr, o vfs.Options) error {
	return does(f, "setdirattr", func() error { return vfs.SetDirAttr(ctx, f.FileSystem, t, a, o) })
}

func (f *faulty) Symlink(ctx context.Context, link string, t vfs.Target, o vfs.Options) error {
	return does(f, "symlink", func() error { return vfs.Symlink(ctx, f.FileSystem, link, t, o) })
}

func (f *faulty) SameVersion(a, b vfs.Version) bool { return vfs.SameVersion(f.FileSystem, a, b) }

// devices is a provider on which one directory is a device of its own.
type devices struct {
	*faulty
	other string
}

func (d devices) Rename(ctx context.Context, from, to vfs.Target, replace bool, o vfs.Options) error {
	on := func(t vfs.Target) bool { return strings.Contains(t.Path, "/"+d.other+"/") }
	if on(from) != on(to) {
		return does(d.faulty, "rename", func() error {
			return &errs.Error{Code: errs.IO, Message: "another device", Err: vfs.ErrCrossDevice}
		})
	}
	return d.faulty.Rename(ctx, from, to, replace, o)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
