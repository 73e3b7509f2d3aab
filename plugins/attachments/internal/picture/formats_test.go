package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
)

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

// A frame that its screen has no room for is shown whole, as viewers do.
func TestGIFScreenTooSmall(t *testing.T) {
	pal := color.Palette{color.RGBA{200, 0, 0, 255}, color.RGBA{0, 0, 200, 255}}
	frame := image.NewPaletted(image.Rect(2, 1, 12, 8), pal)
	frame.Pix[len(frame.Pix)-1] = 1
	file := gifBytes(t, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0}, Config: image.Config{ColorModel: pal, Width: 20, Height: 15}})
	for _, screen := range []byte{0, 1, 5} {
		file[6], file[8] = screen, screen
		n := normalize(t, file, attachment.GIF, attachment.Limits{})
		if n.Width != 12 || n.Height != 8 {
			t.Errorf("screen of %d: %dx%d", screen, n.Width, n.Height)
			continue
		}
		if c := pixels(t, n.Encoded).NRGBAAt(11, 7); c != (color.NRGBA{0, 0, 200, 255}) {
			t.Errorf("screen of %d: the last pixel is %v", screen, c)
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
