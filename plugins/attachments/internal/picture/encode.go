package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/jpeg"
	"github.com/bridle-go/bridle/plugins/attachments/internal/webp"
)

// qualities are the steps of the lossy encoders, from the first tried on.
var qualities = []int{85, 80, 75}

// webpSteps and jpegSteps are these steps. The first keeps the mean square error
// under 20, which is 35 dB, or 16 where that costs little; where it takes too many
// bytes, fidelity is the first thing to go.
var webpSteps = []webp.Params{
	{Quality: qualities[0], MaxLoss: 20},
	{Quality: qualities[0]}, {Quality: qualities[1]}, {Quality: qualities[2]},
}

var jpegSteps = []jpeg.Params{
	{Quality: qualities[0], MaxLoss: 16},
	{Quality: qualities[0]}, {Quality: qualities[1]}, {Quality: qualities[2]},
}

// Encoded is a picture in its final form.
type Encoded struct {
	Data          []byte
	MediaType     attachment.MediaType
	Width, Height int
}

// Few colours: a grid of at most sampleEdge points a side over the picture holds
// at most maxFewColours colours; drawings and tiny pictures do. A page of text
// has many after shrinking, when smoothed edges add the shades between ink and
// paper. It is known by those shades: at most inkShades colours differ in their
// five high bits, or at most maxFewColours do and the most common pageColours
// still cover half of it.
const (
	sampleEdge    = 64
	maxFewColours = 256
	inkShades     = 96
	pageColours   = 4
	shadeMask     = 0xf8f8f8f8
)

// encodeWithin encodes m in at most maxBytes, zero for no bound. It tries PNG
// where there are few colours, then WebP for those and for pictures with alpha,
// or JPEG for the others, at falling quality; where nothing fits, the picture
// shrinks by a quarter and all is tried again.
//
// Error: IMAGE_TOO_LARGE where not even one pixel fits.
func encodeWithin(ctx context.Context, m *raster, maxBytes int64) (Encoded, error) {
	fits := func(b []byte) bool { return maxBytes <= 0 || int64(len(b)) <= maxBytes }
	opaque := m.opaque()
	cur := m
	for {
		few := cur.fewColours()
		steps := []func() ([]byte, attachment.MediaType, error){}
		if few {
			for _, level := range []png.CompressionLevel{png.BestSpeed, png.DefaultCompression} {
				steps = append(steps, func() ([]byte, attachment.MediaType, error) {
					b, err := encodePNG(cur, opaque, level)
					return b, attachment.PNG, err
				})
			}
		}
		if few || !opaque {
			for _, p := range webpSteps {
				steps = append(steps, func() ([]byte, attachment.MediaType, error) {
					b, err := webp.Encode(cur.pix, cur.w, cur.h, p)
					return b, attachment.WebP, err
				})
			}
		} else {
			for _, p := range jpegSteps {
				steps = append(steps, func() ([]byte, attachment.MediaType, error) {
					b, err := jpeg.Encode(cur.pix, cur.w, cur.h, p)
					return b, attachment.JPEG, err
				})
			}
		}
		for _, step := range steps {
			if err := ctx.Err(); err != nil {
				return Encoded{}, err
			}
			b, mt, err := step()
			if err != nil {
				return Encoded{}, errs.Wrap(errs.InvalidImage, "the image could not be encoded", err)
			}
			if fits(b) {
				return Encoded{Data: b, MediaType: mt, Width: cur.w, Height: cur.h}, nil
			}
		}
		if cur.w == 1 && cur.h == 1 {
			return Encoded{}, errs.New(errs.ImageTooLarge, fmt.Sprintf("the image does not fit in %d bytes at any size", maxBytes))
		}
		long := max(cur.w, cur.h)
		next := fitWithin(m.w, m.h, max(1, long*3/4))
		cur = shrink(m, next.Width, next.Height)
	}
}

// fitWithin returns the size with the long edge at most limit, rounding half up.
func fitWithin(w, h, limit int) attachment.Dimensions {
	long := max(w, h)
	if long <= limit {
		return attachment.Dimensions{Width: w, Height: h}
	}
	side := func(s int) int { return max(1, (2*s*limit+long)/(2*long)) }
	return attachment.Dimensions{Width: side(w), Height: side(h)}
}

func (r *raster) opaque() bool {
	for i := 3; i < len(r.pix); i += 4 {
		if r.pix[i] != 255 {
			return false
		}
	}
	return true
}

func (r *raster) fewColours() bool {
	size := fitWithin(r.w, r.h, sampleEdge)
	counts := make(map[uint32]int, maxFewColours+1)
	shades := make(map[uint32]struct{}, maxFewColours+1)
	for y := range size.Height {
		sy := (2*y + 1) * r.h / (2 * size.Height)
		for x := range size.Width {
			sx := (2*x + 1) * r.w / (2 * size.Width)
			c := binary.LittleEndian.Uint32(r.pix[4*(sy*r.w+sx):])
			counts[c]++
			shades[c&shadeMask] = struct{}{}
		}
	}
	if len(counts) <= maxFewColours || len(shades) <= inkShades {
		return true
	}
	if len(shades) > maxFewColours {
		return false
	}
	often := slices.Sorted(maps.Values(counts))
	covered := 0
	for _, n := range often[len(often)-pageColours:] {
		covered += n
	}
	return 2*covered >= size.Width*size.Height
}

// encodePNG writes a palette where at most 256 colours occur.
func encodePNG(m *raster, opaque bool, level png.CompressionLevel) ([]byte, error) {
	var out bytes.Buffer
	enc := png.Encoder{CompressionLevel: level}
	if p := m.paletted(); p != nil {
		err := enc.Encode(&out, p)
		return out.Bytes(), err
	}
	rect := image.Rect(0, 0, m.w, m.h)
	var img image.Image = &image.NRGBA{Pix: m.pix, Stride: 4 * m.w, Rect: rect}
	if opaque {
		img = &image.RGBA{Pix: m.pix, Stride: 4 * m.w, Rect: rect}
	}
	err := enc.Encode(&out, img)
	return out.Bytes(), err
}

// paletted returns m as indices into a palette in the order in which colours
// occur, or nil where they are too many.
func (r *raster) paletted() *image.Paletted {
	index := make(map[[4]byte]uint8, 256)
	var palette color.Palette
	pix := make([]byte, r.w*r.h)
	var last [4]byte
	var lastIndex uint8
	for i := range pix {
		c := [4]byte(r.pix[4*i:])
		if i == 0 || c != last {
			k, ok := index[c]
			if !ok {
				if len(palette) == 256 {
					return nil
				}
				k = uint8(len(palette))
				index[c] = k
				palette = append(palette, color.NRGBA{R: c[0], G: c[1], B: c[2], A: c[3]})
			}
			last, lastIndex = c, k
		}
		pix[i] = lastIndex
	}
	return &image.Paletted{Pix: pix, Stride: r.w, Rect: image.Rect(0, 0, r.w, r.h), Palette: palette}
}
