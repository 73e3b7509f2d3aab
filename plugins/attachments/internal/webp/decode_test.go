package webp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/vp8"
)

// frameOf is the lossy frame of a file.
func frameOf(t testing.TB, file []byte) []byte {
	t.Helper()
	for pos := 12; pos+8 <= len(file); {
		n := int(file[pos+4]) | int(file[pos+5])<<8 | int(file[pos+6])<<16
		if string(file[pos:pos+4]) == "VP8 " {
			return file[pos+8 : pos+8+n]
		}
		pos += 8 + n + n&1
	}
	t.Fatal("no lossy frame")
	return nil
}

// frames are those that cwebp made with many settings, and some of our own.
func frames(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	paths, err := filepath.Glob("testdata/*.webp")
	if err != nil || len(paths) == 0 {
		t.Fatal("no test data", err)
	}
	for _, p := range paths {
		file, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(p)] = frameOf(t, file)
	}
	for _, kind := range []string{"gradient", "noise", "text"} {
		for _, size := range [][2]int{{1, 1}, {16, 16}, {17, 33}, {100, 5}} {
			file, err := Encode(picture(kind, size[0], size[1]), size[0], size[1], Params{Quality: 60})
			if err != nil {
				t.Fatal(err)
			}
			out[fmt.Sprint(kind, size)] = frameOf(t, file)
		}
	}
	return out
}

// decodeAll returns the pixels of a frame.
func decodeAll(data []byte) (pix []byte, w, h int, err error) {
	f, err := NewFrame(data)
	if err != nil {
		return nil, 0, 0, err
	}
	pix = make([]byte, 4*f.w*f.h)
	for y := range f.h {
		if err := f.Next(pix[4*f.w*y : 4*f.w*(y+1)]); err != nil {
			return nil, 0, 0, err
		}
	}
	return pix, f.w, f.h, nil
}

// reference decodes with another decoder, and converts its samples as we do.
func reference(data []byte) (pix []byte, err error) {
	d := vp8.NewDecoder()
	d.Init(bytes.NewReader(data), len(data))
	if _, err := d.DecodeFrameHeader(); err != nil {
		return nil, err
	}
	m, err := d.DecodeFrame()
	if err != nil {
		return nil, err
	}
	w := m.Rect.Dx()
	for y := range m.Rect.Dy() {
		row := make([]byte, 4*w)
		videoRow(row, m.Y[m.YOffset(0, y):], m.Cb[m.COffset(0, y):], m.Cr[m.COffset(0, y):])
		pix = append(pix, row...)
	}
	return pix, nil
}

// Every sample is what another decoder sees: segments, both loop filters, their
// levels and sharpness, partitions, and all modes.
func TestFrameMatchesReference(t *testing.T) {
	for name, data := range frames(t) {
		t.Run(name, func(t *testing.T) {
			got, w, _, err := decodeAll(data)
			if err != nil {
				t.Fatal(err)
			}
			want, err := reference(data)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("pixel (%d,%d): got %v, want %v", i/4%w, i/4/w, got[i&^3:i&^3+4], want[i&^3:i&^3+4])
				}
			}
		})
	}
}

// A frame that is cut off is refused, or whole without what is missing.
func TestFrameTruncated(t *testing.T) {
	for name, data := range frames(t) {
		whole, _, _, err := decodeAll(data)
		if err != nil {
			t.Fatal(err)
		}
		for n := range data {
			got, _, _, err := decodeAll(data[:n])
			if err == nil && !bytes.Equal(got, whole) {
				t.Errorf("%s: %d of %d bytes give another picture", name, n, len(data))
			}
		}
	}
}

// The first rows are there before the last are read.
func TestFrameIsReadInRows(t *testing.T) {
	const w, h = 64, 640
	file, err := Encode(picture("noise", w, h), w, h, Params{Quality: 80})
	if err != nil {
		t.Fatal(err)
	}
	data := frameOf(t, file)
	f, err := NewFrame(data[:len(data)/2])
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for row := make([]byte, 4*w); f.Next(row) == nil; rows++ {
	}
	if rows < h/3 || rows >= h {
		t.Errorf("half of the data gives %d of %d rows", rows, h)
	}
}

// extreme tells whether a frame has filter levels or coefficients so large, as no
// picture gives, that the arithmetic of the other decoder overflows.
func extreme(data []byte) bool {
	f, err := NewFrame(data)
	if err != nil {
		return false
	}
	for _, level := range f.segments.level {
		for _, sum := range []int{level, level + f.filter.level} { // absolute, and not
			for _, d := range []int{0, f.filter.frame, f.filter.frame + f.filter.sub} {
				if sum+d > 127 || sum+d < -128 {
					return true
				}
			}
		}
	}
	for ; f.mby < f.mbh; f.mby++ {
		f.left = context{}
		for x := range f.mbw {
			f.readModes(x)
			if f.readCoeffs(&f.tokens[f.mby%len(f.tokens)], x) {
				continue
			}
			for _, block := range f.coeffs {
				for _, c := range block {
					if abs(c) > 4096 {
						return true
					}
				}
			}
		}
	}
	return false
}

func FuzzFrame(f *testing.F) {
	for _, data := range frames(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 10 {
			data = bytes.Clone(data)
			data[7], data[9] = 0, 0 // up to 255 pixels a side
		}
		got, _, _, err := decodeAll(data)
		if err != nil {
			return
		}
		want, err := reference(data)
		if err == nil && !bytes.Equal(got, want) && !extreme(data) {
			t.Error("another decoder sees another picture")
		}
	})
}

func BenchmarkFrame(b *testing.B) {
	const w, h = 1600, 1200
	rnd := rand.New(rand.NewPCG(1, 2))
	pix := picture("gradient", w, h)
	for i := range pix {
		if i%4 < 3 {
			pix[i] = uint8(max(0, min(255, int(pix[i])+rnd.IntN(17)-8)))
		}
	}
	file, err := Encode(pix, w, h, Params{Quality: 80})
	if err != nil {
		b.Fatal(err)
	}
	data := frameOf(b, file)
	for name, decode := range map[string]func() error{
		"ours":      func() error { _, _, _, err := decodeAll(data); return err },
		"reference": func() error { _, err := reference(data); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(w * h)
			b.ReportAllocs()
			for b.Loop() {
				if err := decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
