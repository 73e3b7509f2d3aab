package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	stdjpeg "image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"
)

// The pictures of the tests are drawn here, so that what is expected of each is
// known exactly.

func draw(w, h int, at func(x, y int) color.NRGBA) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, at(x, y))
		}
	}
	return m
}

func gradient(w, h int) *image.NRGBA {
	return draw(w, h, func(x, y int) color.NRGBA {
		return color.NRGBA{uint8(x * 255 / max(1, w-1)), uint8(y * 255 / max(1, h-1)), uint8((x + y) * 255 / max(1, w+h-2)), 255}
	})
}

// photo has soft shapes in many sizes and the noise of a sensor.
func photo(w, h int) *image.NRGBA {
	rnd := rand.New(rand.NewPCG(7, 9))
	// Waves of one coordinate each, so that the sines are few.
	var across, down [3][]float64
	for c := range 3 {
		for x := range w {
			across[c] = append(across[c], 50*math.Sin(float64(x)/float64(190+40*c)+float64(c))+9*math.Sin(float64(x)/13))
		}
		for y := range h {
			down[c] = append(down[c], 45*math.Sin(float64(y)/float64(140+30*c)+2*float64(c))+9*math.Sin(float64(y)/17))
		}
	}
	return draw(w, h, func(x, y int) color.NRGBA {
		px := func(c int) uint8 {
			v := 128 + across[c][x] + down[c][y] + across[0][(x+y)%w]/5
			return uint8(max(0, min(255, v+float64(rnd.IntN(9)-4))))
		}
		return color.NRGBA{px(0), px(1), px(2), 255}
	})
}

// noise is grain on grey, as of a picture taken in the dark.
func noise(w, h int) *image.NRGBA {
	rnd := rand.New(rand.NewPCG(3, 4))
	return draw(w, h, func(x, y int) color.NRGBA {
		grain := 90 + rnd.IntN(34) + x*60/w
		v := func() uint8 { return uint8(grain + rnd.IntN(20)) }
		return color.NRGBA{v(), v(), v(), 255}
	})
}

// colourNoise has every colour beside every other.
func colourNoise(w, h int) *image.NRGBA {
	rnd := rand.New(rand.NewPCG(8, 5))
	return draw(w, h, func(x, y int) color.NRGBA {
		v := func() uint8 { return uint8(40 + rnd.IntN(176)) }
		return color.NRGBA{v(), v(), v(), 255}
	})
}

// print is fine dark and red print over a coloured picture.
func print(w, h int) *image.NRGBA {
	under := gradient(w, h)
	return draw(w, h, func(x, y int) color.NRGBA {
		line, col := y%11, x%6
		if line < 7 && (col == 0 || line == (x/6*5)%7) && (x/6+y/11)%5 != 0 {
			if (x/60+y/44)%3 == 0 {
				return color.NRGBA{190, 10, 20, 255}
			}
			return color.NRGBA{10, 10, 10, 255}
		}
		c := under.NRGBAAt(x, y)
		return color.NRGBA{155 + c.R/3, 155 + c.G/3, 155 + c.B/3, 255}
	})
}

// text looks like a page: dark strokes on white.
func text(w, h int) *image.NRGBA {
	return draw(w, h, func(x, y int) color.NRGBA {
		line, col := y%18, x%9
		ink := line > 3 && line < 14 && (x/9*7+y/18*5)%4 != 0 && (col < 2 || line == 4+(x/9*3)%8)
		if ink {
			return color.NRGBA{20, 24, 30, 255}
		}
		return color.NRGBA{250, 250, 247, 255}
	})
}

// busyScreen is a page with a picture on it: more than a palette holds.
func busyScreen(w, h int) *image.NRGBA {
	a, b := text(w, h), gradient(w, h)
	return draw(w, h, func(x, y int) color.NRGBA {
		if x > w/3 {
			return b.NRGBAAt(x, y)
		}
		return a.NRGBAAt(x, y)
	})
}

func alphaRamp(w, h int) *image.NRGBA {
	return draw(w, h, func(x, y int) color.NRGBA {
		return color.NRGBA{uint8(200 + 50*math.Sin(float64(y)/30)), uint8(y * 200 / h), uint8(x * 255 / w), uint8(x * 255 / max(1, w-1))}
	})
}

// disc is a bright shape on nothing, with black under what cannot be seen.
func disc(w, h int) *image.NRGBA {
	return draw(w, h, func(x, y int) color.NRGBA {
		d := math.Hypot(float64(x)-float64(w)/2, float64(y)-float64(h)/2) - float64(min(w, h))/3
		a := max(0, min(1, 0.5-d))
		if a == 0 {
			return color.NRGBA{}
		}
		return color.NRGBA{uint8(240 + x%8), uint8(220 + y%16), 200, uint8(255 * a)}
	})
}

func pngBytes(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := enc.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegBytes(t testing.TB, m image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	opaque := image.NewRGBA(m.Bounds())
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			opaque.Set(x, y, m.At(x, y))
		}
	}
	if err := stdjpeg.Encode(&b, opaque, &stdjpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gifBytes(t testing.TB, g *gif.GIF) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// deep is m with 16 bits a sample.
func deep(m *image.NRGBA) *image.NRGBA64 {
	out := image.NewNRGBA64(m.Rect)
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			c := m.NRGBAAt(x, y)
			wide := func(v uint8) uint16 { return uint16(v)*257 + uint16(x+y)%61 - min(uint16(v)*257, 30) }
			out.SetNRGBA64(x, y, color.NRGBA64{wide(c.R), wide(c.G), wide(c.B), uint16(c.A) * 257})
		}
	}
	return out
}

func pngChunk(id string, data []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(b, id...)
	b = append(b, data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// withPNGChunk inserts a chunk behind the header.
func withPNGChunk(file []byte, id string, data []byte) []byte {
	out := append([]byte(nil), file[:33]...)
	out = append(out, pngChunk(id, data)...)
	return append(out, file[33:]...)
}

func deflate(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

func withPNGProfile(file, profile []byte) []byte {
	return withPNGChunk(file, "iCCP", append([]byte("p\x00\x00"), deflate(profile)...))
}

// withJPEGSegment inserts a segment behind the start of image.
func withJPEGSegment(file []byte, marker byte, data []byte) []byte {
	out := append([]byte(nil), file[:2]...)
	out = append(out, 0xff, marker, byte((len(data)+2)>>8), byte(len(data)+2))
	out = append(out, data...)
	return append(out, file[2:]...)
}

// exif is a block with nothing but an orientation.
func exif(orientation int, order binary.AppendByteOrder) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 1)
	b = order.AppendUint16(b, 0x0112)
	b = order.AppendUint16(b, 3)
	b = order.AppendUint32(b, 1)
	b = order.AppendUint16(b, uint16(orientation))
	b = order.AppendUint16(b, 0)
	return order.AppendUint32(b, 0)
}

// profile writes an ICC matrix profile with one parametric curve of type 0.
func profile(matrix [3][3]float64, gamma float64) []byte {
	s15 := func(v float64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(int32(math.Round(v*65536)))) }
	xyz := func(i int) []byte {
		b := []byte("XYZ \x00\x00\x00\x00")
		for j := range 3 {
			b = append(b, s15(matrix[j][i])...)
		}
		return b
	}
	curve := append([]byte("para\x00\x00\x00\x00\x00\x00\x00\x00"), s15(gamma)...)
	tags := []struct {
		id   string
		data []byte
	}{{"rXYZ", xyz(0)}, {"gXYZ", xyz(1)}, {"bXYZ", xyz(2)}, {"rTRC", curve}, {"gTRC", curve}, {"bTRC", curve}}
	head := make([]byte, 128)
	copy(head[12:], "mntrRGB XYZ ")
	copy(head[36:], "acsp")
	table := binary.BigEndian.AppendUint32(nil, uint32(len(tags)))
	var body []byte
	at := 128 + 4 + 12*len(tags)
	for _, tag := range tags {
		table = append(table, tag.id...)
		table = binary.BigEndian.AppendUint32(table, uint32(at+len(body)))
		table = binary.BigEndian.AppendUint32(table, uint32(len(tag.data)))
		body = append(body, tag.data...)
	}
	out := append(append(head, table...), body...)
	binary.BigEndian.PutUint32(out, uint32(len(out)))
	return out
}

// cmykJPEG puts four planes into one file, a scan each. The planes are written
// as they are, which with Adobe's marker means inverted ink.
func cmykJPEG(t testing.TB, w, h int, transform int, plane func(c, x, y int) uint8) []byte {
	t.Helper()
	out := []byte{0xff, 0xd8}
	if transform >= 0 {
		out = withJPEGSegment(out, 0xee, append([]byte("Adobe\x00\x64\x00\x00\x00\x00"), byte(transform)))
	}
	for c := range 4 {
		m := image.NewGray(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				m.SetGray(x, y, color.Gray{plane(c, x, y)})
			}
		}
		file := jpegGray(t, m)
		for pos := 2; ; {
			marker, n := file[pos+1], int(file[pos+2])<<8|int(file[pos+3])
			seg := file[pos : pos+2+n]
			pos += 2 + n
			switch {
			case marker == 0xda:
				out = append(out, 0xff, 0xda, 0, 8, 1, byte(c+1), 0, 0, 63, 0)
				out = append(out, file[pos:len(file)-2]...)
			case c == 0 && marker == 0xc0:
				out = append(out, 0xff, 0xc0, 0, 8+12, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 4)
				for i := range 4 {
					out = append(out, byte(i+1), 0x11, 0)
				}
			case c == 0:
				out = append(out, seg...)
			}
			if marker == 0xda {
				break
			}
		}
	}
	return append(out, 0xff, 0xd9)
}

func jpegGray(t testing.TB, m *image.Gray) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := stdjpeg.Encode(&b, m, &stdjpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
