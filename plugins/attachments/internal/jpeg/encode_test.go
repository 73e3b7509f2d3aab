package jpeg

import (
	"bytes"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math"
	"math/rand/v2"
	"testing"
)

func coloured(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{255, 255, 255, 255}
			if (x/3+y/5)%4 == 0 {
				c = []color.RGBA{{220, 0, 0, 255}, {0, 0, 220, 255}, {0, 140, 0, 255}}[(x/40+y/30)%3]
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

func psnr(a, b image.Image) float64 {
	sum := 0.0
	r := a.Bounds()
	for y := range r.Dy() {
		for x := range r.Dx() {
			p, q := color.RGBAModel.Convert(a.At(x, y)).(color.RGBA), color.RGBAModel.Convert(b.At(x, y)).(color.RGBA)
			for _, d := range []int{int(p.R) - int(q.R), int(p.G) - int(q.G), int(p.B) - int(q.B)} {
				sum += float64(d * d)
			}
		}
	}
	return 10 * math.Log10(255*255/(sum/float64(3*r.Dx()*r.Dy())+1e-9))
}

// The standard decoder reads what is written, and it is as true as what the
// standard encoder writes at that quality; colour edges are truer.
func TestEncode(t *testing.T) {
	noise := image.NewRGBA(image.Rect(0, 0, 130, 70))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(rnd.IntN(256)) | uint8(i&3/3*255)
	}
	flat := image.NewRGBA(image.Rect(0, 0, 33, 9))
	for i := range flat.Pix {
		flat.Pix[i] = 255
	}
	for name, m := range map[string]*image.RGBA{
		"waves": testImage(211, 133), "one pixel": testImage(1, 1), "a row": testImage(90, 1), "a column": testImage(1, 70),
		"coloured": coloured(160, 120), "noise": noise, "flat": flat,
	} {
		for _, quality := range []int{1, 50, 85, 100} {
			b := m.Bounds()
			data, err := Encode(m.Pix, b.Dx(), b.Dy(), Params{Quality: quality})
			if err != nil {
				t.Fatal(err)
			}
			got, err := stdjpeg.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%s at %d: %v", name, quality, err)
			}
			if got.Bounds() != b {
				t.Fatalf("%s: size %v", name, got.Bounds())
			}
			var std bytes.Buffer
			if err := stdjpeg.Encode(&std, m, &stdjpeg.Options{Quality: quality}); err != nil {
				t.Fatal(err)
			}
			other, err := stdjpeg.Decode(&std)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := psnr(got, m), psnr(other, m)
			if ours < theirs-0.2 {
				t.Errorf("%s at %d: %.1f dB, the standard encoder %.1f dB", name, quality, ours, theirs)
			}
			if name == "coloured" && quality == 85 && ours < theirs+2 {
				t.Errorf("colour edges: %.1f dB, the standard encoder %.1f dB", ours, theirs)
			}
			back := &collect{w: b.Dx()}
			if err := Decode(data, Options{}, back); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A bound on the loss is kept whatever the picture, and costs nothing where the
// quality keeps it anyway.
func TestEncodeBoundsLoss(t *testing.T) {
	noise := image.NewRGBA(image.Rect(0, 0, 133, 71))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(rnd.IntN(256)) | uint8(i&3/3*255)
	}
	for name, m := range map[string]*image.RGBA{"noise": noise, "coloured": coloured(97, 61), "waves": testImage(211, 133)} {
		b := m.Bounds()
		plain, err := Encode(m.Pix, b.Dx(), b.Dy(), Params{Quality: 75})
		if err != nil {
			t.Fatal(err)
		}
		bounded, err := Encode(m.Pix, b.Dx(), b.Dy(), Params{Quality: 75, MaxLoss: 16})
		if err != nil {
			t.Fatal(err)
		}
		back := &collect{w: b.Dx()}
		if err := Decode(bounded, Options{}, back); err != nil {
			t.Fatal(err)
		}
		got := psnr(&image.RGBA{Pix: back.pix, Stride: 4 * b.Dx(), Rect: b}, m)
		t.Logf("%s: %.1f dB, %d bytes, without the bound %d", name, got, len(bounded), len(plain))
		if got < 35.5 {
			t.Errorf("%s: %.1f dB", name, got)
		}
		if again, err := Encode(m.Pix, b.Dx(), b.Dy(), Params{Quality: 75, MaxLoss: 60_000}); err != nil || !bytes.Equal(again, plain) {
			t.Errorf("%s: a bound that is kept changed the file: %v", name, err)
		}
	}
}

func TestEncodeRefusesImpossibleInput(t *testing.T) {
	for _, c := range []struct{ n, w, h, q int }{{0, 0, 1, 80}, {4, 1, 2, 80}, {4, 1, 1, 0}, {4, 1, 1, 101}, {4 * 70000, 70000, 1, 80}} {
		if _, err := Encode(make([]byte, c.n), c.w, c.h, Params{Quality: c.q}); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// Counts like Fibonacci numbers make the deepest trees; no code may have more
// than 16 bits.
func TestFitBoundsCodes(t *testing.T) {
	var counts [257]int
	a, b := 1, 1
	for i := range 40 {
		counts[i] = a
		a, b = b, a+b
	}
	table := fit(&counts)
	if len(table.symbols) != 40 {
		t.Fatalf("%d symbols", len(table.symbols))
	}
	room := 0.0
	for _, s := range table.symbols {
		c := table.codes[s]
		if c.length < 1 || c.length > 16 || c.bits == 1<<c.length-1 {
			t.Errorf("symbol %d: %d bits, code %b", s, c.length, c.bits)
		}
		room += math.Pow(2, -float64(c.length))
	}
	if room >= 1 {
		t.Errorf("the codes take %f", room)
	}
}

func BenchmarkEncode(b *testing.B) {
	m := testImage(2048, 1365)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			data, err := Encode(m.Pix, 2048, 1365, Params{Quality: 85, MaxLoss: 16})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(data)), "bytes")
		}
	})
	b.Run("standard", func(b *testing.B) {
		for b.Loop() {
			var out bytes.Buffer
			if err := stdjpeg.Encode(&out, m, &stdjpeg.Options{Quality: 85}); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(out.Len()), "bytes")
		}
	})
}
