// Package attachment is the contract of the store that keeps images outside
// the session log. A log holds a [Ref]; the bytes stay in the store under the
// SHA-256 of what they are, so the same picture is kept once and a damaged
// one is noticed.
package attachment

import (
	"context"
	"iter"
	"slices"
)

// MediaType is an image's type, as in "image/png".
type MediaType string

// The media types a store admits. Normalized attachments are never GIF.
const (
	PNG  MediaType = "image/png"
	JPEG MediaType = "image/jpeg"
	WebP MediaType = "image/webp"
	GIF  MediaType = "image/gif"
)

// Ref names a stored image. Its JSON is the form used in session logs.
type Ref struct {
	// ID is "sha256:" and the digest in hex of the stored bytes.
	ID        string    `json:"attachmentId"`
	MediaType MediaType `json:"mediaType"`
	Bytes     int64     `json:"bytes"`
	Width     int       `json:"width"`
	Height    int       `json:"height"`
	// Name is the leaf name it came with: no control characters, at most 255
	// bytes, "" when there was none.
	Name string `json:"name,omitempty"`
	// OriginalDimensions is set only where the stored raster is smaller than
	// what came in; it is the size after orientation was applied.
	OriginalDimensions *Dimensions `json:"originalDimensions,omitempty"`
}

// Dimensions is a raster size in pixels.
type Dimensions struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Limits are the bounds of admission and of the stored form. A zero field
// means its default.
type Limits struct {
	// MaxImageBytes bounds one encoded image as it comes in. Default 20 MiB.
	MaxImageBytes int64 `json:"maxImageBytes,omitempty"`
	// MaxMessageImages bounds the images of one message. Default 20.
	MaxMessageImages int `json:"maxMessageImages,omitempty"`
	// MaxMessageImageBytes bounds all images of one message. Default 200 MiB.
	MaxMessageImageBytes int64 `json:"maxMessageImageBytes,omitempty"`
	// MaxImagePixels bounds width times height. Default 64 000 000.
	MaxImagePixels int64 `json:"maxImagePixels,omitempty"`
	// MaxImageDimension bounds each side in pixels. Default 8192.
	MaxImageDimension int `json:"maxImageDimension,omitempty"`
	// NormalizedImageMaxDimension bounds the long edge of what is stored.
	// Default 2048.
	NormalizedImageMaxDimension int `json:"normalizedImageMaxDimension,omitempty"`
	// NormalizedImageMaxBytes bounds the bytes of what is stored. Default 4 MiB.
	NormalizedImageMaxBytes int64 `json:"normalizedImageMaxBytes,omitempty"`
	// MediaTypes are the types that are admitted, of those above. Default all
	// four. What is stored is not bound by them.
	MediaTypes []MediaType `json:"mediaTypes,omitempty"`
}

// Accepts tells whether images of a type are admitted.
func (l Limits) Accepts(mt MediaType) bool {
	return slices.Contains(l.WithDefaults().MediaTypes, mt)
}

// WithDefaults returns l with its zero fields set to their defaults.
func (l Limits) WithDefaults() Limits {
	fill(&l.MaxImageBytes, 20<<20)
	fill(&l.MaxMessageImages, 20)
	fill(&l.MaxMessageImageBytes, 200<<20)
	fill(&l.MaxImagePixels, 64_000_000)
	fill(&l.MaxImageDimension, 8192)
	fill(&l.NormalizedImageMaxDimension, 2048)
	fill(&l.NormalizedImageMaxBytes, 4<<20)
	if len(l.MediaTypes) == 0 {
		l.MediaTypes = []MediaType{PNG, JPEG, WebP, GIF}
	}
	return l
}

func fill[T int | int64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// Image is one image on its way into a store.
type Image struct {
	// Data is the encoded image. It must not change while a call has it; no call
	// keeps it.
	Data []byte
	// Declared is the type the source claims, or "" for that of the content. A
	// claim must match the content.
	Declared MediaType
	// Name is the leaf name to record, or "".
	Name string
}

// Variant bounds a derived copy for one model request. A zero field sets no
// bound.
type Variant struct {
	// MaxDimension bounds the long edge in pixels.
	MaxDimension int
	// MaxPixels bounds width times height.
	MaxPixels int64
	// MaxBytes bounds the encoded size.
	MaxBytes int64
}

// Store keeps images. Implementations may be called concurrently, from
// several processes on one store too.
//
// Errors carry the image codes of package errs for what is refused at the
// door, and ATTACHMENT_NOT_FOUND, ATTACHMENT_CORRUPT, ATTACHMENT_READ_FAILED,
// ATTACHMENT_WRITE_FAILED and INVALID_ATTACHMENT_REF for the store itself; CONTEXT_STOPPED
// after it was closed. Cancellation gives the context's error.
type Store interface {
	// SaveImage admits, normalizes and stores one image. The object is durable
	// before the reference is returned.
	SaveImage(ctx context.Context, img Image) (Ref, error)
	// SaveImages stores the images of one message: all of them, or none.
	SaveImages(ctx context.Context, imgs []Image) ([]Ref, error)
	// Read returns the stored bytes after it has verified them against ref.
	Read(ctx context.Context, ref Ref) ([]byte, error)
	// Variant returns a copy of ref's image within the bounds of v: the stored
	// bytes themselves where they fit already. Equal arguments give equal
	// bytes. The reference returned describes the copy, which is no object of the
	// store: it is neither listed nor read by it.
	Variant(ctx context.Context, ref Ref, v Variant) (Ref, []byte, error)
	// List yields the ids of all stored objects in byte order.
	List(ctx context.Context) iter.Seq2[string, error]
	// Collect removes every object, with its variants, whose id keep does not have,
	// and returns how many objects and bytes went. Objects younger than the store's
	// grace time stay, because their reference may not be logged yet.
	Collect(ctx context.Context, keep map[string]bool) (objects int, bytes int64, err error)
	// Limits returns the bounds in force.
	Limits() Limits
}
