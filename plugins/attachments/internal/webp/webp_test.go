package webp

import (
	"bytes"
	"image"
	"math"
	"math/rand/v2"
	"testing"

	xwebp "golang.org/x/image/webp"
)

func picture(kind string, w, h int) []byte {
	pix := make([]byte, 4*w*h)
	rnd := rand.New(rand.NewPCG(1, 2))
	for y := range h {
		for x := range w {
			p := pix[4*(y*w+x):]
			p[0] = uint8(128 + 100*math.Sin(float64(x)/19))
			p[1] = uint8(128 + 100*math.Sin(float64(y)/13+float64(x)/40))
			p[2] = uint8(x + y)
			p[3] = 255
			switch kind {
			case "noise":
				for i := range 3 {
					p[i] = uint8(rnd.IntN(256))
				}
			case "text":
				v := uint8(245)
				if (x*7+y*3)%23 < 4 || (x/3+y/5)%9 == 0 {
					v = 20
				}
				p[0], p[1], p[2] = v, v, v
			case "alpha":
				p[3] = uint8(min(255, x*255/max(1, w-1)))
			}
		}
	}
	return pix
}

// The decoder sees exactly what the encoder reconstructed: every mode, transform,
// context and token is coded as the format wants it.
func TestReconstructionMatchesDecoder(t *testing.T) {
	for _, kind := range []string{"gradient", "noise", "text"} {
		for _, size := range [][2]int{{1, 1}, {16, 16}, {17, 33}, {100, 75}, {161, 48}} {
			for _, quality := range []int{100, 85, 75, 40, 1} {
				w, h := size[0], size[1]
				src := toPlanes(picture(kind, w, h), w, h)
				e := newEncoder(src, quality)
				data, err := e.encode()
				if err != nil {
					t.Fatal(err)
				}
				file := []byte("RIFF\x00\x00\x00\x00WEBP")
				file = appendChunk(file, "VP8 ", data)
				file[4], file[5], file[6] = byte(len(file)-8), byte((len(file)-8)>>8), byte((len(file)-8)>>16)
				m, err := xwebp.Decode(bytes.NewReader(file))
				if err != nil {
					t.Fatalf("%s %dx%d quality %d: %v", kind, w, h, quality, err)
				}
				got := m.(*image.YCbCr)
				for y := range h {
					for x := range w {
						if g, r := got.Y[got.YOffset(x, y)], e.rec.y[y*16*src.mbw+x]; g != r {
							t.Fatalf("%s %dx%d quality %d: luma (%d,%d): decoder %d, encoder %d", kind, w, h, quality, x, y, g, r)
						}
						c := got.COffset(x, y)
						o := y/2*8*src.mbw + x/2
						if got.Cb[c] != e.rec.u[o] || got.Cr[c] != e.rec.v[o] {
							t.Fatalf("%s %dx%d quality %d: chroma (%d,%d) differs", kind, w, h, quality, x, y)
						}
					}
				}
			}
		}
	}
}

func TestAlphaIsExact(t *testing.T) {
	const w, h = 77, 41
	pix := picture("alpha", w, h)
	data, err := Encode(pix, w, h, Params{Quality: 85})
	if err != nil {
		t.Fatal(err)
	}
	m, err := xwebp.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got := m.(*image.NYCbCrA)
	for y := range h {
		for x := range w {
			if g, want := got.A[got.AOffset(x, y)], pix[4*(y*w+x)+3]; g != want {
				t.Fatalf("alpha (%d,%d): got %d, want %d", x, y, g, want)
			}
		}
	}
}

// The luma error stays where the quality promises.
func TestLumaFidelity(t *testing.T) {
	for kind, want := range map[string]float64{"gradient": 42, "text": 36, "noise": 34} {
		const w, h = 256, 192
		src := toPlanes(picture(kind, w, h), w, h)
		e := newEncoder(src, 85)
		data, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i := range src.y {
			d := float64(src.y[i]) - float64(e.rec.y[i])
			sum += d * d
		}
		psnr := 10 * math.Log10(255*255/(sum/float64(len(src.y))))
		t.Logf("%s: %d bytes, luma %.1f dB", kind, len(data), psnr)
		if psnr < want {
			t.Errorf("%s: luma %.1f dB, want %.1f", kind, psnr, want)
		}
	}
}

func TestRefusesImpossibleInput(t *testing.T) {
	for _, c := range []struct{ n, w, h, q int }{{0, 0, 1, 80}, {4, 1, 2, 80}, {4, 1, 1, 0}, {4, 1, 1, 101}, {4 * 20000, 20000, 1, 80}} {
		if _, err := Encode(make([]byte, c.n), c.w, c.h, Params{Quality: c.q}); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	const w, h = 2048, 1365
	for _, kind := range []string{"gradient", "text", "alpha"} {
		pix := picture(kind, w, h)
		b.Run(kind, func(b *testing.B) {
			n := 0
			for b.Loop() {
				data, err := Encode(pix, w, h, Params{Quality: 85})
				if err != nil {
					b.Fatal(err)
				}
				n = len(data)
			}
			b.ReportMetric(float64(n), "bytes")
		})
	}
}
