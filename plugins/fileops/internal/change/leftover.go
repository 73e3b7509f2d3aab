package change

import (
	"context"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
)

// A directory that a session made stays after a rewind where it holds backups,
// since they let the rewind be taken back. Where a file or another directory was
// before it, it makes way: it is put away like a directory that was copied.

// leftover reports whether there is no more at a path than directories that the
// session made, and backups.
func (r *run) leftover(ctx context.Context, dir string) bool {
	return (&imagined{r: r}).leftover(ctx, dir)
}

// leftover is the same for the tree as it would be.
func (m *imagined) leftover(ctx context.Context, dir string) bool {
	if !m.r.made[dir] {
		return false
	}
	for p, s := range m.at {
		if s.Type != isAbsent && p != dir && holds(dir, p) {
			return false
		}
	}
	t, err := m.r.fs.Resolve(ctx, m.onDisk(dir), vfs.ResolveOptions{})
	if err != nil {
		return false
	}
	entries, err := m.r.children(ctx, t)
	if err != nil {
		return false
	}
	for _, e := range entries {
		p := dir + "/" + e.name
		_, gone := m.at[p]
		isBackups := e.name == backup.Folder && e.info.Type == vfs.Directory
		if !gone && !isBackups && !(e.info.Type == vfs.Directory && m.leftover(ctx, p)) {
			return false
		}
	}
	return true
}

// makeWay puts a leftover away, and returns what is at its place then.
func (r *run) makeWay(ctx context.Context, dir string, now spot) (spot, error) {
	if err := r.putAway(ctx, Record{Path: dir}, now); err != nil {
		return now, err
	}
	return r.examine(ctx, dir)
}

// asLeft reports whether what is there now is what the session left, the mode
// of a file included.
func (r *run) asLeft(ctx context.Context, now spot, want State) bool {
	if now.Type == isFile {
		return now.equal(want)
	}
	return r.matches(ctx, now, want)
}
