package fslocal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// A recovery copy holds a header, the old and the new content of a file that
// is being overwritten. The header is recoveryMagic and the two sizes, eight
// bytes each in big-endian order; it is written last.
const (
	recoveryMagic  = "bridle-recovery1"
	recoveryHeader = len(recoveryMagic) + 16
)

// overwrite changes the file in place.
func (p *place) overwrite(ctx context.Context, old *existing, next []byte, attr vfs.Attr) error {
	if p.gate.OneName && old.meta.links > 1 {
		return p.gate.Refusal()
	}
	if err := vfs.Aborted(ctx, p.verb, p.t.Path); err != nil {
		return err
	}
	file, err := p.dir.open(p.name, forWriting, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	m, err := file.stat()
	if err != nil {
		return err
	}
	if !m.sameEntry(old.meta) {
		return errMoved
	}
	if w := p.fs.worldOfFile(file, m.dev); w == worldProc || w == worldPseudo {
		return notRegular(p.verb, p.t.Path)
	}
	kept, err := p.keepCopy(ctx, file, m.size, next)
	if err != nil {
		return fmt.Errorf("the file can only be overwritten in place, and no copy of it could be made first: %w", err)
	}
	// The copy is also the lock by which processes take turns; what it was made
	// of must still be what was judged.
	err = vfs.Aborted(ctx, p.verb, p.t.Path)
	if now, statErr := file.stat(); err == nil && (statErr != nil || !now.sameEntry(old.meta)) {
		err = errMoved
	}
	if err != nil {
		kept.drop()
		return err
	}
	err = p.rewrite(file, m.size, next)
	if err == nil && attr.SetMode {
		err = file.chmod(attr.Mode & 0o777)
	}
	if err != nil {
		if undo := p.putBack(kept.file, file, m.size); undo != nil {
			kept.Close()
			return refuse(errs.IO, p.verb, p.t.Path, fmt.Sprintf(
				"%v, and the old content could not be put back (%v); it is kept in %s and is put back by the next change",
				err, undo, quote(filepath.Join(kept.where, kept.name))), err)
		}
		kept.drop()
		return err
	}
	kept.drop()
	if !attr.Modified.IsZero() {
		return file.chtimes(attr.Modified)
	}
	return nil
}

// rewrite puts new content over old. Space is taken first, so that a full disk
// shows before anything is lost.
func (p *place) rewrite(file *file, oldSize int64, next []byte) error {
	if err := p.fs.hit("reserve"); err != nil {
		return err
	}
	if err := file.reserve(int64(len(next))); err != nil {
		return err
	}
	if err := file.seek(0); err != nil {
		return err
	}
	if err := p.fs.hit("overwrite"); err != nil {
		return err
	}
	if _, err := file.Write(next); err != nil {
		return err
	}
	if int64(len(next)) < oldSize {
		if err := file.truncate(int64(len(next))); err != nil {
			return err
		}
	}
	if err := p.fs.hit("overwrite-sync"); err != nil {
		return err
	}
	return file.sync()
}

// recoveryCopy is a staged copy, and where it is.
type recoveryCopy struct {
	*staged
	where string
	close bool // where is open for this copy only
}

func (c *recoveryCopy) drop() {
	c.staged.drop()
	if c.close {
		c.in.Close()
		removeRecovery(c.where)
	}
}

// keepCopy makes a durable copy of the old and the new content, beside the
// file or, where that cannot be, in the recovery directory.
func (p *place) keepCopy(ctx context.Context, file *file, size int64, next []byte) (*recoveryCopy, error) {
	c := &recoveryCopy{where: filepath.Dir(p.path)}
	var err error
	c.staged, err = p.fs.stageIn(ctx, p.dir, p.name, "old", 0o600)
	if err != nil && unstageable(err) {
		c.where, c.close = p.fs.recovery, true
		// Another process may remove the directory, empty, just after it was
		// opened here.
		for tries := 0; tries == 0 || errors.Is(err, fs.ErrNotExist) && tries < 100; tries++ {
			c.staged, err = p.stageInRecovery(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := p.fillCopy(ctx, c.staged, file, size, next); err != nil {
		c.drop()
		return nil, err
	}
	return c, nil
}

func (p *place) stageInRecovery(ctx context.Context) (*staged, error) {
	dir, err := openRecovery(p.fs.recovery)
	if err != nil {
		return nil, err
	}
	s, err := p.fs.stageIn(ctx, dir, p.path, "old", 0o600)
	if err != nil {
		dir.Close()
	}
	return s, err
}

func (p *place) fillCopy(ctx context.Context, to *staged, file *file, size int64, next []byte) error {
	if err := p.fs.hit("copy-old"); err != nil {
		return err
	}
	header := make([]byte, recoveryHeader)
	if _, err := to.Write(header); err != nil {
		return err
	}
	s := &source{file: file, meta: meta{size: size}}
	if err := s.pour(ctx, struct{ io.Writer }{to}); err != nil {
		return err
	}
	if m, err := to.stat(); err != nil || m.size != int64(recoveryHeader)+size {
		return errors.Join(errMoved, err)
	}
	if _, err := to.Write(next); err != nil {
		return err
	}
	if err := to.sync(); err != nil {
		return err
	}
	copy(header, recoveryMagic)
	binary.BigEndian.PutUint64(header[len(recoveryMagic):], uint64(size))
	binary.BigEndian.PutUint64(header[len(recoveryMagic)+8:], uint64(len(next)))
	if err := to.seek(0); err != nil {
		return err
	}
	if _, err := to.Write(header); err != nil {
		return err
	}
	if err := to.sync(); err != nil {
		return err
	}
	return to.in.sync()
}

// putBack copies the old content out of a recovery copy.
func (p *place) putBack(from, to *file, size int64) error {
	if err := p.fs.hit("put-back"); err != nil {
		return err
	}
	if err := to.seek(0); err != nil {
		return err
	}
	if _, err := io.Copy(struct{ io.Writer }{to}, io.NewSectionReader(from, int64(recoveryHeader), size)); err != nil {
		return err
	}
	if err := to.truncate(size); err != nil {
		return err
	}
	return to.sync()
}

// restore looks for the recovery copy of an overwriting that was killed, and
// finishes with it. It reports whether the file has changed thereby.
func (p *place) restore() (bool, error) {
	if m, err := p.dir.stat(stageName(p.name, "old", 0)); err == nil && m.exists() {
		return p.restoreFrom(p.dir, p.name)
	}
	name := stageName(p.path, "old", 0)
	if m, err := statPath(filepath.Join(p.fs.recovery, name), false); err != nil || !m.exists() {
		return false, nil
	}
	dir, err := openRecovery(p.fs.recovery)
	if err != nil {
		return false, nil // somebody else's: not ours to believe
	}
	defer removeRecovery(p.fs.recovery)
	defer dir.Close()
	return p.restoreFrom(dir, p.path)
}

func (p *place) restoreFrom(dir *Dir, entry string) (bool, error) {
	name := stageName(entry, "old", 0)
	kept, err := dir.open(name, forWriting, 0)
	if err != nil {
		return false, nil
	}
	defer kept.Close()
	if got, err := kept.lock(); err != nil || !got {
		return false, nil // at work in another process
	}
	if m, err := kept.stat(); err != nil || m.kind != vfs.File || m.links != 1 || !own(m) {
		return false, nil // planted by somebody else
	}
	oldSize, newSize, ok := readHeader(kept)
	if !ok {
		// The process ended before it had begun to overwrite.
		return false, dir.remove(name)
	}
	file, err := p.dir.open(p.name, forWriting, 0)
	if err != nil {
		return false, err
	}
	defer file.Close()
	m, err := file.stat()
	if err != nil {
		return false, err
	}
	if m.kind != vfs.File || p.gate.OneName && m.links > 1 {
		// Never overwritten in place here, so this is no copy of ours.
		return false, nil
	}
	torn, err := isTorn(file, kept, oldSize, newSize)
	if err != nil {
		return false, err
	}
	if torn {
		if err := p.putBack(kept, file, oldSize); err != nil {
			return false, err
		}
	}
	return torn, dir.remove(name)
}

func readHeader(kept *file) (oldSize, newSize int64, ok bool) {
	m, err := kept.stat()
	header := make([]byte, recoveryHeader)
	if err != nil || m.size < int64(recoveryHeader) {
		return 0, 0, false
	}
	if _, err := kept.ReadAt(header, 0); err != nil || string(header[:len(recoveryMagic)]) != recoveryMagic {
		return 0, 0, false
	}
	oldSize = int64(binary.BigEndian.Uint64(header[len(recoveryMagic):]))
	newSize = int64(binary.BigEndian.Uint64(header[len(recoveryMagic)+8:]))
	return oldSize, newSize, oldSize >= 0 && newSize >= 0 && m.size == int64(recoveryHeader)+oldSize+newSize
}

// isTorn reports whether a file is what an unfinished overwriting leaves: each
// page of it is of the old or of the new content, or was never written, and it
// is neither of the two as a whole. Anything else was written by somebody else
// since, and is theirs.
func isTorn(file, kept *file, oldSize, newSize int64) (bool, error) {
	m, err := file.stat()
	if err != nil {
		return false, err
	}
	if m.size != oldSize && m.size != newSize && (m.size > max(oldSize, newSize) || m.size < min(oldSize, newSize)) {
		return false, nil
	}
	const page = 4096
	isOld, isNew := m.size == oldSize, m.size == newSize
	var cur, was, next [page]byte
	for at := int64(0); at < m.size; at += page {
		n, err := readPage(file, cur[:], at, m.size)
		if err != nil {
			return false, err
		}
		nWas, err := readPage(kept, was[:], int64(recoveryHeader)+at, int64(recoveryHeader)+oldSize)
		if err != nil {
			return false, err
		}
		nNext, err := readPage(kept, next[:], int64(recoveryHeader)+oldSize+at, int64(recoveryHeader)+oldSize+newSize)
		if err != nil {
			return false, err
		}
		// Beyond the end of either, a page is filled with zeros.
		clear(was[nWas:])
		clear(next[nNext:])
		oldPage, newPage := bytes.Equal(cur[:n], was[:n]), bytes.Equal(cur[:n], next[:n])
		isOld, isNew = isOld && oldPage, isNew && newPage
		if !oldPage && !newPage && !mixed(cur[:n], was[:n], next[:n]) {
			return false, nil
		}
	}
	return !isOld && !isNew, nil
}

// mixed reports whether a page begins as the new content and goes on as the
// old, or is empty.
func mixed(cur, was, next []byte) bool {
	i := 0
	for i < len(cur) && cur[i] == next[i] {
		i++
	}
	return bytes.Equal(cur[i:], was[i:]) || len(bytes.Trim(cur, "\x00")) == 0
}

// readPage reads up to a page at an offset, not beyond end.
func readPage(f *file, buf []byte, off, end int64) (int, error) {
	n := min(int64(len(buf)), end-off)
	if n <= 0 {
		return 0, nil
	}
	got, err := f.ReadAt(buf[:n], off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return got, err
}

// removeRecovery removes the recovery directory with the last copy in it, if it
// is ours to remove; while there is another copy this fails, as it should.
func removeRecovery(path string) {
	if path == defaultRecoveryDir() {
		_ = os.Remove(path)
	}
}

// openRecovery opens the recovery directory, and makes it where it is missing.
// It must be the user's alone, since the file's content goes there.
func openRecovery(path string) (*Dir, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	// Somebody else may have put a symlink there; it is not followed.
	physical, err := resolveEntry(path, path)
	if err != nil {
		return nil, err
	}
	dir, err := OpenDir(physical)
	if err != nil {
		return nil, err
	}
	m, err := dir.self()
	if err == nil && !private(m) {
		err = fmt.Errorf("%s is open to other users: %w", quote(path), syscall.EACCES)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}
