package icc

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// lutProfile writes a profile with one look-up table.
func lutProfile(space, connection, tag string, lut []byte, more map[string][]byte) []byte {
	tags := map[string][]byte{tag: lut}
	for id, b := range more {
		tags[id] = b
	}
	data := build(space, tags)
	copy(data[20:], connection)
	return data
}

// mft writes a lut8Type or lut16Type with two points on every axis and tables
// that change nothing. at gives the output at a corner, in parts of the largest
// value.
func mft(width, inputs, outputs int, at func(corner []float64) []float64) []byte {
	put := func(b []byte, v float64) []byte {
		if width == 1 {
			return append(b, byte(math.Round(v*255)))
		}
		return binary.BigEndian.AppendUint16(b, uint16(math.Round(v*65535)))
	}
	b := []byte{'m', 'f', 't', byte('0' + width), 0, 0, 0, 0, byte(inputs), byte(outputs), 2, 0}
	b = append(b, make([]byte, 36)...)
	entries := 256
	if width == 2 {
		entries = 2
		b = append(b, 0, 2, 0, 2)
	}
	straight := func(n int) {
		for range n {
			for i := range entries {
				b = put(b, float64(i)/float64(entries-1))
			}
		}
	}
	straight(inputs)
	for corner := range 1 << inputs {
		in := make([]float64, inputs)
		for i := range in {
			in[i] = float64(corner >> (inputs - 1 - i) & 1)
		}
		for _, v := range at(in) {
			b = put(b, v)
		}
	}
	straight(outputs)
	return b
}

// paper is a printer whose lightness falls by the mean of the colours, and to a
// tenth by black.
func paper(full float64, zero float64) func([]float64) []float64 {
	return func(in []float64) []float64 {
		l := (1 - (in[0]+in[1]+in[2])/6) * (1 - 0.9*in[3])
		return []float64{l * full, zero, zero}
	}
}

func TestInks(t *testing.T) {
	for name, lut := range map[string][]byte{
		"8 bits":  mft(1, 4, 3, paper(1, 128.0/255)),
		"16 bits": mft(2, 4, 3, paper(65280.0/65535, 32768.0/65535)),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(lutProfile("CMYK", "Lab ", "A2B0", lut, nil))
			if err != nil {
				t.Fatal(err)
			}
			tr, err := NewTransform(p)
			if err != nil {
				t.Fatal(err)
			}
			dark := labToXYZ(100*0.5*0.1, 0, 0)[1]
			for _, in := range [][4]byte{{0, 0, 0, 0}, {255, 255, 255, 255}, {255, 0, 0, 0}, {0, 0, 0, 255}, {60, 120, 180, 0}, {10, 200, 30, 100}, {128, 128, 128, 128}, {1, 2, 3, 254}} {
				f := func(i int) float64 { return float64(in[i]) / 255 }
				l := 100 * (1 - (f(0)+f(1)+f(2))/6) * (1 - 0.9*f(3))
				want := 255 * invSRGB((labToXYZ(l, 0, 0)[1]-dark)/(1-dark))
				got := make([]byte, 8)
				one := func(i int) []byte { return []byte{in[i], in[i]} }
				tr.Inks(got, one(0), one(1), one(2), one(3))
				for i, v := range got {
					w := want
					if i%4 == 3 {
						w = 255
					}
					if math.Abs(float64(v)-w) > 2.6 {
						t.Errorf("%v: got %v, want %.1f", in, got, want)
						break
					}
				}
			}
		})
	}
}

// The black of a print is what its profile separates black into, not all of all
// inks.
func TestBlackOfPrint(t *testing.T) {
	toInks := mft(1, 3, 4, func(in []float64) []float64 { return []float64{0, 0, 0, 1 - in[0]} })
	p, err := Parse(lutProfile("CMYK", "Lab ", "A2B1", mft(1, 4, 3, paper(1, 128.0/255)), map[string][]byte{"B2A0": toInks}))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTransform(p)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]byte, 4)
	tr.Inks(row, []byte{0}, []byte{0}, []byte{0}, []byte{255})
	if row[0] > 2 || row[1] > 2 || row[2] > 2 || row[3] != 255 {
		t.Errorf("black alone: %v", row)
	}
}

// An RGB profile of curves, a grid, curves, a matrix and curves gives what the
// matrix profile of the same colours does.
func TestLutAToB(t *testing.T) {
	var matrix []byte
	for i := range 9 {
		// XYZ is stored by its half: 1 + 32767/32768 is the largest value.
		matrix = append(matrix, s15(srgbD50[i/3][i%3]/2*(65536.0/65535))...)
	}
	matrix = append(matrix, make([]byte, 12)...)
	straight := curv()
	gamma := para(0, 1.8)
	var grid []byte
	grid = append(grid, 2, 2, 2)
	grid = append(grid, make([]byte, 13)...)
	grid = append(grid, 2, 0, 0, 0)
	for corner := range 8 {
		for i := range 3 {
			grid = binary.BigEndian.AppendUint16(grid, uint16(corner>>(2-i)&1)*65535)
		}
	}
	lut := append([]byte("mAB \x00\x00\x00\x00\x03\x03\x00\x00"), make([]byte, 20)...)
	for i, part := range [][][]byte{{straight, straight, straight}, {matrix}, {straight, straight, straight}, {grid}, {gamma, gamma, gamma}} {
		binary.BigEndian.PutUint32(lut[12+4*i:], uint32(len(lut)))
		for _, b := range part {
			lut = append(lut, b...)
			for len(lut)%4 != 0 {
				lut = append(lut, 0)
			}
		}
	}
	p, err := Parse(lutProfile("RGB ", "XYZ ", "A2B0", lut, nil))
	if err != nil {
		t.Fatal(err)
	}
	got, err := NewTransform(p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Parse(build("RGB ", matrixTags(srgbD50, gamma)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := NewTransform(q)
	if err != nil {
		t.Fatal(err)
	}
	for v := 0; v < 256; v += 5 {
		a := []byte{byte(v), byte(255 - v), byte(v / 2), 9}
		b := append([]byte(nil), a...)
		deep := make([]byte, 4)
		got.Row16(deep, []uint16{uint16(a[0]) * 257, uint16(a[1]) * 257, uint16(a[2]) * 257, 9 * 257})
		got.Row(a)
		want.Row(b)
		for i := range a {
			if d := int(a[i]) - int(b[i]); d < -3 || d > 3 {
				t.Errorf("%d: got %v, want %v", v, a, b)
				break
			}
		}
		if string(deep) != string(a) {
			t.Errorf("%d: 16 bits give %v, 8 bits %v", v, deep, a)
		}
	}
	for n := range len(lut) {
		if _, err := Parse(lutProfile("RGB ", "XYZ ", "A2B0", lut[:n], nil)); err == nil && n < len(lut)-2 {
			t.Errorf("%d of %d bytes were accepted", n, len(lut))
		}
	}
}

func TestLutRefusals(t *testing.T) {
	good := mft(2, 4, 3, paper(1, 0.5))
	change := func(at int, v byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = v
		return b
	}
	for name, lut := range map[string][]byte{
		"none": nil, "cut": good[:100], "other kind": change(0, 'x'), "three inputs": change(8, 3), "four outputs": change(9, 4),
		"no grid": change(10, 1), "huge grid": change(10, 255), "long tables": change(48, 255), "no tables": change(49, 0),
	} {
		if _, err := Parse(lutProfile("CMYK", "Lab ", "A2B0", lut, nil)); err == nil || name == "none" && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
