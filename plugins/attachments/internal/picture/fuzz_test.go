package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments/internal/icc"
)

// seeds adds small files of a format: those drawn here, and what others' encoders
// make of every mode of theirs.
func seeds(f *testing.F, prefix, glob string) {
	for name, data := range small(f) {
		if strings.HasPrefix(name, prefix) {
			f.Add(data)
		}
	}
	paths, err := filepath.Glob(glob)
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func fuzz(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		data = resum(data)
		limits := attachment.Limits{MaxImagePixels: 1 << 14, MaxImageDimension: 1024, NormalizedImageMaxDimension: 64}
		n, err := attempt(t, data, limits)
		if err != nil {
			return
		}
		again, err := attempt(t, n.Data, limits)
		if err != nil || !again.Passthrough {
			t.Errorf("the result is not in order: %v, %s", err, again.Reason)
		}
	})
}

func FuzzPNG(f *testing.F) {
	seeds(f, "png", "")
	base := pngBytes(f, photo(9, 7))
	p3, err := icc.FromPrimaries(icc.DisplayP3, icc.SRGBCurve)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(withPNGProfile(base, profile(p3.Matrix, 2.2)))
	for id, body := range map[string][]byte{
		"gAMA": {0, 1, 0x86, 0xa0}, "cICP": {9, 8, 0, 1}, "sRGB": {0}, "tRNS": {0, 10, 0, 20, 0, 30}, "acTL": {0, 0, 0, 2, 0, 0, 0, 0},
		"eXIf": exif(6, binary.BigEndian), "cHRM": bytes.Repeat([]byte{0, 0, 0x80, 0}, 8), "tEXt": []byte("k\x00v"),
	} {
		f.Add(withPNGChunk(base, id, body))
	}
	fuzz(f)
}

func FuzzJPEG(f *testing.F) {
	seeds(f, "jpeg", "../jpeg/testdata/*.jpg")
	base := jpegBytes(f, photo(17, 9), 80)
	f.Add(withJPEGSegment(base, 0xe1, append([]byte("Exif\x00\x00"), exif(8, binary.LittleEndian)...)))
	f.Add(withJPEGSegment(base, 0xe2, append([]byte("ICC_PROFILE\x00\x01\x01"), profile([3][3]float64{{0.5, 0.3, 0.16}, {0.3, 0.6, 0.1}, {0, 0.1, 0.7}}, 1.8)...)))
	fuzz(f)
}

func FuzzWebP(f *testing.F) {
	seeds(f, "webp", "../vp8l/testdata/p*.webp")
	fuzz(f)
}

func FuzzGIF(f *testing.F) {
	seeds(f, "gif", "")
	fuzz(f)
}

// FuzzPNGSamples gets past the compression: it makes a sound file of any kind out
// of samples and a palette, and wants the pixels that the standard decoder sees.
func FuzzPNGSamples(f *testing.F) {
	kinds := []struct{ colour, depth byte }{
		{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1}, {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16},
	}
	for i := range kinds {
		f.Add(uint8(7), uint8(5), uint8(i), i%2 == 0, []byte{0, 10, 0, 20, 0, 30}, bytes.Repeat([]byte{1, 2, 3, 200, 4, 77}, 60))
	}
	f.Fuzz(func(t *testing.T, w, h, kind uint8, interlaced bool, extra, raw []byte) {
		k := kinds[int(kind)%len(kinds)]
		width, height := int(w%40)+1, int(h%40)+1
		head := binary.BigEndian.AppendUint32(nil, uint32(width))
		head = binary.BigEndian.AppendUint32(head, uint32(height))
		head = append(head, k.depth, k.colour, 0, 0, 0)
		if interlaced {
			head[12] = 1
		}
		file := append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", head)...)
		switch k.colour {
		case 3:
			palette := make([]byte, 3<<k.depth)
			copy(palette, raw)
			file = append(file, pngChunk("PLTE", palette)...)
			file = append(file, pngChunk("tRNS", extra[:min(len(extra), len(palette)/3)])...)
		case 0, 2:
			if n := 2 + 2*int(k.colour); len(extra) >= n {
				key := bytes.Clone(extra[:n])
				if k.depth < 8 {
					// The standard decoder compares the bits that are to be ignored.
					key[0], key[1] = 0, key[1]&(1<<k.depth-1)
				}
				file = append(file, pngChunk("tRNS", key)...)
			}
		}
		// Rows of enough bytes, with filters that exist.
		samples := make([]byte, 16*(1+8*width)*height)
		copy(samples, raw)
		rows := passRows(width, height, int(k.depth)*map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[k.colour], interlaced)
		at := 0
		for _, n := range rows {
			samples[at] %= 5
			at += n
		}
		file = append(file, pngChunk("IDAT", deflate(samples[:at]))...)
		file = append(file, pngChunk("IEND", nil)...)
		want, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			return
		}
		info, err := Inspect(file)
		if err != nil {
			t.Fatal(err)
		}
		got := newRaster(width, height)
		if err := decode(context.Background(), file, info, 1, attachment.Limits{}.WithDefaults(), &whole{to: got}); err != nil {
			t.Fatal(err)
		}
		for y := range height {
			for x := range width {
				c := wanted(want, x, y)
				p := got.pix[4*(y*width+x):]
				if p[3] != c.A || c.A != 0 && (!near(int(p[0]), int(c.R)) || !near(int(p[1]), int(c.G)) || !near(int(p[2]), int(c.B))) {
					t.Fatalf("kind %v at (%d,%d): got %v, want %v", k, x, y, p[:4], c)
				}
			}
		}
	})
}

// wanted is a pixel of the standard decoder's, without the loss of multiplying
// alpha in.
func wanted(m image.Image, x, y int) color.NRGBA {
	switch m := m.(type) {
	case *image.NRGBA64:
		c := m.NRGBA64At(x, y)
		round := func(v uint16) uint8 { return uint8((uint32(v)*255 + 32767) / 65535) }
		return color.NRGBA{round(c.R), round(c.G), round(c.B), round(c.A)}
	}
	return color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
}

// passRows lists the bytes of each row as stored, its filter included.
func passRows(w, h, bits int, interlaced bool) (rows []int) {
	passes := adam7[:]
	if !interlaced {
		passes = []struct{ x, y, dx, dy int }{{0, 0, 1, 1}}
	}
	for _, p := range passes {
		pw, ph := (w-p.x+p.dx-1)/p.dx, (h-p.y+p.dy-1)/p.dy
		if w <= p.x || h <= p.y {
			continue
		}
		for range ph {
			rows = append(rows, 1+(pw*bits+7)/8)
		}
	}
	return rows
}
