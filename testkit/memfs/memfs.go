// Package memfs is a filesystem provider that lives in memory, for tests.
//
// It keeps every promise of [vfs.FileSystem], as the conformance suite in
// package vfstest shows, and has every optional ability but watching and
// confining. Paths are those of Unix, on every platform. Versions are digests
// of content and nothing else. The permission bits of the owner are enforced,
// so that a test can take a permission away without being another user.
//
// A test can change the files behind the provider's back with the methods of
// [FS.World], and make operations fail or wait with [Config.Fault].
package memfs

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/vfs"
)

// DefaultCwd is the default of [Config.Cwd].
const DefaultCwd = "/project"

// Config configures a provider. Its zero value works.
type Config struct {
	// Cwd is what relative paths are relative to where the caller has no
	// working directory. It is made. Default: [DefaultCwd].
	Cwd string
	// Files are there from the beginning: content by path, with missing
	// directories. A path that ends in "/" is an empty directory. Relative ones
	// are below Cwd.
	Files map[string]string
	// DiffBasisMaxBytes is the diff basis limit. Default: 10 MiB.
	DiffBasisMaxBytes int64
	// Now gives the times of changes. Default: time.Now.
	Now func() time.Time
	// Fault is called before each operation on a target takes effect, with the
	// verb of the method in lower case, as in "writetext". A change waits for
	// it with its target locked. An error makes the operation fail with it:
	// FS_IO_ERROR, unless it has a code.
	Fault func(verb string, t vfs.Target) error
}

// Txtar returns the files of a txtar archive, for [Config.Files].
func Txtar(archive string) map[string]string {
	files := map[string]string{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

// Name is the name of the plugin.
const Name = "memfs"

// Plugin returns the provider as a plugin.
func Plugin(cfg Config) plug.Plugin {
	return plug.Plugin{
		Name:     Name,
		Services: []plug.Declaration{plug.Provides[vfs.FileSystem]()},
		Options:  fx.Provide(func() (vfs.FileSystem, error) { return New(cfg) }),
	}
}

// Provide is [Plugin] for a provider that the test has made itself.
func Provide(fs vfs.FileSystem) plug.Plugin {
	return plug.Plugin{
		Name:     Name,
		Services: []plug.Declaration{plug.Provides[vfs.FileSystem]()},
		Options:  fx.Provide(func() vfs.FileSystem { return fs }),
	}
}

// FS is the provider. Make one with [New].
type FS struct {
	cwd       string
	diffBasis int64
	now       func() time.Time
	fault     func(string, vfs.Target) error

	targets locks

	mu   sync.RWMutex // guards the tree
	root *node
}

var (
	_ vfs.FileSystem = (*FS)(nil)
	_ vfs.Remover    = (*FS)(nil)
	_ vfs.DirRemover = (*FS)(nil)
	_ vfs.DirMaker   = (*FS)(nil)
	_ vfs.Renamer    = (*FS)(nil)
	_ vfs.Copier     = (*FS)(nil)
	_ vfs.Linker     = (*FS)(nil)
	_ vfs.ByteWriter = (*FS)(nil)
	_ vfs.Opener     = (*FS)(nil)
	_ vfs.Walker     = (*FS)(nil)
	_ vfs.Accesser   = (*FS)(nil)

	_ vfs.DirAttrSetter = (*FS)(nil)
)

// New returns a provider. It fails with INVALID_ARGS when the configuration
// cannot work.
func New(cfg Config) (*FS, error) {
	f := &FS{cwd: cfg.Cwd, diffBasis: cfg.DiffBasisMaxBytes, now: cfg.Now, fault: cfg.Fault}
	if f.cwd == "" {
		f.cwd = DefaultCwd
	}
	if f.diffBasis == 0 {
		f.diffBasis = vfs.DefaultDiffBasisMaxBytes
	}
	if f.now == nil {
		f.now = time.Now
	}
	if !path.IsAbs(f.cwd) || f.diffBasis < 0 {
		return nil, errs.New(errs.InvalidArgs, fmt.Sprintf("memfs: cwd %q must be absolute and limits not negative", f.cwd))
	}
	f.root = &node{typ: vfs.Directory, mode: 0o755, modified: f.now(), children: map[string]*node{}}
	w := f.World()
	if err := w.MakeDir(f.cwd); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Files)) {
		err := error(nil)
		if dir, isDir := strings.CutSuffix(name, "/"); isDir {
			err = w.MakeDir(dir)
		} else {
			err = w.Put(name, []byte(cfg.Files[name]))
		}
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Must is [New] for a configuration that is known to work; it panics where it
// does not.
func Must(cfg Config) *FS {
	f, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return f
}

// hit gives Config.Fault its say.
func (f *FS) hit(verb string, t vfs.Target) error {
	if f.fault == nil {
		return nil
	}
	return fail(verb, t.Path, f.fault(verb, t))
}

// locks serialises the changes of each target.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	mu      sync.Mutex
	waiting int // holders and waiters
}

// hold locks the keys, in one order for all callers.
func (l *locks) hold(keys ...string) (release func()) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	for _, key := range keys {
		l.mu.Lock()
		if l.held == nil {
			l.held = map[string]*lock{}
		}
		one := l.held[key]
		if one == nil {
			one = new(lock)
			l.held[key] = one
		}
		one.waiting++
		l.mu.Unlock()
		one.mu.Lock()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, key := range keys {
			one := l.held[key]
			one.mu.Unlock()
			if one.waiting--; one.waiting == 0 {
				delete(l.held, key)
			}
		}
	}
}

// node is what an entry of the tree leads to. Content is replaced, never
// changed, so that readers may keep it.
type node struct {
	typ      vfs.Type
	mode     uint32
	modified time.Time
	data     []byte
	link     string
	children map[string]*node
}

func (n *node) info() vfs.Info {
	if n == nil {
		return vfs.Info{}
	}
	i := vfs.Info{Type: n.typ, Modified: n.modified, Mode: n.mode}
	if n.typ == vfs.File {
		i.Size, i.Version = int64(len(n.data)), versionOf(n.data)
	}
	return i
}

// The permission bits of an owner.
const (
	mayRead   = 0o400
	mayWrite  = 0o200
	maySearch = 0o100
)

// at returns the node at a path without symlinks: nil where there is none.
// Directories that may not be searched are fs.ErrPermission.
func (f *FS) at(p string) (*node, error) {
	n := f.root
	for part := range strings.SplitSeq(p, "/") {
		if part == "" {
			continue
		}
		if n.typ != vfs.Directory {
			return nil, nil
		}
		if n.mode&maySearch == 0 {
			return nil, fs.ErrPermission
		}
		if n = n.children[part]; n == nil {
			return nil, nil
		}
	}
	return n, nil
}

// parent returns the directory of a path, and the name in it.
func (f *FS) parent(p string) (*node, string, error) {
	dir, err := f.at(path.Dir(p))
	if err != nil {
		return nil, "", err
	}
	switch {
	case p == "/":
		return nil, "", fs.ErrInvalid
	case dir == nil:
		return nil, "", fs.ErrNotExist
	case dir.typ != vfs.Directory:
		return nil, "", errNotDir
	}
	return dir, path.Base(p), nil
}

// makeParents makes the directories above p that are missing. Either all of
// them are made, or none.
func (f *FS) makeParents(p string) error {
	dir := path.Dir(p)
	n, err := f.at(dir)
	if err != nil {
		return err
	}
	if n != nil {
		if n.typ != vfs.Directory {
			return errNotDir
		}
		return nil
	}
	if err := f.makeParents(dir); err != nil {
		return err
	}
	above, name, err := f.parent(dir)
	if err != nil {
		return err
	}
	if above.mode&mayWrite == 0 {
		return fs.ErrPermission
	}
	above.put(name, &node{typ: vfs.Directory, mode: 0o755, modified: f.now(), children: map[string]*node{}}, f.now())
	return nil
}

func (n *node) put(name string, child *node, now time.Time) {
	n.children[name] = child
	n.modified = now
}

func (n *node) drop(name string, now time.Time) {
	delete(n.children, name)
	n.modified = now
}
