package picture

import (
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments/internal/icc"
)

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

// inkProfile is a CMYK profile of nothing but a look-up table: its inks darken
// paper to the lightness given, whatever their colour.
func inkProfile(lightness func(c, m, y, k float64) float64) []byte {
	lut := []byte("mft1\x00\x00\x00\x00\x04\x03\x02\x00")
	lut = append(lut, make([]byte, 36)...)
	straight := func(n int) {
		for i := range 256 * n {
			lut = append(lut, byte(i))
		}
	}
	straight(4)
	for corner := range 16 {
		bit := func(i int) float64 { return float64(corner >> i & 1) }
		lut = append(lut, byte(math.Round(255*lightness(bit(3), bit(2), bit(1), bit(0)))), 128, 128)
	}
	straight(3)
	out := make([]byte, 128)
	copy(out[12:], "prtrCMYKLab ")
	copy(out[36:], "acsp")
	out = append(out, 0, 0, 0, 1, 'A', '2', 'B', '0', 0, 0, 0, 144)
	out = binary.BigEndian.AppendUint32(out, uint32(len(lut)))
	return append(out, lut...)
}

// A profile of inks is followed, whichever way Adobe stores them.
func TestInkProfile(t *testing.T) {
	p := inkProfile(func(c, m, y, k float64) float64 { return (1 - k) * (1 - c/2) })
	segment := append([]byte("ICC_PROFILE\x00\x01\x01"), p...)
	for _, stored := range []struct {
		name      string
		transform int
		plane     func(c, x, y int) uint8
	}{
		// All of cyan, nothing else.
		{"inverted", 0, func(c, x, y int) uint8 { return map[bool]uint8{true: 0, false: 255}[c == 0] }},
		{"plain", -1, func(c, x, y int) uint8 { return map[bool]uint8{true: 255, false: 0}[c == 0] }},
		// YCCK of red 255, green and blue 0, black inverted.
		{"YCCK", 2, func(c, x, y int) uint8 { return [4]uint8{76, 85, 255, 255}[c] }},
	} {
		data := withJPEGSegment(cmykJPEG(t, 20, 20, stored.transform, stored.plane), 0xe2, segment)
		m := pixels(t, normalize(t, data, attachment.JPEG, attachment.Limits{}).Encoded)
		// Half of the lightness of white is 119 in sRGB; without the profile cyan would
		// have no red at all.
		got := m.NRGBAAt(10, 10)
		for _, v := range []uint8{got.R, got.G, got.B} {
			if v < 115 || v > 122 {
				t.Errorf("%s: got %v, want a grey of 119", stored.name, got)
				break
			}
		}
	}
}
