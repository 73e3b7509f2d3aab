package scenario

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// world is the folders of one scenario.
type world struct {
	root      string // holds everything; removed in the end
	base      string // {{base}}
	workspace string // {{cwd}}
	outside   string
	home      string // for stores of the deployment
}

// newWorld makes the folders below parent; "" chooses a parent that is not a
// temp directory, because those may be written by every sandboxed session.
// Where there is none, sandboxed tells whether a temp directory will do.
func newWorld(parent string, sandboxed bool) (*world, error) {
	root, err := makeRoot(parent)
	if err != nil && parent == "" && !sandboxed {
		root, err = os.MkdirTemp("", rootPattern)
	}
	if err != nil {
		return nil, err
	}
	// Results show paths as the tools spell them, so the folder must not be
	// reached through a symlink.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	w := &world{root: root, base: filepath.Join(root, "base"), home: filepath.Join(root, "home")}
	w.workspace, w.outside = filepath.Join(w.base, "ws"), filepath.Join(w.base, "out")
	for _, dir := range []string{w.workspace, w.outside, w.home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, errors.Join(err, w.remove())
		}
	}
	return w, nil
}

const rootPattern = "bridle-scenario-*"

func makeRoot(parent string) (string, error) {
	if parent != "" {
		return os.MkdirTemp(parent, rootPattern)
	}
	var parents []string
	if cache, err := os.UserCacheDir(); err == nil {
		parents = append(parents, cache)
	}
	if cwd, err := os.Getwd(); err == nil {
		parents = append(parents, cwd)
	}
	var failures []error
	for _, parent := range parents {
		if underTemp(parent) {
			failures = append(failures, fmt.Errorf("%s is in a temp directory", parent))
			continue
		}
		made, err := missingDirs(parent)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		root, err := os.MkdirTemp(parent, rootPattern)
		if err == nil {
			return root, nil
		}
		failures = append(failures, err)
		removeDirs(made)
	}
	return "", fmt.Errorf("no place for a scenario's folders outside of the temp directories: %w", errors.Join(failures...))
}

// missingDirs makes dir, and returns which directories that took.
func missingDirs(dir string) (made []string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	return made, os.MkdirAll(dir, 0o700)
}

func removeDirs(dirs []string) {
	for _, dir := range dirs {
		_ = os.Remove(dir) // somebody else may use it by now
	}
}

func underTemp(dir string) bool {
	for _, temp := range []string{os.TempDir(), "/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp"} {
		if real, err := filepath.EvalSymlinks(temp); err == nil {
			temp = real
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if rel, err := filepath.Rel(temp, dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// remove deletes the folders, also those that a scenario made unwritable.
func (w *world) remove() error {
	err := os.RemoveAll(w.root)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // the second RemoveAll tells what could not be helped
		}
		return nil
	})
	return os.RemoveAll(w.root)
}

// put makes the file of a scenario in dir, as another program would: what is
// there is written in place, and symlinks are followed.
func (w *world) put(dir string, f File) error {
	path := filepath.FromSlash(w.expand(f.Path))
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if rel, err := filepath.Rel(w.base, path); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s is outside of the scenario's folder", f.Path)
	}
	if f.Remove {
		return os.RemoveAll(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch {
	case f.Dir:
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	case f.Symlink != nil:
		// A symlink cannot be written into; it comes in the place of what is there.
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Symlink(filepath.FromSlash(w.expand(*f.Symlink)), path)
	default:
		data, err := w.content(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	if f.Mode == "" {
		return nil
	}
	mode, err := strconv.ParseUint(f.Mode, 8, 12)
	if err != nil {
		return fmt.Errorf("mode of %s: %w", f.Path, err)
	}
	return os.Chmod(path, fs.FileMode(mode))
}

func (w *world) content(f File) ([]byte, error) {
	switch {
	case f.Text != nil:
		return []byte(w.expand(*f.Text)), nil
	case f.Base64 != nil:
		return base64.StdEncoding.DecodeString(*f.Base64)
	case f.Repeat != nil:
		return []byte(strings.Repeat(w.expand(f.Repeat.Text), f.Repeat.Count)), nil
	}
	return nil, fmt.Errorf("%s has no content: give text, base64, repeat, dir or symlink", f.Path)
}

// maxText is the longest content that a listing gives as text where the
// scenario does not ask for one form or the other.
const maxText = 16 << 10

// list returns everything below dir, in byte order of paths. The form of each
// entry is that of the entry of the same path in like.
func (w *world) list(dir string, like []File) ([]File, error) {
	forms := map[string]File{}
	for _, f := range like {
		forms[f.Path] = f
	}
	all := []File{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			if errors.Is(err, fs.ErrNotExist) && path == dir {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := w.describe(path, filepath.ToSlash(rel), d, forms[filepath.ToSlash(rel)])
		if err != nil {
			return err
		}
		all = append(all, f)
		return nil
	})
	sortFiles(all)
	return all, err
}

func (w *world) describe(path, rel string, d fs.DirEntry, like File) (File, error) {
	f := File{Path: rel}
	info, err := d.Info()
	if err != nil {
		return f, err
	}
	if like.Mode != "" {
		f.Mode = fmt.Sprintf("%04o", info.Mode().Perm())
	}
	switch {
	case d.IsDir():
		f.Dir = true
		return f, nil
	case d.Type()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		if err != nil {
			return f, err
		}
		to = filepath.ToSlash(to)
		f.Symlink, f.Mode = &to, ""
		return f, nil
	case !d.Type().IsRegular():
		return f, fmt.Errorf("%s is neither file, directory nor symlink", rel)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	f.data = data
	switch asDigest := like.SHA256 != "" || like.Bytes != nil; {
	case utf8.Valid(data) && !asDigest && (like.Text != nil || len(data) <= maxText):
		text := string(data)
		f.Text = &text
	default:
		size := int64(len(data))
		f.SHA256, f.Bytes = digest(data), &size
	}
	return f, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// expand puts the real folders in place of their names.
func (w *world) expand(s string) string {
	return strings.NewReplacer("{{cwd}}", w.workspace, "{{base}}", w.base).Replace(s)
}

// contract is the opposite of expand.
func (w *world) contract(s string) string {
	return name(name(s, w.workspace, "{{cwd}}"), w.base, "{{base}}")
}

// name puts a name in place of a folder, but not of one that only begins like
// it.
func name(s, folder, name string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, folder)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after != "" && isNameChar(after[0]) {
			b.WriteString(folder)
		} else {
			b.WriteString(name)
		}
		s = after
	}
}

func isNameChar(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
