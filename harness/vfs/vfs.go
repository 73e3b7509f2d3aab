// Package vfs is the contract of a filesystem provider: what a deployment's
// tools may rely on, whatever world the files live in.
//
// A [Target] names one file. A [Version] stands for its content. A [Guard]
// says what must hold at the moment of a change. A provider implements
// [FileSystem]; abilities beyond it are optional interfaces in the manner of
// io/fs, such as [Remover] and [Walker], and callers use the functions of the
// same verb ([Remove], [WalkDir]), which degrade with the code FS_UNSUPPORTED.
//
// Promises that all providers share are kept once, here: which paths mean
// nothing ([CheckPath]), what counts as text ([DecodeText]), how an edit is
// matched ([ApplyEdit]), how a refusal is worded ([Stale], [NotObserved]), what
// the end of a context gives ([Aborted]), how names are shown ([DisplayName]).
// The conformance suite in testkit tries every clause.
//
// A tool that changes a file goes one way: [Ask] for a guard, the provider's
// method under that guard, then [Tell] what is there now, or [Explain] why the
// guard did not hold.
//
// vfs is not a general filesystem: it has no open handles for writing, no
// permissions interface and no deadlines. Cancellation comes through the
// context; until a change is published it gives FS_ABORTED and leaves
// everything as it was.
package vfs

import (
	"context"
	"io"
	"time"

	"github.com/bridle-go/bridle/harness/sandbox"
)

// Key identifies a file within one provider. It is opaque and comparable: the
// same file by any route has the same key, also before it exists.
type Key string

// Target is a resolved path.
type Target struct {
	Key Key
	// Path is the absolute path as the caller spelled it: lexically absolute,
	// but with symlinks left alone. It is for people and models, who see it
	// through [DisplayName].
	Path string
}

// Version is an opaque token of freshness. Equal content never makes a
// version stale, and any change of content does. Tokens survive a restart of
// the process and go into session logs. Only the provider that made two
// tokens can compare them; the empty token is no version.
type Version string

// Type is what a directory entry is.
type Type uint8

// The types. Link, a symlink, is reported by Lstat and listings only.
const (
	Absent Type = iota
	File
	Directory
	Link
	// Other is a FIFO, socket, device, or something that cannot be examined.
	Other
)

// String returns the type's name in lower case.
func (t Type) String() string {
	return [...]string{"absent", "file", "directory", "symlink", "other"}[t]
}

// Info describes a target. Its zero value describes an absent one.
type Info struct {
	Type Type
	// Size is the content's size in bytes; 0 for anything but a file, and -1
	// for a file whose size cannot be known in advance.
	Size int64
	// Version is set for files. A version from Stat alone is drawn from
	// metadata and says less than one from a read: a provider that later meets
	// other metadata may have to call it stale although the content is equal.
	Version Version
	// Modified is the time of the last change of content; zero when unknown.
	Modified time.Time
	// Mode holds the permission bits; 0 when the provider has none.
	Mode uint32
}

// Exists reports whether there is anything at the target.
func (i Info) Exists() bool { return i.Type != Absent }

// Text is a whole text file.
type Text struct {
	// Content is valid UTF-8 without its byte-order mark; line endings are as
	// they are in the file.
	Content string
	Version Version
}

// TextStream is a text file read in chunks with constant memory. Read returns
// valid UTF-8 in total, though a chunk may end inside a character; the
// byte-order mark is not among it. Content that turns out not to be text ends
// the stream with FS_NOT_TEXT. A stream that is an [io.WriterTo] as well spares
// its caller a copy of the text.
type TextStream interface {
	io.ReadCloser
	// Version returns the token of what was read. It is known once Read has
	// returned io.EOF, or WriteTo nil, and empty before.
	Version() Version
}

// Bytes is a whole file.
type Bytes struct {
	Data    []byte
	Version Version
}

// Entry is one child of a directory.
type Entry struct {
	// Name is the leaf name, byte for byte.
	Name   string
	Target Target
	// Type does not follow a symlink whose destination is missing: that is
	// Other. For a symlink that leads somewhere it is Link.
	Type Type
	// Size, of a file in bytes, and Modified come with the listing where they
	// are cheap; elsewhere both are zero.
	Size     int64
	Modified time.Time
}

// ResolveOptions say what a relative path is relative to.
type ResolveOptions struct {
	// Cwd is the caller's working directory, absolute; "" means the
	// provider's.
	Cwd string
}

// Options go with every change.
type Options struct {
	Guard Guard
	// Actor is the caller, opaque to the provider; a confining provider hands
	// it to the sandbox policy.
	Actor any
	// Grant is the approved widening of the sandbox for this change, or nil.
	// Only a [Confiner] is given one. It makes the change only while the digests
	// of the content that is there and of the content that it puts there are
	// those of the grant; otherwise the change is FS_STALE_VERSION.
	Grant *sandbox.Grant
	// Root confines the change where it is not zero: with every symlink resolved
	// as it is at the moment of the change, each entry that changes lies at or
	// below this directory. Otherwise the change is FS_SANDBOX_DENIED.
	Root Target
	// Exact turns off the diff basis limit: before and after text are always
	// returned where the content is text.
	Exact bool
}

// Operation tells what a write did.
type Operation string

// The operations.
const (
	Create Operation = "create"
	Update Operation = "update"
)

// DefaultDiffBasisMaxBytes is the diff basis limit of a provider that is not
// configured otherwise, in bytes: from this size on a change returns no text of
// before, so that two copies of a huge file are not held for a diff.
const DefaultDiffBasisMaxBytes = 10 << 20

// WriteResult tells what a write or edit did.
type WriteResult struct {
	Operation Operation
	// Version is the token of the content now in place.
	Version Version
	// Size is that of the file now in place, in bytes.
	Size int64
	// Before is the text that was replaced, without its byte-order mark and
	// with the line endings it had. It is nil on create, when the old content
	// was not text, and when either side is at or above the provider's diff
	// basis limit, [DefaultDiffBasisMaxBytes] unless it is configured.
	Before *string
	// After is the text now in place, in the same form.
	After string
}

// Edit is a literal replacement. Matching ignores the difference between LF
// and CRLF and nothing else; inserted line breaks take the style of the line
// they land in; every byte outside the matched ranges stays.
type Edit struct {
	Old string
	New string
	// All replaces every match; without it there must be exactly one.
	All bool
}

// FileSystem serves one execution world. All methods may be called
// concurrently; changes of one target are serialised, changes of different
// targets run in parallel.
//
// Errors carry the FS codes of package errs and wrap their cause. Only
// regular files are ever opened for content, and never in a way that blocks:
// a FIFO, socket or device is FS_NOT_REGULAR_FILE at once, and so is a
// directory. A missing file is FS_NOT_FOUND, missing permission
// FS_PERMISSION_DENIED, a failure of the world itself FS_IO_ERROR.
type FileSystem interface {
	// Resolve names the file at path, which need not exist. A ".." after a
	// symlink means what the kernel means by it. A path that begins with "~",
	// is empty or holds a NUL byte is INVALID_ARGS.
	Resolve(ctx context.Context, path string, opts ResolveOptions) (Target, error)
	// ProcessPath returns the path by which a process in the same execution
	// world opens the target: absolute, with symlinks resolved. A world that runs
	// no processes has one all the same; tools compare and show it.
	ProcessPath(t Target) (string, error)
	// FileURL returns the process path as a URL of the scheme file.
	FileURL(t Target) (string, error)
	// Contains reports whether t is dir or below it, by path components of
	// resolved paths.
	Contains(dir, t Target) (bool, error)

	// Stat follows symlinks. Absence is not an error.
	Stat(ctx context.Context, t Target) (Info, error)
	// Lstat does not follow the last component of t.Path.
	Lstat(ctx context.Context, t Target) (Info, error)

	// ReadText reads a whole text file; FS_NOT_TEXT when it is none.
	ReadText(ctx context.Context, t Target) (Text, error)
	// StreamText opens a text file for one pass. The caller closes it.
	StreamText(ctx context.Context, t Target) (TextStream, error)
	// ReadBytes reads a whole file of at most limit bytes. A larger one is
	// FS_TOO_LARGE, whether that is known beforehand or discovered; never a
	// short result, never a buffer beyond limit+1 bytes. limit must not be
	// negative. The bytes belong to the caller, who may change them.
	ReadBytes(ctx context.Context, t Target, limit int64) (Bytes, error)
	// List returns the children of a directory in byte order of their names.
	// It reads no content; a broken or vanished child is Other. Anything but a
	// directory is FS_NOT_DIRECTORY.
	List(ctx context.Context, t Target) ([]Entry, error)

	// WriteText puts content in place, atomically: readers see the old or the
	// new content, also after a crash. Missing parent directories are made; a
	// path below a file is FS_NOT_DIRECTORY, here or from Resolve. An existing
	// file keeps its mode and, where allowed, its owner; a symlink stays and its
	// destination is written. content is written byte for byte, a NUL too; a
	// provider may refuse what is not valid UTF-8 with FS_NOT_TEXT. Nothing is
	// left behind after success or a clean failure.
	WriteText(ctx context.Context, t Target, content string, opts Options) (WriteResult, error)
	// EditText replaces text in an existing file, atomically, under the same
	// lock as WriteText. The guard is judged first (FS_STALE_VERSION), then the
	// match: FS_EDIT_NOT_FOUND, or FS_AMBIGUOUS_EDIT with the count and the
	// line numbers.
	EditText(ctx context.Context, t Target, e Edit, opts Options) (WriteResult, error)
}
