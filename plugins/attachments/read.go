package attachments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/picture"
)

// Read returns the stored bytes after it has verified them: their digest is the
// id, and their size, type and dimensions are what ref recorded.
//
// Errors: INVALID_ATTACHMENT_REF, ATTACHMENT_NOT_FOUND, ATTACHMENT_CORRUPT,
// ATTACHMENT_READ_FAILED.
func (s *Store) Read(ctx context.Context, ref attachment.Ref) ([]byte, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.read(ref)
}

func (s *Store) read(ref attachment.Ref) ([]byte, error) {
	id, err := parseID(ref.ID)
	if err != nil {
		return nil, err
	}
	if ref.Bytes < 0 || ref.Width < 1 || ref.Height < 1 {
		return nil, errs.New(errs.InvalidAttachmentRef, fmt.Sprintf("the reference to %s does not describe an image: %d x %d pixels in %d bytes", ref.ID, ref.Width, ref.Height, ref.Bytes))
	}
	f, err := s.root.Open(id.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errs.Wrap(errs.AttachmentNotFound, fmt.Sprintf("the attachment %s is not in the store", ref.ID), err)
	}
	if err != nil {
		return nil, readFailed("open "+ref.ID, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, readFailed("look at "+ref.ID, err)
	}
	if !info.Mode().IsRegular() || info.Size() != ref.Bytes {
		return nil, corrupt(ref, fmt.Sprintf("it should have %d bytes and has %d", ref.Bytes, info.Size()))
	}
	data := make([]byte, ref.Bytes)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, readFailed("read "+ref.ID, err)
	}
	if digestOf(data) != id {
		return nil, corrupt(ref, "its content has another digest")
	}
	facts, err := picture.Inspect(data)
	if err != nil {
		return nil, errs.Wrap(errs.AttachmentCorrupt, fmt.Sprintf("the attachment %s is damaged: %v", ref.ID, err), err)
	}
	if size := facts.Upright(); facts.MediaType != ref.MediaType || size.Width != ref.Width || size.Height != ref.Height {
		return nil, corrupt(ref, fmt.Sprintf("it is %s of %d x %d pixels, recorded as %s of %d x %d", facts.MediaType, size.Width, size.Height, ref.MediaType, ref.Width, ref.Height))
	}
	return data, nil
}

// Describe returns a reference to a stored object, made from what it is, and the
// time when it was last saved. It verifies the digest first.
//
// Errors: those of Read.
func (s *Store) Describe(ctx context.Context, id string) (attachment.Ref, time.Time, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return attachment.Ref{}, time.Time{}, err
	}
	defer leave()
	ref := attachment.Ref{ID: id}
	d, err := parseID(id)
	if err != nil {
		return ref, time.Time{}, err
	}
	info, err := s.root.Stat(d.path())
	if errors.Is(err, fs.ErrNotExist) {
		return ref, time.Time{}, errs.Wrap(errs.AttachmentNotFound, fmt.Sprintf("the attachment %s is not in the store", id), err)
	}
	if err != nil {
		return ref, time.Time{}, readFailed("look at "+id, err)
	}
	ref.Bytes = info.Size()
	if !info.Mode().IsRegular() || ref.Bytes > maxDescribed {
		return ref, info.ModTime(), corrupt(ref, "it is no object of the store")
	}
	data, err := s.root.ReadFile(d.path())
	if err != nil {
		return ref, info.ModTime(), readFailed("read "+id, err)
	}
	if digestOf(data) != d {
		return ref, info.ModTime(), corrupt(ref, "its content has another digest")
	}
	facts, err := picture.Inspect(data)
	if err != nil {
		return ref, info.ModTime(), errs.Wrap(errs.AttachmentCorrupt, fmt.Sprintf("the attachment %s is damaged: %v", id, err), err)
	}
	size := facts.Upright()
	ref.MediaType, ref.Width, ref.Height = facts.MediaType, size.Width, size.Height
	return ref, info.ModTime(), nil
}

// maxDescribed bounds what is read of a file that claims to be an object: no
// store is set up to keep more.
const maxDescribed = 1 << 30

func corrupt(ref attachment.Ref, why string) error {
	return errs.New(errs.AttachmentCorrupt, fmt.Sprintf("the attachment %s is damaged: %s", ref.ID, why))
}
