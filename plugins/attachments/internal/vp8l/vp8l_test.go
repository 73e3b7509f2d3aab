package vp8l

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	stdimage "image"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	reference "golang.org/x/image/vp8l"
)

// files has the lossless chunks of pictures that between them use every
// transform, palettes of each packing, the colour cache, copies and many groups
// of codes.
func files(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.webp")
	if err != nil || len(paths) < 11 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	out := map[string][]byte{}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(data, []byte("VP8L"))
		n := int(binary.LittleEndian.Uint32(data[at+4:]))
		out[filepath.Base(p)] = data[at+8 : at+8+n]
	}
	return out
}

func decode(data []byte) (*stdimage.NRGBA, error) {
	r, err := NewReader(data)
	if err != nil {
		return nil, err
	}
	m := stdimage.NewNRGBA(stdimage.Rect(0, 0, r.w, r.h))
	for y := range r.h {
		row, err := r.Next()
		if err != nil {
			return nil, err
		}
		for x, p := range row {
			copy(m.Pix[y*m.Stride+4*x:], []byte{byte(p >> 16), byte(p >> 8), byte(p), byte(p >> 24)})
		}
	}
	return m, nil
}

func matches(t *testing.T, data []byte) {
	t.Helper()
	want, err := reference.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Pix, want.(*stdimage.NRGBA).Pix) {
		t.Error("other pixels than the reference decoder's")
	}
}

func TestMatchesReferenceDecoder(t *testing.T) {
	used := map[string]bool{}
	for name, data := range files(t) {
		t.Run(name, func(t *testing.T) { matches(t, data) })
		r, err := NewReader(data)
		if err != nil {
			t.Fatal(err)
		}
		used["groups"] = used["groups"] || len(r.main.groups) > 1
		used["cache"] = used["cache"] || r.main.cache != nil
		for _, kind := range r.transforms {
			if p, ok := kind.(*palette); ok {
				used[fmt.Sprintf("palette packed by %d", p.bits)] = true
			}
			used[fmt.Sprintf("%T", kind)] = true
		}
	}
	if len(used) != 10 {
		t.Errorf("the files use %v alone", used)
	}
}

// Copies from as far back as the format allows still find their pixels, in a
// picture that is larger than the ring.
func TestFarCopies(t *testing.T) {
	m := stdimage.NewNRGBA(stdimage.Rect(0, 0, 1500, 1600))
	rnd := rand.New(rand.NewPCG(5, 6))
	for y := range 1600 {
		row := m.Pix[y*m.Stride:][:m.Stride]
		if y >= 690 { // 1 035 000 pixels back
			copy(row, m.Pix[(y-690)*m.Stride:])
			continue
		}
		for x := range 1500 {
			v := uint8(128 + 100*math.Sin(float64(x+y)/50))
			copy(row[4*x:], []byte{v + uint8(rnd.IntN(4)), v, 255 - v, 255})
		}
	}
	pixels := make([]uint32, len(m.Pix)/4)
	for i := range pixels {
		p := m.Pix[4*i:]
		pixels[i] = uint32(p[3])<<24 | uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2])
	}
	data := Encode(pixels, 1500, 1600)
	if len(data) > len(m.Pix)/3 {
		t.Errorf("%d bytes: the copies were not found", len(data))
	}
	got, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Pix, m.Pix) {
		t.Error("other pixels than were encoded")
	}
}

func TestTruncationIsRefused(t *testing.T) {
	for name, data := range files(t) {
		for n := 0; n < len(data)-1; n += 1 + len(data)/500 {
			if _, err := decode(data[:n]); err == nil {
				t.Fatalf("%s: %d of %d bytes were accepted", name, n, len(data))
			}
		}
	}
}

// handWriter writes headers by hand.
type handWriter struct {
	out []byte
	n   int
}

func (w *handWriter) put(v, n int) {
	for i := range n {
		if w.n%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
}

func (w *handWriter) header(width, height int) {
	w.put(0x2f, 8)
	w.put(width-1, 14)
	w.put(height-1, 14)
	w.put(0, 4)
}

// single writes a code with one symbol.
func (w *handWriter) single(symbol int) {
	w.put(1, 1)
	w.put(0, 1)
	w.put(1, 1)
	w.put(symbol, 8)
}

func TestRefusals(t *testing.T) {
	for name, write := range map[string]func(w *handWriter){
		"version":    func(w *handWriter) { w.put(0x2f, 8); w.put(0, 28); w.put(1, 3) },
		"signature":  func(w *handWriter) { w.put(0x2e, 8); w.put(0, 100) },
		"same twice": func(w *handWriter) { w.header(2, 2); w.put(1, 1); w.put(2, 2); w.put(1, 1); w.put(2, 2) },
		"cache size": func(w *handWriter) { w.header(2, 2); w.put(0, 1); w.put(1, 1); w.put(12, 4) },
		"symbol beyond": func(w *handWriter) {
			w.header(2, 2)
			w.put(0, 3)
			w.single(1)
			w.single(1)
			w.single(1)
			w.single(1)
			w.single(40)
		},
		"empty code": func(w *handWriter) { w.header(2, 2); w.put(0, 3); w.put(0, 1); w.put(0, 4); w.put(0, 12) },
		"incomplete": func(w *handWriter) {
			w.header(2, 2)
			w.put(0, 3)
			w.put(0, 1)
			w.put(0, 4)
			w.put(2, 3)
			w.put(2, 3)
			w.put(0, 6)
		},
		"copy from before": func(w *handWriter) {
			w.header(8, 8)
			w.put(0, 3)
			w.put(0, 1) // green: only the length symbol 256, by explicit lengths
			w.put(0, 4)
			w.put(0, 3) // 17
			w.put(1, 3) // 18
			w.put(0, 3) // 0
			w.put(1, 3) // 1
			w.put(0, 1) // all of the alphabet
			w.put(1, 1) // 18: zeros
			w.put(127, 7)
			w.put(1, 1)
			w.put(107, 7) // 138 + 118 = 256
			w.put(0, 1)   // 1
			w.put(1, 1)
			w.put(12, 7)
			for range 4 {
				w.single(0)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &handWriter{}
			write(w)
			w.put(0, 256)
			_, err := decode(w.out)
			var damage FormatError
			if !errors.As(err, &damage) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Hundreds of thousands of codes with long tables do not fit in memory; the file
// that claims them is refused before they do.
func TestCodesHaveAMemoryBound(t *testing.T) {
	w := &handWriter{}
	w.header(1024, 1024)
	w.put(0, 1)
	w.put(0, 1)
	w.put(1, 1) // groups
	w.put(0, 3) // of tiles of four
	w.put(0, 1)
	// The tiles: red and green of literals take all values.
	flat := func(lengthCode int) {
		w.put(0, 1)
		w.put(lengthCode-4, 4)
		order := []int{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8}
		for _, l := range order[:lengthCode] {
			w.put(map[bool]int{true: 1, false: 0}[l == 8 || l == 0], 3)
		}
		w.put(0, 1)
	}
	flat(12) // green: 256 symbols of 8 bits, 24 without
	for range 256 {
		w.put(1, 1)
	}
	for range 24 {
		w.put(0, 1)
	}
	flat(12) // red
	for range 256 {
		w.put(1, 1)
	}
	for range 3 {
		w.single(0)
	}
	for range 256 * 256 {
		w.put(255, 8)
		w.put(255, 8)
	}
	// 65536 groups, each with a code of 256 symbols for green, red, blue and alpha.
	for range 65536 {
		for i := range 4 {
			flat(12)
			for range 256 {
				w.put(1, 1)
			}
			if i == 0 {
				for range 24 {
					w.put(0, 1)
				}
			}
		}
		w.single(0)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := decode(w.out)
	runtime.ReadMemStats(&after)
	var damage FormatError
	if !errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
	// Growing the list of groups allocates as much again.
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*maxCodeMemory {
		t.Errorf("%d MiB were allocated", got>>20)
	}
}

// The other decoder takes two equal symbols of a short code for two, where the
// format allows them and means one; so what is compared is what it makes of the
// same pixels, coded by us.
func FuzzDecode(f *testing.F) {
	for _, data := range files(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, h, err := Header(data)
		if err != nil || w*h > 1<<16 {
			return
		}
		got, err := decode(data)
		if err != nil {
			return
		}
		pixels := make([]uint32, w*h)
		for i := range pixels {
			p := got.Pix[4*i:]
			pixels[i] = uint32(p[3])<<24 | uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2])
		}
		want, err := reference.Decode(bytes.NewReader(Encode(pixels, w, h)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Pix, want.(*stdimage.NRGBA).Pix) {
			t.Error("the pixels are not those that were coded")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := files(b)["groups.webp"]
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			r, err := NewReader(data)
			if err != nil {
				b.Fatal(err)
			}
			for range r.h {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("reference", func(b *testing.B) {
		for b.Loop() {
			if _, err := reference.Decode(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
