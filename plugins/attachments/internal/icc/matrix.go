package icc

import (
	"errors"
	"math"
)

// srgbD50 are the colorants of sRGB adapted to D50, as the ICC's own sRGB
// profiles store them.
var srgbD50 = [3][3]float64{
	{0.43607, 0.38515, 0.14307},
	{0.22249, 0.71687, 0.06061},
	{0.01392, 0.09708, 0.71410},
}

// Chromaticity is a point of the CIE 1931 diagram.
type Chromaticity struct{ X, Y float64 }

// Primaries are the chromaticities of white and of the three primaries.
type Primaries struct{ White, Red, Green, Blue Chromaticity }

// Primaries of Rec. 709 and sRGB, Display P3 and Rec. 2020 (ITU-T H.273,
// table 2).
var (
	Rec709    = Primaries{Chromaticity{0.3127, 0.3290}, Chromaticity{0.64, 0.33}, Chromaticity{0.30, 0.60}, Chromaticity{0.15, 0.06}}
	DisplayP3 = Primaries{Chromaticity{0.3127, 0.3290}, Chromaticity{0.680, 0.320}, Chromaticity{0.265, 0.690}, Chromaticity{0.150, 0.060}}
	Rec2020   = Primaries{Chromaticity{0.3127, 0.3290}, Chromaticity{0.708, 0.292}, Chromaticity{0.170, 0.797}, Chromaticity{0.131, 0.046}}
)

// FromPrimaries makes a profile of primaries and one tone curve. White is
// adapted to the connection space with the Bradford transform (ICC.1:2022,
// annex E).
func FromPrimaries(p Primaries, curve Curve) (*Profile, error) {
	for _, c := range []Chromaticity{p.White, p.Red, p.Green, p.Blue} {
		if !(c.Y > 0.0001 && c.Y <= 1 && c.X >= 0 && c.X <= 1) {
			return nil, errors.New("icc: impossible chromaticity")
		}
	}
	xyz := func(c Chromaticity) [3]float64 {
		return [3]float64{c.X / c.Y, 1, (1 - c.X - c.Y) / c.Y}
	}
	var m [3][3]float64
	for i, c := range []Chromaticity{p.Red, p.Green, p.Blue} {
		v := xyz(c)
		for j := range 3 {
			m[j][i] = v[j]
		}
	}
	inv, ok := invert(m)
	if !ok {
		return nil, errors.New("icc: primaries on one line")
	}
	white := xyz(p.White)
	scale := apply(inv, white)
	for i := range 3 {
		for j := range 3 {
			m[j][i] *= scale[i]
		}
	}
	return &Profile{Space: RGB, Matrix: multiply(adapt(white), m), Curves: [3]Curve{curve, curve, curve}}, nil
}

// adapt returns the Bradford matrix from a white point to D50.
func adapt(white [3]float64) [3][3]float64 {
	bradford := [3][3]float64{
		{0.8951, 0.2664, -0.1614},
		{-0.7502, 1.7135, 0.0367},
		{0.0389, -0.0685, 1.0296},
	}
	d50 := apply(bradford, [3]float64{0.9642, 1, 0.8249})
	from := apply(bradford, white)
	var diag [3][3]float64
	for i := range 3 {
		diag[i][i] = d50[i] / from[i]
	}
	inv, _ := invert(bradford)
	return multiply(inv, multiply(diag, bradford))
}

func apply(m [3][3]float64, v [3]float64) (out [3]float64) {
	for i := range 3 {
		for j := range 3 {
			out[i] += m[i][j] * v[j]
		}
	}
	return out
}

func multiply(a, b [3][3]float64) (out [3][3]float64) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				out[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return out
}

func invert(m [3][3]float64) (out [3][3]float64, ok bool) {
	det := 0.0
	for i := range 3 {
		det += m[0][i] * (m[1][(i+1)%3]*m[2][(i+2)%3] - m[1][(i+2)%3]*m[2][(i+1)%3])
	}
	if math.Abs(det) < 1e-9 || math.IsNaN(det) || math.IsInf(det, 0) {
		return out, false
	}
	for i := range 3 {
		for j := range 3 {
			out[j][i] = (m[(i+1)%3][(j+1)%3]*m[(i+2)%3][(j+2)%3] - m[(i+1)%3][(j+2)%3]*m[(i+2)%3][(j+1)%3]) / det
		}
	}
	return out, true
}
