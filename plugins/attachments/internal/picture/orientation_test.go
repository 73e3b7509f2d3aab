package picture

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments/internal/webp"
)

// quadrants has a colour in each corner: red, green over blue, white.
func quadrants(w, h int) *image.NRGBA {
	return draw(w, h, func(x, y int) color.NRGBA {
		c := color.NRGBA{220, 30, 30, 255}
		switch {
		case x >= w/2 && y < h/2:
			c = color.NRGBA{30, 200, 30, 255}
		case x < w/2 && y >= h/2:
			c = color.NRGBA{30, 30, 220, 255}
		case x >= w/2:
			c = color.NRGBA{240, 240, 240, 255}
		}
		return c
	})
}

// Each orientation turns the corners to where the tag says they belong, for all
// formats that carry one, also while shrinking.
func TestOrientation(t *testing.T) {
	const red, green, blue, white = 'r', 'g', 'b', 'w'
	// Corners in reading order after the orientation is applied.
	want := map[int]string{1: "rgbw", 2: "grwb", 3: "wbgr", 4: "bwrg", 5: "rbgw", 6: "brwg", 7: "wgbr", 8: "gwrb"}
	name := func(c color.NRGBA) byte {
		switch {
		case c.R > 150 && c.G > 150:
			return white
		case c.R > 150:
			return red
		case c.G > 150:
			return green
		case c.B > 150:
			return blue
		}
		return '?'
	}
	src := quadrants(96, 64)
	lossy, err := webp.Encode(src.Pix, 96, 64, webp.Params{Quality: 90})
	if err != nil {
		t.Fatal(err)
	}
	for o, corners := range want {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			block := exif(o, order)
			files := map[attachment.MediaType][]byte{
				attachment.JPEG: withJPEGSegment(jpegBytes(t, src, 90), 0xe1, append([]byte("Exif\x00\x00"), block...)),
				attachment.PNG:  withPNGChunk(pngBytes(t, src), "eXIf", block),
				attachment.WebP: withWebPExif(lossy, 96, 64, block),
			}
			for mt, data := range files {
				for _, limit := range []int{2048, 48} {
					t.Run(fmt.Sprintf("%d/%s/%v/%d", o, mt, order, limit), func(t *testing.T) {
						n := normalize(t, data, mt, attachment.Limits{NormalizedImageMaxDimension: limit})
						w, h := min(96, limit), min(64, limit*2/3)
						if o >= 5 {
							w, h = h, w
						}
						if n.Width != w || n.Height != h {
							t.Fatalf("%dx%d, want %dx%d", n.Width, n.Height, w, h)
						}
						if n.Passthrough {
							t.Fatal("metadata was kept")
						}
						m := pixels(t, n.Encoded)
						got := ""
						for _, p := range []image.Point{{w / 8, h / 8}, {w - 1 - w/8, h / 8}, {w / 8, h - 1 - h/8}, {w - 1 - w/8, h - 1 - h/8}} {
							got += string(name(m.NRGBAAt(p.X, p.Y)))
						}
						if got != corners {
							t.Errorf("corners %s, want %s", got, corners)
						}
					})
				}
			}
		}
	}
}

// withWebPExif wraps a plain lossy file.
// An orientation of another width of number counts by its whole value.
func TestOrientationNumbers(t *testing.T) {
	block := func(kind uint16, value uint32) []byte {
		b := []byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01")
		b = binary.LittleEndian.AppendUint16(b, kind)
		b = binary.LittleEndian.AppendUint32(b, 1)
		return binary.LittleEndian.AppendUint32(b, value)
	}
	for _, c := range []struct {
		kind  uint16
		value uint32
		want  int
	}{{3, 6, 6}, {4, 6, 6}, {4, 0x106, 1}, {4, 1 << 31, 1}, {3, 9, 1}, {3, 0, 1}, {2, 6, 1}} {
		if got := exifOrientation(block(c.kind, c.value)); got != c.want {
			t.Errorf("type %d, value %#x: got %d, want %d", c.kind, c.value, got, c.want)
		}
	}
}

func withWebPExif(file []byte, w, h int, block []byte) []byte {
	riff := func(id string, b []byte) []byte {
		out := append([]byte(id), binary.LittleEndian.AppendUint32(nil, uint32(len(b)))...)
		out = append(out, b...)
		if len(b)%2 == 1 {
			out = append(out, 0)
		}
		return out
	}
	body := riff("VP8X", []byte{8, 0, 0, 0, byte(w - 1), byte((w - 1) >> 8), 0, byte(h - 1), byte((h - 1) >> 8), 0})
	body = append(body, file[12:]...)
	body = append(body, riff("EXIF", block)...)
	return riff("RIFF", append([]byte("WEBP"), body...))
}
