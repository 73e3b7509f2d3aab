package picture

import (
	"bytes"
	"context"
	"image"
	stdjpeg "image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/disintegration/imaging"

	"github.com/bridle-go/bridle/harness/attachment"
)

// psnr compares what can be seen: both pictures laid over black and over white.
func psnr(a, b *image.NRGBA) float64 {
	if a.Rect != b.Rect {
		return 0
	}
	sum, n := 0.0, 0
	for i := 0; i < len(a.Pix); i += 4 {
		for _, under := range []float64{0, 255} {
			for c := range 3 {
				over := func(p []uint8) float64 {
					al := float64(p[3]) / 255
					return float64(p[c])*al + under*(1-al)
				}
				d := over(a.Pix[i:]) - over(b.Pix[i:])
				sum += d * d
				n++
			}
		}
	}
	return 10 * math.Log10(255*255/(sum/float64(n)+1e-9))
}

// A small picture has no smooth parts that would make up for its edges.
func TestFidelityOfSmallPictures(t *testing.T) {
	for _, size := range [][2]int{{7, 7}, {15, 17}, {33, 31}, {48, 20}, {101, 67}} {
		for name, m := range map[string]*image.NRGBA{"colour noise": colourNoise(size[0], size[1]), "print": print(size[0], size[1]), "photo": photo(size[0], size[1])} {
			for _, alpha := range []string{"opaque", "a ramp", "noise"} {
				rnd := rand.New(rand.NewPCG(1, 4))
				for i := 3; alpha != "opaque" && i < len(m.Pix); i += 4 {
					m.Pix[i] = uint8(255 - i*200/len(m.Pix))
					if alpha == "noise" {
						m.Pix[i] = uint8(255 - min(255, 4*rnd.ExpFloat64()))
					}
				}
				data := withPNGChunk(pngBytes(t, m), "tEXt", []byte("a\x00b"))
				n := normalize(t, data, attachment.PNG, attachment.Limits{})
				got := psnr(pixels(t, n.Encoded), m)
				t.Logf("%s %v, %s: %s %d bytes, %.1f dB", name, size, alpha, n.MediaType, len(n.Data), got)
				if got < 35 {
					t.Errorf("%s %v, %s: %s, %.1f dB", name, size, alpha, n.MediaType, got)
				}
			}
		}
	}
}

// What is stored looks like an exact resize of what came in.
func TestFidelity(t *testing.T) {
	limits := attachment.Limits{NormalizedImageMaxDimension: 256}
	for _, c := range []struct {
		name string
		m    *image.NRGBA
		want attachment.MediaType
	}{
		{"gradient", gradient(700, 420), attachment.JPEG},
		{"photo", photo(800, 600), attachment.JPEG},
		{"tall photo", photo(311, 907), attachment.JPEG},
		{"noise", noise(500, 500), attachment.JPEG},
		{"colour noise", colourNoise(500, 500), attachment.JPEG},
		{"print in colours", print(600, 450), attachment.JPEG},
		{"text", text(640, 480), attachment.PNG},
		{"screen", busyScreen(640, 480), attachment.JPEG},
		{"alpha ramp", alphaRamp(500, 400), attachment.WebP},
		{"disc", disc(600, 600), attachment.PNG},
		{"barely over", photo(257, 200), attachment.JPEG},
	} {
		size := fitWithin(c.m.Rect.Dx(), c.m.Rect.Dy(), 256)
		reference := exactResize(c.m, size.Width, size.Height)
		files := map[string][]byte{"png": pngBytes(t, c.m), "png16": pngBytes(t, deep(c.m))}
		if c.want == attachment.JPEG {
			files["jpeg"] = jpegBytes(t, c.m, 97)
		}
		for kind, data := range files {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				n := normalize(t, data, "", limits)
				if n.MediaType != c.want {
					t.Errorf("stored as %s, want %s", n.MediaType, c.want)
				}
				reference := reference
				if kind == "jpeg" {
					// What the source lost is not for the result to have.
					whole, err := stdjpeg.Decode(bytes.NewReader(data))
					if err != nil {
						t.Fatal(err)
					}
					reference = exactResize(imaging.Clone(whole), size.Width, size.Height)
				}
				got := psnr(pixels(t, n.Encoded), reference)
				t.Logf("%s %d bytes, %.1f dB", n.MediaType, len(n.Data), got)
				if got < 35 {
					t.Errorf("%.1f dB", got)
				}
			})
		}
	}
}

// exactResize is Lanczos in floating point, alpha multiplied in, rounded once.
func exactResize(m *image.NRGBA, w, h int) *image.NRGBA {
	// The weights of a destination are those of the sources from first on.
	type window struct {
		first   int
		weights []float64
	}
	weights := func(src, dst int) []window {
		out := make([]window, dst)
		ratio := float64(src) / float64(dst)
		for i := range out {
			sum := 0.0
			for j := range src {
				x := (float64(j) - (float64(i)+0.5)*ratio + 0.5) / max(ratio, 1)
				if math.Abs(x) < 3 {
					v := 1.0
					if x != 0 {
						v = 3 * math.Sin(math.Pi*x) * math.Sin(math.Pi*x/3) / (math.Pi * math.Pi * x * x)
					}
					if out[i].weights == nil {
						out[i].first = j
					}
					out[i].weights = append(out[i].weights, v)
					sum += v
				}
			}
			for j := range out[i].weights {
				out[i].weights[j] /= sum
			}
		}
		return out
	}
	sw, sh := m.Rect.Dx(), m.Rect.Dy()
	wx, wy := weights(sw, w), weights(sh, h)
	mid := make([][4]float64, w*sh)
	for y := range sh {
		for x := range w {
			var s [4]float64
			for j, k := range wx[x].weights {
				p := m.Pix[4*(y*sw+wx[x].first+j):]
				a := float64(p[3]) / 255
				for c := range 3 {
					s[c] += k * a * float64(p[c])
				}
				s[3] += k * a
			}
			mid[y*w+x] = s
		}
	}
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			var s [4]float64
			for j, k := range wy[y].weights {
				for c := range s {
					s[c] += k * mid[(wy[y].first+j)*w+x][c]
				}
			}
			p := out.Pix[4*(y*w+x):]
			round := func(v float64) uint8 { return uint8(math.Round(max(0, min(255, v)))) }
			if p[3] = round(s[3] * 255); p[3] > 0 {
				p[0], p[1], p[2] = round(s[0]/s[3]), round(s[1]/s[3]), round(s[2]/s[3])
			}
		}
	}
	return out
}

// Resampling alone, without an encoder, equals the exact one to a rounding.
func TestResamplingMatchesReference(t *testing.T) {
	for _, c := range []struct {
		m    *image.NRGBA
		w, h int
	}{{photo(400, 300), 150, 113}, {alphaRamp(333, 100), 100, 30}, {disc(200, 200), 64, 64}, {gradient(64, 64), 63, 63}, {text(500, 20), 50, 2}, {photo(1000, 3), 10, 1}} {
		r := &raster{w: c.m.Rect.Dx(), h: c.m.Rect.Dy(), pix: c.m.Pix}
		got := shrink(r, c.w, c.h)
		want := exactResize(c.m, c.w, c.h)
		if p := psnr(&image.NRGBA{Pix: got.pix, Stride: 4 * c.w, Rect: want.Rect}, want); p < 54 {
			t.Errorf("%v to %dx%d: %.1f dB", c.m.Rect, c.w, c.h, p)
		}
	}
}

// A large JPEG decoded at a reduced scale looks like one decoded whole.
func TestReducedDecodingLooksTheSame(t *testing.T) {
	for name, m := range map[string]*image.NRGBA{"photo": photo(600, 400), "text": text(600, 400), "screen": busyScreen(600, 400)} {
		data := jpegBytes(t, m, 92)
		whole, err := stdjpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for _, long := range []int{275, 240, 205, 120, 60, 25} {
			size := fitWithin(600, 400, long)
			info, err := Inspect(data)
			if err != nil {
				t.Fatal(err)
			}
			scale := jpegScale(info, size.Width, size.Height)
			r, err := decodeTo(context.Background(), data, info, size, attachment.Limits{}.WithDefaults())
			if err != nil {
				t.Fatal(err)
			}
			want := exactResize(imaging.Clone(whole), size.Width, size.Height)
			p := psnr(&image.NRGBA{Pix: r.pix, Stride: 4 * r.w, Rect: want.Rect}, want)
			t.Logf("%s to %d, scale %d: %.1f dB", name, long, scale, p)
			if p < 38 {
				t.Errorf("%s to %d at scale %d: %.1f dB", name, long, scale, p)
			}
		}
	}
}

// The visible colour at the edge of a bright shape on black nothing stays bright.
func TestAlphaEdgesHaveNoDarkFringe(t *testing.T) {
	n := normalize(t, pngBytes(t, disc(600, 600)), attachment.PNG, attachment.Limits{NormalizedImageMaxDimension: 150})
	m := pixels(t, n.Encoded)
	edge := 0
	for i := 0; i < len(m.Pix); i += 4 {
		p := m.Pix[i:]
		if p[3] >= 16 && p[3] < 250 {
			edge++
			if p[0] < 215 || p[1] < 195 || p[2] < 165 {
				t.Fatalf("%s: edge pixel %v", n.MediaType, p[:4])
			}
		}
	}
	if edge < 50 {
		t.Fatalf("only %d edge pixels", edge)
	}
}
