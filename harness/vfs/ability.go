package vfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
)

// The optional abilities of a provider. A wrapper that adds to a provider
// offers Unwrap, so that abilities it does not know survive; a wrapper that
// restricts one must not, since an unwrapped mutator would pass it by.
type (
	// Remover removes files and symlinks, never directories.
	Remover interface {
		// Remove removes what t.Path names without following its last component.
		// Missing is FS_NOT_FOUND, a directory FS_NOT_REGULAR_FILE.
		Remove(ctx context.Context, t Target, opts Options) error
	}
	// DirRemover removes empty directories.
	DirRemover interface {
		// RemoveDir removes the directory at t. Missing is FS_NOT_FOUND; one that
		// is not empty is FS_IO_ERROR, and nothing of it is removed.
		RemoveDir(ctx context.Context, t Target, opts Options) error
	}
	// Sweeper removes what a process that died while it changed an entry has
	// left beside it.
	Sweeper interface {
		// Sweep removes the remains of dead processes' changes of what t.Path
		// names, and nothing of living ones. That there are none is no error.
		Sweep(ctx context.Context, t Target, opts Options) error
	}
	// DirMaker makes directories.
	DirMaker interface {
		// MakeDir makes t and its missing parents; an existing directory is no
		// error.
		MakeDir(ctx context.Context, t Target, opts Options) error
	}
	// DirAttrSetter sets attributes of directories.
	DirAttrSetter interface {
		// SetDirAttr sets what attr holds on an existing directory. Anything else
		// at t is FS_NOT_DIRECTORY.
		SetDirAttr(ctx context.Context, t Target, attr Attr, opts Options) error
	}
	// VersionComparer compares versions that are not equal as strings.
	VersionComparer interface {
		// SameVersion reports whether a guard that demands want holds on the
		// content that got was read from.
		SameVersion(want, got Version) bool
	}
	// Renamer moves a file, symlink or directory within one provider.
	Renamer interface {
		// Rename moves from to to, atomically. Without replace an existing
		// destination is FS_NOT_OBSERVED, also against a racing creator. Missing
		// parents of the destination are made. The guard in opts is judged on the
		// destination. A move that the world cannot make in one step (another
		// device) is FS_IO_ERROR wrapping ErrCrossDevice.
		Rename(ctx context.Context, from, to Target, replace bool, opts Options) error
	}
	// Copier copies one regular file or symlink.
	Copier interface {
		// Copy copies content, permission bits and modification time, staged
		// beside the destination and put in place in one step; a symlink is copied
		// as a symlink. Missing parents of the destination are made. Without replace
		// an existing destination is FS_NOT_OBSERVED. It returns the bytes copied.
		Copy(ctx context.Context, from, to Target, replace bool, opts Options) (int64, error)
	}
	// Linker makes and reads symlinks.
	Linker interface {
		// Readlink returns what the symlink at t.Path holds.
		Readlink(ctx context.Context, t Target) (string, error)
		// Symlink makes a symlink at t.Path and its missing parents; what exists is
		// FS_NOT_OBSERVED.
		Symlink(ctx context.Context, content string, t Target, opts Options) error
	}
	// ByteWriter writes any content.
	ByteWriter interface {
		// WriteBytes is WriteText without the demand for text. data stays the
		// caller's, who may change it once WriteBytes has returned.
		WriteBytes(ctx context.Context, t Target, data []byte, attr Attr, opts Options) (WriteResult, error)
	}
	// Opener reads any part of a regular file.
	Opener interface {
		// Open opens the file at t, following symlinks; anything but a regular
		// file is FS_NOT_REGULAR_FILE. The caller closes the reader.
		Open(ctx context.Context, t Target) (Reader, error)
	}
	// Walker lists one directory cheaply and without resolving its children;
	// it is List for those who visit very many.
	Walker interface {
		// WalkDir calls fn for each entry below root, a directory whose own entry
		// is not visited: siblings in byte order of their names, directories before
		// what they hold, without following symlinks. An entry that cannot be
		// examined is passed to fn with its error, and the walk goes on. An error of
		// fn ends the walk and is returned, except SkipDir: for a directory it leaves
		// out what the directory holds, for any other entry the rest of the directory
		// that it is in.
		WalkDir(ctx context.Context, root Target, fn WalkFunc) error
		// ReadDir returns the children of one directory in byte order, with types
		// but not necessarily sizes.
		ReadDir(ctx context.Context, t Target) ([]Entry, error)
	}
	// Watcher tells of changes made by others.
	Watcher interface {
		// Watch calls fn after something at or below t changed. It blocks until the
		// context ends, and then returns nil. It coalesces; it may tell of more than
		// there was, never of less.
		Watch(ctx context.Context, t Target, fn func(Target)) error
	}
	// Accesser tells what the process may do with a target.
	Accesser interface {
		// Access reports what the process may do with the content of t. What does
		// not exist is writable where it may be created.
		Access(ctx context.Context, t Target) (readable, writable bool, err error)
	}
	// Confiner marks a provider that confines changes.
	Confiner interface {
		// Confines reports whether changes are confined at all.
		Confines() bool
		// Fence says in one line how the confinement is enforced here.
		Fence() string
	}
)

// Attr are attributes to set on a written file. A zero field keeps what the
// file has, or what a new file gets.
type Attr struct {
	// Mode is the permission bits; SetMode tells that they are to be set.
	Mode    uint32
	SetMode bool
	// Modified is the modification time to set.
	Modified time.Time
}

// Reader reads any part of a regular file, as it was when it was opened.
type Reader interface {
	io.ReaderAt
	io.Closer
	// Size is the size in bytes when the file was opened.
	Size() int64
	// Version is the metadata token of the open file.
	Version() Version
}

// WalkFunc visits one entry. path is relative to the root, with "/" between
// its parts.
type WalkFunc func(path string, e Entry, err error) error

// SkipDir tells a walk to leave the directory it is at.
//
//lint:ignore ST1012 it is named like fs.SkipDir, which it stands for
var SkipDir = errors.New("skip this directory")

// ErrCrossDevice is the cause of a rename that would leave its device.
var ErrCrossDevice = errors.New("source and destination are on different devices")

// As finds the ability T in fs or, through Unwrap, in what fs wraps.
func As[T any](fs FileSystem) (T, bool) {
	for {
		if v, ok := fs.(T); ok {
			return v, true
		}
		w, ok := fs.(interface{ Unwrap() FileSystem })
		if !ok {
			var zero T
			return zero, false
		}
		fs = w.Unwrap()
	}
}

// need is As with the error of a provider that lacks the ability.
func need[T any](fs FileSystem, verb, path string) (T, error) {
	v, ok := As[T](fs)
	if !ok {
		return v, &errs.Error{Code: errs.Unsupported, Op: verb, Path: path,
			Message: fmt.Sprintf("cannot %s %s: this filesystem provider does not support it", verb, quote(path))}
	}
	return v, nil
}

// Remove removes a file or symlink; see [Remover].
func Remove(ctx context.Context, fs FileSystem, t Target, opts Options) error {
	v, err := need[Remover](fs, "remove", t.Path)
	if err != nil {
		return err
	}
	return v.Remove(ctx, t, opts)
}

// Sweep removes the remains of changes that died; see [Sweeper]. A provider
// without the ability leaves none.
func Sweep(ctx context.Context, fs FileSystem, t Target, opts Options) error {
	if v, ok := As[Sweeper](fs); ok {
		return v.Sweep(ctx, t, opts)
	}
	return nil
}

// RemoveDir removes an empty directory; see [DirRemover].
func RemoveDir(ctx context.Context, fs FileSystem, t Target, opts Options) error {
	v, err := need[DirRemover](fs, "remove directory", t.Path)
	if err != nil {
		return err
	}
	return v.RemoveDir(ctx, t, opts)
}

// MakeDir makes a directory and its parents; see [DirMaker].
func MakeDir(ctx context.Context, fs FileSystem, t Target, opts Options) error {
	v, err := need[DirMaker](fs, "make directory", t.Path)
	if err != nil {
		return err
	}
	return v.MakeDir(ctx, t, opts)
}

// SetDirAttr sets attributes of a directory; see [DirAttrSetter].
func SetDirAttr(ctx context.Context, fs FileSystem, t Target, attr Attr, opts Options) error {
	v, err := need[DirAttrSetter](fs, "set attributes of", t.Path)
	if err != nil {
		return err
	}
	return v.SetDirAttr(ctx, t, attr, opts)
}

// SameVersion reports whether a guard that demands want would hold on the
// content that got was read from. A provider that is no [VersionComparer] has
// one version for one content; one that is may have versions that prove
// nothing, which are not the same even as themselves.
func SameVersion(fs FileSystem, want, got Version) bool {
	if v, ok := As[VersionComparer](fs); ok {
		return v.SameVersion(want, got)
	}
	return want == got
}

// Rename moves a file, symlink or directory; see [Renamer].
func Rename(ctx context.Context, fs FileSystem, from, to Target, replace bool, opts Options) error {
	v, err := need[Renamer](fs, "rename", from.Path)
	if err != nil {
		return err
	}
	return v.Rename(ctx, from, to, replace, opts)
}

// Copy copies a file or symlink; see [Copier].
func Copy(ctx context.Context, fs FileSystem, from, to Target, replace bool, opts Options) (int64, error) {
	v, err := need[Copier](fs, "copy", from.Path)
	if err != nil {
		return 0, err
	}
	return v.Copy(ctx, from, to, replace, opts)
}

// Readlink returns what a symlink holds; see [Linker].
func Readlink(ctx context.Context, fs FileSystem, t Target) (string, error) {
	v, err := need[Linker](fs, "read link", t.Path)
	if err != nil {
		return "", err
	}
	return v.Readlink(ctx, t)
}

// Symlink makes a symlink; see [Linker].
func Symlink(ctx context.Context, fs FileSystem, content string, t Target, opts Options) error {
	v, err := need[Linker](fs, "make link", t.Path)
	if err != nil {
		return err
	}
	return v.Symlink(ctx, content, t, opts)
}

// WriteBytes writes any content; see [ByteWriter].
func WriteBytes(ctx context.Context, fs FileSystem, t Target, data []byte, attr Attr, opts Options) (WriteResult, error) {
	v, err := need[ByteWriter](fs, "write bytes to", t.Path)
	if err != nil {
		return WriteResult{}, err
	}
	return v.WriteBytes(ctx, t, data, attr, opts)
}

// Open opens a regular file for reading any part; see [Opener].
func Open(ctx context.Context, fs FileSystem, t Target) (Reader, error) {
	v, err := need[Opener](fs, "open", t.Path)
	if err != nil {
		return nil, err
	}
	return v.Open(ctx, t)
}

// WalkDir visits everything below root; see [Walker].
func WalkDir(ctx context.Context, fs FileSystem, root Target, fn WalkFunc) error {
	v, err := need[Walker](fs, "walk", root.Path)
	if err != nil {
		return err
	}
	return v.WalkDir(ctx, root, fn)
}

// ReadDir lists one directory without resolving its children; it falls back
// to List on a provider that is no [Walker].
func ReadDir(ctx context.Context, fs FileSystem, t Target) ([]Entry, error) {
	if v, ok := As[Walker](fs); ok {
		return v.ReadDir(ctx, t)
	}
	return fs.List(ctx, t)
}

// Watch tells of changes; see [Watcher].
func Watch(ctx context.Context, fs FileSystem, t Target, fn func(Target)) error {
	v, err := need[Watcher](fs, "watch", t.Path)
	if err != nil {
		return err
	}
	return v.Watch(ctx, t, fn)
}

// Access tells what the process may do with t. A provider that cannot say is
// taken to allow both.
func Access(ctx context.Context, fs FileSystem, t Target) (readable, writable bool, err error) {
	if v, ok := As[Accesser](fs); ok {
		return v.Access(ctx, t)
	}
	return true, true, nil
}

// Confines reports whether fs confines changes. While it does, tools offer to
// ask for a wider [sandbox.Mode].
func Confines(fs FileSystem) bool {
	c, ok := As[Confiner](fs)
	return ok && c.Confines()
}

// Outside returns the error of a change that would leave [Options.Root].
func Outside(t, root Target) error {
	return &errs.Error{Code: errs.SandboxDenied, Op: "write", Path: t.Path,
		Message: fmt.Sprintf("%s is outside of %s, which changes are confined to", quote(t.Path), quote(root.Path))}
}

// Denied returns the error of a change that the sandbox does not allow.
func Denied(t Target, mode sandbox.Mode) error {
	return &errs.Error{Code: errs.SandboxDenied, Op: "write", Path: t.Path,
		Message: fmt.Sprintf("sandbox mode %s does not allow changing %s", mode, quote(t.Path))}
}
