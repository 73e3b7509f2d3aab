package picture

import (
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
)

// pieces reads the concatenation of the IDAT chunks. It is an io.ByteReader, so
// that the inflater takes from it without another buffer.
type pieces struct {
	chunks [][]byte
	cur    []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.cur) == 0 {
		if len(p.chunks) == 0 {
			return 0, io.EOF
		}
		p.cur, p.chunks = p.chunks[0], p.chunks[1:]
	}
	n := copy(b, p.cur)
	p.cur = p.cur[n:]
	return n, nil
}

func (p *pieces) ReadByte() (byte, error) {
	for len(p.cur) == 0 {
		if len(p.chunks) == 0 {
			return 0, io.EOF
		}
		p.cur, p.chunks = p.chunks[0], p.chunks[1:]
	}
	c := p.cur[0]
	p.cur = p.cur[1:]
	return c, nil
}

// adam7 lists the passes of an interlaced PNG: the first pixel and the step on
// each axis (PNG specification, 8.2).
var adam7 = [7]struct{ x, y, dx, dy int }{
	{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2},
}

type pngDecoder struct {
	info *Info
	z    io.Reader
	conv pngConverter
}

// decodePNG gives the rows of a PNG to out. Half of an interlaced one is gathered
// first, in two bytes a pixel of the whole.
func decodePNG(info *Info, out *sink) error {
	in := &pieces{chunks: info.png.idat}
	z, err := zlib.NewReader(in)
	if err != nil {
		return pngError(err)
	}
	defer z.Close()
	d := &pngDecoder{info: info, z: z, conv: newPNGConverter(info)}
	if d.conv.transform != nil {
		// Deep samples are converted here, at full depth; the sink would see them
		// rounded.
		out.convert = nil
	}
	if !info.png.interlaced {
		err = d.pass(info.Width, info.Height, func(_ int, samples []byte) error {
			d.conv.row(out.Next(), samples)
			return out.Push()
		})
	} else {
		err = d.interlaced(out)
	}
	if err != nil {
		return err
	}
	// Reading on makes the inflater check its sum.
	var rest [1]byte
	switch n, err := z.Read(rest[:]); {
	case n > 0:
		info.unclean("it has more data than pixels")
		_, err = io.Copy(io.Discard, io.LimitReader(z, 1<<20))
		return pngError(err)
	case err != io.EOF:
		return pngError(err)
	}
	if _, err := in.ReadByte(); err == nil {
		info.unclean("it has more data than pixels")
	}
	return nil
}

func pngError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("the PNG image is cut off: its pixel data ends too early")
	}
	return invalid("the PNG image is damaged: %v", err)
}

// interlaced gathers the even rows, which six passes share, and gives them out
// between the odd ones, which are the last pass.
func (d *pngDecoder) interlaced(out *sink) error {
	w, h := d.info.Width, d.info.Height
	even := newRaster(w, (h+1)/2)
	line := make([]byte, 4*w)
	for _, p := range adam7[:6] {
		pw, ph := (w-p.x+p.dx-1)/p.dx, (h-p.y+p.dy-1)/p.dy
		if w <= p.x || h <= p.y {
			continue
		}
		err := d.pass(pw, ph, func(y int, samples []byte) error {
			d.conv.row(line[:4*pw], samples)
			row := even.row((p.y + y*p.dy) / 2)
			for x := range pw {
				copy(row[4*(p.x+x*p.dx):][:4], line[4*x:])
			}
			return out.interrupted()
		})
		if err != nil {
			return err
		}
	}
	err := d.pass(w, h/2, func(y int, samples []byte) error {
		copy(out.Next(), even.row(y))
		if err := out.Push(); err != nil {
			return err
		}
		d.conv.row(out.Next(), samples)
		return out.Push()
	})
	if err != nil || h%2 == 0 {
		return err
	}
	copy(out.Next(), even.row(h/2))
	return out.Push()
}

// pass reads and unfilters h rows of w pixels.
func (d *pngDecoder) pass(w, h int, each func(y int, samples []byte) error) error {
	bits := d.conv.channels * d.info.Depth
	n := (w*bits + 7) / 8
	bpp := max(1, bits/8)
	cur, prev := make([]byte, 1+n), make([]byte, 1+n)
	for y := range h {
		if _, err := io.ReadFull(d.z, cur); err != nil {
			return pngError(err)
		}
		if !unfilter(cur[0], cur[1:], prev[1:], bpp) {
			return invalid("the PNG image is damaged: filter %d", cur[0])
		}
		if err := each(y, cur[1:]); err != nil {
			return err
		}
		cur, prev = prev, cur
	}
	return nil
}

// unfilter undoes a row filter (PNG specification, 9.2) in place.
func unfilter(filter byte, cur, prev []byte, bpp int) bool {
	switch filter {
	case 0:
	case 1:
		for i := bpp; i < len(cur); i++ {
			cur[i] += cur[i-bpp]
		}
	case 2:
		prev = prev[:len(cur)]
		for i := range cur {
			cur[i] += prev[i]
		}
	case 3:
		for i := range min(bpp, len(cur)) {
			cur[i] += prev[i] / 2
		}
		for i := bpp; i < len(cur); i++ {
			cur[i] += byte((int(cur[i-bpp]) + int(prev[i])) / 2)
		}
	case 4:
		unfilterPaeth(cur, prev, bpp)
	default:
		return false
	}
	return true
}

func unfilterPaeth(cur, prev []byte, bpp int) {
	for c := range min(bpp, len(cur)) {
		var left, upLeft int
		for i := c; i < len(cur); i += bpp {
			up := int(prev[i])
			pa, pb := up-upLeft, left-upLeft
			pc := abs(pa + pb)
			pa, pb = abs(pa), abs(pb)
			best := upLeft
			if pa <= pb && pa <= pc {
				best = left
			} else if pb <= pc {
				best = up
			}
			left = (best + int(cur[i])) & 0xff
			cur[i] = byte(left)
			upLeft = up
		}
	}
}

func abs(x int) int {
	m := x >> 63
	return (x ^ m) - m
}

// be16 reads a sample of 16 bits.
func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
