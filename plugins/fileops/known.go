package fileops

import (
	"slices"
	"sync"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/textview"
)

// maxKnown bounds the files about which facts are kept, each with at most some
// 100 KB of them.
const maxKnown = 16

// knownFiles keeps what is known of large files, so that reading one page by
// page does not mean reading all of it for each. The zero value knows none.
type knownFiles struct {
	mu    sync.Mutex
	files []knownFile // the one used last is last
}

type knownFile struct {
	key     vfs.Key
	version vfs.Version
	facts   *textview.Facts
}

// of returns the facts about a file whose version proves that they hold.
func (k *knownFiles) of(fs vfs.FileSystem, key vfs.Key, version vfs.Version) *textview.Facts {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.files, func(f knownFile) bool { return f.key == key })
	if i < 0 {
		return nil
	}
	f := k.files[i]
	k.files = slices.Delete(k.files, i, i+1)
	if !vfs.SameVersion(fs, f.version, version) {
		return nil
	}
	k.files = append(k.files, f)
	return f.facts
}

// keep remembers facts about the content of a version.
func (k *knownFiles) keep(key vfs.Key, version vfs.Version, facts *textview.Facts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files = slices.DeleteFunc(k.files, func(f knownFile) bool { return f.key == key })
	if len(k.files) == maxKnown {
		k.files = slices.Delete(k.files, 0, 1)
	}
	k.files = append(k.files, knownFile{key, version, facts})
}
