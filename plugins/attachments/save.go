package attachments

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/picture"
)

// saveKey is what the outcome of normalizing depends on.
type saveKey struct {
	digest   [sha256.Size]byte
	declared attachment.MediaType
}

// saved is a normalized image on its way into the store.
type saved struct {
	picture.Normalized
	key saveKey
	id  digest
}

// SaveImage admits, normalizes and stores one image. The object is durable before
// the reference is returned.
func (s *Store) SaveImage(ctx context.Context, img attachment.Image) (attachment.Ref, error) {
	refs, err := s.SaveImages(ctx, []attachment.Image{img})
	if err != nil {
		return attachment.Ref{}, err
	}
	return refs[0], nil
}

// SaveImages stores the images of one message. All are normalized before the
// first is published, so an image that is refused leaves no trace of the others.
// Should the disk fail between two publications, those done stay as objects
// nobody refers to, for the next collection: another process may have begun to
// use them.
//
// Errors: TOO_MANY_IMAGES and IMAGES_TOO_LARGE for the message, the image codes
// for one image, ATTACHMENT_WRITE_FAILED for the disk.
func (s *Store) SaveImages(ctx context.Context, imgs []attachment.Image) ([]attachment.Ref, error) {
	if len(imgs) > s.limits.MaxMessageImages {
		return nil, errs.New(errs.TooManyImages, fmt.Sprintf("a message may have %d images at most, not %d", s.limits.MaxMessageImages, len(imgs)))
	}
	total := int64(0)
	for _, img := range imgs {
		total += int64(len(img.Data))
	}
	if total > s.limits.MaxMessageImageBytes {
		return nil, errs.New(errs.ImagesTooLarge, fmt.Sprintf("the images of a message may have %d bytes together, not %d", s.limits.MaxMessageImageBytes, total))
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	all := make([]saved, len(imgs))
	group, work := errgroup.WithContext(ctx)
	for i, img := range imgs {
		group.Go(func() (err error) {
			all[i], err = s.normalize(work, img)
			if err != nil && len(imgs) > 1 && ctx.Err() == nil {
				err = fmt.Errorf("image %d of %d: %w", i+1, len(imgs), err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, s.orStopped(ctx, err)
	}
	if err := s.publish(ctx, all); err != nil {
		return nil, err
	}
	refs := make([]attachment.Ref, len(imgs))
	for i, n := range all {
		refs[i] = attachment.Ref{
			ID: n.id.String(), MediaType: n.MediaType, Bytes: int64(len(n.Data)),
			Width: n.Width, Height: n.Height, OriginalDimensions: n.Original,
		}
		s.recent.put(n.key, refs[i])
		refs[i].Name = leafName(imgs[i].Name)
		if n.Original != nil {
			own := *n.Original // callers of one computation share it
			refs[i].OriginalDimensions = &own
		}
	}
	return refs, nil
}

// normalize does the work for one image; callers with equal bytes share it.
func (s *Store) normalize(ctx context.Context, img attachment.Image) (saved, error) {
	// Cheap refusals first: no place is taken for what cannot come in.
	if _, err := picture.Admit(img.Data, img.Declared, s.limits); err != nil {
		return saved{}, err
	}
	key := saveKey{sha256.Sum256(img.Data), img.Declared}
	n, err := s.saves.do(ctx, &s.running, key, func() func(context.Context) (saved, error) {
		// The work may outlast the call that began it, whose buffer may then be
		// used again.
		data := bytes.Clone(img.Data)
		return func(ctx context.Context) (saved, error) {
			if n, ok := s.again(key); ok {
				return n, nil
			}
			release, err := s.slot(ctx)
			if err != nil {
				return saved{}, err
			}
			defer release()
			n, err := picture.Normalize(ctx, data, img.Declared, s.limits)
			if err != nil {
				return saved{}, err
			}
			return saved{n, key, digestOf(n.Data)}, nil
		}
	})
	return n, err
}

// digest names an object.
type digest [sha256.Size]byte

const idPrefix = "sha256:"

func digestOf(data []byte) digest { return sha256.Sum256(data) }

func (d digest) hex() string { return hex.EncodeToString(d[:]) }

// String is the attachment id.
func (d digest) String() string { return idPrefix + d.hex() }

// path is where the object lies.
func (d digest) path() string { return objectsDir + "/" + d.hex()[:2] + "/" + d.hex() }

// parseID reads an attachment id: the digits are lower case, so that one object
// has one name.
func parseID(id string) (digest, error) {
	var d digest
	digits, ok := strings.CutPrefix(id, idPrefix)
	if ok && digits == strings.ToLower(digits) && len(digits) == 2*len(d) {
		if _, err := hex.Decode(d[:], []byte(digits)); err == nil {
			return d, nil
		}
	}
	return d, errs.New(errs.InvalidAttachmentRef, fmt.Sprintf("%q is not an attachment id", id))
}

// maxNameBytes bounds the recorded name.
const maxNameBytes = 255

// leafName returns the last component of a name in either style of paths,
// without control characters and characters that change the direction of text,
// cut to maxNameBytes between two characters.
func leafName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\ufffd"))
	for len(name) > maxNameBytes {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	if name == "." || name == ".." {
		return ""
	}
	return name
}
