package attachments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

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

func corrupt(ref attachment.Ref, why string) error {
	return errs.New(errs.AttachmentCorrupt, fmt.Sprintf("the attachment %s is damaged: %s", ref.ID, why))
}
