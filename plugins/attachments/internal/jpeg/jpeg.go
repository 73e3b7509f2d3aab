// Package jpeg decodes JPEG pictures row by row, whole or at a half, a quarter
// or an eighth of their size.
//
// It exists beside the standard decoder for two reasons. A file is decoded one
// stripe at a time, the scans of a progressive one side by side, so a picture of
// any size and kind costs a few rows of memory. And a picture that will be shrunk
// anyway is decoded at a reduced scale by shorter inverse transforms, which costs
// a fraction of the time and filters better than dropping pixels.
//
// All arithmetic is on integers, so every machine gives the same samples.
// Baseline, extended sequential and progressive Huffman coded files of 8 bits a
// sample are read: grey, YCbCr, RGB, CMYK and YCCK with any sampling factors.
// The format is ITU-T T.81; the colour rules are those of JFIF 1.02 and of
// Adobe's APP14 segment.
package jpeg

import (
	"errors"
	"fmt"
)

// ErrUnsupported reports a valid file of a kind that is not read: arithmetic
// coding, lossless, hierarchical, or 12 bits a sample.
var ErrUnsupported = errors.New("jpeg: unsupported kind of file")

// ErrTooSharp reports a picture that loses more than Options.MaxLoss at the
// scale asked for. Rows may have been pushed.
var ErrTooSharp = errors.New("jpeg: too sharp for a reduced scale")

// FormatError reports damage.
type FormatError string

func (e FormatError) Error() string { return "jpeg: " + string(e) }

func damaged(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}

// Options are the parameters of Decode.
type Options struct {
	// Scale is 1, 2, 4 or 8: both sides are divided by it, rounding up. Zero
	// means 1.
	Scale int
	// MaxLoss bounds what a reduced scale may leave out: the mean over all
	// samples of the square of it. A photograph loses a few units, a page of text
	// a thousand. Zero means no bound.
	MaxLoss int64
	// Inks converts a row of ink amounts, 255 the most, to red, green, blue and
	// alpha. Nil means the plain way: light is what the inks together leave.
	Inks func(dst, c, m, y, k []byte)
}

// RowSink takes the rows of a picture from top to bottom.
type RowSink interface {
	// Next returns the buffer of the next row, four bytes a pixel: red,
	// green, blue, alpha.
	Next() []byte
	// Push hands over the row that was written to the buffer of the last Next.
	// An error stops the decoding and is returned by it.
	Push() error
}

// maxScans bounds the work that a small progressive file can ask for: each scan
// may visit every block of the picture for a handful of bytes. Encoders write
// about ten.
const maxScans = 200

type component struct {
	id   byte
	h, v int // sampling factors
	tq   byte

	// nx and ny are the samples of a block across and down at the chosen scale.
	nx, ny int
	// blocksX and blocksY count the blocks that carry samples of the picture,
	// as a scan of this component alone codes them.
	blocksX, blocksY int
	// strideX is the number of blocks in a row of the padded picture.
	strideX int
	coefs   []int16 // one row of units, where several scans add to them
	strip   []byte  // one row of units of samples
	stripW  int
	seen    bool
	quant   [64]int32
	// weight is the square of the quantizer step of each coefficient, in coding
	// order, that the scale leaves out, and zero for those it keeps.
	weight [64]int64
}

type decoder struct {
	data []byte
	pos  int
	opt  Options
	sink RowSink

	width, height int
	progressive   bool
	comps         []component
	hMax, vMax    int
	mcusX, mcusY  int
	outW, outH    int
	rowsOut       int

	quant   [4][64]int32
	quantOK [4]bool
	huff    [2][4]*huffman
	restart int
	passes  []*pass

	jfif, adobe    bool
	adobeTransform byte

	colour colourizer
	// maxLost bounds the energy of the coefficients left out.
	maxLost int64
}

// Decode reads the picture in data and hands its rows to sink. A picture that
// ends before its end marker is an error, also where all rows could be decoded.
func Decode(data []byte, opt Options, sink RowSink) error {
	if opt.Scale == 0 {
		opt.Scale = 1
	}
	switch opt.Scale {
	case 1, 2, 4, 8:
	default:
		return fmt.Errorf("jpeg: scale %d is not 1, 2, 4 or 8", opt.Scale)
	}
	d := &decoder{data: data, opt: opt, sink: sink}
	return d.run()
}

// ScaledSize returns the size of a picture side decoded at a scale.
func ScaledSize(side, scale int) int { return (side + scale - 1) / scale }

func (d *decoder) run() error {
	if len(d.data) < 2 || d.data[0] != 0xff || d.data[1] != 0xd8 {
		return damaged("no start of image")
	}
	d.pos = 2
	for {
		marker, err := d.nextMarker()
		if err != nil {
			return err
		}
		if marker == 0xd9 {
			return d.finish()
		}
		if marker >= 0xd0 && marker <= 0xd7 || marker == 0x01 {
			continue
		}
		seg, err := d.segment(marker)
		if err != nil {
			return err
		}
		switch {
		case marker == 0xc4:
			err = d.defineHuffman(seg)
		case marker == 0xdb:
			err = d.defineQuant(seg)
		case marker == 0xdd:
			if len(seg) != 2 {
				return damaged("restart interval of %d bytes", len(seg))
			}
			d.restart = int(seg[0])<<8 | int(seg[1])
		case marker == 0xda:
			err = d.scan(seg)
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc8 && marker != 0xcc:
			err = d.frame(marker, seg)
		case marker == 0xe0:
			d.jfif = d.jfif || len(seg) >= 5 && string(seg[:5]) == "JFIF\x00"
		case marker == 0xee:
			if len(seg) >= 12 && string(seg[:5]) == "Adobe" {
				d.adobe, d.adobeTransform = true, seg[11]
			}
		case marker >= 0xe0 && marker <= 0xef, marker == 0xfe, marker == 0xdc:
		case marker == 0xcc:
			return fmt.Errorf("%w: arithmetic coding", ErrUnsupported)
		case marker < 0xc0:
			return damaged("unknown marker %#x", marker)
		}
		if err != nil {
			return err
		}
	}
}

// nextMarker skips to the next marker. Stray bytes before it are passed over,
// as every decoder does: encoders leave some after a scan.
func (d *decoder) nextMarker() (byte, error) {
	for d.pos+1 < len(d.data) {
		if d.data[d.pos] != 0xff {
			d.pos++
			continue
		}
		m := d.data[d.pos+1]
		if m == 0xff {
			d.pos++
			continue
		}
		d.pos += 2
		if m != 0 {
			return m, nil
		}
	}
	return 0, damaged("truncated: no end of image")
}

func (d *decoder) segment(marker byte) ([]byte, error) {
	if d.pos+2 > len(d.data) {
		return nil, damaged("truncated segment %#x", marker)
	}
	n := int(d.data[d.pos])<<8 | int(d.data[d.pos+1])
	if n < 2 || d.pos+n > len(d.data) {
		return nil, damaged("segment %#x of %d bytes does not fit", marker, n)
	}
	seg := d.data[d.pos+2 : d.pos+n]
	d.pos += n
	return seg, nil
}

func (d *decoder) defineQuant(seg []byte) error {
	for len(seg) > 0 {
		pq, tq := seg[0]>>4, seg[0]&15
		seg = seg[1:]
		if pq > 1 || tq > 3 {
			return damaged("bad quantization table")
		}
		size := 64 * (1 + int(pq))
		if len(seg) < size {
			return damaged("short quantization table")
		}
		for i := range 64 {
			if pq == 0 {
				d.quant[tq][zigzag[i]] = int32(seg[i])
			} else {
				d.quant[tq][zigzag[i]] = int32(seg[2*i])<<8 | int32(seg[2*i+1])
			}
		}
		d.quantOK[tq] = true
		seg = seg[size:]
	}
	return nil
}

func (d *decoder) frame(marker byte, seg []byte) error {
	if marker > 0xc2 {
		return fmt.Errorf("%w: frame type %#x", ErrUnsupported, marker)
	}
	if d.comps != nil {
		return damaged("two frames")
	}
	if len(seg) < 6 {
		return damaged("short frame header")
	}
	if seg[0] != 8 {
		return fmt.Errorf("%w: %d bits a sample", ErrUnsupported, seg[0])
	}
	d.progressive = marker == 0xc2
	d.height = int(seg[1])<<8 | int(seg[2])
	d.width = int(seg[3])<<8 | int(seg[4])
	n := int(seg[5])
	if d.width == 0 || d.height == 0 {
		return damaged("size %d x %d", d.width, d.height)
	}
	if n != 1 && n != 3 && n != 4 {
		return fmt.Errorf("%w: %d components", ErrUnsupported, n)
	}
	if len(seg) != 6+3*n {
		return damaged("frame header of %d bytes for %d components", len(seg), n)
	}
	d.comps = make([]component, n)
	d.hMax, d.vMax = 1, 1
	for i := range d.comps {
		c := &d.comps[i]
		c.id, c.h, c.v, c.tq = seg[6+3*i], int(seg[7+3*i]>>4), int(seg[7+3*i]&15), seg[8+3*i]
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.tq > 3 {
			return damaged("bad component")
		}
		for j := range i {
			if d.comps[j].id == c.id {
				return damaged("two components with one identifier")
			}
		}
		if n == 1 {
			// The factors of a single component mean nothing: T.81, A.2.2.
			c.h, c.v = 1, 1
		}
		d.hMax, d.vMax = max(d.hMax, c.h), max(d.vMax, c.v)
	}
	d.layout()
	return nil
}

// layout computes the geometry that depends on the frame header alone.
func (d *decoder) layout() {
	s := d.opt.Scale
	d.mcusX = (d.width + 8*d.hMax - 1) / (8 * d.hMax)
	d.mcusY = (d.height + 8*d.vMax - 1) / (8 * d.vMax)
	d.outW, d.outH = ScaledSize(d.width, s), ScaledSize(d.height, s)
	for i := range d.comps {
		c := &d.comps[i]
		c.nx = blockSize(8/s*d.hMax, c.h)
		c.ny = blockSize(8/s*d.vMax, c.v)
		c.blocksX = ((d.width*c.h+d.hMax-1)/d.hMax + 7) / 8
		c.blocksY = ((d.height*c.v+d.vMax-1)/d.vMax + 7) / 8
		c.strideX = d.mcusX * c.h
		c.stripW = c.strideX * c.nx
	}
}

// blockSize returns the largest of 8, 4, 2, 1 samples that does not give a
// component more resolution than the output has: a subsampled plane keeps its
// full blocks while the full ones are halved.
func blockSize(out, factor int) int {
	for _, n := range []int{8, 4, 2} {
		if n*factor <= out {
			return n
		}
	}
	return 1
}

// finish decodes all scans, row of units by row of units, and checks that
// nothing is missing.
func (d *decoder) finish() error {
	if d.comps == nil {
		return damaged("no frame")
	}
	for i := range d.comps {
		if !d.comps[i].seen {
			return damaged("component %d has no data", i)
		}
	}
	d.prepare()
	row := d.keptRow
	if !d.progressive && len(d.passes) == 1 {
		row = func(int) error { return d.passes[0].directRow(d) }
	}
	for y := range d.mcusY {
		if err := row(y); err != nil {
			return err
		}
		lost := int64(0)
		for _, p := range d.passes {
			lost += p.lost
		}
		if lost > d.maxLost {
			return ErrTooSharp
		}
		if err := d.emitStrip(); err != nil {
			return err
		}
	}
	return nil
}
