// Package attachments is a store of images on the local disk.
//
// What comes in is admitted by its content, normalized (upright, 8-bit sRGB,
// one frame, no metadata, bounded in size) and kept under the SHA-256 of the
// result, so the same picture is one object however often it comes. An object
// is durable before its reference is handed out, and verified whenever it is
// read. Copies for model requests are derived from an object, cached on disk and
// computed once however many ask at the same time.
//
// A store is a directory that belongs to its owner alone (0700, files 0600):
//
//	objects/<first two digits>/<sha-256>      the normalized bytes
//	variants/<sha-256>/<bounds>               the digest, then the bytes
//	staging/                                  files on their way
//	lock                                      collecting excludes publishing
//
// Several processes may use one store at once. Files are written in staging,
// synced and then linked under their final name, which never replaces anything,
// so a kill at any moment leaves a whole object or none.
//
// The package does not know where references are kept: whoever collects garbage
// says what is still referred to.
package attachments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/picture"
)

// Config are the parameters of a store. Only Dir is required. A zero field means
// its default; a negative one is refused.
type Config struct {
	// Dir is the store's directory. It is made when it is not there, with its
	// parents, and closed to others.
	Dir string
	// Limits bound admission and the stored form.
	Limits attachment.Limits
	// Concurrency bounds the images that are decoded, encoded or resampled at the
	// same time. Default 2. The memory of the store's work is bounded by this
	// times four bytes for each pixel that Limits admit.
	Concurrency int
	// Grace is the age under which Collect removes nothing: the reference to a
	// young object may be on its way to a log. Default one hour.
	Grace time.Duration
}

// Store is a store on the local disk. Make one with [New]; its methods may be
// called concurrently.
type Store struct {
	root   *os.Root
	limits attachment.Limits
	grace  time.Duration
	work   *semaphore.Weighted

	saves    flights[saveKey, saved]
	recent   recent
	variants flights[string, picture.Encoded]

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // calls and the work behind them
}

var _ attachment.Store = (*Store)(nil)

const (
	objectsDir  = "objects"
	variantsDir = "variants"
	stagingDir  = "staging"
	lockName    = "lock"
)

// New opens the store in cfg.Dir and removes what a killed process left in
// staging. Close must be called. An existing store on a read-only medium opens,
// too, and can be read.
//
// Errors: INVALID_ARGS for a config that makes no sense, ATTACHMENT_WRITE_FAILED
// where the directory cannot be made or used.
func New(cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Dir == "" {
		return nil, errs.New(errs.AttachmentWriteFailed, "the attachment store has no directory")
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, writeFailed("find its directory", err)
	}
	if err := makeDirs(dir); err != nil {
		return nil, writeFailed("make its directory", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, writeFailed("open its directory", err)
	}
	s := &Store{
		root:   root,
		limits: cfg.Limits.WithDefaults(),
		grace:  cmp.Or(cfg.Grace, time.Hour),
		work:   semaphore.NewWeighted(int64(cmp.Or(cfg.Concurrency, 2))),
	}
	if err := s.prepare(); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

func (c Config) check() error {
	l := c.Limits.WithDefaults()
	for _, v := range []struct {
		name  string
		value int64
	}{
		{"Limits.MaxImageBytes", l.MaxImageBytes},
		{"Limits.MaxMessageImages", int64(l.MaxMessageImages)},
		{"Limits.MaxMessageImageBytes", l.MaxMessageImageBytes},
		{"Limits.MaxImagePixels", l.MaxImagePixels},
		{"Limits.MaxImageDimension", int64(l.MaxImageDimension)},
		{"Limits.NormalizedImageMaxDimension", int64(l.NormalizedImageMaxDimension)},
		{"Limits.NormalizedImageMaxBytes", l.NormalizedImageMaxBytes},
		{"Concurrency", int64(c.Concurrency)},
		{"Grace", int64(c.Grace)},
	} {
		if v.value < 0 {
			return errs.New(errs.InvalidArgs, fmt.Sprintf("attachments: %s is %d and must not be negative", v.name, v.value))
		}
	}
	for _, mt := range l.MediaTypes {
		if !(attachment.Limits{}).Accepts(mt) {
			return errs.New(errs.InvalidArgs, fmt.Sprintf("attachments: Limits.MediaTypes has %q, which is none of the types that can be read", mt))
		}
	}
	return nil
}

// prepare makes the directories and closes them to others, also where they were
// made by someone more generous.
func (s *Store) prepare() error {
	for _, d := range []string{objectsDir, variantsDir, stagingDir} {
		if err := s.root.MkdirAll(d, 0o700); err != nil {
			return writeFailed("make "+d, err)
		}
	}
	for _, d := range []string{".", objectsDir, variantsDir, stagingDir} {
		if err := s.protect(d); err != nil {
			return writeFailed("protect "+d, err)
		}
	}
	err := syncDir(s.root, ".")
	if err != nil {
		err = writeFailed("sync its directory", err)
	} else {
		err = s.sweepStaging()
	}
	// A store on a medium that cannot be written can still be read.
	if errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// protect closes a directory to others where it is not.
func (s *Store) protect(dir string) error {
	info, err := s.root.Stat(dir)
	if err != nil || info.Mode().Perm() == 0o700 {
		return err
	}
	return s.root.Chmod(dir, 0o700)
}

// makeDirs makes a directory and its parents, for the owner alone, and makes
// their names durable.
func makeDirs(dir string) error {
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
		if err := makeDirs(filepath.Dir(dir)); err != nil {
			return err
		}
		return makeDirs(dir)
	case errors.Is(err, fs.ErrExist):
		// OpenRoot tells where this is no directory.
		return nil
	default:
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return syncDir(parent, ".")
}

// Close stops the work of the store and waits until it has stopped. Closing
// again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.saves.cancel()
	s.variants.cancel()
	s.running.Wait()
	return s.root.Close()
}

// enter begins a call, which Close waits for.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errs.New(errs.Stopped, "the attachment store is closed")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.running.Add(1)
	return s.running.Done, nil
}

// orStopped says that the store was closed where that ended the work.
func (s *Store) orStopped(ctx context.Context, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return errs.Wrap(errs.Stopped, "the attachment store is closed", err)
	}
	return err
}

// Limits returns the bounds in force.
func (s *Store) Limits() attachment.Limits { return s.limits }

// slot waits for a place among the images in work.
func (s *Store) slot(ctx context.Context) (release func(), err error) {
	if err := s.work.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { s.work.Release(1) }, nil
}

func writeFailed(doing string, err error) error {
	return errs.Wrap(errs.AttachmentWriteFailed, fmt.Sprintf("the attachment store could not %s: %v", doing, err), err)
}

func readFailed(doing string, err error) error {
	return errs.Wrap(errs.AttachmentReadFailed, fmt.Sprintf("the attachment store could not %s: %v", doing, err), err)
}
