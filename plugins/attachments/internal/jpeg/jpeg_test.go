package jpeg

import (
	"bytes"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math"
	"testing"
)

type collect struct {
	w, h int
	pix  []byte
	row  []byte
}

func (c *collect) Next() []byte {
	if c.row == nil {
		c.row = make([]byte, 4*c.w)
	}
	return c.row
}

func (c *collect) Push() error {
	c.pix = append(c.pix, c.row...)
	c.h++
	return nil
}

func testImage(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, color.RGBA{
				R: uint8(128 + 120*math.Sin(float64(x)/17)),
				G: uint8(128 + 120*math.Sin(float64(y)/23)),
				B: uint8((x*3 + y*2) & 255), A: 255})
		}
	}
	return m
}

func encode(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := stdjpeg.Encode(&b, m, &stdjpeg.Options{Quality: 88}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The whole picture equals the standard decoder's within the rounding of the
// inverse transform.
func TestMatchesStandardDecoder(t *testing.T) {
	grey := image.NewGray(image.Rect(0, 0, 61, 45))
	for i := range grey.Pix {
		grey.Pix[i] = uint8(i * 7)
	}
	for name, m := range map[string]image.Image{
		"colour": testImage(117, 83), "one": testImage(1, 1), "grey": grey, "wide": testImage(300, 5),
	} {
		t.Run(name, func(t *testing.T) {
			data := encode(t, m)
			want, err := stdjpeg.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			got := &collect{w: m.Bounds().Dx()}
			if err := Decode(data, Options{}, got); err != nil {
				t.Fatal(err)
			}
			compare(t, got, want, 4)
		})
	}
}

func compare(t *testing.T, got *collect, want image.Image, tolerance int) {
	t.Helper()
	b := want.Bounds()
	if got.h != b.Dy() || len(got.pix) != 4*b.Dx()*b.Dy() {
		t.Fatalf("got %d rows, want %d", got.h, b.Dy())
	}
	for y := range b.Dy() {
		for x := range b.Dx() {
			w := color.NRGBAModel.Convert(want.At(x, y)).(color.NRGBA)
			g := got.pix[4*(y*b.Dx()+x):]
			for i, v := range []uint8{w.R, w.G, w.B, w.A} {
				if d := int(g[i]) - int(v); d > tolerance || d < -tolerance {
					t.Fatalf("(%d,%d) channel %d: got %v, want %v", x, y, i, g[:4], w)
				}
			}
		}
	}
}

// A reduced scale gives the mean of the pixels it stands for, near enough.
func TestScales(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 161, 97))
	for y := range 97 {
		for x := range 161 {
			m.SetRGBA(x, y, color.RGBA{R: uint8(x), G: uint8(2 * y), B: uint8((x + y) / 2), A: 255})
		}
	}
	data := encode(t, m)
	for _, s := range []int{2, 4, 8} {
		w, h := ScaledSize(161, s), ScaledSize(97, s)
		got := &collect{w: w}
		if err := Decode(data, Options{Scale: s}, got); err != nil {
			t.Fatal(err)
		}
		if got.h != h {
			t.Fatalf("scale %d: %d rows, want %d", s, got.h, h)
		}
		for y := range h - 1 {
			for x := range w - 1 {
				g := got.pix[4*(y*w+x):]
				wantR, wantG := x*s+s/2, 2*(y*s+s/2)
				if d := int(g[0]) - wantR; d < -8 || d > 8 {
					t.Fatalf("scale %d (%d,%d): red %d, want about %d", s, x, y, g[0], wantR)
				}
				if d := int(g[1]) - wantG; d < -9 || d > 9 {
					t.Fatalf("scale %d (%d,%d): green %d, want about %d", s, x, y, g[1], wantG)
				}
			}
		}
	}
}

func TestTruncationIsRefused(t *testing.T) {
	data := encode(t, testImage(40, 30))
	for n := range len(data) {
		got := &collect{w: 40}
		if err := Decode(data[:n], Options{}, got); err == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(data))
		}
	}
}

func BenchmarkDecode24MP(b *testing.B) {
	data := encode(b, testImage(6000, 4000))
	for _, s := range []int{1, 2} {
		b.Run(map[int]string{1: "whole", 2: "half"}[s], func(b *testing.B) {
			for b.Loop() {
				if err := Decode(data, Options{Scale: s}, &discard{row: make([]byte, 4*6000)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("standard", func(b *testing.B) {
		for b.Loop() {
			if _, err := stdjpeg.Decode(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

type discard struct{ row []byte }

func (d *discard) Next() []byte { return d.row }
func (d *discard) Push() error  { return nil }
