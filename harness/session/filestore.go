package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bridle-go/bridle/harness/errs"
)

const (
	logSuffix  = ".jsonl"
	lockSuffix = ".lock"
	tornInfix  = ".torn-"
)

// FileStore keeps each session as files in one directory: the log in
// ID.jsonl, the owner's name in ID.lock while somebody writes, and the torn
// ends that were cut off in ID.torn-1 and so on. Files are readable by their
// owner alone (0600), directories too (0700).
//
// An open session that idles holds its conversation, about 2 KiB of heap
// beside it, two open files and no goroutine; its events are in the file
// alone.
type FileStore struct {
	dir    string
	config Config

	mu    sync.Mutex
	infos map[string]cachedInfo
}

var _ Store = (*FileStore)(nil)

// NewFileStore returns a store in dir, which is made by the first Create.
func NewFileStore(dir string, config Config) *FileStore {
	return &FileStore{dir: dir, config: config.withDefaults(), infos: map[string]cachedInfo{}}
}

// Dir returns the store's directory.
func (s *FileStore) Dir() string { return s.dir }

func (s *FileStore) path(id, suffix string) string { return filepath.Join(s.dir, id+suffix) }

func failedIO(code errs.Code, op, path string, err error) error {
	return &errs.Error{Code: code, Op: op, Path: path, Err: err,
		Message: fmt.Sprintf("%s: %v", op, err)}
}

func readFailed(path string, err error) error {
	return failedIO(ReadFailed, "the session log cannot be read", path, err)
}

// Create makes a session, durably.
func (s *FileStore) Create(ctx context.Context, h Header) (*Session, error) {
	return s.create(ctx, h, nil)
}

func (s *FileStore) create(ctx context.Context, h Header, events []Event) (_ *Session, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if h, err = s.config.complete(h); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, failedIO(WriteFailed, "the session directory cannot be made", s.dir, err)
	}
	lock, err := s.lock(h.ID)
	if err != nil {
		return nil, err
	}
	path := s.path(h.ID, logSuffix)
	defer func() {
		if err != nil {
			lock.release()
		}
	}()
	// A process that ends between the making of the file and the writing of
	// its header leaves an empty file, which is no session: it is taken over.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, failedIO(WriteFailed, "the session log cannot be made", path, err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		f.Close()
		return nil, exists(h.ID)
	}
	l := &fileLog{path: path, types: s.config.KnownTypes, lock: lock, f: f}
	state := &State{}
	l.buf = append(h.AppendJSON(nil), '\n')
	for _, e := range events {
		if err == nil {
			err = state.applyKnown(e, s.config.KnownTypes)
		}
		l.buf = l.pack.add(l.buf, e)
	}
	if err == nil {
		err = l.checkpoint(ctx)
	}
	if err == nil {
		err = syncDir(s.dir)
	}
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil, failedIO(WriteFailed, "the session log cannot be made", path, err)
	}
	l.buf, l.pack.run = nil, nil
	out := newSession(h, s.config, l, state)
	if len(events) > 0 {
		out.lastTime = max(out.lastTime, events[len(events)-1].Time)
	}
	return out, nil
}

func (s *FileStore) lock(id string) (*fileLock, error) {
	path := s.path(id, lockSuffix)
	lock, err := lockFile(path)
	if err != nil && errs.CodeOf(err) == "" {
		err = failedIO(WriteFailed, "the session cannot be locked", path, err)
	}
	return lock, err
}

// present reports whether the store has a log of that id.
func (s *FileStore) present(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	info, err := os.Stat(s.path(id, logSuffix))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() == 0:
		return notFound(id)
	case err != nil:
		return readFailed(s.path(id, logSuffix), err)
	case !info.Mode().IsRegular():
		return readFailed(s.path(id, logSuffix), errors.New("it is not a regular file"))
	}
	return nil
}

// Open resumes a session. A torn last line is cut off and kept beside the log.
func (s *FileStore) Open(ctx context.Context, id string) (_ *Session, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.present(id); err != nil {
		return nil, err
	}
	lock, err := s.lock(id)
	if err != nil {
		return nil, err
	}
	path := s.path(id, logSuffix)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		lock.release()
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			return nil, notFound(id)
		}
		return nil, readFailed(path, err)
	}
	l := &fileLog{path: path, types: s.config.KnownTypes, lock: lock, f: f}
	defer func() {
		if err != nil {
			f.Close()
			lock.release()
		}
	}()
	out, rd, err := s.load(ctx, l)
	if err != nil {
		return nil, err
	}
	if out.header.ID != id {
		return nil, errs.New(Corrupt, fmt.Sprintf("the log of session %q is that of session %q: line 1 names it", id, out.header.ID))
	}
	var tornFile string
	if rd.torn != nil {
		if tornFile, err = s.cut(id, f, rd.torn); err != nil {
			return nil, failedIO(WriteFailed, "the torn end of the session log cannot be cut off", path, err)
		}
		l.written = rd.torn.Offset
	} else if rd.unclosed {
		// Only the line break of the last line was lost.
		n, err := f.Write([]byte("\n"))
		l.written += int64(n)
		if err != nil {
			return nil, failedIO(WriteFailed, "the session log cannot be written", path, err)
		}
	}
	if err = out.repair(rd.torn, tornFile); err != nil {
		return nil, err
	}
	if err = l.checkpoint(ctx); err != nil {
		return nil, failedIO(WriteFailed, "the session log cannot be made durable", path, err)
	}
	return out, nil
}

// load folds the log of an open file.
func (s *FileStore) load(ctx context.Context, l *fileLog) (*Session, *Reader, error) {
	rd, err := NewReader(l.f, l.types...)
	if err != nil {
		return nil, nil, inFile(l.path, err)
	}
	state := &State{}
	out := newSession(rd.Header(), s.config, l, state)
	for n := 0; ; n++ {
		e, body, err := rd.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, inFile(l.path, err)
		}
		state.apply(e, body)
		out.lastTime = max(out.lastTime, e.Time)
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
	}
	l.written = rd.offset
	return out, rd, nil
}

func inFile(path string, err error) error {
	return &errs.Error{Code: errs.CodeOf(err), Op: "open session", Path: path,
		Message: fmt.Sprintf("%s: %v", path, err), Err: err}
}

// cut moves the torn end of a log into a file of its own. The copy is durable
// before the log is cut.
func (s *FileStore) cut(id string, f *os.File, torn *Torn) (string, error) {
	var kept *os.File
	var err error
	for n := 1; ; n++ {
		kept, err = os.OpenFile(s.path(id, fmt.Sprint(tornInfix, n)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	_, err = io.Copy(kept, io.NewSectionReader(f, torn.Offset, torn.Bytes))
	if err == nil {
		err = kept.Sync()
	}
	err = errors.Join(err, kept.Close())
	if err == nil {
		err = syncDir(s.dir)
	}
	if err != nil {
		os.Remove(kept.Name())
		return "", err
	}
	if err := f.Truncate(torn.Offset); err != nil {
		return "", err
	}
	return kept.Name(), f.Sync()
}

// Read reads a whole log.
func (s *FileStore) Read(ctx context.Context, id string) (*Log, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.present(id); err != nil {
		return nil, err
	}
	return ReadFile(s.path(id, logSuffix), s.config.KnownTypes...)
}

// Fork makes a session from the first events of another one.
func (s *FileStore) Fork(ctx context.Context, id string, at int64) (*Session, error) {
	log, err := s.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	h, events, err := forkOf(log, at, s.config)
	if err != nil {
		return nil, err
	}
	out, err := s.create(ctx, h, events)
	if err != nil {
		return nil, err
	}
	_, err = out.Append(EndSeed{From: id, Seq: int64(len(events)) - 1}.Event())
	if err == nil {
		err = out.Checkpoint(ctx)
	}
	if err != nil {
		out.Close()
		os.Remove(s.path(h.ID, logSuffix))
		return nil, fmt.Errorf("fork: %w", err)
	}
	return out, nil
}

// Delete removes a session's files.
func (s *FileStore) Delete(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.present(id); err != nil {
		return err
	}
	lock, err := s.lock(id)
	if err != nil {
		return err
	}
	names := []string{s.path(id, logSuffix)}
	torn, err := s.torn(id)
	names = append(names, torn...)
	for _, name := range names {
		if e := os.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	err = errors.Join(err, syncDir(s.dir), lock.release())
	s.mu.Lock()
	delete(s.infos, id)
	s.mu.Unlock()
	if err != nil {
		return failedIO(WriteFailed, "the session cannot be deleted", names[0], err)
	}
	return nil
}

// torn returns the files that keep torn ends of a session's log, in order.
func (s *FileStore) torn(id string) ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	var names []string
	for _, e := range entries {
		if n, ok := strings.CutPrefix(e.Name(), id+tornInfix); ok && strings.Trim(n, "0123456789") == "" {
			names = append(names, filepath.Join(s.dir, e.Name()))
		}
	}
	slices.Sort(names)
	return names, err
}
