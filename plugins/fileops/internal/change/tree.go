package change

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// survey counts what is below a directory and refuses what cannot be copied.
// The check is called with each path below, relative to the directory.
func (r *run) survey(ctx context.Context, dir vfs.Target, prefix string, keepBackups bool, check func(rel string, c child) error) (size int64, err error) {
	entries, err := r.children(ctx, dir)
	if err != nil {
		return 0, err
	}
	for _, c := range entries {
		if skipped(c, keepBackups) {
			continue
		}
		rel := prefix + c.name
		if err := check(rel, c); err != nil {
			return size, err
		}
		switch c.info.Type {
		case vfs.File:
			size += max(c.info.Size, 0)
		case vfs.Link:
		case vfs.Directory:
			below, err := r.survey(ctx, c.t, rel+"/", keepBackups, check)
			size += below
			if err != nil {
				return size, err
			}
		default:
			return size, fault.New(fault.NotAFile, "source_path", fmt.Sprintf("\"%s\" is neither file, directory nor symlink and cannot be copied", vfs.DisplayName(c.t.Path)))
		}
	}
	return size, nil
}

// skipped reports whether an entry is left out of copies: backups are of the
// files that they lie beside, and of no use to a copy of those.
func skipped(c child, keepBackups bool) bool {
	return !keepBackups && c.name == backup.Folder && c.info.Type == vfs.Directory
}

// copyTree copies what is below one directory into another, which it makes.
// Modes and times of directories are set once they are full.
func (r *run) copyTree(ctx context.Context, from vfs.Target, info vfs.Info, to string, keepBackups bool) (int64, error) {
	t, err := r.fs.Resolve(ctx, to, vfs.ResolveOptions{})
	if err != nil {
		return 0, err
	}
	if err := vfs.MakeDir(ctx, r.fs, t, r.options(vfs.Guard{})); err != nil {
		return 0, err
	}
	// Nobody else sees what comes out of a private directory.
	if err := r.setDirAttr(ctx, t, vfs.Attr{Mode: info.Mode&0o777 | 0o700, SetMode: info.Mode != 0}); err != nil {
		return 0, err
	}
	entries, err := r.children(ctx, from)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, c := range entries {
		if skipped(c, keepBackups) {
			continue
		}
		n, err := r.copyEntry(ctx, c, path.Join(to, c.name), keepBackups)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, r.setDirAttr(ctx, t, vfs.Attr{Mode: info.Mode, SetMode: info.Mode != 0, Modified: info.Modified})
}

// setDirAttr sets what a provider can set of a directory.
func (r *run) setDirAttr(ctx context.Context, t vfs.Target, attr vfs.Attr) error {
	err := vfs.SetDirAttr(ctx, r.fs, t, attr, r.options(vfs.Guard{}))
	if errors.Is(err, errs.Unsupported) {
		return nil
	}
	return err
}

func (r *run) copyEntry(ctx context.Context, c child, to string, keepBackups bool) (int64, error) {
	switch c.info.Type {
	case vfs.Directory:
		return r.copyTree(ctx, c.t, c.info, to, keepBackups)
	case vfs.File, vfs.Link:
		t, err := r.fs.Resolve(ctx, to, vfs.ResolveOptions{})
		if err != nil {
			return 0, err
		}
		return vfs.Copy(ctx, r.fs, c.t, t, false, r.options(vfs.Guard{}))
	}
	return 0, fault.New(fault.NotAFile, "source_path", fmt.Sprintf("\"%s\" is neither file, directory nor symlink and cannot be copied", vfs.DisplayName(c.t.Path)))
}

// removeTree removes a directory with all it holds, never through a symlink. It
// is for copies and for what was put aside: that an owner may not write to a
// directory there protects nothing.
func (r *run) removeTree(ctx context.Context, dir vfs.Target) error {
	if info, err := r.fs.Lstat(ctx, dir); err == nil && info.Mode != 0 && info.Mode&0o700 != 0o700 {
		_ = r.setDirAttr(ctx, dir, vfs.Attr{Mode: info.Mode | 0o700, SetMode: true}) // the removal tells
	}
	entries, err := r.children(ctx, dir)
	if err != nil {
		return err
	}
	for _, c := range entries {
		if c.info.Type == vfs.Directory {
			err = r.removeTree(ctx, c.t)
		} else {
			err = vfs.Remove(ctx, r.fs, c.t, r.options(vfs.Guard{}))
		}
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
	}
	return vfs.RemoveDir(ctx, r.fs, dir, r.options(vfs.Guard{}))
}

// sameFile compares two files byte for byte, and returns the digest of the
// second.
func (r *run) sameFile(ctx context.Context, a, b vfs.Target) (sha string, size int64, same bool, err error) {
	one, err := vfs.Open(ctx, r.fs, a)
	if err != nil {
		return "", 0, false, err
	}
	defer one.Close()
	two, err := vfs.Open(ctx, r.fs, b)
	if err != nil {
		return "", 0, false, err
	}
	defer two.Close()
	c := comparison{one: one, same: true, hash: sha256.New(), buf: make([]byte, chunk)}
	size, err = pour(ctx, &c, two)
	if err == nil && c.same {
		// The first must end where the second does.
		n, rerr := one.ReadAt(c.buf[:1], size)
		c.same = n == 0 && (rerr == io.EOF || rerr == nil)
	}
	return hex.EncodeToString(c.hash.Sum(nil)), size, c.same, err
}

// comparison is written the second of two files and reads the first, while
// another core digests what is written.
type comparison struct {
	one  io.ReaderAt
	at   int64
	same bool
	hash hash.Hash
	buf  []byte
}

func (c *comparison) Write(p []byte) (int, error) {
	digested := make(chan struct{})
	go func() {
		defer close(digested)
		c.hash.Write(p) // never fails
	}()
	defer func() { <-digested }()
	if c.same && len(p) > 0 {
		n, err := c.one.ReadAt(c.buf[:len(p)], c.at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		c.same = bytes.Equal(c.buf[:n], p)
	}
	c.at += int64(len(p))
	return len(p), nil
}

// compareTrees says where a copied directory differs from its original, or "",
// and digests the content of the copy.
func (r *run) compareTrees(ctx context.Context, a, b vfs.Target, keepBackups bool) (differs, content string, err error) {
	h := sha256.New()
	differs, err = r.compareInto(ctx, h, a, b, "", keepBackups)
	return differs, hex.EncodeToString(h.Sum(nil)), err
}

func (r *run) compareInto(ctx context.Context, h hash.Hash, a, b vfs.Target, prefix string, keepBackups bool) (string, error) {
	left, err := r.childrenOf(ctx, a, keepBackups)
	if err != nil {
		return "", err
	}
	right := left
	if a != b {
		if right, err = r.childrenOf(ctx, b, keepBackups); err != nil {
			return "", err
		}
	}
	if len(left) != len(right) {
		return fmt.Sprintf("%s holds %s, its copy %d", vfs.DisplayName(a.Path), count(len(left), "name"), len(right)), nil
	}
	for i, c := range left {
		d := right[i]
		why, err := r.compareOne(ctx, h, c, d, prefix+c.name)
		if err != nil {
			return "", err
		}
		if why != "" {
			return vfs.DisplayName(c.t.Path) + " " + why, nil
		}
		if c.info.Type == vfs.Directory {
			if below, err := r.compareInto(ctx, h, c.t, d.t, prefix+c.name+"/", keepBackups); err != nil || below != "" {
				return below, err
			}
		}
	}
	return "", nil
}

func (r *run) childrenOf(ctx context.Context, dir vfs.Target, keepBackups bool) ([]child, error) {
	all, err := r.children(ctx, dir)
	return slices.DeleteFunc(all, func(c child) bool { return skipped(c, keepBackups) }), err
}

// compareOne compares one entry with its copy, but for what is in it.
func (r *run) compareOne(ctx context.Context, h hash.Hash, c, d child, rel string) (string, error) {
	fmt.Fprintf(h, "%q %d ", rel, d.info.Type)
	defer h.Write([]byte{'\n'})
	switch {
	case c.name != d.name || c.info.Type != d.info.Type:
		return "is not what its copy is", nil
	case c.info.Mode != d.info.Mode && c.info.Type != vfs.Link:
		return fmt.Sprintf("has mode %04o, its copy %04o", c.info.Mode, d.info.Mode), nil
	}
	switch c.info.Type {
	case vfs.File:
		sha, _, same, err := r.sameFile(ctx, c.t, d.t)
		fmt.Fprint(h, sha)
		if err == nil && !same {
			return "differs from its copy", nil
		}
		return "", err
	case vfs.Link:
		one, err := vfs.Readlink(ctx, r.fs, c.t)
		if err != nil {
			return "", err
		}
		two, err := vfs.Readlink(ctx, r.fs, d.t)
		fmt.Fprintf(h, "%q", two)
		if err == nil && one != two {
			return "leads elsewhere than its copy", nil
		}
		return "", err
	}
	return "", nil
}
