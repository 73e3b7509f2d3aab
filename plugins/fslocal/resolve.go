package fslocal

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Resolve implements [vfs.FileSystem]. The key is the path with every symlink
// resolved: of the file itself or, where it does not exist, of the deepest
// directory above it that does, with the rest added. Hard links are different
// names and have different keys.
func (f *FS) Resolve(ctx context.Context, path string, opts vfs.ResolveOptions) (vfs.Target, error) {
	if err := vfs.CheckPath(path); err != nil {
		return vfs.Target{}, err
	}
	if err := vfs.Aborted(ctx, "resolve", path); err != nil {
		return vfs.Target{}, err
	}
	full := path
	if !filepath.IsAbs(path) {
		cwd := opts.Cwd
		if cwd == "" {
			cwd = f.cwd
		}
		if !filepath.IsAbs(cwd) || strings.IndexByte(cwd, 0) >= 0 {
			return vfs.Target{}, refuse(errs.InvalidArgs, "resolve", path,
				"the working directory "+quote(cwd)+" is not an absolute path", nil)
		}
		full = cwd + string(filepath.Separator) + path
	}
	key, display, err := resolve(full)
	if err != nil {
		return vfs.Target{}, fail("resolve", filepath.Clean(full), err)
	}
	return vfs.Target{Key: vfs.Key(key), Path: display}, nil
}

// ProcessPath implements [vfs.FileSystem]: the path with symlinks resolved.
func (f *FS) ProcessPath(t vfs.Target) (string, error) { return keyPath(t) }

// FileURL implements [vfs.FileSystem].
func (f *FS) FileURL(t vfs.Target) (string, error) {
	key, err := keyPath(t)
	if err != nil {
		return "", err
	}
	path := filepath.ToSlash(key)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: path}).String(), nil
}

// Contains implements [vfs.FileSystem].
func (f *FS) Contains(dir, t vfs.Target) (bool, error) {
	outer, err := keyPath(dir)
	if err != nil {
		return false, err
	}
	inner, err := keyPath(t)
	if err != nil {
		return false, err
	}
	_, ok := Below(outer, inner)
	return ok, nil
}

// Below returns the slash-separated path from dir to path, and whether there
// is one: whether path is dir or below it, part by part. Both are absolute and
// free of symlinks.
func Below(dir, path string) (rel string, ok bool) {
	dir, folded := foldKey(dir), foldKey(path)
	if dir == folded {
		return "", true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	// Folding keeps lengths only where it does nothing; elsewhere the parts
	// are counted.
	if !strings.HasPrefix(folded, dir) {
		return "", false
	}
	if folded == path {
		return filepath.ToSlash(path[len(dir):]), true
	}
	parts := strings.Split(path, string(filepath.Separator))
	skip := strings.Count(dir, string(filepath.Separator))
	return strings.Join(parts[skip:], "/"), true
}

// Physical returns path, which must be absolute, with every symlink resolved.
// What is missing at its end stays as it is.
func Physical(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", refuse(errs.InvalidArgs, "resolve", path, "the path is not absolute", nil)
	}
	p, err := resolvePath(path)
	return p, fail("resolve", path, err)
}

func keyPath(t vfs.Target) (string, error) {
	if path := string(t.Key); filepath.IsAbs(path) && strings.IndexByte(path, 0) < 0 {
		return path, nil
	}
	return "", refuse(errs.InvalidArgs, "use", t.Path, "the target was not resolved by this provider", nil)
}

func resolvePath(path string) (string, error) {
	key, _, err := resolve(path)
	return key, err
}

// resolveEntry returns the path of the entry that path names, with symlinks
// resolved in the directories above it only. key is the answer when path names
// no entry, as one that ends in "..".
func resolveEntry(path, key string) (string, error) {
	path = strings.TrimRight(path, string(filepath.Separator))
	name := filepath.Base(path)
	if !filepath.IsAbs(path) || name == ".." || name == "." || path == "" {
		return key, nil
	}
	dir, err := resolvePath(path[:len(path)-len(name)])
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}
