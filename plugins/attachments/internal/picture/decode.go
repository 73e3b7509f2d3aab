package picture

import (
	"context"
	"errors"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/jpeg"
)

// decode gives every row of the picture, in sRGB but not yet upright, to the
// consumer. scale is that of a JPEG, else 1. A picture that is cut off or damaged
// is an error even when all its rows could be shown.
func decode(ctx context.Context, data []byte, info *Info, scale int, limits attachment.Limits, to consumer) (err error) {
	defer refusePanic(&err)
	opt := jpeg.Options{Scale: scale}
	convert := info.transform()
	if info.Kind == CMYK && convert != nil {
		opt.Inks, convert = convert.Inks, nil
	}
	s := newSink(ctx, jpeg.ScaledSize(info.Width, scale), jpeg.ScaledSize(info.Height, scale), convert, to)
	defer func() {
		if failed := s.close(); err == nil {
			err = failed
		}
	}()
	switch info.MediaType {
	case attachment.PNG:
		return decodePNG(info, s)
	case attachment.GIF:
		return decodeGIF(info, s)
	case attachment.WebP:
		return decodeWebP(info, s)
	}
	if scale > 1 {
		opt.MaxLoss = maxLoss
	}
	err = jpeg.Decode(data, opt, s)
	var damage jpeg.FormatError
	switch {
	case errors.As(err, &damage):
		return errs.Wrap(errs.InvalidImage, "the JPEG image is damaged or cut off: "+string(damage), err)
	case errors.Is(err, jpeg.ErrUnsupported):
		return errs.Wrap(errs.UnsupportedImage, "the JPEG image is of a kind that is not supported", err)
	}
	return err
}

// decodeTo decodes the picture upright at the size given, which is that of the
// upright picture and not larger than it.
func decodeTo(ctx context.Context, data []byte, info *Info, size attachment.Dimensions, limits attachment.Limits) (*raster, error) {
	w, h := size.Width, size.Height
	if info.Orientation >= 5 {
		w, h = h, w
	}
	if w == info.Width && h == info.Height {
		m := newRaster(w, h)
		if err := decode(ctx, data, info, 1, limits, &whole{to: m}); err != nil {
			return nil, err
		}
		return orient(m, info.Orientation), nil
	}
	scale := 1
	if info.MediaType == attachment.JPEG {
		scale = jpegScale(info, w, h)
	}
	for {
		r := newResampler(jpeg.ScaledSize(info.Width, scale), jpeg.ScaledSize(info.Height, scale), w, h,
			float64(info.Width)/float64(scale), float64(info.Height)/float64(scale))
		err := decode(ctx, data, info, scale, limits, r)
		switch {
		case err == nil:
			return orient(r.out, info.Orientation), nil
		case !errors.Is(err, jpeg.ErrTooSharp):
			return nil, err
		}
		scale /= 2
	}
}

// A large JPEG is decoded at a reduced scale where that looks the same. The
// result must come out larger than wanted by scaleMargin quarters, so that what
// the short transforms cut away lies above what the wanted size can show. Hard
// edges still suffer, for their cut reaches below; so what is cut away may have a
// mean square of maxLoss at most. Of that at most a tenth was measured to arrive
// in the result, which is 38 dB; photographs lose 20 at most, pages of text above
// 1000.
const (
	scaleMargin = 5
	maxLoss     = 100
)

// jpegScale returns the strongest reduction in decoding that leaves the
// resampler enough.
func jpegScale(info *Info, w, h int) int {
	for _, s := range []int{8, 4, 2} {
		if 4*info.Width >= scaleMargin*s*w && 4*info.Height >= scaleMargin*s*h {
			return s
		}
	}
	return 1
}

// shrink resamples a picture to a smaller size.
func shrink(m *raster, w, h int) *raster {
	if w == m.w && h == m.h {
		return m
	}
	r := newResampler(m.w, m.h, w, h, float64(m.w), float64(m.h))
	for y := range m.h {
		r.take(m.row(y))
	}
	return r.out
}
