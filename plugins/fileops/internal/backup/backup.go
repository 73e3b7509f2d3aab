// Package backup keeps copies of files that are about to change, so that they
// can be put back byte for byte and mode for mode.
//
// A backup is two files in one folder: <id>.bak holds the content, <id>.json
// says what it is (Meta). Of a directory <id>.bak is a copy with all it holds.
// The folder is .fileops-backups beside the file, with
// a .gitignore of "*" so that git never sees it, or one that the caller names,
// which is used as it is. Content is written before its metadata: what a crash
// leaves half done is never listed.
//
// The package knows no provider of files; a Store does what it needs.
package backup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Folder is the name of the folder beside a file that holds its backups.
const Folder = ".fileops-backups"

// MaxLabel is the length of a label, in characters.
const MaxLabel = 200

const (
	contentSuffix = ".bak"
	metaSuffix    = ".json"
	// maxMeta bounds what is read as metadata. The path is its only part of
	// any length, and no system has paths of more than 32 KiB.
	maxMeta = 256 << 10
)

// Errors of this package. They are wrapped with what they are about.
var (
	// ErrNotFound: there is no backup of that id, or none of that file.
	ErrNotFound = errors.New("backup not found")
	// ErrCorrupt: content or metadata is not what was written.
	ErrCorrupt = errors.New("backup is damaged")
	// ErrLabel: the label is too long or has control characters.
	ErrLabel = errors.New("bad backup label")
)

// Store is what backups need of a filesystem. Paths are absolute and use "/".
// A missing file or folder is fs.ErrNotExist, one that is there already
// fs.ErrExist; both may be wrapped.
type Store interface {
	// Stat describes a regular file or a directory.
	Stat(ctx context.Context, path string) (Info, error)
	// Open opens a regular file for reading from the start.
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	// Copy copies a regular file, with its permission bits, to a path at
	// which nothing is yet, atomically. Folders are made.
	Copy(ctx context.Context, from, to string) error
	// Create writes a new file atomically. Folders are made.
	Create(ctx context.Context, path string, data []byte, mode fs.FileMode) error
	// List returns the names in a folder.
	List(ctx context.Context, dir string) ([]string, error)
	// Remove removes a file, or a directory with all it holds.
	Remove(ctx context.Context, path string) error
	// CopyTree copies a directory with all it holds to a path at which nothing
	// is yet, verifies the copy and digests it. Folders are made.
	CopyTree(ctx context.Context, from, to string) (Tree, error)
	// DigestTree digests a directory as CopyTree does.
	DigestTree(ctx context.Context, dir string) (Tree, error)
}

// Tree sums up a directory.
type Tree struct {
	// SHA256 is a digest over all names, types and contents, in hexadecimal.
	SHA256 string
	// Size is that of all files together.
	Size int64
}

// Info describes a file.
type Info struct {
	Size     int64
	Mode     fs.FileMode // permission bits
	Modified time.Time
}

// Meta describes a backup.
type Meta struct {
	ID string
	// OriginalPath is the path of the file as it was given to Create.
	OriginalPath string
	// Directory tells that the backup is of a directory.
	Directory bool
	// SHA256 is the digest of the content in hexadecimal, of a directory that of
	// its Tree.
	SHA256   string
	Size     int64
	Mode     fs.FileMode
	Modified time.Time
	Label    string
	Created  time.Time
	// Path is where the content is kept.
	Path string
}

// Options configure New. The zero value works.
type Options struct {
	// Now and Random give times and ids; time.Now and crypto/rand if nil.
	Now    func() time.Time
	Random io.Reader
	// ID, if not nil, may replace the id that was made for a backup, as a replay
	// does. What is no id, or that of a backup that is there, replaces nothing.
	ID func(fresh string) string
}

// Keeper makes and finds backups. It may be used concurrently.
type Keeper struct {
	store  Store
	now    func() time.Time
	random io.Reader
	id     func(fresh string) string

	mu   sync.Mutex
	last time.Time
}

// New returns a keeper of backups in store.
func New(store Store, o Options) *Keeper {
	k := &Keeper{store: store, now: o.Now, random: o.Random, id: o.ID}
	if k.now == nil {
		k.now = time.Now
	}
	if k.random == nil {
		k.random = rand.Reader
	}
	return k
}

// Dir returns the folder for the backups of a file: root if it is not empty.
func Dir(file, root string) string {
	if root != "" {
		return root
	}
	return path.Join(path.Dir(file), Folder)
}

// Request says what to back up.
type Request struct {
	// File is the file's path. Root is the folder to use instead of the one
	// beside the file.
	File, Root string
	Label      string
	// Data is the content, where the caller has read it already and wants
	// exactly that kept; else the file is copied. nil is no content, an empty
	// slice is that of an empty file.
	Data []byte
	// Directory tells that File is a directory.
	Directory bool
}

// Create makes a backup and returns its metadata. It fails with ErrLabel, or
// with the store's error; then nothing is left behind but, at worst, content
// without metadata, which no function here will show.
func (k *Keeper) Create(ctx context.Context, r Request) (Meta, error) {
	if err := checkLabel(r.Label); err != nil {
		return Meta{}, err
	}
	info, err := k.store.Stat(ctx, r.File)
	if err != nil {
		return Meta{}, err
	}
	dir := Dir(r.File, r.Root)
	if r.Root == "" {
		err := k.store.Create(ctx, path.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return Meta{}, err
		}
	}
	id, created, err := k.newID()
	if err != nil {
		return Meta{}, err
	}
	if id, created, err = k.replaced(ctx, dir, id, created); err != nil {
		return Meta{}, err
	}
	m := Meta{
		ID: id, OriginalPath: r.File, Directory: r.Directory, Mode: info.Mode.Perm(), Modified: info.Modified,
		Label: r.Label, Created: created, Path: path.Join(dir, id+contentSuffix),
	}
	if err := k.keep(ctx, r, &m); err != nil {
		k.undo(ctx, m, err)
		return Meta{}, err
	}
	encoded, err := json.MarshalIndent(m.file(), "", "  ")
	if err == nil {
		err = k.store.Create(ctx, path.Join(dir, id+metaSuffix), append(encoded, '\n'), 0o600)
	}
	if err != nil {
		k.undo(ctx, m, err)
		return Meta{}, err
	}
	return m, nil
}

// undo removes what a Create that failed has made, also when ctx is done: a
// store may fail after it has done its work. What was there before, by a chance
// that the ids leave open, stays. The error is of no use: the failure that led
// here is reported, and content without metadata is not shown.
func (k *Keeper) undo(ctx context.Context, m Meta, cause error) {
	if !errors.Is(cause, fs.ErrExist) {
		_ = k.Remove(context.WithoutCancel(ctx), m)
	}
}

// keep stores the content and fills in digest and size, which are those of the
// bytes that were stored.
func (k *Keeper) keep(ctx context.Context, r Request, m *Meta) error {
	if r.Directory {
		tree, err := k.store.CopyTree(ctx, r.File, m.Path)
		m.SHA256, m.Size = tree.SHA256, tree.Size
		return err
	}
	if r.Data != nil {
		digest := sha256.Sum256(r.Data)
		m.SHA256, m.Size = hex.EncodeToString(digest[:]), int64(len(r.Data))
		return k.store.Create(ctx, m.Path, r.Data, m.Mode)
	}
	if err := k.store.Copy(ctx, r.File, m.Path); err != nil {
		return err
	}
	var err error
	m.SHA256, m.Size, err = k.digest(ctx, m.Path, false)
	return err
}

func (k *Keeper) digest(ctx context.Context, file string, directory bool) (sum string, size int64, err error) {
	if directory {
		tree, err := k.store.DigestTree(ctx, file)
		return tree.SHA256, tree.Size, err
	}
	f, err := k.store.Open(ctx, file)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, reader{ctx, f})
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// reader stops once its context is done.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// idTime is the part of an id that makes ids sort by time: UTC, of fixed width.
const idTime = "20060102T150405.000000000Z"

var idPattern = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}\.[0-9]{9}Z-[0-9a-f]{8}$`)

// newID returns an id and the time in it, which is later than that of every id
// before, also when the clock stands still or is set back.
func (k *Keeper) newID() (string, time.Time, error) {
	var random [4]byte
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := io.ReadFull(k.random, random[:]); err != nil {
		return "", time.Time{}, fmt.Errorf("make a backup id: %w", err)
	}
	now := k.now().UTC().Round(0)
	if !now.After(k.last) {
		now = k.last.Add(time.Nanosecond)
	}
	k.last = now
	return now.Format(idTime) + "-" + hex.EncodeToString(random[:]), now, nil
}

// replaced returns the id that takes the place of one for a backup in dir, with
// its time.
func (k *Keeper) replaced(ctx context.Context, dir, id string, created time.Time) (string, time.Time, error) {
	if k.id == nil {
		return id, created, nil
	}
	other := k.id(id)
	if other == id || !idPattern.MatchString(other) {
		return id, created, nil
	}
	at, err := time.Parse(idTime, other[:len(idTime)])
	if err != nil {
		return id, created, nil // the digits of no time
	}
	switch _, err := k.store.Stat(ctx, path.Join(dir, other+contentSuffix)); {
	case err == nil:
		return id, created, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", time.Time{}, err
	}
	return other, at, nil
}

func checkLabel(label string) error {
	if utf8.RuneCountInString(label) > MaxLabel {
		return fmt.Errorf("%w: more than %d characters", ErrLabel, MaxLabel)
	}
	if !utf8.ValidString(label) || strings.IndexFunc(label, unicode.IsControl) >= 0 {
		return fmt.Errorf("%w: control characters or invalid UTF-8", ErrLabel)
	}
	return nil
}

// Remove removes a backup, its metadata first, so that no half of it is ever
// listed.
func (k *Keeper) Remove(ctx context.Context, m Meta) error {
	err := k.store.Remove(ctx, path.Join(path.Dir(m.Path), m.ID+metaSuffix))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = k.store.Remove(ctx, m.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
