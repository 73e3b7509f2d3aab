package icc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// device turns device samples of 0 to 1 into XYZ of the connection space.
type device func(in []float64) [3]float64

// maxGrid bounds the nodes of a look-up table; those of print profiles have a few
// hundred thousand.
const maxGrid = 1 << 21

// parseLUT reads an A2B tag: a lut8Type, lut16Type or lutAToBType of n inputs
// (ICC.1:2022, 10.10 to 10.12). lab tells that the connection space is CIELAB.
func parseLUT(b []byte, n int, lab bool) (device, error) {
	if len(b) < 32 {
		return nil, fmt.Errorf("%w: no look-up table", ErrUnsupported)
	}
	if int(b[8]) != n || b[9] != 3 {
		return nil, errors.New("icc: look-up table of other channels")
	}
	var stages []func([]float64) []float64
	var err error
	kind := string(b[:4])
	switch kind {
	case "mft1", "mft2":
		stages, err = oldStages(b, n, 3)
	case "mAB ":
		stages, err = newStages(b, n)
	default:
		return nil, fmt.Errorf("%w: look-up table %q", ErrUnsupported, b[:4])
	}
	if err != nil {
		return nil, err
	}
	return func(in []float64) [3]float64 {
		for _, s := range stages {
			in = s(in)
		}
		if !lab {
			// A sample of one is 1 + 32767/32768.
			const scale = 65535.0 / 32768
			return [3]float64{in[0] * scale, in[1] * scale, in[2] * scale}
		}
		// lut16Type keeps version 2's encoding, where 0xff00 is 100 and 0x8000 zero.
		l, a, bb := in[0]*100, in[1]*255-128, in[2]*255-128
		if kind == "mft2" {
			const scale = 65535.0 / 65280
			l, a, bb = in[0]*100*scale, in[1]*255*scale-128, in[2]*255*scale-128
		}
		return labToXYZ(l, a, bb)
	}, nil
}

// white is D50, the white of the connection space.
var white = [3]float64{0.9642, 1, 0.8249}

func labToXYZ(l, a, b float64) [3]float64 {
	inverse := func(t float64) float64 {
		if t > 6.0/29 {
			return t * t * t
		}
		return 3 * (6.0 / 29) * (6.0 / 29) * (t - 4.0/29)
	}
	y := (l + 16) / 116
	return [3]float64{white[0] * inverse(y+a/500), white[1] * inverse(y), white[2] * inverse(y-b/200)}
}

// blackInks returns the ink amounts that a B2A tag gives for perfect black, which
// is what a print of it has; all of all inks is more than paper holds. It returns
// nil where it cannot tell.
func blackInks(b []byte, lab bool) []float64 {
	if !lab || len(b) < 32 || string(b[:3]) != "mft" || b[8] != 3 || b[9] != 4 {
		return nil
	}
	zero := 128.0 / 255
	if b[3] == '2' {
		zero = 0x8000 / 65535.0
	}
	stages, err := oldStages(b, 3, 4)
	if err != nil {
		return nil
	}
	v := []float64{0, zero, zero}
	for _, s := range stages {
		v = s(v)
	}
	return v
}

// oldStages are input tables, the grid and output tables of a lut8Type or
// lut16Type. The matrix before them is for XYZ input alone.
func oldStages(b []byte, n, outputs int) ([]func([]float64) []float64, error) {
	grid, at, width, inLen, outLen := int(b[10]), 48, 1, 256, 256
	if string(b[:4]) == "mft2" {
		if len(b) < 52 {
			return nil, errors.New("icc: look-up table is cut off")
		}
		at, width = 52, 2
		inLen, outLen = int(binary.BigEndian.Uint16(b[48:])), int(binary.BigEndian.Uint16(b[50:]))
	}
	if inLen < 2 || inLen > 4096 || outLen < 2 || outLen > 4096 {
		return nil, errors.New("icc: look-up table with bad tables")
	}
	take := func(count int) []float64 {
		if count < 0 || len(b)-at < count*width {
			return nil
		}
		out := samples(b[at:], count, width)
		at += count * width
		return out
	}
	var in, out []Curve
	for range n {
		in = append(in, tableCurve(take(inLen)))
	}
	nodes, err := gridNodes(repeat(grid, n))
	if err != nil {
		return nil, err
	}
	values := take(outputs * nodes)
	if values == nil {
		return nil, errors.New("icc: look-up table is cut off")
	}
	for range outputs {
		out = append(out, tableCurve(take(outLen)))
	}
	for _, c := range append(in, out...) {
		if c == nil {
			return nil, errors.New("icc: look-up table is cut off")
		}
	}
	return []func([]float64) []float64{curves(in), interpolate(repeat(grid, n), values, outputs), curves(out)}, nil
}

// newStages are curves, the grid, curves, a matrix and curves, of which all but
// the last may be missing.
func newStages(b []byte, n int) (stages []func([]float64) []float64, err error) {
	offset := func(i int) int { return int(binary.BigEndian.Uint32(b[12+4*i:]) & 0x7fffffff) }
	part := func(i, least int) ([]byte, error) {
		if at := offset(i); at != 0 && at+least <= len(b) {
			return b[at:], nil
		}
		return nil, errors.New("icc: look-up table is cut off")
	}
	addCurves := func(i, count int) error {
		p, err := part(i, 0)
		if err != nil {
			return err
		}
		var all []Curve
		for range count {
			c, err := parseCurve(p)
			if err != nil {
				return err
			}
			all = append(all, c)
			p = p[min(curveSize(p), len(p)):]
		}
		stages = append(stages, curves(all))
		return nil
	}
	if offset(4) != 0 {
		if err := addCurves(4, n); err != nil {
			return nil, err
		}
	}
	switch {
	case offset(3) != 0:
		p, err := part(3, 20)
		if err != nil {
			return nil, err
		}
		grid, err := gridStage(p, n)
		if err != nil {
			return nil, err
		}
		stages = append(stages, grid)
	case n != 3:
		return nil, errors.New("icc: look-up table without a grid")
	}
	if offset(2) != 0 {
		if err := addCurves(2, 3); err != nil {
			return nil, err
		}
	}
	if offset(1) != 0 {
		p, err := part(1, 48)
		if err != nil {
			return nil, err
		}
		stages = append(stages, matrixStage(p))
	}
	return stages, addCurves(0, 3)
}

// gridStage reads the grid of n inputs at the beginning of b, which is its
// header of 20 bytes at least.
func gridStage(b []byte, n int) (func([]float64) []float64, error) {
	var grid []int
	for _, g := range b[:n] {
		grid = append(grid, int(g))
	}
	nodes, err := gridNodes(grid)
	width := int(b[16])
	if err != nil || width != 1 && width != 2 || len(b)-20 < 3*nodes*width {
		return nil, errors.New("icc: look-up table is cut off")
	}
	return interpolate(grid, samples(b[20:], 3*nodes, width), 3), nil
}

// matrixStage reads the matrix of three rows at the beginning of b, and behind it
// the three numbers that are added.
func matrixStage(b []byte) func([]float64) []float64 {
	var m [12]float64
	for i := range m {
		m[i] = fixed(b[4*i:])
	}
	return func(v []float64) []float64 {
		return []float64{
			m[0]*v[0] + m[1]*v[1] + m[2]*v[2] + m[9],
			m[3]*v[0] + m[4]*v[1] + m[5]*v[2] + m[10],
			m[6]*v[0] + m[7]*v[1] + m[8]*v[2] + m[11],
		}
	}
}

// curveSize is the length of a curve with the padding to the next.
func curveSize(b []byte) int {
	n := 12 + 2*int(binary.BigEndian.Uint32(b[8:]))
	if string(b[:4]) == "para" {
		n = 12 + 4*[]int{1, 3, 4, 5, 7}[binary.BigEndian.Uint16(b[8:])]
	}
	return (n + 3) &^ 3
}

func repeat(v, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func gridNodes(grid []int) (int, error) {
	nodes := 1
	for _, g := range grid {
		if g < 2 {
			return 0, errors.New("icc: look-up table without a grid")
		}
		if nodes *= g; nodes > maxGrid {
			return 0, errors.New("icc: look-up table is too large")
		}
	}
	return nodes, nil
}

func samples(b []byte, n, width int) []float64 {
	out := make([]float64, n)
	for i := range out {
		if width == 1 {
			out[i] = float64(b[i]) / 255
		} else {
			out[i] = float64(binary.BigEndian.Uint16(b[2*i:])) / 65535
		}
	}
	return out
}

func curves(cs []Curve) func([]float64) []float64 {
	return func(v []float64) []float64 {
		out := make([]float64, len(v))
		for i := range v {
			out[i] = cs[i](max(0, min(1, v[i])))
		}
		return out
	}
}

// interpolate is linear between the nodes of a grid on every axis; the last axis
// varies fastest.
func interpolate(grid []int, values []float64, outputs int) func([]float64) []float64 {
	return func(v []float64) []float64 {
		out := make([]float64, outputs)
		var node [4]int
		var part [4]float64
		for i, g := range grid {
			at := max(0, min(1, v[i])) * float64(g-1)
			node[i] = min(int(at), g-2)
			part[i] = at - float64(node[i])
		}
		for corner := range 1 << len(grid) {
			index, weight := 0, 1.0
			for i, g := range grid {
				step := corner >> i & 1
				index = index*g + node[i] + step
				if step == 1 {
					weight *= part[i]
				} else {
					weight *= 1 - part[i]
				}
			}
			if weight == 0 {
				continue
			}
			for c := range out {
				out[c] += weight * values[outputs*index+c]
			}
		}
		return out
	}
}

// lattice is a profile's way to sRGB on a grid of its own, from which samples are
// interpolated in integers.
type lattice struct {
	inputs int
	step   [256]int32 // node below a sample
	part   [256]int32 // and how far it is to the next, of 255
	stride [4]int32
	values []uint16 // red, green and blue of each node, 256 to a step of 8 bits
}

// newLattice computes the nodes. black are the samples of the darkest colour that
// the device has, which becomes black, as viewers show prints (black point
// compensation): ink on paper is never that dark, and without it every shadow
// would be grey.
func newLattice(d device, black []float64) *lattice {
	inputs := len(black)
	grid := 33
	if inputs == 4 {
		grid = 17
	}
	t := &lattice{inputs: inputs}
	for v := range 256 {
		at := v * (grid - 1)
		t.step[v] = int32(min(at/255, grid-2))
		t.part[v] = int32(at) - 255*t.step[v]
	}
	nodes := int32(1)
	for i := inputs - 1; i >= 0; i-- {
		t.stride[i] = nodes
		nodes *= int32(grid)
	}
	in := make([]float64, inputs)
	dark := max(0, min(0.184, d(black)[1])) // at most that of L* 50
	inv, _ := invert(srgbD50)
	t.values = make([]uint16, 3*nodes)
	for n := range nodes {
		for i := range inputs {
			in[i] = float64(n/t.stride[i]%int32(grid)) / float64(grid-1)
		}
		xyz := d(in)
		for i := range xyz {
			xyz[i] = (xyz[i] - dark*white[i]) / (1 - dark)
		}
		for c, v := range apply(inv, xyz) {
			t.values[3*int(n)+c] = uint16(math.Floor(invSRGB(max(0, min(1, v)))*255*256 + 0.5))
		}
	}
	return t
}

// colour interpolates within the simplex of the grid that holds the samples.
func (t *lattice) colour(in *[4]byte) (r, g, b byte) {
	var order [4]int
	node := int32(0)
	for i := range t.inputs {
		v := in[i]
		node += t.step[v] * t.stride[i]
		// The axes, the one that is furthest on first.
		j := i
		for ; j > 0 && t.part[in[order[j-1]]] < t.part[v]; j-- {
			order[j] = order[j-1]
		}
		order[j] = i
	}
	var sum [3]int32
	left := int32(255)
	for k := 0; k <= t.inputs; k++ {
		next := int32(0)
		if k < t.inputs {
			next = t.part[in[order[k]]]
		}
		if w := left - next; w > 0 {
			p := t.values[3*node : 3*node+3 : 3*node+3]
			sum[0] += w * int32(p[0])
			sum[1] += w * int32(p[1])
			sum[2] += w * int32(p[2])
		}
		left = next
		if k < t.inputs {
			node += t.stride[order[k]]
		}
		if left == 0 {
			break
		}
	}
	const half, whole = 255 * 128, 255 * 256
	return byte((sum[0] + half) / whole), byte((sum[1] + half) / whole), byte((sum[2] + half) / whole)
}

// Inks converts a row of ink amounts, 255 the most, to red, green, blue and full
// alpha in dst. The profile must be CMYK's.
func (t *Transform) Inks(dst, c, m, y, k []byte) {
	var last [4]byte
	for x := range len(dst) / 4 {
		p := dst[4*x : 4*x+4 : 4*x+4]
		in := [4]byte{c[x], m[x], y[x], k[x]}
		if x > 0 && in == last {
			copy(p, dst[4*x-4:4*x])
			continue
		}
		last = in
		p[0], p[1], p[2] = t.lattice.colour(&in)
		p[3] = 255
	}
}
