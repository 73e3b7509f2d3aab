// Package webp encodes WebP: lossy colour with lossless alpha, and lossless colour
// where the lossy coding would lose too much. And it decodes the frames of the
// lossy coding row by row, which needs a few rows of memory whatever the size.
//
// The encoder is one of VP8 key frames (RFC 6386) in a WebP container (RFC 9649),
// written on integers alone, so that the same picture gives the same bytes on
// every machine; no library of the host takes part. It predicts whole
// macroblocks and blocks of 4x4, chooses by distortion and an estimate of the
// rate, and fits the token probabilities to the picture. It does not use
// segments, trellis quantization or the loop filter, which matter at the low
// qualities that it is not made for.
package webp

import (
	"encoding/binary"
	"fmt"

	"github.com/bridle-go/bridle/plugins/attachments/internal/vp8l"
)

// maxSide is the limit of the format.
const maxSide = 16383

// Params are the parameters of Encode.
type Params struct {
	// Quality goes from 1 to 100.
	Quality int
	// MaxLoss bounds the mean square error over red, green and blue, weighted by
	// alpha. A picture that loses more, as fine coloured print and colour noise do to
	// the halved chroma whatever the quality, is coded losslessly. Zero means no bound.
	MaxLoss int64
}

// Encode encodes w by h pixels of red, green, blue and alpha, packed, alpha not
// multiplied in. Alpha is kept exactly, and left out where every pixel is opaque;
// the colours of invisible pixels are not kept.
func Encode(pix []byte, w, h int, p Params) ([]byte, error) {
	if w < 1 || h < 1 || w > maxSide || h > maxSide {
		return nil, fmt.Errorf("webp: %d x %d pixels; a side may have 1 to %d", w, h, maxSide)
	}
	if len(pix) != 4*w*h {
		return nil, fmt.Errorf("webp: %d bytes for %d x %d pixels", len(pix), w, h)
	}
	if p.Quality < 1 || p.Quality > 100 {
		return nil, fmt.Errorf("webp: quality %d is not between 1 and 100", p.Quality)
	}
	e := newEncoder(toPlanes(pix, w, h), p.Quality)
	frame, err := e.encode()
	if err != nil {
		return nil, err
	}
	if p.MaxLoss > 0 && e.rec.loss(pix) > p.MaxLoss*int64(w)*int64(h) {
		return container(appendChunk(nil, "VP8L", encodeLossless(pix, w, h))), nil
	}
	alpha := encodeAlpha(pix, w, h)
	var body []byte
	if alpha != nil {
		const alphaFlag = 0x10
		vp8x := []byte{alphaFlag, 0, 0, 0,
			byte(w - 1), byte((w - 1) >> 8), byte((w - 1) >> 16),
			byte(h - 1), byte((h - 1) >> 8), byte((h - 1) >> 16)}
		body = appendChunk(body, "VP8X", vp8x)
		body = appendChunk(body, "ALPH", alpha)
	}
	body = appendChunk(body, "VP8 ", frame)
	return container(body), nil
}

// container puts chunks in a file.
func container(body []byte) []byte {
	out := make([]byte, 0, len(body)+12)
	out = append(out, "RIFF"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)+4))
	out = append(out, "WEBP"...)
	return append(out, body...)
}

func appendChunk(b []byte, id string, data []byte) []byte {
	b = append(b, id...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = append(b, data...)
	if len(data)&1 == 1 {
		b = append(b, 0)
	}
	return b
}

// encodeAlpha returns the body of an ALPH chunk, or nil for an opaque picture.
func encodeAlpha(pix []byte, w, h int) []byte {
	opaque := true
	for i := 3; i < len(pix); i += 4 {
		if pix[i] != 255 {
			opaque = false
			break
		}
	}
	if opaque {
		return nil
	}
	samples := make([]byte, w*h)
	for i := range samples {
		samples[i] = pix[4*i+3]
	}
	lossless := vp8l.EncodeHeadless(samples, w, h)
	if len(lossless) < w*h {
		return append([]byte{1}, lossless...)
	}
	return append([]byte{0}, samples...)
}

// encodeLossless keeps every sample that can be seen.
func encodeLossless(pix []byte, w, h int) []byte {
	pixels := make([]uint32, w*h)
	for i := range pixels {
		if p := pix[4*i : 4*i+4 : 4*i+4]; p[3] != 0 {
			pixels[i] = uint32(p[3])<<24 | uint32(p[0])<<16 | uint32(p[1])<<8 | uint32(p[2])
		}
	}
	return vp8l.Encode(pixels, w, h)
}
