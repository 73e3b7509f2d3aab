package picture

import (
	"bytes"
	"errors"
	"image"
	"io"

	"golang.org/x/image/vp8"
	"golang.org/x/image/vp8l"
)

// decodeWebP gives the rows of the first frame on its canvas to out; what the
// frame does not cover is transparent.
func decodeWebP(info *Info, out *sink) error {
	f := info.webp
	var row func(dst []byte, y int)
	if f.lossless != nil {
		m, err := decodeVP8L(f.lossless, f.width, f.height)
		if err != nil {
			return err
		}
		row = func(dst []byte, y int) { copy(dst, m.Pix[y*m.Stride:][:4*f.width]) }
	} else {
		alpha, err := f.decodeAlpha()
		if err != nil {
			return err
		}
		d := vp8.NewDecoder()
		d.Init(bytes.NewReader(f.lossy), len(f.lossy))
		if _, err := d.DecodeFrameHeader(); err != nil {
			return webpError(err)
		}
		m, err := d.DecodeFrame()
		if err != nil {
			return webpError(err)
		}
		row = func(dst []byte, y int) {
			videoRow(dst, m, y)
			if alpha != nil {
				for x, a := range alpha[y*f.width:][:f.width] {
					dst[4*x+3] = a
				}
			}
		}
	}
	for y := range info.Height {
		dst := out.Next()
		if f.width != info.Width {
			clear(dst)
		}
		if y >= f.top && y < f.top+f.height {
			row(dst[4*f.left:4*(f.left+f.width)], y-f.top)
		} else {
			clear(dst)
		}
		if err := out.Push(); err != nil {
			return err
		}
	}
	return nil
}

func webpError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return invalid("the WebP image is cut off")
	}
	return invalid("the WebP image is damaged: %v", err)
}

func decodeVP8L(data []byte, w, h int) (*image.NRGBA, error) {
	m, err := vp8l.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, webpError(err)
	}
	n, ok := m.(*image.NRGBA)
	if !ok || n.Rect != image.Rect(0, 0, w, h) {
		return nil, invalid("the WebP image is damaged: its picture has another size")
	}
	return n, nil
}

// decodeAlpha reads the ALPH chunk (RFC 9649, 2.7.1.2) as one byte a pixel, or
// nil where there is none.
func (f *webpFile) decodeAlpha() ([]byte, error) {
	if f.alpha == nil {
		return nil, nil
	}
	if len(f.alpha) == 0 {
		return nil, invalid("the WebP image has an empty alpha chunk")
	}
	flags, data := f.alpha[0], f.alpha[1:]
	n := f.width * f.height
	var alpha []byte
	switch flags & 3 {
	case 0:
		if len(data) < n {
			return nil, invalid("the WebP image is cut off in its alpha")
		}
		alpha = append([]byte(nil), data[:n]...)
	case 1:
		// The values are the green samples of a lossless picture without its header.
		w, h := uint32(f.width-1), uint32(f.height-1)
		v := w | h<<14
		header := []byte{0x2f, byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}
		m, err := vp8l.Decode(io.MultiReader(bytes.NewReader(header), bytes.NewReader(data)))
		if err != nil {
			return nil, webpError(err)
		}
		pix := m.(*image.NRGBA).Pix
		alpha = make([]byte, n)
		for i := range alpha {
			alpha[i] = pix[4*i+1]
		}
	default:
		return nil, invalid("the WebP image's alpha has an unknown compression")
	}
	unfilterAlpha(alpha, f.width, flags>>2&3)
	return alpha, nil
}

// unfilterAlpha undoes the prediction of alpha values in place: from the left,
// from above, or by the gradient of both.
func unfilterAlpha(a []byte, w int, filter byte) {
	if filter == 0 {
		return
	}
	for x := 1; x < w; x++ {
		a[x] += a[x-1]
	}
	for y := w; y < len(a); y += w {
		up, cur := a[y-w:y], a[y:y+w]
		cur[0] += up[0]
		for x := 1; x < w; x++ {
			switch filter {
			case 1:
				cur[x] += cur[x-1]
			case 2:
				cur[x] += up[x]
			case 3:
				cur[x] += byte(max(0, min(255, int(cur[x-1])+int(up[x])-int(up[x-1]))))
			}
		}
	}
}

// videoRow converts a row of limited-range BT.601 samples, which is what WebP
// holds: luma from 16 to 235, chroma from 16 to 240 (RFC 9649, 3). 16 bits of
// fraction.
func videoRow(dst []byte, m *image.YCbCr, y int) {
	n := len(dst) / 4
	yy := m.Y[y*m.YStride:][:n]
	half := (n + 1) / 2
	cb, cr := m.Cb[y/2*m.CStride:][:half], m.Cr[y/2*m.CStride:][:half]
	for x, v := range yy {
		l := (int32(v)-16)*76309 + 1<<15
		b, r := int32(cb[x/2])-128, int32(cr[x/2])-128
		p := dst[4*x : 4*x+4 : 4*x+4]
		p[0] = clamp8((l + 104597*r) >> 16)
		p[1] = clamp8((l - 25675*b - 53279*r) >> 16)
		p[2] = clamp8((l + 132201*b) >> 16)
		p[3] = 255
	}
}

func clamp8(v int32) byte {
	if uint32(v) <= 255 {
		return byte(v)
	}
	if v < 0 {
		return 0
	}
	return 255
}
