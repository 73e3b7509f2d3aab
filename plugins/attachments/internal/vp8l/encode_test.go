package vp8l

import (
	"bytes"
	stdimage "image"
	"math"
	"math/rand/v2"
	"testing"

	reference "golang.org/x/image/vp8l"
)

// drawn are pictures whose histograms are flat, steep, short and empty.
func drawn(kind string, w, h int) []uint32 {
	rnd := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	out := make([]uint32, w*h)
	for i := range out {
		x, y := i%w, i/w
		switch kind {
		case "noise":
			out[i] = rnd.Uint32()
		case "steep":
			// Halves of halves: the rarest samples would have the longest codes.
			s := func() uint32 { return uint32(min(255, math.Floor(rnd.ExpFloat64()*3))) }
			out[i] = s()<<24 | s()<<16 | s()<<8 | s()
		case "flat":
			out[i] = 0x80402010
		case "two":
			out[i] = 0xff000000 | uint32((x/7+y/3)&1)*0xffffff
		case "waves":
			v := uint32(128 + 100*math.Sin(float64(x)/9) + 20*math.Cos(float64(y)/5))
			out[i] = 0xff000000 | v<<16 | (v/2+uint32(y)&63)<<8 | v&0xf0
		case "text":
			out[i] = 0xffffffff
			if (x*7+y%11*5)%13 < 3 && y%11 < 8 {
				out[i] = 0xff102030 + uint32(x/40)<<8
			}
		}
	}
	return out
}

func TestEncode(t *testing.T) {
	for _, kind := range []string{"noise", "steep", "flat", "two", "waves", "text"} {
		for _, size := range [][2]int{{1, 1}, {2, 1}, {1, 9}, {16, 16}, {17, 33}, {200, 150}, {700, 3}, {16383, 2}} {
			w, h := size[0], size[1]
			pixels := drawn(kind, w, h)
			data := Encode(append([]uint32(nil), pixels...), w, h)
			r, err := NewReader(data)
			if err != nil {
				t.Fatalf("%s %v: %v", kind, size, err)
			}
			for y := range h {
				row, err := r.Next()
				if err != nil {
					t.Fatalf("%s %v: %v", kind, size, err)
				}
				for x, p := range row {
					if p != pixels[y*w+x] {
						t.Fatalf("%s %v: (%d,%d) is %#x, was %#x", kind, size, x, y, p, pixels[y*w+x])
					}
				}
			}
			m, err := reference.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%s %v: the reference decoder: %v", kind, size, err)
			}
			for i, p := range pixels {
				if q := m.(*stdimage.NRGBA).Pix[4*i:]; p != uint32(q[3])<<24|uint32(q[0])<<16|uint32(q[1])<<8|uint32(q[2]) {
					t.Fatalf("%s %v: the reference decoder sees another pixel %d", kind, size, i)
				}
			}
		}
	}
}

// What repeats costs little.
func TestEncodeCompresses(t *testing.T) {
	for kind, most := range map[string]int{"flat": 60, "two": 500, "text": 900, "waves": 35000} {
		if n := len(Encode(drawn(kind, 300, 200), 300, 200)); n > most {
			t.Errorf("%s: %d bytes", kind, n)
		}
	}
}

// Counts like Fibonacci numbers make the deepest trees.
func TestFitBoundsLengths(t *testing.T) {
	for _, limit := range []int{7, maxLength} {
		counts := make([]int32, 19)
		a, b := int32(1), int32(1)
		for i := range counts {
			counts[i] = a
			a, b = b, a+b
		}
		room := 0.0
		for s, c := range fit(counts, limit) {
			if c.length < 1 || int(c.length) > limit {
				t.Errorf("limit %d: symbol %d has %d bits", limit, s, c.length)
			}
			room += math.Pow(2, -float64(c.length))
		}
		if room != 1 {
			t.Errorf("limit %d: the codes take %f", limit, room)
		}
	}
}

func FuzzEncode(f *testing.F) {
	f.Add(uint8(5), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
	f.Add(uint8(1), bytes.Repeat([]byte{7, 0, 0}, 400))
	f.Fuzz(func(t *testing.T, width uint8, data []byte) {
		w := int(width)%64 + 1
		h := min(64, len(data)/w)
		if h < 1 {
			return
		}
		r, err := NewHeadless(EncodeHeadless(data[:w*h], w, h), w, h)
		if err != nil {
			t.Fatal(err)
		}
		for y := range h {
			row, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			for x, p := range row {
				if byte(p>>8) != data[y*w+x] {
					t.Fatalf("(%d,%d) is %d, was %d", x, y, byte(p>>8), data[y*w+x])
				}
			}
		}
	})
}
