// Package fslocal is the filesystem provider for the files of this machine.
//
// It keeps the contract of [vfs.FileSystem] and offers every optional ability
// there. What is particular to it:
//
// # Identity
//
// A key is the path with all symlinks resolved. A filesystem that ignores case
// has several spellings of one name, which have several keys; changes of them
// are serialised all the same.
//
// # Versions
//
// A version holds a digest of the content, the file's metadata, or both. The
// digest is made in the pass that reads or writes the content. Metadata counts
// only when it was old enough, as seen at the time, that a later change must
// show in it, and only where the times come from this machine's clock; see
// version.go. Stat digests a file whose times are too recent to be trusted, up
// to [Config.StatDigestBytes].
//
// A file that is written through a shared memory mapping can change without
// its metadata showing it for some time. Changes compare digests wherever they
// read what they replace, so that this concerns only files at or above the
// diff basis limit.
//
// # Changes
//
// New content is written to a staging file in the target's directory, made
// durable, and put in place by one rename; then the directory is made durable.
// Just before, the entry is looked at again, and if it is not what was judged,
// everything begins anew. Processes that work through this package take turns
// from staging to publication. One that does not could still get in between
// the last look and the rename, about a microsecond: the kernel offers no
// rename that depends on what it replaces. Creating has no such gap.
//
// Where a rename is impossible on a file that can itself be written (one that
// is mounted by itself, or in a directory that cannot be written), the file is
// overwritten in place. A durable copy of the old content is made first and
// put back if anything fails; after a crash the next change of the file puts
// it back. Readers can see such a write half done.
//
// A staging file is locked while its process lives, and its name follows from
// the target's; so the next change of the target finds what a killed process
// left, and never takes a living one's. A file with several hard links loses
// the one that is written: the other names keep the old content. Set-user-ID
// and set-group-ID bits are kept only together with the owner, and never for
// a file with several names.
//
// # Odd files
//
// Only regular files are opened, and without waiting. Files in /proc are
// regular to the kernel; those that everybody may read are read (with unknown
// size, at most 64 MiB), all others, which show memory, block or
// have effects when read, are FS_NOT_REGULAR_FILE. No file of /proc, /sys and
// their like is written.
//
// # Platforms
//
// Linux and macOS keep every promise; watching, and directory handles for
// walks, exist on Linux only. On Windows the provider works through
// os.Root: changes replace atomically, but owners and directory syncs do not
// exist, and staging files of killed processes are told by their locks only.
package fslocal

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Config configures a provider. Its zero value works.
type Config struct {
	// Cwd is what relative paths are relative to where the caller has no
	// working directory: an absolute path. The default is the process's.
	Cwd string
	// DiffBasisMaxBytes is the diff basis limit: when the old or the new content
	// is as large as this or larger, a write returns no before text, and
	// metadata alone may show that the old content is the expected one. The
	// default is 10 MiB.
	DiffBasisMaxBytes int64
	// StatDigestBytes is the size up to which Stat reads a file that changed
	// too recently to be known by its times. The default is 16 MiB, which takes
	// some 4 ms.
	StatDigestBytes int64
	// RecoveryDir holds copies of files while they are overwritten in place
	// and their own directory cannot be written. The default is a directory of
	// the user's own below [os.TempDir]. It is made when needed.
	RecoveryDir string
	// Fence confines changes. The default does not.
	Fence Fence
}

// Defaults of [Config].
const (
	DefaultDiffBasisMaxBytes = vfs.DefaultDiffBasisMaxBytes
	DefaultStatDigestBytes   = 16 << 20
)

// FS is the provider. Make one with [New].
type FS struct {
	cwd        string
	diffBasis  int64
	statDigest int64
	recovery   string
	fence      Fence
	patience   time.Duration

	known  digests
	worlds sync.Map // device number -> world

	life   sync.RWMutex // held for reading by each change
	closed bool         // guarded by life

	// fault lets tests fail or interrupt each step of a change.
	fault func(step string) error
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
)

// New returns a provider. It fails with INVALID_ARGS when the configuration
// cannot work. It holds nothing open between calls.
func New(cfg Config) (*FS, error) {
	f := &FS{
		cwd:        cfg.Cwd,
		diffBasis:  cfg.DiffBasisMaxBytes,
		statDigest: cfg.StatDigestBytes,
		recovery:   cfg.RecoveryDir,
		fence:      cfg.Fence,
		patience:   defaultPatience,
	}
	if f.cwd == "" {
		cwd, err := os.Getwd()
		if err != nil {
			return nil, errs.Wrap(errs.IO, "cannot tell the working directory: "+err.Error(), err)
		}
		f.cwd = cwd
	}
	if f.recovery == "" {
		f.recovery = defaultRecoveryDir()
	}
	for name, path := range map[string]string{"Cwd": f.cwd, "RecoveryDir": f.recovery} {
		if !filepath.IsAbs(path) {
			return nil, errs.New(errs.InvalidArgs, name+" "+quote(path)+" of the local filesystem is not an absolute path")
		}
	}
	if f.diffBasis < 0 || f.statDigest < 0 {
		return nil, errs.New(errs.InvalidArgs, "limits of the local filesystem must not be negative")
	}
	if f.diffBasis == 0 {
		f.diffBasis = DefaultDiffBasisMaxBytes
	}
	if f.statDigest == 0 {
		f.statDigest = DefaultStatDigestBytes
	}
	return f, nil
}

// RecoveryDir returns the directory that [Config.RecoveryDir] names. Nobody but
// the provider should be able to write there.
func (f *FS) RecoveryDir() string { return f.recovery }

// Close waits for the changes in flight; later ones are refused.
func (f *FS) Close() error {
	f.life.Lock()
	defer f.life.Unlock()
	f.closed = true
	return nil
}

// hit is called before each step of a change that can fail.
func (f *FS) hit(step string) error {
	if f.fault == nil {
		return nil
	}
	return f.fault(step)
}
