package picture

import (
	"errors"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments/internal/vp8l"
	"github.com/bridle-go/bridle/plugins/attachments/internal/webp"
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

// rows returns a function that gives the rows of the frame, called in order.
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
	frame, err := webp.NewFrame(f.lossy)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, y int) error {
		if err := frame.Next(dst); err != nil || alpha == nil {
			return err
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
	case errors.Is(err, webp.ErrTruncated), errors.Is(err, vp8l.ErrTruncated):
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
