// Package webp encodes WebP: lossy colour with lossless alpha.
//
// It is a VP8 key frame encoder (RFC 6386) in a WebP container (RFC 9649),
// written on integers alone, so that the same picture gives the same bytes on
// every machine; no library of the host takes part. It predicts whole
// macroblocks and blocks of 4x4, chooses by distortion and an estimate of the
// rate, and fits the token probabilities to the picture. It does not use
// segments, trellis quantization or the loop filter, which matter at the low
// qualities that it is not made for.
package webp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"

	"github.com/HugoSmits86/nativewebp"
)

// maxSide is the limit of the format.
const maxSide = 16383

// Encode encodes w by h pixels of red, green, blue and alpha, packed, alpha not
// multiplied in. Quality goes from 1 to 100. Alpha is kept exactly, and left out
// where every pixel is opaque; the colours of invisible pixels are not kept.
func Encode(pix []byte, w, h, quality int) ([]byte, error) {
	if w < 1 || h < 1 || w > maxSide || h > maxSide {
		return nil, fmt.Errorf("webp: %d x %d pixels; a side may have 1 to %d", w, h, maxSide)
	}
	if len(pix) != 4*w*h {
		return nil, fmt.Errorf("webp: %d bytes for %d x %d pixels", len(pix), w, h)
	}
	if quality < 1 || quality > 100 {
		return nil, fmt.Errorf("webp: quality %d is not between 1 and 100", quality)
	}
	frame, err := encodeFrame(toPlanes(pix, w, h), quality)
	if err != nil {
		return nil, err
	}
	alpha, err := encodeAlpha(pix, w, h)
	if err != nil {
		return nil, err
	}
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
	out := make([]byte, 0, len(body)+12)
	out = append(out, "RIFF"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)+4))
	out = append(out, "WEBP"...)
	return append(out, body...), nil
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
func encodeAlpha(pix []byte, w, h int) ([]byte, error) {
	opaque := true
	for i := 3; i < len(pix); i += 4 {
		if pix[i] != 255 {
			opaque = false
			break
		}
	}
	if opaque {
		return nil, nil
	}
	// The values travel as the green samples of a lossless picture, whose chunk
	// is taken without its header of five bytes.
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := 0; i < len(pix); i += 4 {
		m.Pix[i+1], m.Pix[i+3] = pix[i+3], 255
	}
	var file bytes.Buffer
	if err := nativewebp.Encode(&file, m, nil); err != nil {
		return nil, fmt.Errorf("webp: alpha: %w", err)
	}
	b := file.Bytes()
	const header = 12 + 8 // RIFF and the chunk's own
	if len(b) < header+5 || string(b[12:16]) != "VP8L" || b[header] != 0x2f {
		return nil, errors.New("webp: alpha: unexpected form of the lossless picture")
	}
	lossless := b[header+5:]
	if len(lossless) < w*h {
		return append([]byte{1}, lossless...), nil
	}
	raw := make([]byte, 1, 1+w*h)
	for i := 3; i < len(pix); i += 4 {
		raw = append(raw, pix[i])
	}
	return raw, nil
}
