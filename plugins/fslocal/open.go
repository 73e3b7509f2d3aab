package fslocal

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/textedit"
	"github.com/bridle-go/bridle/harness/vfs"
)

// maxUnsized bounds what is read of a file that does not tell its size: those
// of /proc are made up as they are read, and some have no end.
const maxUnsized = 64 << 20

// source is a regular file that is open for reading.
type source struct {
	*file
	meta  meta      // when opened
	now   time.Time // before that
	world world
	size  int64 // -1 when it cannot be known
}

// openFile opens a regular file for reading, following symlinks.
func (f *FS) openFile(verb string, t vfs.Target) (*source, error) {
	path, err := keyPath(t)
	if err != nil {
		return nil, err
	}
	// Opening a device can have effects of its own, so it is looked at first.
	// What counts is the second look, at what was opened.
	m, err := statPath(path, true)
	if err == nil {
		err = regular(verb, t.Path, m)
	}
	if err != nil {
		return nil, fail(verb, t.Path, err)
	}
	now := time.Now()
	file, err := openPath(path)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EAGAIN) {
			err = notRegular(verb, t.Path)
		}
		return nil, fail(verb, t.Path, err)
	}
	s, err := f.asSource(verb, t.Path, file, now)
	if err != nil {
		file.Close()
		return nil, fail(verb, t.Path, err)
	}
	return s, nil
}

// asSource makes sure that an open file may be read.
func (f *FS) asSource(verb, path string, file *file, now time.Time) (*source, error) {
	m, err := file.stat()
	if err != nil {
		return nil, err
	}
	if err := regular(verb, path, m); err != nil {
		return nil, err
	}
	s := &source{file: file, meta: m, now: now, world: f.worldOfFile(file, m.dev), size: m.size}
	return s, s.checkWorld(verb, path)
}

func (s *source) checkWorld(verb, path string) error {
	if s.world == worldProc {
		if s.meta.mode&0o444 != 0o444 {
			return refuse(errs.NotRegularFile, verb, path, "not a regular file", nil)
		}
		s.size = unsized(s.meta, s.world)
	}
	return nil
}

// unsized returns the size of a file, or -1 for one that tells none.
func unsized(m meta, w world) int64 {
	if w == worldProc && m.size == 0 {
		return -1
	}
	return m.size
}

func regular(verb, path string, m meta) error {
	switch m.kind {
	case vfs.File:
		return nil
	case vfs.Absent:
		return refuse(errs.NotFound, verb, path, "not found", syscall.ENOENT)
	}
	return notRegular(verb, path)
}

func notRegular(verb, path string) error {
	return refuse(errs.NotRegularFile, verb, path, "not a regular file", nil)
}

// readChunk is how much is read between two looks at the context.
const readChunk = 4 << 20

// readAll reads the file to its end, at most limit bytes; one byte more is
// errOverflow. It never has more than limit+1 bytes of buffer.
func (s *source) readAll(ctx context.Context, limit int64, check func([]byte) error) ([]byte, error) {
	most := limit
	if most < math.MaxInt64 {
		most++
	}
	// One byte more than expected finds the end without growing.
	capacity := min(max(s.size, 511)+1, most)
	if s.size > maxUnsized {
		// Sizes can be lies: take memory as content arrives.
		capacity = min(maxUnsized, most)
	}
	buf := make([]byte, 0, capacity)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			if int64(len(buf)) >= most {
				return nil, errOverflow
			}
			grown := 2 * int64(cap(buf))
			if s.size >= int64(cap(buf)) {
				grown = min(grown, s.size+1) // as much as there is said to be, and no more
			}
			bigger := make([]byte, len(buf), min(grown, most))
			copy(bigger, buf)
			buf = bigger
		}
		n, err := s.Read(buf[len(buf):min(cap(buf), len(buf)+readChunk)])
		first := len(buf) == 0
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return nil, errOverflow
		}
		if s.size < 0 && len(buf) > maxUnsized {
			return nil, errEndless
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if first && check != nil {
			if err := check(buf); err != nil {
				return nil, err
			}
		}
	}
}

var (
	errOverflow = errors.New("larger than the limit")
	errEndless  = errors.New("the file tells no size and does not end")
)

// done closes the source after content was read and returns its version.
func (f *FS) done(s *source, sum digest) vfs.Version {
	last, err := s.stat()
	if err != nil {
		last = meta{}
	}
	return f.seen(s.meta, last, s.now, s.world, sum)
}

// readFailure names what went wrong while reading.
func readFailure(verb, path string, err error) error {
	switch {
	case errors.Is(err, errEndless):
		return refuse(errs.TooLarge, verb, path, err.Error(), err)
	case errors.Is(err, syscall.EAGAIN):
		// A pseudo file that would wait for something to happen.
		return refuse(errs.NotRegularFile, verb, path, "not a regular file", err)
	}
	return fail(verb, path, err)
}

// earlyNUL tells binary files by their beginning, before the rest is read.
func earlyNUL(t vfs.Target) func([]byte) error {
	return func(head []byte) error {
		var v textedit.Validator
		if _, err := v.Write(head[:min(len(head), textedit.NULWindow)]); err != nil {
			return vfs.NotText(t, "read", err)
		}
		return nil
	}
}

// ReadText implements [vfs.FileSystem].
func (f *FS) ReadText(ctx context.Context, t vfs.Target) (vfs.Text, error) {
	if err := vfs.Aborted(ctx, "read", t.Path); err != nil {
		return vfs.Text{}, err
	}
	s, err := f.openFile("read", t)
	if err != nil {
		return vfs.Text{}, err
	}
	defer s.Close()
	data, err := s.readAll(ctx, math.MaxInt64, earlyNUL(t))
	if err != nil {
		return vfs.Text{}, readFailure("read", t.Path, err)
	}
	text, err := vfs.DecodeText(t, data)
	if err != nil {
		return vfs.Text{}, err
	}
	return vfs.Text{Content: text, Version: f.done(s, digestOf(data))}, nil
}

// ReadBytes implements [vfs.FileSystem].
func (f *FS) ReadBytes(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
	if limit < 0 {
		return vfs.Bytes{}, refuse(errs.InvalidArgs, "read", t.Path, "the limit is negative", nil)
	}
	if err := vfs.Aborted(ctx, "read", t.Path); err != nil {
		return vfs.Bytes{}, err
	}
	s, err := f.openFile("read", t)
	if err != nil {
		return vfs.Bytes{}, err
	}
	defer s.Close()
	err = errOverflow
	var data []byte
	if s.size <= limit {
		data, err = s.readAll(ctx, limit, nil)
	}
	if errors.Is(err, errOverflow) {
		return vfs.Bytes{}, tooLarge("read", t.Path, s.size, limit)
	}
	if err != nil {
		return vfs.Bytes{}, readFailure("read", t.Path, err)
	}
	return vfs.Bytes{Data: data, Version: f.done(s, digestOf(data))}, nil
}

// Stat implements [vfs.FileSystem].
func (f *FS) Stat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	path, err := keyPath(t)
	if err != nil {
		return vfs.Info{}, err
	}
	return f.info(ctx, t, path, true)
}

// Lstat implements [vfs.FileSystem].
func (f *FS) Lstat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	key, err := keyPath(t)
	if err != nil {
		return vfs.Info{}, err
	}
	path, err := resolveEntry(t.Path, key)
	if err != nil {
		return vfs.Info{}, fail("examine", t.Path, err)
	}
	return f.info(ctx, t, path, false)
}

func (f *FS) info(ctx context.Context, t vfs.Target, path string, follow bool) (vfs.Info, error) {
	if err := vfs.Aborted(ctx, "examine", t.Path); err != nil {
		return vfs.Info{}, err
	}
	now := time.Now()
	m, err := statPath(path, follow)
	if errors.Is(err, syscall.ENOTDIR) {
		return vfs.Info{}, nil // nothing can be there
	}
	if err != nil {
		return vfs.Info{}, fail("examine", t.Path, err)
	}
	if m.kind == vfs.Absent {
		return vfs.Info{}, nil
	}
	info := vfs.Info{Type: m.kind, Modified: m.modified(), Mode: m.mode & 0o777}
	if m.kind != vfs.File {
		return info, nil
	}
	w := f.worldOfPath(path, m.dev)
	info.Size = unsized(m, w)
	info.Version, err = f.statVersion(ctx, path, m, now, w)
	return info, err
}

// statVersion makes a version without reading, where that can be.
func (f *FS) statVersion(ctx context.Context, path string, m meta, now time.Time, w world) (vfs.Version, error) {
	id := m.identity()
	if settled(m, now, w) {
		t := token{identity: &id}
		if sum, ok := f.known.get(id); ok {
			t.digest = &sum
		}
		return t.version(), nil
	}
	if m.size <= f.statDigest && w != worldProc && w != worldPseudo {
		s, err := f.openFile("read", vfs.Target{Key: vfs.Key(path), Path: path})
		if err == nil {
			defer s.Close()
			h := newHasher()
			if err = s.pour(ctx, h); err == nil {
				return f.done(s, h.digest()), nil
			}
		}
		if ctx.Err() != nil {
			return "", vfs.Aborted(ctx, "examine", path)
		}
	}
	// Neither read nor trusted: every later content counts as another.
	return token{}.version(), nil
}

// pour reads the rest of the file into w.
func (s *source) pour(ctx context.Context, w io.Writer) error {
	buf := make([]byte, min(max(s.meta.size, 4096), 256<<10))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := s.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Access implements [vfs.Accesser]. What does not exist is writable where its
// nearest directory is.
func (f *FS) Access(ctx context.Context, t vfs.Target) (readable, writable bool, err error) {
	path, err := keyPath(t)
	if err != nil {
		return false, false, err
	}
	if err := vfs.Aborted(ctx, "examine", t.Path); err != nil {
		return false, false, err
	}
	readable, writable, err = access(path)
	for at := path; errors.Is(err, syscall.ENOENT) && filepath.Dir(at) != at; {
		at = filepath.Dir(at)
		_, writable, err = access(at)
		readable = false
	}
	return readable, writable, fail("examine", t.Path, err)
}

// reader serves [vfs.Opener].
type reader struct {
	*source
	version vfs.Version
}

func (r *reader) Size() int64          { return max(r.size, 0) }
func (r *reader) Version() vfs.Version { return r.version }

// Open implements [vfs.Opener].
func (f *FS) Open(ctx context.Context, t vfs.Target) (vfs.Reader, error) {
	if err := vfs.Aborted(ctx, "open", t.Path); err != nil {
		return nil, err
	}
	s, err := f.openFile("open", t)
	if err != nil {
		return nil, err
	}
	v := token{}
	if id := s.meta.identity(); settled(s.meta, s.now, s.world) {
		v.identity = &id
		if sum, ok := f.known.get(id); ok {
			v.digest = &sum
		}
	}
	return &reader{source: s, version: v.version()}, nil
}
