package change

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
)

// The types of a state.
const (
	isAbsent = "absent"
	isFile   = "file"
	isLink   = "symlink"
	isDir    = "directory"
	isOther  = "other"
)

// State is what is at a path, or was.
type State struct {
	Type   string `json:"type"`
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`
	// Link is what a symlink holds.
	Link string `json:"link,omitempty"`
	// Print stands for the names, types, sizes and times below a directory, and
	// Content for the names, types and content; "" where that was not looked at.
	Print   string `json:"print,omitempty"`
	Content string `json:"content,omitempty"`
	// BackupID and BackupDir say where the content is kept.
	BackupID  string `json:"backup_id,omitempty"`
	BackupDir string `json:"backup_dir,omitempty"`
}

// same reports whether two states are the same content. A mode that a provider
// does not know is 0.
func (s State) same(o State) bool {
	if s.Type != o.Type {
		return false
	}
	switch s.Type {
	case isFile:
		return s.SHA256 == o.SHA256
	case isLink:
		return s.Link == o.Link
	case isDir:
		return s.Print == o.Print || s.Print == "" || o.Print == "" || s.Content != "" && s.Content == o.Content
	case isOther:
		return false
	}
	return true
}

// equal reports whether two states are the same content and, where both know
// it, the same mode.
func (s State) equal(o State) bool {
	return s.same(o) && (s.Type != isFile || s.Mode == 0 || o.Mode == 0 || s.Mode == o.Mode)
}

// Record is what is needed to take one change back. Paths are absolute and
// physical, with "/".
type Record struct {
	Path string `json:"path"`
	// From is where a move came from.
	From string `json:"from,omitempty"`
	// Before and After are the states at Path.
	Before State `json:"before"`
	After  State `json:"after"`
	// Made are the directories that were made for the change, outermost first.
	Made []string `json:"made,omitempty"`
	// Aside is where a replaced directory is kept until all is done.
	Aside string `json:"aside,omitempty"`
	// Gone is where the source of a move to another device is kept until all
	// is done.
	Gone string `json:"gone,omitempty"`
}

// state is a file's as a record has it.
func (f *file) state(k *kept) State {
	if !f.exists {
		return State{Type: isAbsent}
	}
	s := State{Type: isFile, SHA256: f.sha, Size: f.size, Mode: f.mode}
	if k != nil {
		s.BackupID, s.BackupDir = k.ID, k.dir
	}
	return s
}

// spot is what is at a path now.
type spot struct {
	t vfs.Target
	State
	version vfs.Version
}

// examine looks at a physical path: at all content, and at what is below a
// directory.
func (r *run) examine(ctx context.Context, physical string) (spot, error) {
	s, err := r.glance(ctx, physical, true)
	if err == nil && s.Type == isDir {
		s.Print, err = r.print(ctx, s.t)
	}
	return s, err
}

// glance looks at a path itself, and at a file's content where it is told to.
func (r *run) glance(ctx context.Context, physical string, content bool) (spot, error) {
	t, err := r.fs.Resolve(ctx, physical, vfs.ResolveOptions{})
	if err != nil {
		return spot{}, err
	}
	s := spot{t: t, State: State{Type: isAbsent}}
	info, err := r.fs.Lstat(ctx, t)
	if err != nil {
		return s, err
	}
	s.Mode = info.Mode
	switch info.Type {
	case vfs.File:
		s.Type, s.Size = isFile, info.Size
		if content {
			s.SHA256, s.Size, s.version, err = r.hash(ctx, t)
		}
	case vfs.Link:
		s.Type, s.Mode = isLink, 0
		s.Link, err = vfs.Readlink(ctx, r.fs, t)
	case vfs.Directory:
		s.Type = isDir
	case vfs.Other:
		s.Type = isOther
	}
	return s, err
}

// arrived reports whether what is at the destination of a rename is what was
// at its source: an entry of the same kind and size, and of the same content
// where that is known.
func (s State) arrived(source State) bool {
	return s.Type == source.Type && s.Size == source.Size && s.Link == source.Link && s.Mode == source.Mode &&
		(source.SHA256 == "" || s.SHA256 == source.SHA256)
}

// hash reads a file for its digest, with a version that a later read gives
// again.
func (r *run) hash(ctx context.Context, t vfs.Target) (string, int64, vfs.Version, error) {
	p := &place{t: t, info: vfs.Info{Type: vfs.File}}
	f, err := r.read(ctx, p)
	if err != nil {
		return "", 0, "", err
	}
	return f.sha, f.size, f.version, nil
}

// matches is same for what is there now. What is below a directory is compared
// by content where its times do not decide.
func (r *run) matches(ctx context.Context, now spot, want State) bool {
	if now.same(want) {
		return true
	}
	if now.Type != isDir || want.Type != isDir || want.Content == "" {
		return false
	}
	_, content, err := r.compareTrees(ctx, now.t, now.t, false)
	return err == nil && content == want.Content
}

// print digests what a directory holds: names, types, sizes, modification
// times and symlinks, but no content. Backups do not count.
func (r *run) print(ctx context.Context, dir vfs.Target) (string, error) {
	h := sha256.New()
	if err := r.printInto(ctx, h, dir, ""); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (r *run) printInto(ctx context.Context, h hash.Hash, dir vfs.Target, prefix string) error {
	entries, err := r.children(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.name == backup.Folder && e.info.Type == vfs.Directory {
			continue
		}
		fmt.Fprintf(h, "%q %d", prefix+e.name, e.info.Type)
		switch e.info.Type {
		case vfs.File:
			fmt.Fprintf(h, " %d %d", e.info.Size, e.info.Modified.UnixNano())
		case vfs.Link:
			link, err := vfs.Readlink(ctx, r.fs, e.t)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, " %q", link)
		}
		h.Write([]byte{'\n'})
		if e.info.Type == vfs.Directory {
			if err := r.printInto(ctx, h, e.t, prefix+e.name+"/"); err != nil {
				return err
			}
		}
	}
	return nil
}

// child is one entry of a directory, not followed.
type child struct {
	name string
	t    vfs.Target
	info vfs.Info
}

// children lists a directory in byte order of names.
func (r *run) children(ctx context.Context, dir vfs.Target) ([]child, error) {
	entries, err := vfs.ReadDir(ctx, r.fs, dir)
	if err != nil {
		return nil, err
	}
	out := make([]child, 0, len(entries))
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := r.fs.Lstat(ctx, e.Target)
		if err != nil {
			return nil, err
		}
		if info.Exists() {
			out = append(out, child{e.Name, e.Target, info})
		}
	}
	slices.SortFunc(out, func(a, b child) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return out, nil
}
