package picture

import (
	"bytes"
	"compress/lzw"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"runtime"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/webp"
)

// small has a small file of each format and kind.
func small(t testing.TB) map[string][]byte {
	t.Helper()
	m := photo(21, 17)
	lossy, err := webp.Encode(m.Pix, 21, 17, webp.Params{Quality: 80})
	if err != nil {
		t.Fatal(err)
	}
	ramp := alphaRamp(21, 17)
	alpha, err := webp.Encode(ramp.Pix, 21, 17, webp.Params{Quality: 80})
	if err != nil {
		t.Fatal(err)
	}
	pal := image.NewPaletted(image.Rect(0, 0, 21, 17), color.Palette{color.Black, color.White, color.RGBA{200, 0, 0, 255}})
	for i := range pal.Pix {
		pal.Pix[i] = uint8(i % 3)
	}
	return map[string][]byte{
		"png":            pngBytes(t, m),
		"png interlaced": rawPNG(21, 17, 6, 16, true, false),
		"png palette":    pngBytes(t, pal),
		"jpeg":           jpegBytes(t, m, 85),
		"jpeg scans":     cmykJPEG(t, 11, 9, 0, func(c, x, y int) uint8 { return uint8(c*50 + x*7 + y*5) }),
		"webp":           lossy,
		"webp alpha":     alpha,
		"webp exif":      withWebPExif(lossy, 21, 17, exif(6, binary.LittleEndian)),
		"gif":            gifBytes(t, &gif.GIF{Image: []*image.Paletted{pal}, Delay: []int{0}}),
		"gif animated":   gifBytes(t, &gif.GIF{Image: []*image.Paletted{pal, pal}, Delay: []int{1, 1}}),
	}
}

// attempt normalizes and fails the test on a panic, which Normalize turns into an
// error, and on an error without a code.
func attempt(t testing.TB, data []byte, limits attachment.Limits) (Normalized, error) {
	t.Helper()
	n, err := Normalize(context.Background(), data, "", limits)
	if err != nil {
		var coded *errs.Error
		if !errors.As(err, &coded) {
			t.Fatalf("an error without a code: %v", err)
		}
		if strings.Contains(err.Error(), "could not be processed") {
			t.Fatalf("a panic: %v", err)
		}
	}
	return n, err
}

// A file cut at any byte is refused. Only a GIF may show its first frame when
// nothing but later ones, or the trailer, is missing.
func TestTruncation(t *testing.T) {
	for name, data := range small(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := normalize(t, data, "", attachment.Limits{})
			for n := range len(data) {
				got, err := attempt(t, data[:n], attachment.Limits{})
				if err == nil && (!strings.HasPrefix(name, "gif") || !bytes.Equal(got.Data, whole.Data)) {
					t.Errorf("%d of %d bytes were accepted", n, len(data))
				}
				if err != nil && !errors.Is(err, errs.InvalidImage) {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
		})
	}
}

// Flipped bits give an error or a picture, in a PNG always an error or the same.
func TestFlippedBits(t *testing.T) {
	for name, data := range small(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := normalize(t, data, "", attachment.Limits{})
			for i := range data {
				for bit := range 8 {
					if testing.Short() && (i*8+bit)%5 != 0 {
						continue
					}
					bad := bytes.Clone(data)
					bad[i] ^= 1 << bit
					got, err := attempt(t, bad, attachment.Limits{MaxImagePixels: 1 << 12})
					if err == nil && strings.HasPrefix(name, "png") && !bytes.Equal(got.Data, whole.Data) {
						t.Errorf("bit %d of byte %d changed the picture", bit, i)
					}
				}
			}
		})
	}
}

// What another program could take for its own does not survive.
func TestPolyglots(t *testing.T) {
	payload := []byte("PK\x03\x04<script>alert(1)</script>%PDF-1.4")
	for name, data := range small(t) {
		files := map[string][]byte{"behind": append(bytes.Clone(data), payload...)}
		switch name {
		case "jpeg":
			end := 4 + int(binary.BigEndian.Uint16(data[4:])) // of the first segment
			files["between segments"] = append(append(bytes.Clone(data[:end]), payload...), data[end:]...)
			files["comment"] = withJPEGSegment(data, 0xfe, payload)
			files["application"] = withJPEGSegment(data, 0xe9, payload)
		case "png":
			files["chunk"] = withPNGChunk(data, "zzZz", payload)
			end := len(data) - 12 // of the pixel data, which goes on behind its last pixel
			files["pixel data"] = append(append(bytes.Clone(data[:end]), pngChunk("IDAT", payload)...), data[end:]...)
		}
		for where, file := range files {
			t.Run(name+"/"+where, func(t *testing.T) {
				n := normalize(t, file, "", attachment.Limits{})
				if bytes.Contains(n.Data, []byte("script")) || n.Passthrough {
					t.Error("the payload survived")
				}
			})
		}
	}
}

// measure returns the bytes that f allocates in all, which is more than it ever
// holds at once.
func measure(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func webpBytes(t testing.TB, m *image.NRGBA) []byte {
	t.Helper()
	data, err := webp.Encode(m.Pix, m.Rect.Dx(), m.Rect.Dy(), webp.Params{Quality: 80})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// interlacedGIF is black, of 255 colours.
func interlacedGIF(w, h int) []byte {
	out := binary.LittleEndian.AppendUint16([]byte("GIF89a"), uint16(w))
	out = binary.LittleEndian.AppendUint16(out, uint16(h))
	out = append(out, 0x87, 0, 0)
	out = append(out, make([]byte, 3*256)...)
	out = append(out, 0x2c, 0, 0, 0, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(w))
	out = binary.LittleEndian.AppendUint16(out, uint16(h))
	var coded bytes.Buffer
	z := lzw.NewWriter(&coded, lzw.LSB, 8)
	z.Write(make([]byte, w*h))
	z.Close()
	out = append(out, 0x40, 8)
	for data := coded.Bytes(); len(data) > 0; {
		n := min(len(data), 255)
		out = append(append(out, byte(n)), data[:n]...)
		data = data[n:]
	}
	return append(out, 0, 0x3b)
}

// Claims cost no memory, and the largest pictures that are admitted no more than
// four bytes a pixel beside the fixed costs of the result.
func TestMemory(t *testing.T) {
	const side = 2000
	limits := attachment.Limits{MaxImagePixels: side * side, NormalizedImageMaxDimension: 256}
	const fixed = 10 << 20 // stripes, tables, the result and its encoders
	frames := &bytes.Buffer{}
	frames.WriteString("GIF89a\x08\x00\x08\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff")
	one := []byte{0x2c, 0, 0, 0, 0, 8, 0, 8, 0, 0, 2, 7, 0x84, 0x8f, 0xa9, 0xcb, 0xed, 0x5d, 0x00, 0}
	for range 500_000 {
		frames.Write(one)
	}
	frames.WriteByte(0x3b)
	for _, c := range []struct {
		name  string
		data  []byte
		bound int64
		ok    bool
	}{
		{"png bomb", hugePNG(60000, 60000), 1 << 20, false},
		{"png bomb inside the limits", hugePNG(side, side), 2*side*side + fixed, false},
		{"gif of many frames", frames.Bytes(), fixed, true},
		{"png of 16 bits", rawPNG(side, side, 6, 16, false, false), fixed, true},
		{"png of 16 bits, interlaced", rawPNG(side, side, 6, 16, true, false), 2*side*side + fixed, true},
		{"jpeg", jpegBytes(t, gradient(side, side), 80), fixed, true},
		{"webp with alpha", webpBytes(t, alphaRamp(side, side)), fixed, true},
		{"webp", webpBytes(t, gradient(side, side)), fixed, true},
		{"gif, interlaced", interlacedGIF(side, side), side*side + fixed, true},
		{"jpeg of a scan for each of four inks", cmykJPEG(t, side, side, 0, func(c, x, y int) uint8 { return uint8(x ^ y) }), fixed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			got := measure(func() { _, err = attempt(t, c.data, limits) })
			if (err == nil) != c.ok {
				t.Errorf("result: %v", err)
			}
			t.Logf("%d KiB", got>>10)
			if got > c.bound {
				t.Errorf("%d bytes allocated, bound %d", got, c.bound)
			}
		})
	}
}

// A PNG of 16 bits that cannot be converted says so, whatever the cause.
func TestSixteenBitFailure(t *testing.T) {
	const want = "the 16-bit PNG could not be converted to the normalized 8-bit sRGB form; convert it to an 8-bit PNG/JPEG/WebP and retry"
	good := rawPNG(21, 17, 2, 16, false, false)
	short := append(bytes.Clone(good[:33]), pngChunk("IDAT", deflate(make([]byte, 100)))...)
	short = append(short, pngChunk("IEND", nil)...)
	for _, c := range []struct {
		name   string
		data   []byte
		limits attachment.Limits
		code   errs.Code
	}{
		{"too few samples", short, attachment.Limits{}, errs.InvalidImage},
		{"no room", good, attachment.Limits{NormalizedImageMaxBytes: 10}, errs.ImageTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := attempt(t, c.data, c.limits)
			if !errors.Is(err, c.code) || err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := attempt(t, good[:len(good)-20], attachment.Limits{}); err == nil || err.Error() == want {
		t.Errorf("a file that is cut off: %v", err)
	}
}

// resum puts the checksums of a PNG right, which mutations would never get past.
func resum(data []byte) []byte {
	if mt, _ := Sniff(data); mt != attachment.PNG {
		return data
	}
	out := bytes.Clone(data[:8])
	for pos := 8; pos+12 <= len(data); {
		n := int(binary.BigEndian.Uint32(data[pos:]))
		if n > len(data)-pos-12 {
			return append(out, data[pos:]...)
		}
		out = append(out, pngChunk(string(data[pos+4:pos+8]), data[pos+8:pos+8+n])...)
		pos += 12 + n
	}
	return out
}
