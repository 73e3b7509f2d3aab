package icc

import (
	"errors"
	"math"
	"sync"
)

// Transform converts samples of a profile to sRGB. It may be used from several
// goroutines at once.
type Transform struct {
	gray   bool
	matrix [3][3]int64 // 16 bits of fraction, from linear to linear
	linear [3][]uint16 // of 8-bit samples
	deep   [3][]uint16 // of 16-bit samples, nil until asked for
	curves [3]Curve
	once   sync.Once
	// lattice is set for a profile of look-up tables, and then the only way.
	lattice *lattice
}

// identityTolerance is the difference in 8-bit steps up to which a profile
// counts as sRGB itself: the spellings of sRGB differ by rounding.
const identityTolerance = 1

// encodeTable maps linear light of 16 bits to 8-bit sRGB.
var encodeTable = sync.OnceValue(func() *[65536]byte {
	t := new([65536]byte)
	for i := range t {
		t[i] = byte(math.Floor(invSRGB(float64(i)/65535)*255 + 0.5))
	}
	return t
})

// NewTransform returns the conversion from p to sRGB, or nil where p is sRGB.
func NewTransform(p *Profile) (*Transform, error) {
	if p.device != nil {
		return &Transform{lattice: newLattice(p.device, p.black)}, nil
	}
	t := &Transform{gray: p.Space == Gray, curves: p.Curves}
	if !t.gray {
		inv, ok := invert(srgbD50)
		if !ok {
			return nil, errors.New("icc: no inverse")
		}
		m := multiply(inv, p.Matrix)
		for i := range 3 {
			row := 0.0
			for j := range 3 {
				row += m[i][j]
			}
			// Relative colorimetric: what the profile calls white is white.
			if !(row > 0.5 && row < 2) {
				return nil, errors.New("icc: white is far from white")
			}
			for j := range 3 {
				v := m[i][j] / row
				if math.IsNaN(v) || math.Abs(v) > 16 {
					return nil, errors.New("icc: colorants out of range")
				}
				t.matrix[i][j] = int64(math.Round(v * 65536))
			}
		}
	}
	for i := range 3 {
		t.linear[i] = table(p.Curves[i], 256)
	}
	if t.identity() {
		return nil, nil
	}
	return t, nil
}

func table(c Curve, n int) []uint16 {
	out := make([]uint16, n)
	for i := range out {
		v := c(float64(i) / float64(n-1))
		if !(v > 0) {
			v = 0
		}
		out[i] = uint16(math.Floor(min(v, 1)*65535 + 0.5))
	}
	return out
}

// identity tries a lattice of colours and reports whether all stay as they are.
func (t *Transform) identity() bool {
	near := func(a, b byte) bool {
		d := int(a) - int(b)
		return d <= identityTolerance && d >= -identityTolerance
	}
	row := make([]byte, 4)
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 15 {
			for b := 0; b < 256; b += 15 {
				if t.gray && (r != g || g != b) {
					continue
				}
				row[0], row[1], row[2], row[3] = byte(r), byte(g), byte(b), 255
				t.Row(row)
				if !near(row[0], byte(r)) || !near(row[1], byte(g)) || !near(row[2], byte(b)) {
					return false
				}
			}
		}
	}
	return true
}

// Row converts a row of red, green, blue, alpha samples of 8 bits in place.
func (t *Transform) Row(row []byte) {
	if t.lattice != nil {
		t.latticeRow(row)
		return
	}
	enc := encodeTable()
	if t.gray {
		for i := 0; i+3 < len(row); i += 4 {
			v := enc[t.linear[0][row[i]]]
			row[i], row[i+1], row[i+2] = v, v, v
		}
		return
	}
	lr, lg, lb := (*[256]uint16)(t.linear[0]), (*[256]uint16)(t.linear[1]), (*[256]uint16)(t.linear[2])
	m := &t.matrix
	var last uint32
	var have bool
	for i := 0; i+3 < len(row); i += 4 {
		p := row[i : i+4 : i+4]
		key := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
		if have && key == last {
			p[0], p[1], p[2] = row[i-4], row[i-3], row[i-2]
			continue
		}
		last, have = key, true
		r, g, b := int64(lr[p[0]]), int64(lg[p[1]]), int64(lb[p[2]])
		p[0] = enc[clamp16(m[0][0]*r+m[0][1]*g+m[0][2]*b)]
		p[1] = enc[clamp16(m[1][0]*r+m[1][1]*g+m[1][2]*b)]
		p[2] = enc[clamp16(m[2][0]*r+m[2][1]*g+m[2][2]*b)]
	}
}

func (t *Transform) latticeRow(row []byte) {
	for i := 0; i+3 < len(row); i += 4 {
		p := row[i : i+4 : i+4]
		p[0], p[1], p[2] = t.lattice.colour(&[4]byte{p[0], p[1], p[2]})
	}
}

// Row16 converts a row of red, green, blue, alpha samples of 16 bits to 8-bit
// samples in dst. The deeper tables keep the dark steps of a linear picture
// apart, which converting after rounding to 8 bits would merge.
func (t *Transform) Row16(dst []byte, src []uint16) {
	if t.lattice != nil {
		for i, v := range src[:len(dst)] {
			dst[i] = byte((uint32(v)*255 + 32767) / 65535)
		}
		t.latticeRow(dst)
		return
	}
	t.once.Do(func() {
		for i := range 3 {
			t.deep[i] = table(t.curves[i], 65536)
		}
	})
	enc := encodeTable()
	m := &t.matrix
	for i := 0; i+3 < len(src) && i+3 < len(dst); i += 4 {
		r, g, b := int64(t.deep[0][src[i]]), int64(t.deep[1][src[i+1]]), int64(t.deep[2][src[i+2]])
		if t.gray {
			v := enc[r]
			dst[i], dst[i+1], dst[i+2] = v, v, v
		} else {
			dst[i] = enc[clamp16(m[0][0]*r+m[0][1]*g+m[0][2]*b)]
			dst[i+1] = enc[clamp16(m[1][0]*r+m[1][1]*g+m[1][2]*b)]
			dst[i+2] = enc[clamp16(m[2][0]*r+m[2][1]*g+m[2][2]*b)]
		}
		dst[i+3] = byte((uint32(src[i+3])*255 + 32767) / 65535)
	}
}

func clamp16(v int64) uint16 {
	v = (v + 1<<15) >> 16
	if v < 0 {
		return 0
	}
	return uint16(min(v, 65535))
}
