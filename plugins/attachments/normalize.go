package attachments

import (
	"context"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments/internal/picture"
)

// Normalized is what a store makes of an image.
type Normalized struct {
	// Ref is the reference that the image would be stored under.
	Ref attachment.Ref
	// Data are the bytes that would be stored.
	Data []byte
	// Passthrough tells that they are those that came in, and Reason why not.
	Passthrough bool
	Reason      string
	// Source is what came in.
	Source Source
}

// Source is an image as it came in.
type Source struct {
	MediaType attachment.MediaType
	// Width and Height are the upright size in pixels.
	Width, Height int
	// Samples names the kind of its samples, such as "rgb" or "palette", and
	// Depth counts the bits of each.
	Samples string
	Depth   int
	// Orientation is that of Exif, 1 to 8.
	Orientation int
	// Animated tells that there is more than one frame, of which the first
	// counts.
	Animated bool
}

// Normalize does what a store does with an image before it keeps it. It uses
// no disk and keeps nothing. A declared type of "" is that of the content.
//
// Errors: the image codes for one image.
func Normalize(ctx context.Context, img attachment.Image, limits attachment.Limits) (Normalized, error) {
	n, err := picture.Normalize(ctx, img.Data, img.Declared, limits)
	if err != nil {
		return Normalized{}, err
	}
	upright := n.Source.Upright()
	return Normalized{
		Ref: attachment.Ref{
			ID: digestOf(n.Data).String(), MediaType: n.MediaType, Bytes: int64(len(n.Data)),
			Width: n.Width, Height: n.Height, Name: leafName(img.Name), OriginalDimensions: n.Original,
		},
		Data: n.Data, Passthrough: n.Passthrough, Reason: n.Reason,
		Source: Source{
			MediaType: n.Source.MediaType, Width: upright.Width, Height: upright.Height,
			Samples: n.Source.Kind.String(), Depth: n.Source.Depth,
			Orientation: n.Source.Orientation, Animated: n.Source.Animated,
		},
	}, nil
}
