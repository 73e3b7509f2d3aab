package picture

import (
	"compress/lzw"
	"io"
)

// subBlocks reads the data of length-prefixed blocks up to the empty one.
type subBlocks struct {
	data []byte
	left int
}

func (b *subBlocks) ReadByte() (byte, error) {
	for b.left == 0 {
		if len(b.data) == 0 || b.data[0] == 0 {
			return 0, io.EOF
		}
		b.left = int(b.data[0])
		b.data = b.data[1:]
	}
	if len(b.data) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	c := b.data[0]
	b.data = b.data[1:]
	b.left--
	return c, nil
}

func (b *subBlocks) Read(p []byte) (int, error) {
	for i := range p {
		c, err := b.ReadByte()
		if err != nil {
			return i, err
		}
		p[i] = c
	}
	return len(p), nil
}

// decodeGIF gives the rows of the first frame on its screen to out; what the
// frame does not cover is transparent.
func decodeGIF(info *Info, out *sink) error {
	f := info.gif
	var colours [256][4]byte
	for i := range colours {
		colours[i] = [4]byte{0, 0, 0, 255}
	}
	for i := range len(f.palette) / 3 {
		copy(colours[i][:3], f.palette[3*i:])
	}
	if f.transparent >= 0 {
		colours[f.transparent] = [4]byte{}
	}
	r := lzw.NewReader(&subBlocks{data: f.data}, lzw.LSB, f.litWidth)
	defer r.Close()
	row := f.rows(r)
	for y := range info.Height {
		dst := out.Next()
		clear(dst)
		if y >= f.top && y < f.top+f.height {
			src, err := row(y - f.top)
			if err != nil {
				return err
			}
			for x, i := range src {
				copy(dst[4*(f.left+x):][:4], colours[i][:])
			}
		}
		if err := out.Push(); err != nil {
			return err
		}
	}
	return nil
}

// rows returns a function that gives the rows of the frame, called in order. An
// interlaced frame is gathered in one byte a pixel.
func (f *gifFile) rows(r io.Reader) func(y int) ([]byte, error) {
	read := func(row []byte) error {
		if _, err := io.ReadFull(r, row); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return invalid("the GIF image is cut off: its first frame ends too early")
			}
			return invalid("the GIF image is damaged: %v", err)
		}
		return nil
	}
	if !f.interlaced {
		row := make([]byte, f.width)
		return func(int) ([]byte, error) { return row, read(row) }
	}
	// Rows come as every eighth from 0, every eighth from 4, every fourth from 2
	// and every second from 1. They are kept as they come, with the turn of each,
	// so that a frame that claims much and has little costs little.
	var came [][]byte
	turn := make([]int, f.height)
	n := 0
	for _, p := range [4][2]int{{0, 8}, {4, 8}, {2, 4}, {1, 2}} {
		for y := p[0]; y < f.height; y += p[1] {
			turn[y] = n
			n++
		}
	}
	return func(y int) ([]byte, error) {
		for len(came) <= turn[y] {
			line := make([]byte, f.width)
			if err := read(line); err != nil {
				return nil, err
			}
			came = append(came, line)
		}
		return came[turn[y]], nil
	}
}
