package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	stdjpeg "image/jpeg"
	"image/png"
	"testing"

	"github.com/disintegration/imaging"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/webp"
)

func normalize(t testing.TB, data []byte, mt attachment.MediaType, limits attachment.Limits) Normalized {
	t.Helper()
	n, err := Normalize(context.Background(), data, mt, limits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pixels decodes what was stored with decoders that are not ours, where there
// are such.
func pixels(t testing.TB, e Encoded) *image.NRGBA {
	t.Helper()
	switch e.MediaType {
	case attachment.PNG:
		m, err := png.Decode(bytes.NewReader(e.Data))
		if err != nil {
			t.Fatal(err)
		}
		return imaging.Clone(m)
	case attachment.JPEG:
		m, err := stdjpeg.Decode(bytes.NewReader(e.Data))
		if err != nil {
			t.Fatal(err)
		}
		return imaging.Clone(m)
	}
	return ourPixels(t, e.Data)
}

func ourPixels(t testing.TB, data []byte) *image.NRGBA {
	t.Helper()
	info, err := Inspect(data)
	if err != nil {
		t.Fatal(err)
	}
	limits := attachment.Limits{}.WithDefaults()
	m, err := decodeTo(context.Background(), data, info, info.Upright(), limits)
	if err != nil {
		t.Fatal(err)
	}
	return &image.NRGBA{Pix: m.pix, Stride: 4 * m.w, Rect: image.Rect(0, 0, m.w, m.h)}
}

// What is kept byte for byte, and why the rest is not.
func TestPassthrough(t *testing.T) {
	small := photo(40, 30)
	lossy, err := webp.Encode(alphaRamp(40, 30).Pix, 40, 30, webp.Params{Quality: 80})
	if err != nil {
		t.Fatal(err)
	}
	p, j := pngBytes(t, small), jpegBytes(t, small, 90)
	for _, c := range []struct {
		name string
		data []byte
		keep bool
	}{
		{"png", p, true},
		{"jpeg", j, true},
		{"webp", lossy, true},
		{"grey png of 1 bit", rawPNG(9, 9, 0, 1, false, false), true},
		{"interlaced png", rawPNG(9, 9, 2, 8, true, false), true},
		{"png with a resolution", withPNGChunk(p, "pHYs", make([]byte, 9)), true},
		{"png that says sRGB", withPNGChunk(p, "sRGB", []byte{0}), true},
		{"png with text", withPNGChunk(p, "tEXt", []byte("Author\x00someone")), false},
		{"png with a time", withPNGChunk(p, "tIME", make([]byte, 7)), false},
		{"png with a tail", append(append([]byte(nil), p...), "<script>"...), false},
		{"png of 16 bits", pngBytes(t, deep(small)), false},
		{"jpeg with a comment", withJPEGSegment(j, 0xfe, []byte("hello")), false},
		{"jpeg with XMP", withJPEGSegment(j, 0xe1, []byte("http://ns.adobe.com/xap/1.0/\x00<x/>")), false},
		{"jpeg with a tail", append(append([]byte(nil), j...), "PK\x03\x04"...), false},
		{"webp with metadata", withWebPExif(mustWebP(t, small), 40, 30, exif(1, binary.LittleEndian)), false},
		{"webp with a tail", append(append([]byte(nil), lossy...), "tail"...), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := normalize(t, c.data, "", attachment.Limits{})
			if n.Passthrough != c.keep || n.Passthrough != bytes.Equal(n.Data, c.data) || (n.Reason == "") != c.keep {
				t.Errorf("kept %v, want %v (%s)", n.Passthrough, c.keep, n.Reason)
			}
			if bytes.Contains(n.Data, []byte("script")) || bytes.Contains(n.Data, []byte("someone")) {
				t.Error("foreign bytes survived")
			}
			// What is stored passes through itself.
			again := normalize(t, n.Data, n.MediaType, attachment.Limits{})
			if !again.Passthrough {
				t.Errorf("the stored picture is not clean itself: %s", again.Reason)
			}
		})
	}
}

func mustWebP(t *testing.T, m *image.NRGBA) []byte {
	t.Helper()
	b, err := webp.Encode(m.Pix, m.Rect.Dx(), m.Rect.Dy(), webp.Params{Quality: 85})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestByteLimitShrinks(t *testing.T) {
	for name, m := range map[string]*image.NRGBA{"photo": photo(600, 400), "alpha": alphaRamp(600, 400), "text": text(600, 400)} {
		for _, limit := range []int64{20000, 3000, 600} {
			n := normalize(t, pngBytes(t, m), attachment.PNG, attachment.Limits{NormalizedImageMaxBytes: limit})
			if int64(len(n.Data)) > limit {
				t.Errorf("%s: %d bytes, limit %d", name, len(n.Data), limit)
			}
			if (n.Original != nil) != (n.Width != 600) {
				t.Errorf("%s: %dx%d, original %v", name, n.Width, n.Height, n.Original)
			}
			if name == "alpha" && n.MediaType == attachment.JPEG {
				t.Error("alpha was lost")
			}
		}
	}
	_, err := Normalize(context.Background(), pngBytes(t, photo(20, 20)), attachment.PNG, attachment.Limits{NormalizedImageMaxBytes: 10})
	if !errors.Is(err, errs.ImageTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestDerive(t *testing.T) {
	stored := normalize(t, pngBytes(t, photo(900, 600)), attachment.PNG, attachment.Limits{})
	for _, v := range []attachment.Variant{{}, {MaxDimension: 300}, {MaxPixels: 100000}, {MaxBytes: 9000}, {MaxDimension: 500, MaxPixels: 50000, MaxBytes: 5000}, {MaxPixels: 1}} {
		e, err := Derive(context.Background(), stored.Data, v, attachment.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if v.MaxDimension > 0 && max(e.Width, e.Height) > v.MaxDimension || v.MaxPixels > 0 && int64(e.Width*e.Height) > v.MaxPixels || v.MaxBytes > 0 && int64(len(e.Data)) > v.MaxBytes {
			t.Errorf("%+v: %dx%d, %d bytes", v, e.Width, e.Height, len(e.Data))
		}
		if v == (attachment.Variant{}) && !bytes.Equal(e.Data, stored.Data) {
			t.Error("a variant without bounds is another picture")
		}
		again, err := Derive(context.Background(), stored.Data, v, attachment.Limits{})
		if err != nil || !bytes.Equal(again.Data, e.Data) {
			t.Errorf("%+v: not the same bytes twice (%v)", v, err)
		}
	}
}

func TestAdmission(t *testing.T) {
	p := pngBytes(t, gradient(30, 20))
	for _, c := range []struct {
		name     string
		data     []byte
		declared attachment.MediaType
		limits   attachment.Limits
		want     errs.Code
	}{
		{"empty", nil, attachment.PNG, attachment.Limits{}, errs.InvalidImage},
		{"text", []byte("not an image"), attachment.PNG, attachment.Limits{}, errs.InvalidImage},
		{"another type", p, attachment.JPEG, attachment.Limits{}, errs.ImageTypeMismatch},
		{"declared svg", p, "image/svg+xml", attachment.Limits{}, errs.UnsupportedImage},
		{"tiff", []byte("II*\x00\x08\x00\x00\x00"), "", attachment.Limits{}, errs.UnsupportedImage},
		{"bytes", p, attachment.PNG, attachment.Limits{MaxImageBytes: 50}, errs.ImageTooLarge},
		{"pixels", p, attachment.PNG, attachment.Limits{MaxImagePixels: 599}, errs.ImageTooManyPixels},
		{"side", p, attachment.PNG, attachment.Limits{MaxImageDimension: 29}, errs.ImageDimension},
		{"bomb", hugePNG(60000, 60000), attachment.PNG, attachment.Limits{}, errs.ImageDimension},
		{"no pixels", hugePNG(0, 5), attachment.PNG, attachment.Limits{}, errs.InvalidImage},
		{"half a bomb", hugePNG(60000, 60000)[:40], attachment.PNG, attachment.Limits{}, errs.ImageDimension},
		{"half a picture of too many pixels", jpegBytes(t, gradient(40, 40), 80)[:700], attachment.JPEG, attachment.Limits{MaxImagePixels: 1000}, errs.ImageTooManyPixels},
		{"half a picture", p[:len(p)-9], attachment.PNG, attachment.Limits{}, errs.InvalidImage},
		{"a type that is not taken", p, attachment.PNG, attachment.Limits{MediaTypes: []attachment.MediaType{attachment.JPEG}}, errs.UnsupportedImage},
		{"content that is not taken", p, "", attachment.Limits{MediaTypes: []attachment.MediaType{attachment.JPEG}}, errs.UnsupportedImage},
		{"a declared type that is not taken", p, attachment.GIF, attachment.Limits{MediaTypes: []attachment.MediaType{attachment.PNG}}, errs.UnsupportedImage},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Normalize(context.Background(), c.data, c.declared, c.limits)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	for _, declared := range []attachment.MediaType{"", "image/png", "IMAGE/PNG", "image/png; charset=x"} {
		if _, err := Admit(p, declared, attachment.Limits{}); err != nil {
			t.Errorf("%q: %v", declared, err)
		}
	}
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Normalize(ctx, pngBytes(t, photo(900, 900)), attachment.PNG, attachment.Limits{NormalizedImageMaxDimension: 100}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
