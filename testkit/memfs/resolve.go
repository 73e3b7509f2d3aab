package memfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

var (
	errNotDir   = errors.New("a part of the path is not a directory")
	errLoop     = errors.New("the path holds a symlink loop")
	errNotEmpty = errors.New("the directory is not empty")
)

// maxLinks is how many symlinks one path may lead through, as in the Linux
// kernel.
const maxLinks = 40

// Resolve implements [vfs.FileSystem].
func (f *FS) Resolve(ctx context.Context, name string, opts vfs.ResolveOptions) (vfs.Target, error) {
	if err := vfs.CheckPath(name); err != nil {
		return vfs.Target{}, err
	}
	if !path.IsAbs(name) && opts.Cwd != "" && !path.IsAbs(opts.Cwd) {
		return vfs.Target{}, refuse(errs.InvalidArgs, "resolve", name, "the working directory is not an absolute path", nil)
	}
	if err := vfs.Aborted(ctx, "resolve", name); err != nil {
		return vfs.Target{}, err
	}
	full := f.full(name, opts.Cwd)
	f.mu.RLock()
	defer f.mu.RUnlock()
	key, shown, err := f.resolve(full)
	if err != nil {
		return vfs.Target{}, fail("resolve", path.Clean(full), err)
	}
	return vfs.Target{Key: vfs.Key(key), Path: shown}, nil
}

// full makes a path absolute without cleaning it.
func (f *FS) full(name, cwd string) string {
	switch {
	case path.IsAbs(name):
		return name
	case cwd == "":
		cwd = f.cwd
	}
	return cwd + "/" + name
}

// walk follows a path as the kernel does, and goes on by name where nothing
// exists any more.
type walk struct {
	fs      *FS
	at      string // "" is the root
	missing int    // parts at the end of at that do not exist
	links   int
}

// resolve returns the path without symlinks that full leads to, and the path
// to show. There, a ".." takes the part before it away, unless that is a
// symlink, whose parent is elsewhere.
func (f *FS) resolve(full string) (key, shown string, err error) {
	w := walk{fs: f}
	type part struct {
		name string
		link bool
	}
	var parts []part
	for name := range strings.SplitSeq(full, "/") {
		if name == "" || name == "." {
			continue
		}
		link, err := w.step(name)
		if err != nil {
			return "", "", err
		}
		switch n := len(parts); {
		case name != "..":
			parts = append(parts, part{name, link})
		case n > 0 && parts[n-1].link:
			parts = append(parts, part{"..", true})
		case n > 0:
			parts = parts[:n-1]
		}
	}
	for _, p := range parts {
		shown += "/" + p.name
	}
	return orRoot(w.at), orRoot(shown), nil
}

func orRoot(p string) string {
	if p == "" {
		return "/"
	}
	return p
}

// step follows one part and reports whether it was a symlink.
func (w *walk) step(name string) (link bool, err error) {
	if name == ".." {
		return false, w.up()
	}
	full := w.at + "/" + name
	if w.missing > 0 {
		w.at = full
		w.missing++
		return false, nil
	}
	n, err := w.fs.at(full)
	if err != nil {
		return false, err
	}
	if n == nil {
		w.missing = 1
	}
	if n == nil || n.typ != vfs.Link {
		w.at = full
		return false, nil
	}
	if w.links++; w.links > maxLinks {
		return false, errLoop
	}
	if path.IsAbs(n.link) {
		w.at = ""
	}
	for part := range strings.SplitSeq(n.link, "/") {
		if part == "" || part == "." {
			continue
		}
		if _, err := w.step(part); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (w *walk) up() error {
	if w.missing > 0 {
		w.missing--
	} else if n, err := w.fs.at(w.at); err != nil {
		return err
	} else if n == nil || n.typ != vfs.Directory {
		return errNotDir
	}
	w.at = w.at[:max(strings.LastIndexByte(w.at, '/'), 0)]
	return nil
}

// entry returns the path of the entry that t.Path names, with symlinks
// resolved in the directories above it only.
func (f *FS) entry(t vfs.Target) (string, error) {
	name := path.Base(t.Path)
	if name == ".." || name == "/" || !path.IsAbs(t.Path) {
		return string(t.Key), nil
	}
	dir, _, err := f.resolve(strings.TrimRight(t.Path, "/")[:len(t.Path)-len(name)])
	if err != nil {
		return "", err
	}
	return path.Join(dir, name), nil
}

// ProcessPath implements [vfs.FileSystem]. No process can open it.
func (f *FS) ProcessPath(t vfs.Target) (string, error) { return keyOf(t) }

// FileURL implements [vfs.FileSystem].
func (f *FS) FileURL(t vfs.Target) (string, error) {
	key, err := keyOf(t)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "file", Path: key}).String(), nil
}

// Contains implements [vfs.FileSystem].
func (f *FS) Contains(dir, t vfs.Target) (bool, error) {
	outer, err := keyOf(dir)
	if err != nil {
		return false, err
	}
	inner, err := keyOf(t)
	if err != nil {
		return false, err
	}
	return inner == outer || strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/"), nil
}

func keyOf(t vfs.Target) (string, error) {
	if !path.IsAbs(string(t.Key)) {
		return "", refuse(errs.InvalidArgs, "use", t.Path, "the target was not resolved by this provider", nil)
	}
	return string(t.Key), nil
}

func versionOf(data []byte) vfs.Version {
	sum := sha256.Sum256(data)
	return vfs.Version(hex.EncodeToString(sum[:]))
}

// fail gives a failure its code, unless it has one.
func fail(verb, name string, err error) error {
	if err == nil || errs.CodeOf(err) != "" {
		return err
	}
	code, why := errs.IO, err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, why = errs.NotFound, "not found"
	case errors.Is(err, fs.ErrPermission):
		code, why = errs.Permission, "permission denied"
	case errors.Is(err, errNotDir):
		code = errs.NotDirectory
	}
	return refuse(code, verb, name, why, err)
}

func refuse(code errs.Code, verb, name, why string, cause error) error {
	return &errs.Error{Code: code, Op: verb, Path: name, Err: cause,
		Message: fmt.Sprintf(`cannot %s "%s": %s`, verb, vfs.DisplayName(name), why)}
}
