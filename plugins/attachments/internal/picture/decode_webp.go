package picture

import (
	"bytes"
	"errors"
	"image"
	"io"

	"golang.org/x/image/vp8"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/vp8l"
)

// decodeWebP gives the rows of the first frame on its canvas to out; what the
// frame does not cover is transparent.
func decodeWebP(info *Info, out *sink) error {
	f := info.webp
	row, err := f.rows()
	if err != nil {
		return webpError(err)
	}
	for y := range info.Height {
		dst := out.Next()
		if f.width != info.Width {
			clear(dst)
		}
		if y >= f.top && y < f.top+f.height {
			if err := row(dst[4*f.left:4*(f.left+f.width)], y-f.top); err != nil {
				return webpError(err)
			}
		} else {
			clear(dst)
		}
		if err := out.Push(); err != nil {
			return err
		}
	}
	return nil
}

// rows returns a function that gives the rows of the frame, called in order. Only
// the lossy samples are gathered first, in one and a half bytes a pixel.
func (f *webpFile) rows() (func(dst []byte, y int) error, error) {
	if f.lossless != nil {
		r, err := vp8l.NewReader(f.lossless)
		if err != nil {
			return nil, err
		}
		return func(dst []byte, _ int) error {
			src, err := r.Next()
			for x, p := range src {
				q := dst[4*x : 4*x+4 : 4*x+4]
				q[0], q[1], q[2], q[3] = byte(p>>16), byte(p>>8), byte(p), byte(p>>24)
			}
			return err
		}, nil
	}
	alpha, err := f.alphaRows()
	if err != nil {
		return nil, err
	}
	d := vp8.NewDecoder()
	d.Init(bytes.NewReader(f.lossy), len(f.lossy))
	if _, err := d.DecodeFrameHeader(); err != nil {
		return nil, err
	}
	m, err := d.DecodeFrame()
	if err != nil {
		return nil, err
	}
	return func(dst []byte, y int) error {
		videoRow(dst, m, y)
		if alpha == nil {
			return nil
		}
		line, err := alpha(y)
		for x, a := range line {
			dst[4*x+3] = a
		}
		return err
	}, nil
}

func webpError(err error) error {
	var coded *errs.Error
	switch {
	case errors.As(err, &coded):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, vp8l.ErrTruncated):
		return invalid("the WebP image is cut off")
	}
	return invalid("the WebP image is damaged: %v", err)
}

// alphaRows reads the ALPH chunk (RFC 9649, 2.7.1.2): it returns a function that
// gives the alpha of the rows, called in order, or nil where there is none.
func (f *webpFile) alphaRows() (func(y int) ([]byte, error), error) {
	if f.alpha == nil {
		return nil, nil
	}
	if len(f.alpha) == 0 {
		return nil, invalid("the WebP image has an empty alpha chunk")
	}
	flags, data := f.alpha[0], f.alpha[1:]
	filter := flags >> 2 & 3
	line, above := make([]byte, f.width), make([]byte, f.width)
	var read func() error
	switch flags & 3 {
	case 0:
		if len(data) < f.width*f.height {
			return nil, invalid("the WebP image is cut off in its alpha")
		}
		read = func() error {
			data = data[copy(line, data):]
			return nil
		}
	case 1:
		// The values are the green samples of a lossless picture without its header.
		r, err := vp8l.NewHeadless(data, f.width, f.height)
		if err != nil {
			return nil, err
		}
		read = func() error {
			src, err := r.Next()
			for x, p := range src {
				line[x] = byte(p >> 8)
			}
			return err
		}
	default:
		return nil, invalid("the WebP image's alpha has an unknown compression")
	}
	return func(y int) ([]byte, error) {
		line, above = above, line
		err := read()
		unfilterAlpha(line, above, y == 0, filter)
		return line, err
	}, nil
}

// unfilterAlpha undoes the prediction of a row of alpha values in place: from the
// left, from above, or by the gradient of both. The first row has the left alone.
func unfilterAlpha(cur, up []byte, first bool, filter byte) {
	switch {
	case filter == 0:
	case first:
		for x := 1; x < len(cur); x++ {
			cur[x] += cur[x-1]
		}
	default:
		cur[0] += up[0]
		for x := 1; x < len(cur); x++ {
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
