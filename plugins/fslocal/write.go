package fslocal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"syscall"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// replacement is a change of a file's content.
type replacement struct {
	verb string
	// next gives the new content. before is the old; it is nil unless needs.
	next func(before []byte) ([]byte, error)
	// edits tells that the file must exist and that next needs the old content.
	edits bool
	// size is that of the new content where it is known beforehand.
	size int64
	attr vfs.Attr
}

// WriteText implements [vfs.FileSystem]. Content that is not valid UTF-8 is
// FS_NOT_TEXT.
func (f *FS) WriteText(ctx context.Context, t vfs.Target, content string, opts vfs.Options) (vfs.WriteResult, error) {
	if !utf8.ValidString(content) {
		return vfs.WriteResult{}, refuse(errs.NotText, "write", t.Path, "the content is not valid UTF-8", nil)
	}
	return f.WriteBytes(ctx, t, bytesOf(content), vfs.Attr{}, opts)
}

// WriteBytes implements [vfs.ByteWriter].
func (f *FS) WriteBytes(ctx context.Context, t vfs.Target, data []byte, attr vfs.Attr, opts vfs.Options) (vfs.WriteResult, error) {
	return f.replace(ctx, t, opts, replacement{
		verb: OpWrite,
		next: func([]byte) ([]byte, error) { return data, nil },
		size: int64(len(data)),
		attr: attr,
	})
}

// EditText implements [vfs.FileSystem].
func (f *FS) EditText(ctx context.Context, t vfs.Target, e vfs.Edit, opts vfs.Options) (vfs.WriteResult, error) {
	return f.replace(ctx, t, opts, replacement{
		verb:  OpEdit,
		next:  func(before []byte) ([]byte, error) { return vfs.ApplyEdit(t, before, e) },
		edits: true,
	})
}

func (f *FS) replace(ctx context.Context, t vfs.Target, opts vfs.Options, r replacement) (vfs.WriteResult, error) {
	var result vfs.WriteResult
	err := f.change(ctx, r.verb, []spot{{t: t, opts: opts}}, func(ps []*place) error {
		var err error
		result, err = ps[0].replace(ctx, r)
		return err
	})
	if err != nil {
		return vfs.WriteResult{}, err
	}
	return result, nil
}

func (p *place) replace(ctx context.Context, r replacement) (vfs.WriteResult, error) {
	exact := p.opts.Exact
	small := func(n int64) bool { return exact || n < p.fs.diffBasis }
	old, err := p.judge(ctx, r.edits, r.edits || small(r.size))
	if err != nil {
		return vfs.WriteResult{}, err
	}
	next, err := r.next(old.data)
	if err != nil {
		return vfs.WriteResult{}, err
	}
	if err := p.granted(old, next); err != nil {
		return vfs.WriteResult{}, err
	}
	if err := p.put(ctx, old, next, r.attr); err != nil {
		return vfs.WriteResult{}, err
	}
	sum := digestOf(next)
	result := vfs.WriteResult{
		Operation: vfs.Create,
		// What was written this moment has no metadata to be trusted yet.
		Version: token{digest: &sum}.version(),
		Size:    int64(len(next)),
		After:   textOf(next),
	}
	if old.meta.exists() {
		result.Operation = vfs.Update
		if old.read && small(int64(len(old.data))) && small(int64(len(next))) {
			if text, err := vfs.DecodeText(p.t, old.data); err == nil {
				result.Before = &text
			}
		}
	}
	return result, nil
}

// existing is what a change found at its target.
type existing struct {
	meta meta
	// read tells that data is the whole content.
	read bool
	data []byte
	// sha is the SHA-256 of the content in hex, where a grant asks for it.
	sha string
}

// judge looks at what is at the target, reads it where it is of use, and makes
// sure that the guard holds.
func (p *place) judge(ctx context.Context, edits, wantData bool) (*existing, error) {
	m, err := p.stat()
	if err != nil {
		return nil, err
	}
	guard := p.opts.Guard
	want, guarded := guard.Version()
	switch m.kind {
	case vfs.Link:
		return nil, errMoved
	case vfs.Absent:
		if guarded {
			return nil, vfs.Stale(p.t, false)
		}
		if edits {
			return nil, refuse(errs.NotFound, p.verb, p.t.Path, "not found", syscall.ENOENT)
		}
		return &existing{}, nil
	case vfs.File:
	default:
		return nil, notRegular(p.verb, p.t.Path)
	}
	if guard.Absent() {
		return nil, vfs.NotObserved(p.t)
	}
	if err := p.dir.writable(p.name); err != nil && !errors.Is(err, syscall.ETXTBSY) {
		return nil, err
	}
	if !p.looks {
		if again, err := p.restore(); again || err != nil {
			return nil, errors.Join(err, errMovedIf(again))
		}
	}
	old := &existing{meta: m}
	if !wantData && !guarded && p.opts.Grant == nil {
		return old, nil
	}
	return old, p.read(ctx, old, want, guarded, edits, wantData)
}

func errMovedIf(again bool) error {
	if again {
		return errMoved
	}
	return nil
}

// read reads the old content as far as the change needs it, and judges the
// version guard by it.
func (p *place) read(ctx context.Context, old *existing, want vfs.Version, guarded, edits, wantData bool) error {
	if err := p.fs.hit("read"); err != nil {
		return err
	}
	now := time.Now()
	file, err := p.dir.open(p.name, forReading, 0)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOENT):
		return errMoved
	case errors.Is(err, syscall.EACCES) && !guarded && !edits && p.opts.Grant == nil:
		return nil // may be written though not read
	case err != nil:
		return err
	}
	defer file.Close()
	s, err := p.fs.asSource(p.verb, p.t.Path, file, now)
	if err != nil {
		return err
	}
	if s.world == worldProc || s.world == worldPseudo {
		return notRegular(p.verb, p.t.Path)
	}
	if !s.meta.sameEntry(old.meta) {
		return errMoved
	}
	if wantData && (edits || p.opts.Exact || s.size < p.fs.diffBasis) {
		old.data, err = s.readAll(ctx, math.MaxInt64, nil)
		if err != nil {
			return err
		}
		old.read = true
	}
	if guarded {
		if err := p.sameVersion(ctx, s, old, parseVersion(want)); err != nil {
			return err
		}
	}
	if p.opts.Grant != nil {
		return p.shaOf(ctx, s, old)
	}
	return nil
}

// sameVersion judges a version guard. Content decides wherever it is known on
// both sides; metadata alone only where it is trusted.
func (p *place) sameVersion(ctx context.Context, s *source, old *existing, want token) error {
	id := s.meta.identity()
	same := want.identity != nil && *want.identity == id
	switch {
	case want.digest == nil:
	case old.read:
		same = digestOf(old.data) == *want.digest
	case same:
	case s.meta.size != want.digest.size:
		same = false
	default:
		sum, ok := p.fs.known.get(id)
		if !ok || !settled(s.meta, s.now, s.world) {
			h := newHasher()
			if err := s.again(ctx, h); err != nil {
				return err
			}
			sum = h.digest()
		}
		same = sum == *want.digest
	}
	if !same {
		return vfs.Stale(p.t, true)
	}
	return nil
}

func (p *place) shaOf(ctx context.Context, s *source, old *existing) error {
	h := sha256.New()
	if old.read {
		h.Write(old.data)
	} else if err := s.again(ctx, h); err != nil {
		return err
	}
	old.sha = hex.EncodeToString(h.Sum(nil))
	return nil
}

// again pours the file from its beginning.
func (s *source) again(ctx context.Context, w io.Writer) error {
	if err := s.seek(0); err != nil {
		return err
	}
	return s.pour(ctx, w)
}

// granted makes sure that an approved change is the one that was approved.
func (p *place) granted(old *existing, next []byte) error {
	g := p.opts.Grant
	if g == nil {
		return nil
	}
	sum := sha256.Sum256(next)
	switch {
	case g.Before != old.sha:
		return refuse(errs.StaleVersion, p.verb, p.t.Path, "the file is not what it was when the change was approved", nil)
	case g.After != hex.EncodeToString(sum[:]):
		return refuse(errs.StaleVersion, p.verb, p.t.Path, "the content is not what was approved", nil)
	}
	return nil
}

// put stages new content and puts it in place; where that cannot be done on a
// file that can itself be written, it overwrites the file.
func (p *place) put(ctx context.Context, old *existing, next []byte, attr vfs.Attr) (err error) {
	if err := vfs.Aborted(ctx, p.verb, p.t.Path); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			p.dropParents()
		}
	}()
	if err := p.makeParents(); err != nil {
		return err
	}
	perm := uint32(0o666)
	if old.meta.exists() || attr.SetMode {
		perm = 0o600 // nobody else sees the content before it has its mode
	}
	s, err := p.fs.stageIn(ctx, p.dir, p.name, "", perm)
	if err != nil {
		if old.meta.exists() && unstageable(err) {
			return p.overwrite(ctx, old, next, attr)
		}
		return lost(err)
	}
	if err = p.fill(ctx, s, old, next, attr); err == nil {
		err = p.publish(s, old.meta)
	}
	if err != nil {
		s.drop()
		if old.meta.exists() && unreplaceable(err) {
			return p.overwrite(ctx, old, next, attr)
		}
		return err
	}
	// Closing gives up the lock; nobody sweeps a name that is not a staging one.
	s.Close()
	return p.durable()
}

// durable makes a published change survive a crash.
func (p *place) durable() error {
	if err := p.sync(); err != nil {
		return p.durabilityError(err)
	}
	return nil
}

// durabilityError is the error of a change that cannot be taken back, since
// others may have seen it, but may not survive a crash.
func (p *place) durabilityError(err error) error {
	return refuse(errs.IO, p.verb, p.t.Path, "it was done, but the system could not make it durable: "+err.Error(), err)
}

// unstageable reports whether no file can be made in a directory.
func unstageable(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EROFS)
}

// unreplaceable reports whether an entry cannot be renamed over: it is a mount
// point, or in a sticky directory and somebody else's.
func unreplaceable(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)
}

// fill writes content and attributes to a staged file and makes it durable.
func (p *place) fill(ctx context.Context, s *staged, old *existing, next []byte, attr vfs.Attr) error {
	if err := p.fs.hit("data"); err != nil {
		return err
	}
	for rest := next; len(rest) > 0; {
		if err := vfs.Aborted(ctx, p.verb, p.t.Path); err != nil {
			return err
		}
		n, err := s.Write(rest[:min(len(rest), readChunk)])
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	if err := p.dress(s, old, attr); err != nil {
		return err
	}
	if err := p.fs.hit("sync"); err != nil {
		return err
	}
	if err := s.sync(); err != nil {
		return err
	}
	return vfs.Aborted(ctx, p.verb, p.t.Path)
}

// dress gives a staged file the attributes of the one it replaces, and those
// that were asked for.
func (p *place) dress(s *staged, old *existing, attr vfs.Attr) error {
	mode := old.meta.mode
	if old.meta.exists() {
		if err := p.fs.hit("owner"); err != nil {
			return err
		}
		copyAttributes(p.dir, p.name, s)
		if !keepOwner(s.file, old.meta) || old.meta.links > 1 {
			// These bits speak for an owner; another one must not get them.
			mode &^= 0o6000
		}
	}
	if attr.SetMode {
		mode = attr.Mode & 0o777
	}
	if old.meta.exists() || attr.SetMode {
		if err := p.fs.hit("mode"); err != nil {
			return err
		}
		if err := s.chmod(mode); err != nil {
			return err
		}
	}
	if !attr.Modified.IsZero() {
		return s.chtimes(attr.Modified)
	}
	return nil
}

// textOf returns the text in content that nobody will change any more, without
// copying it.
func textOf(data []byte) string {
	if len(data) >= 3 && string(data[:3]) == "\xef\xbb\xbf" {
		data = data[3:]
	}
	return unsafe.String(unsafe.SliceData(data), len(data))
}

// bytesOf returns the bytes of a string for reading.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
