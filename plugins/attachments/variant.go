package attachments

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments/internal/picture"
)

// Variant returns a copy of ref's image within the bounds of v: the stored bytes
// themselves where they fit already. A copy is derived once, by whoever asks
// first, and cached on disk; a damaged cached copy is derived again.
//
// Errors: those of Read; IMAGE_TOO_LARGE where not even one pixel fits in
// v.MaxBytes.
func (s *Store) Variant(ctx context.Context, ref attachment.Ref, v attachment.Variant) (attachment.Ref, []byte, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return attachment.Ref{}, nil, err
	}
	defer leave()
	data, err := s.read(ref)
	if err != nil {
		return attachment.Ref{}, nil, err
	}
	if fits(ref, v) {
		return ref, data, nil
	}
	id, err := parseID(ref.ID)
	if err != nil {
		return attachment.Ref{}, nil, err
	}
	v = attachment.Variant{MaxDimension: max(0, v.MaxDimension), MaxPixels: max(0, v.MaxPixels), MaxBytes: max(0, v.MaxBytes)}
	dir := variantsDir + "/" + id.hex()
	name := fmt.Sprintf("%s/d%d-p%d-b%d", dir, v.MaxDimension, v.MaxPixels, v.MaxBytes)
	got, err := s.variants.do(ctx, &s.running, name, func() func(context.Context) (picture.Encoded, error) {
		return func(ctx context.Context) (picture.Encoded, error) {
			if cached, ok := s.cached(name, v); ok {
				return cached, nil
			}
			release, err := s.slot(ctx)
			if err != nil {
				return picture.Encoded{}, err
			}
			defer release()
			e, err := picture.Derive(ctx, data, v, s.limits)
			if err != nil {
				return picture.Encoded{}, err
			}
			// A full disk or one that cannot be written costs the copy, not the request.
			_ = s.cache(ctx, dir, name, e.Data)
			return e, nil
		}
	})
	if err != nil {
		return attachment.Ref{}, nil, s.orStopped(ctx, err)
	}
	out := attachment.Ref{
		ID: digestOf(got.Data).String(), MediaType: got.MediaType, Bytes: int64(len(got.Data)),
		Width: got.Width, Height: got.Height, Name: ref.Name, OriginalDimensions: ref.OriginalDimensions,
	}
	if out.OriginalDimensions == nil && (out.Width != ref.Width || out.Height != ref.Height) {
		out.OriginalDimensions = &attachment.Dimensions{Width: ref.Width, Height: ref.Height}
	}
	// The callers of one flight share its bytes; each may do with its own what it
	// likes.
	return out, append([]byte(nil), got.Data...), nil
}

func fits(ref attachment.Ref, v attachment.Variant) bool {
	return (v.MaxDimension <= 0 || max(ref.Width, ref.Height) <= v.MaxDimension) &&
		(v.MaxPixels <= 0 || int64(ref.Width)*int64(ref.Height) <= v.MaxPixels) &&
		(v.MaxBytes <= 0 || ref.Bytes <= v.MaxBytes)
}

// cached reads a cached copy. Whatever is wrong with it, the answer is that there
// is none.
func (s *Store) cached(name string, v attachment.Variant) (picture.Encoded, bool) {
	file, err := s.root.ReadFile(name)
	if err != nil || len(file) < sha256.Size {
		return picture.Encoded{}, false
	}
	data := file[sha256.Size:]
	if digestOf(data) != digest(file[:sha256.Size]) {
		return picture.Encoded{}, false
	}
	info, err := picture.Inspect(data)
	if err != nil {
		return picture.Encoded{}, false
	}
	size := info.Upright()
	e := picture.Encoded{Data: data, MediaType: info.MediaType, Width: size.Width, Height: size.Height}
	ref := attachment.Ref{Bytes: int64(len(data)), Width: e.Width, Height: e.Height}
	return e, fits(ref, v)
}

// cache keeps a derived copy. It replaces what is there, which is its equal or
// damaged.
func (s *Store) cache(ctx context.Context, dir, name string, data []byte) error {
	unlock, err := s.lock(ctx, false)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return writeFailed("make "+dir, err)
	}
	sum := digestOf(data)
	staged, err := s.stage(sum[:], data)
	if err != nil {
		return err
	}
	if err := s.root.Rename(staged, name); err != nil {
		return writeFailed("cache a variant", errors.Join(err, ignoreMissing(s.root.Remove(staged))))
	}
	return nil
}
