package fslocal

import (
	"time"

	"github.com/bridle-go/bridle/harness/vfs"
)

// meta is what the operating system says about a file or directory entry.
type meta struct {
	kind     vfs.Type
	size     int64
	mtime    int64 // nanoseconds since 1970
	ctime    int64 // the same; 0 where the platform has no change time
	mode     uint32
	uid, gid uint32
	links    uint64

	native // dev and ino, and what else the platform knows a file by
}

// identity is what tells one state of one file from another without reading
// it. The link count and the owner are left out: their changes move ctime.
type identity struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64
}

func (m meta) identity() identity {
	return identity{m.dev, m.ino, m.size, m.mtime, m.ctime}
}

// sameEntry reports whether two looks at a directory entry saw the same file
// in the same state.
func (m meta) sameEntry(o meta) bool {
	return m.kind == o.kind && m.identity() == o.identity()
}

func (m meta) modified() time.Time {
	if m.kind == vfs.Absent {
		return time.Time{}
	}
	return time.Unix(0, m.mtime)
}

func (m meta) exists() bool { return m.kind != vfs.Absent }
