package picture

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
)

// Normalized is a picture that is fit to be stored.
type Normalized struct {
	Encoded
	// Original is the upright size of what came in, set only where the stored
	// picture is smaller.
	Original *attachment.Dimensions
	// Passthrough is set where Data is what came in, byte for byte.
	Passthrough bool
	// Reason says why not, or is "".
	Reason string
	// Source is what the headers of the incoming bytes said.
	Source *Info
}

// Normalize admits a picture, decodes it to its last row and encodes it anew:
// upright, 8-bit sRGB with alpha only where it matters, first frame, no metadata,
// within the normalized limits. A clean single-frame PNG, JPEG or WebP of 8 bits
// within those limits is given back as it came.
//
// Errors: those of Admit, and INVALID_IMAGE for what cannot be decoded to the
// end. Cancellation gives the context's error.
func Normalize(ctx context.Context, data []byte, declared attachment.MediaType, limits attachment.Limits) (_ Normalized, err error) {
	defer refusePanic(&err)
	limits = limits.WithDefaults()
	info, err := Admit(data, declared, limits)
	if err != nil {
		return Normalized{}, err
	}
	upright := info.Upright()
	size := fitWithin(upright.Width, upright.Height, limits.NormalizedImageMaxDimension)
	out := Normalized{Source: info}
	if size == upright && info.Unclean == "" && int64(len(data)) <= limits.NormalizedImageMaxBytes {
		if err := decode(ctx, data, info, 1, limits, discard{}); err != nil {
			return Normalized{}, err
		}
		// Only decoding shows data behind the last row.
		if info.Unclean == "" {
			out.Passthrough = true
			out.Encoded = Encoded{Data: data, MediaType: info.MediaType, Width: info.Width, Height: info.Height}
			return out, nil
		}
	}
	switch {
	case info.Unclean != "":
		out.Reason = info.Unclean
	case size != upright:
		out.Reason = fmt.Sprintf("a side is longer than %d pixels", limits.NormalizedImageMaxDimension)
	default:
		out.Reason = fmt.Sprintf("it has more than %d bytes", limits.NormalizedImageMaxBytes)
	}
	m, err := decodeTo(ctx, data, info, size, limits)
	if err == nil {
		out.Encoded, err = encodeWithin(ctx, m, limits.NormalizedImageMaxBytes)
	}
	if err != nil {
		return Normalized{}, conversionFailed(info, err)
	}
	if out.Width != upright.Width || out.Height != upright.Height {
		out.Original = &upright
	}
	return out, nil
}

// conversionFailed words the failure for a PNG of 16 bits a sample: what to do is
// the same whatever the cause, which stays in the chain.
func conversionFailed(info *Info, err error) error {
	var e *errs.Error // cancellation is none
	if info.png == nil || info.Depth != 16 || !errors.As(err, &e) {
		return err
	}
	return errs.Wrap(e.Code, "the 16-bit PNG could not be converted to the normalized 8-bit sRGB form; convert it to an 8-bit PNG/JPEG/WebP and retry", err)
}

// refusePanic turns a panic into an error: one bad picture must not take the
// process with it.
func refusePanic(err *error) {
	if r := recover(); r != nil {
		*err = invalid("the image could not be processed: %v", r)
	}
}

// Derive makes a copy of a stored picture within the bounds of v: the very bytes
// where they fit already. Only what Normalize gives is meant to come in; limits
// bound the memory for anything else.
//
// Errors: those of Inspect and of decoding; IMAGE_TOO_LARGE where not even one
// pixel fits in v.MaxBytes.
func Derive(ctx context.Context, data []byte, v attachment.Variant, limits attachment.Limits) (_ Encoded, err error) {
	defer refusePanic(&err)
	limits = limits.WithDefaults()
	info, err := Inspect(data)
	if err != nil {
		return Encoded{}, err
	}
	upright := info.Upright()
	size := variantSize(upright, v)
	if size == upright && (v.MaxBytes <= 0 || int64(len(data)) <= v.MaxBytes) {
		return Encoded{Data: data, MediaType: info.MediaType, Width: upright.Width, Height: upright.Height}, nil
	}
	m, err := decodeTo(ctx, data, info, size, limits)
	if err != nil {
		return Encoded{}, err
	}
	return encodeWithin(ctx, m, v.MaxBytes)
}

// variantSize returns the largest size of the same shape within the bounds.
func variantSize(d attachment.Dimensions, v attachment.Variant) attachment.Dimensions {
	long := max(d.Width, d.Height)
	if v.MaxDimension > 0 {
		long = min(long, v.MaxDimension)
	}
	size := fitWithin(d.Width, d.Height, long)
	area := func(s attachment.Dimensions) int64 { return int64(s.Width) * int64(s.Height) }
	if v.MaxPixels > 0 && area(size) > v.MaxPixels {
		ratio := math.Sqrt(float64(v.MaxPixels) / float64(area(size)))
		long = min(long, int(float64(max(size.Width, size.Height))*ratio)+1)
		// Rounding of the short side may still be over by a row.
		for size = fitWithin(d.Width, d.Height, long); area(size) > v.MaxPixels && long > 1; {
			long--
			size = fitWithin(d.Width, d.Height, long)
		}
	}
	return size
}
