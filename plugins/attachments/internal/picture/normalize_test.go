package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	stdjpeg "image/jpeg"
	"image/png"
	"math"
	"testing"

	"github.com/disintegration/imaging"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/icc"
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
				n := normalize(t, data, "", limits)
				if n.MediaType != c.want {
					t.Errorf("stored as %s, want %s", n.MediaType, c.want)
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
	weights := func(src, dst int) [][]float64 {
		out := make([][]float64, dst)
		ratio := float64(src) / float64(dst)
		for i := range out {
			out[i] = make([]float64, src)
			sum := 0.0
			for j := range src {
				x := (float64(j) - (float64(i)+0.5)*ratio + 0.5) / max(ratio, 1)
				if math.Abs(x) < 3 {
					v := 1.0
					if x != 0 {
						v = 3 * math.Sin(math.Pi*x) * math.Sin(math.Pi*x/3) / (math.Pi * math.Pi * x * x)
					}
					out[i][j] = v
					sum += v
				}
			}
			for j := range out[i] {
				out[i][j] /= sum
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
			for j, k := range wx[x] {
				if k == 0 {
					continue
				}
				p := m.Pix[4*(y*sw+j):]
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
			for j, k := range wy[y] {
				for c := range s {
					s[c] += k * mid[j*w+x][c]
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
	lossy, err := webp.Encode(src.Pix, 96, 64, 90)
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

func meanDifference(a, b *image.NRGBA) float64 {
	sum := 0.0
	for i := range a.Pix {
		if i%4 != 3 {
			sum += math.Abs(float64(a.Pix[i]) - float64(b.Pix[i]))
		}
	}
	return sum / float64(len(a.Pix)/4*3)
}

// A picture in Display P3 or Adobe RGB comes out in the sRGB colours that it
// shows.
func TestProfilesAreConverted(t *testing.T) {
	want := gradient(90, 60)
	for i := range want.Pix {
		if i%4 != 3 {
			want.Pix[i] = 40 + want.Pix[i]/2 // inside the narrower gamut with room
		}
	}
	adobe := icc.Primaries{White: icc.Rec709.White, Red: icc.Chromaticity{X: 0.64, Y: 0.33}, Green: icc.Chromaticity{X: 0.21, Y: 0.71}, Blue: icc.Chromaticity{X: 0.15, Y: 0.06}}
	for name, prim := range map[string]icc.Primaries{"Display P3": icc.DisplayP3, "Adobe RGB": adobe, "Rec. 2020": icc.Rec2020} {
		const gamma = 2.2
		p, err := icc.FromPrimaries(prim, icc.Power(gamma))
		if err != nil {
			t.Fatal(err)
		}
		// The same colours as that profile writes them, by the inverse of its matrix.
		srgb, err := icc.FromPrimaries(icc.Rec709, icc.SRGBCurve)
		if err != nil {
			t.Fatal(err)
		}
		src := image.NewNRGBA(want.Rect)
		for i := 0; i < len(src.Pix); i += 4 {
			var lin [3]float64
			for c := range 3 {
				lin[c] = icc.SRGBCurve(float64(want.Pix[i+c]) / 255)
			}
			v := solve(p.Matrix, times(srgb.Matrix, lin))
			for c := range 3 {
				src.Pix[i+c] = uint8(math.Round(255 * math.Pow(max(0, min(1, v[c])), 1/gamma)))
			}
			src.Pix[i+3] = 255
		}
		block := profile(p.Matrix, gamma)
		for kind, data := range map[string][]byte{
			"png":   withPNGProfile(pngBytes(t, src), block),
			"png16": withPNGProfile(pngBytes(t, deep(src)), block),
			"jpeg":  withJPEGSegment(jpegBytes(t, src, 98), 0xe2, append([]byte("ICC_PROFILE\x00\x01\x01"), block...)),
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				n := normalize(t, data, "", attachment.Limits{})
				if n.Passthrough {
					t.Fatal("the profile was kept")
				}
				got := pixels(t, n.Encoded)
				if d := meanDifference(got, want); d > 3 {
					t.Errorf("colours differ by %.2f on average", d)
				}
				if d := meanDifference(got, src); d < 3 {
					t.Errorf("the test shows nothing: unconverted colours differ by %.2f", d)
				}
			})
		}
	}
}

func times(m [3][3]float64, v [3]float64) (out [3]float64) {
	for i := range 3 {
		for j := range 3 {
			out[i] += m[i][j] * v[j]
		}
	}
	return out
}

// solve finds x with m x = v by Cramer's rule.
func solve(m [3][3]float64, v [3]float64) (x [3]float64) {
	det := func(a [3][3]float64) float64 {
		return a[0][0]*(a[1][1]*a[2][2]-a[1][2]*a[2][1]) - a[0][1]*(a[1][0]*a[2][2]-a[1][2]*a[2][0]) + a[0][2]*(a[1][0]*a[2][1]-a[1][1]*a[2][0])
	}
	d := det(m)
	for i := range 3 {
		n := m
		for j := range 3 {
			n[j][i] = v[j]
		}
		x[i] = det(n) / d
	}
	return x
}

func TestGammaChunkIsApplied(t *testing.T) {
	want := gradient(64, 64)
	src := image.NewNRGBA64(want.Rect)
	for y := range 64 {
		for x := range 64 {
			c := want.NRGBAAt(x, y)
			lin := func(v uint8) uint16 { return uint16(65535 * icc.SRGBCurve(float64(v)/255)) }
			src.SetNRGBA64(x, y, color.NRGBA64{lin(c.R), lin(c.G), lin(c.B), 65535})
		}
	}
	data := withPNGChunk(pngBytes(t, src), "gAMA", binary.BigEndian.AppendUint32(nil, 100000))
	n := normalize(t, data, attachment.PNG, attachment.Limits{})
	if d := meanDifference(pixels(t, n.Encoded), want); d > 3 {
		t.Errorf("colours differ by %.2f on average", d)
	}
	// The exponent of sRGB itself says nothing new.
	plain := withPNGChunk(pngBytes(t, want), "gAMA", binary.BigEndian.AppendUint32(nil, 45455))
	if n := normalize(t, plain, attachment.PNG, attachment.Limits{}); !n.Passthrough {
		t.Errorf("not kept: %s", n.Reason)
	}
}

// CMYK and YCCK as Adobe writes them, and CMYK without its marker.
func TestCMYK(t *testing.T) {
	const w, h = 64, 48
	ink := func(c, x, y int) float64 {
		return []float64{float64(x) / w, float64(y) / h, float64(x+y) / (w + h), float64(x*y) / (w * h) / 2}[c]
	}
	want := draw(w, h, func(x, y int) color.NRGBA {
		v := func(c int) uint8 { return uint8(255*(1-ink(c, x, y))*(1-ink(3, x, y)) + 0.5) }
		return color.NRGBA{v(0), v(1), v(2), 255}
	})
	files := map[string][]byte{
		"adobe": cmykJPEG(t, w, h, 0, func(c, x, y int) uint8 { return uint8(255 * (1 - ink(c, x, y))) }),
		"plain": cmykJPEG(t, w, h, -1, func(c, x, y int) uint8 { return uint8(255 * ink(c, x, y)) }),
		"ycck": cmykJPEG(t, w, h, 2, func(c, x, y int) uint8 {
			v := func(c int) uint8 { return uint8(255 * ink(c, x, y)) }
			if c == 3 {
				return uint8(255 * (1 - ink(3, x, y)))
			}
			yy, cb, cr := color.RGBToYCbCr(v(0), v(1), v(2))
			return []uint8{yy, cb, cr}[c]
		}),
	}
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			n := normalize(t, data, attachment.JPEG, attachment.Limits{})
			if d := meanDifference(pixels(t, n.Encoded), want); d > 3 {
				t.Errorf("colours differ by %.2f on average", d)
			}
			if n.Passthrough {
				t.Error("CMYK was kept")
			}
		})
	}
}

// Every kind of PNG that the standard encoder can write, and interlaced ones,
// decode to what the standard decoder sees.
func TestPNGKinds(t *testing.T) {
	b := image.Rect(0, 0, 37, 29)
	gray, gray16, rgb64 := image.NewGray(b), image.NewGray16(b), image.NewRGBA64(b)
	pal := map[int]*image.Paletted{}
	for _, n := range []int{2, 4, 16, 256} {
		p := color.Palette{}
		for i := range n {
			p = append(p, color.NRGBA{uint8(i * 255 / (n - 1)), uint8(i * 7), uint8(255 - i), uint8(255 - i%3*40)})
		}
		pal[n] = image.NewPaletted(b, p)
	}
	for y := range 29 {
		for x := range 37 {
			gray.SetGray(x, y, color.Gray{uint8(x * y)})
			gray16.SetGray16(x, y, color.Gray16{uint16(x * y * 61)})
			rgb64.SetRGBA64(x, y, color.RGBA64{uint16(x * 1700), uint16(y * 2000), uint16(x * y), 65535})
			for n, m := range pal {
				m.SetColorIndex(x, y, uint8((x*3+y*5)%n))
			}
		}
	}
	files := map[string][]byte{
		"gray": pngBytes(t, gray), "gray16": pngBytes(t, gray16), "rgb16": pngBytes(t, rgb64),
		"rgb": pngBytes(t, photo(37, 29)), "rgba": pngBytes(t, alphaRamp(37, 29)), "rgba16": pngBytes(t, deep(alphaRamp(37, 29))),
	}
	for n, m := range pal {
		files[fmt.Sprintf("palette%d", n)] = pngBytes(t, m)
	}
	for _, k := range []struct{ colorType, depth int }{{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1}, {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}} {
		for _, inter := range []bool{false, true} {
			for _, keyed := range []bool{false, true} {
				name := fmt.Sprintf("type%d-%d-%v-%v", k.colorType, k.depth, inter, keyed)
				files[name] = rawPNG(37, 29, k.colorType, k.depth, inter, keyed)
			}
		}
	}
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			std, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			got := ourPixels(t, data)
			for y := range 29 {
				for x := range 37 {
					w := color.NRGBA64Model.Convert(std.At(x, y)).(color.NRGBA64)
					if m, ok := std.(*image.NRGBA64); ok {
						w = m.NRGBA64At(x, y) // converting loses bits under thin alpha
					}
					if m, ok := std.(*image.NRGBA); ok {
						c := m.NRGBAAt(x, y)
						w = color.NRGBA64{uint16(c.R) * 257, uint16(c.G) * 257, uint16(c.B) * 257, uint16(c.A) * 257}
					}
					g := got.NRGBAAt(x, y)
					round := func(v uint16) uint8 { return uint8((uint32(v)*255 + 32767) / 65535) }
					if want := (color.NRGBA{round(w.R), round(w.G), round(w.B), round(w.A)}); w.A != 0 && g != want || w.A == 0 && g.A != 0 {
						t.Fatalf("(%d,%d): got %v, want %v", x, y, g, want)
					}
				}
			}
		})
	}
}

// rawPNG writes samples of a fixed pattern in any kind, with all five filters.
func rawPNG(w, h, colorType, depth int, interlaced, keyed bool) []byte {
	channels := map[int]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colorType]
	sample := func(x, y, c int) int {
		v := x*31 + y*17 + c*91
		return v & (1<<depth - 1)
	}
	bits := channels * depth
	bpp := max(1, bits/8)
	var raw []byte
	pass := func(x0, y0, dx, dy int) {
		pw, ph := (w-x0+dx-1)/dx, (h-y0+dy-1)/dy
		if w <= x0 || h <= y0 {
			return
		}
		prev := make([]byte, (pw*bits+7)/8)
		for y := range ph {
			row := make([]byte, len(prev))
			for x := range pw {
				for c := range channels {
					v, at := sample(x0+x*dx, y0+y*dy, c), (x*channels+c)*depth
					if depth == 16 {
						row[at/8], row[at/8+1] = byte(v>>8), byte(v)
					} else {
						row[at/8] |= byte(v << (8 - depth - at%8))
					}
				}
			}
			filter := y % 5
			out := []byte{byte(filter)}
			for i, v := range row {
				a, b, c := 0, int(prev[i]), 0
				if i >= bpp {
					a, c = int(row[i-bpp]), int(prev[i-bpp])
				}
				var p int
				switch filter {
				case 1:
					p = a
				case 2:
					p = b
				case 3:
					p = (a + b) / 2
				case 4:
					pa, pb, pc := abs(b-c), abs(a-c), abs(a+b-2*c)
					p = c
					if pa <= pb && pa <= pc {
						p = a
					} else if pb <= pc {
						p = b
					}
				}
				out = append(out, v-byte(p))
			}
			raw = append(raw, out...)
			prev = row
		}
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	inter := byte(0)
	if interlaced {
		inter = 1
		for _, p := range adam7 {
			pass(p.x, p.y, p.dx, p.dy)
		}
	} else {
		pass(0, 0, 1, 1)
	}
	out := append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", append(head, byte(depth), byte(colorType), 0, 0, inter))...)
	if colorType == 3 {
		var p []byte
		for i := range 1 << depth {
			p = append(p, byte(i*5), byte(255-i), byte(i*i))
		}
		out = append(out, pngChunk("PLTE", p)...)
	}
	if keyed {
		switch colorType {
		case 0:
			out = append(out, pngChunk("tRNS", binary.BigEndian.AppendUint16(nil, uint16(sample(3, 2, 0))))...)
		case 2:
			var b []byte
			for c := range 3 {
				b = binary.BigEndian.AppendUint16(b, uint16(sample(3, 2, c)))
			}
			out = append(out, pngChunk("tRNS", b)...)
		case 3:
			out = append(out, pngChunk("tRNS", []byte{0, 128})...)
		}
	}
	data := deflate(raw)
	// Two pieces, as real writers split them.
	out = append(out, pngChunk("IDAT", data[:len(data)/2])...)
	out = append(out, pngChunk("IDAT", data[len(data)/2:])...)
	return append(out, pngChunk("IEND", nil)...)
}

func TestGIFFirstFrame(t *testing.T) {
	pal := color.Palette{color.RGBA{200, 0, 0, 255}, color.RGBA{0, 200, 0, 255}, color.RGBA{}}
	local := color.Palette{color.RGBA{0, 0, 200, 255}, color.RGBA{200, 200, 0, 255}}
	first := image.NewPaletted(image.Rect(3, 2, 13, 9), local)
	second := image.NewPaletted(image.Rect(0, 0, 20, 15), pal)
	g := &gif.GIF{Image: []*image.Paletted{first, second}, Delay: []int{1, 1}, Disposal: []byte{gif.DisposalBackground, gif.DisposalNone},
		Config: image.Config{ColorModel: pal, Width: 20, Height: 15}}
	n := normalize(t, gifBytes(t, g), attachment.GIF, attachment.Limits{})
	if n.Width != 20 || n.Height != 15 || n.MediaType != attachment.PNG {
		t.Fatalf("%s %dx%d", n.MediaType, n.Width, n.Height)
	}
	m := pixels(t, n.Encoded)
	if c := m.NRGBAAt(0, 0); c.A != 0 {
		t.Errorf("outside the frame: %v", c)
	}
	if c := m.NRGBAAt(3, 2); c != (color.NRGBA{0, 0, 200, 255}) {
		t.Errorf("inside the frame: %v", c)
	}
	if c := m.NRGBAAt(12, 8); c != (color.NRGBA{0, 0, 200, 255}) {
		t.Errorf("last pixel of the frame: %v", c)
	}
}

// What is kept byte for byte, and why the rest is not.
func TestPassthrough(t *testing.T) {
	small := photo(40, 30)
	lossy, err := webp.Encode(alphaRamp(40, 30).Pix, 40, 30, 80)
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
	b, err := webp.Encode(m.Pix, m.Rect.Dx(), m.Rect.Dy(), 85)
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

func hugePNG(w, h int) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	out := append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", append(head, 8, 6, 0, 0, 0))...)
	out = append(out, pngChunk("IDAT", deflate(make([]byte, 1000)))...)
	return append(out, pngChunk("IEND", nil)...)
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Normalize(ctx, pngBytes(t, photo(900, 900)), attachment.PNG, attachment.Limits{NormalizedImageMaxDimension: 100}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
