package picture

import (
	"bytes"
	"context"
	"image"
	stdjpeg "image/jpeg"
	"image/png"
	"sync"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments/internal/webp"
	"github.com/disintegration/imaging"
	xwebp "golang.org/x/image/webp"
)

// The pictures people send, beside the same work with the standard decoders and
// a plain resize.
func BenchmarkNormalize(b *testing.B) {
	for _, c := range []struct {
		name string
		mt   attachment.MediaType
		make func() []byte
	}{
		{"jpeg-24MP", attachment.JPEG, func() []byte { return jpegBytes(b, photo(6000, 4000), 88) }},
		{"webp-12MP", attachment.WebP, func() []byte {
			lossy, err := webp.Encode(photo(4000, 3000).Pix, 4000, 3000, webp.Params{Quality: 80})
			if err != nil {
				b.Fatal(err)
			}
			return lossy
		}},
		{"png-4K-screen", attachment.PNG, func() []byte { return pngBytes(b, busyScreen(3840, 2160)) }},
		{"png-4K-text", attachment.PNG, func() []byte { return pngBytes(b, text(3840, 2160)) }},
		{"png-4K-alpha", attachment.PNG, func() []byte { return pngBytes(b, alphaRamp(3840, 2160)) }},
		{"png-icon", attachment.PNG, func() []byte { return pngBytes(b, disc(64, 64)) }},
		{"png-16-bit", attachment.PNG, func() []byte { return pngBytes(b, deep(photo(2000, 1500))) }},
	} {
		data := sync.OnceValue(c.make)
		b.Run(c.name+"/ours", func(b *testing.B) {
			data()
			b.ResetTimer()
			b.ReportAllocs()
			for b.Loop() {
				n, err := Normalize(context.Background(), data(), c.mt, attachment.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(n.Data)), "out-bytes")
			}
		})
		b.Run(c.name+"/plain", func(b *testing.B) {
			data()
			b.ResetTimer()
			b.ReportAllocs()
			for b.Loop() {
				plain(b, data(), c.mt)
			}
		})
	}
}

// plain is the obvious way: decode whole, resize, encode.
func plain(b *testing.B, data []byte, mt attachment.MediaType) {
	var m image.Image
	var err error
	switch mt {
	case attachment.JPEG:
		m, err = stdjpeg.Decode(bytes.NewReader(data))
	case attachment.PNG:
		m, err = png.Decode(bytes.NewReader(data))
	default:
		m, err = xwebp.Decode(bytes.NewReader(data))
	}
	if err != nil {
		b.Fatal(err)
	}
	out := imaging.Fit(m, 2048, 2048, imaging.Lanczos)
	var buf bytes.Buffer
	if out.Opaque() {
		err = stdjpeg.Encode(&buf, out, &stdjpeg.Options{Quality: 85})
	} else {
		err = png.Encode(&buf, out)
	}
	if err != nil {
		b.Fatal(err)
	}
}
