// Package icc converts samples from the colour space of a picture to sRGB.
//
// It reads the profiles of ICC.1:2022 and of version 2. Most have three colorants
// and a tone curve each, or one grey curve: that is what cameras, phones, screens
// and editors embed, Display P3, Adobe RGB, ProPhoto RGB, Rec. 2020 and the many
// spellings of sRGB. Those of scanners and of print have look-up tables, which are
// read where there are no colorants.
//
// Conversion is relative colorimetric: white stays white, colours outside sRGB
// are cut off per channel. The tables are computed once in floating point and
// rounded to integers; the samples themselves are converted in integers, so that
// every machine gives the same picture.
package icc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrUnsupported reports a valid profile of a kind that is not read.
var ErrUnsupported = errors.New("icc: unsupported kind of profile")

// Space is the kind of samples a profile speaks about.
type Space int

const (
	RGB Space = iota
	Gray
	CMYK
)

// Profile is a parsed profile: how samples become linear light in CIE XYZ of
// the D50 connection space.
type Profile struct {
	Space Space
	// Matrix has the colorants in its columns; for grey it is unused.
	Matrix [3][3]float64
	Curves [3]Curve
	// device is set for a profile of look-up tables, and then the only way.
	device device
	black  []float64 // its samples for black
}

// Curve maps a sample of 0 to 1 to linear light of 0 to 1.
type Curve func(float64) float64

// maxTags bounds the tag table; real profiles have about twenty.
const maxTags = 200

// Parse reads a profile.
func Parse(data []byte) (*Profile, error) {
	if len(data) < 132 || string(data[36:40]) != "acsp" {
		return nil, errors.New("icc: not a profile")
	}
	lab := string(data[20:24]) == "Lab "
	if !lab && string(data[20:24]) != "XYZ " {
		return nil, fmt.Errorf("%w: connection space %q", ErrUnsupported, data[20:24])
	}
	n := binary.BigEndian.Uint32(data[128:])
	if n > maxTags || int64(len(data)) < 132+12*int64(n) {
		return nil, fmt.Errorf("icc: %d tags do not fit", n)
	}
	tag := func(name string) []byte {
		for i := range int(n) {
			e := data[132+12*i:]
			off, size := int64(binary.BigEndian.Uint32(e[4:])), int64(binary.BigEndian.Uint32(e[8:]))
			if string(e[:4]) == name && off+size <= int64(len(data)) {
				return data[off : off+size]
			}
		}
		return nil
	}
	switch string(data[16:20]) {
	case "GRAY":
		c, err := parseCurve(tag("kTRC"))
		if err != nil {
			return nil, err
		}
		if lab {
			// The curve then gives lightness: ICC.1:2022, 8.3.4.
			lightness := c
			c = func(x float64) float64 { return labToXYZ(100*lightness(x), 0, 0)[1] }
		}
		return &Profile{Space: Gray, Curves: [3]Curve{c, c, c}}, nil
	case "RGB ":
		if tag("rXYZ") == nil {
			return tables(RGB, tag, 3, lab)
		}
		return matrix(tag)
	case "CMYK":
		return tables(CMYK, tag, 4, lab)
	default:
		return nil, fmt.Errorf("%w: colour space %q", ErrUnsupported, data[16:20])
	}
}

// matrix reads a profile of a curve and a primary for each of the colours.
func matrix(tag func(string) []byte) (*Profile, error) {
	p := &Profile{Space: RGB}
	for i, c := range []string{"r", "g", "b"} {
		xyz := tag(c + "XYZ")
		if len(xyz) < 20 || string(xyz[:4]) != "XYZ " {
			return nil, fmt.Errorf("%w: no %sXYZ tag", ErrUnsupported, c)
		}
		for j := range 3 {
			p.Matrix[j][i] = fixed(xyz[8+4*j:])
		}
		curve, err := parseCurve(tag(c + "TRC"))
		if err != nil {
			return nil, err
		}
		p.Curves[i] = curve
	}
	return p, nil
}

// tables reads a profile of look-up tables, the relative colorimetric one if it is
// there.
func tables(space Space, tag func(string) []byte, inputs int, lab bool) (*Profile, error) {
	b := tag("A2B1")
	if b == nil {
		b = tag("A2B0")
	}
	d, err := parseLUT(b, inputs, lab)
	if err != nil {
		return nil, err
	}
	black := []float64{0, 0, 0}
	if space == CMYK {
		if black = blackInks(tag("B2A0"), lab); black == nil {
			black = []float64{1, 1, 1, 1}
		}
	}
	return &Profile{Space: space, device: d, black: black}, nil
}

// fixed reads an s15Fixed16Number.
func fixed(b []byte) float64 { return float64(int32(binary.BigEndian.Uint32(b))) / 65536 }

func parseCurve(b []byte) (Curve, error) {
	if len(b) < 12 {
		return nil, fmt.Errorf("%w: no tone curve", ErrUnsupported)
	}
	switch string(b[:4]) {
	case "curv":
		n := int(binary.BigEndian.Uint32(b[8:]))
		if n < 0 || n > 65536 || len(b) < 12+2*n {
			return nil, errors.New("icc: tone curve does not fit")
		}
		switch n {
		case 0:
			return func(x float64) float64 { return x }, nil
		case 1:
			return Power(float64(binary.BigEndian.Uint16(b[12:])) / 256), nil
		}
		table := make([]float64, n)
		for i := range table {
			table[i] = float64(binary.BigEndian.Uint16(b[12+2*i:])) / 65535
		}
		return tableCurve(table), nil
	case "para":
		return parametric(b)
	}
	return nil, fmt.Errorf("%w: tone curve %q", ErrUnsupported, b[:4])
}

// tableCurve interpolates between the values of a table, or is nil where there is
// none.
func tableCurve(table []float64) Curve {
	n := len(table)
	if n < 2 {
		return nil
	}
	return func(x float64) float64 {
		at := x * float64(n-1)
		i := min(int(at), n-2)
		return table[i] + (table[i+1]-table[i])*(at-float64(i))
	}
}

// parametric reads a parametricCurveType: ICC.1:2022, 10.18, function types 0
// to 4.
func parametric(b []byte) (Curve, error) {
	kind := int(binary.BigEndian.Uint16(b[8:]))
	counts := []int{1, 3, 4, 5, 7}
	if kind >= len(counts) {
		return nil, fmt.Errorf("%w: parametric curve %d", ErrUnsupported, kind)
	}
	if len(b) < 12+4*counts[kind] {
		return nil, errors.New("icc: parametric curve does not fit")
	}
	// The seven parameters g, a, b, c, d, e, f; absent ones make the general
	// form Y = (aX+b)^g + e above d and cX + f below it.
	v := [7]float64{0: 1, 1: 1}
	for i := range counts[kind] {
		v[i] = fixed(b[12+4*i:])
	}
	g, pa, pb, pc, pd, pe, pf := v[0], v[1], v[2], v[3], v[4], v[5], v[6]
	switch kind {
	case 0:
		pd = 0
	case 1, 2:
		if pa == 0 {
			return nil, errors.New("icc: parametric curve without slope")
		}
		pd, pe, pf = -pb/pa, v[3], v[3]
		pc = 0
	}
	if kind == 1 {
		pe, pf = 0, 0
	}
	return func(x float64) float64 {
		if x >= pd {
			return math.Pow(max(pa*x+pb, 0), g) + pe
		}
		return pc*x + pf
	}, nil
}

// Power returns the curve x^gamma.
func Power(gamma float64) Curve {
	return func(x float64) float64 { return math.Pow(x, gamma) }
}

// SRGBCurve is the tone curve of IEC 61966-2-1.
func SRGBCurve(x float64) float64 {
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}

// invSRGB is the inverse of SRGBCurve.
func invSRGB(x float64) float64 {
	if x <= 0.0031308 {
		return x * 12.92
	}
	return 1.055*math.Pow(x, 1/2.4) - 0.055
}
