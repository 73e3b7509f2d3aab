package icc

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// build writes a profile with the tags given.
func build(space string, tags map[string][]byte) []byte {
	head := make([]byte, 128)
	copy(head[12:], "mntr"+space+"XYZ ")
	copy(head[36:], "acsp")
	out := binary.BigEndian.AppendUint32(head, uint32(len(tags)))
	at := 132 + 12*len(tags)
	var body []byte
	for id, b := range tags {
		out = append(out, id...)
		out = binary.BigEndian.AppendUint32(out, uint32(at+len(body)))
		out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
		body = append(body, b...)
	}
	return append(out, body...)
}

func s15(v float64) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(int32(math.Round(v*65536))))
}

func curv(values ...uint16) []byte {
	b := binary.BigEndian.AppendUint32([]byte("curv\x00\x00\x00\x00"), uint32(len(values)))
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}

func para(kind uint16, params ...float64) []byte {
	b := binary.BigEndian.AppendUint16([]byte("para\x00\x00\x00\x00"), kind)
	b = append(b, 0, 0)
	for _, p := range params {
		b = append(b, s15(p)...)
	}
	return b
}

func matrixTags(m [3][3]float64, curve []byte) map[string][]byte {
	tags := map[string][]byte{}
	for i, c := range []string{"r", "g", "b"} {
		xyz := []byte("XYZ \x00\x00\x00\x00")
		for j := range 3 {
			xyz = append(xyz, s15(m[j][i])...)
		}
		tags[c+"XYZ"], tags[c+"TRC"] = xyz, curve
	}
	return tags
}

func TestCurves(t *testing.T) {
	table := make([]uint16, 1024)
	for i := range table {
		table[i] = uint16(math.Round(65535 * SRGBCurve(float64(i)/1023)))
	}
	srgb := func(x float64) float64 { return SRGBCurve(x) }
	for name, c := range map[string]struct {
		data []byte
		want Curve
	}{
		"identity": {curv(), func(x float64) float64 { return x }},
		"gamma":    {curv(563), Power(563.0 / 256)},
		"table":    {curv(table...), srgb},
		"para 0":   {para(0, 1.8), Power(1.8)},
		"para 1":   {para(1, 2, 2, -1), func(x float64) float64 { return math.Pow(max(0, 2*x-1), 2) }},
		"para 2":   {para(2, 2, 2, -1, 0.25), func(x float64) float64 { return math.Pow(max(0, 2*x-1), 2) + 0.25 }},
		"para 3":   {para(3, 2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045), srgb},
		"para 4":   {para(4, 2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045, 0, 0), srgb},
		"para 4 up": {para(4, 2, 1, 0, 0.5, 0.5, 0.1, 0.05), func(x float64) float64 {
			if x >= 0.5 {
				return x*x + 0.1
			}
			return 0.5*x + 0.05
		}},
	} {
		got, err := parseCurve(c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range 101 {
			x := float64(i) / 100
			if d := got(x) - c.want(x); math.Abs(d) > 2e-4 {
				t.Errorf("%s at %.2f: got %.5f, want %.5f", name, x, got(x), c.want(x))
				break
			}
		}
	}
}

// Profiles that spell sRGB convert nothing; others do.
func TestTransform(t *testing.T) {
	srgb := build("RGB ", matrixTags(srgbD50, para(3, 2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045)))
	p, err := Parse(srgb)
	if err != nil {
		t.Fatal(err)
	}
	if tr, err := NewTransform(p); err != nil || tr != nil {
		t.Errorf("sRGB: %v, %v", tr, err)
	}
	fromPrimaries, err := FromPrimaries(Rec709, SRGBCurve)
	if err != nil {
		t.Fatal(err)
	}
	if tr, err := NewTransform(fromPrimaries); err != nil || tr != nil {
		t.Errorf("sRGB by its primaries: %v, %v", tr, err)
	}
	p3, err := FromPrimaries(DisplayP3, SRGBCurve)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTransform(p3)
	if err != nil || tr == nil {
		t.Fatalf("Display P3: %v, %v", tr, err)
	}
	// Grey stays grey. A strong red of P3 is beyond sRGB and cut off; values from
	// the published matrices.
	for _, c := range [][2][3]byte{{{0, 0, 0}, {0, 0, 0}}, {{255, 255, 255}, {255, 255, 255}}, {{128, 128, 128}, {128, 128, 128}},
		{{255, 0, 0}, {255, 0, 0}}, {{200, 100, 50}, {213, 95, 31}}} {
		row := []byte{c[0][0], c[0][1], c[0][2], 77}
		deep := make([]byte, 4)
		tr.Row16(deep, []uint16{uint16(c[0][0]) * 257, uint16(c[0][1]) * 257, uint16(c[0][2]) * 257, 77 * 257})
		tr.Row(row)
		for i := range 3 {
			if d := int(row[i]) - int(c[1][i]); d < -2 || d > 2 {
				t.Errorf("%v: got %v, want %v", c[0], row[:3], c[1])
				break
			}
			if d := int(row[i]) - int(deep[i]); d < -1 || d > 1 {
				t.Errorf("%v: 16 bits give %v, 8 bits %v", c[0], deep, row)
				break
			}
		}
		if row[3] != 77 || deep[3] != 77 {
			t.Errorf("alpha was changed: %v, %v", row, deep)
		}
	}
	gray, err := Parse(build("GRAY", map[string][]byte{"kTRC": curv()}))
	if err != nil {
		t.Fatal(err)
	}
	tr, err = NewTransform(gray)
	if err != nil || tr == nil {
		t.Fatalf("linear grey: %v, %v", tr, err)
	}
	row := []byte{55, 55, 55, 255}
	tr.Row(row)
	if row[0] != 128 || row[1] != 128 {
		t.Errorf("linear grey 55: got %v", row)
	}
}

func TestParseRefuses(t *testing.T) {
	good := build("RGB ", matrixTags(srgbD50, curv()))
	for name, c := range map[string]struct {
		data []byte
		kind error
	}{
		"empty":           {nil, nil},
		"no profile":      {make([]byte, 200), nil},
		"cut":             {good[:140], nil},
		"cmyk":            {build("CMYK", nil), ErrUnsupported},
		"no tags":         {build("RGB ", nil), ErrUnsupported},
		"unknown curve":   {build("RGB ", matrixTags(srgbD50, []byte("mft2\x00\x00\x00\x00\x00\x00\x00\x00"))), ErrUnsupported},
		"curve too short": {build("RGB ", matrixTags(srgbD50, []byte("curv\x00\x00\x00\x00\xff\xff\xff\xff"))), nil},
	} {
		_, err := Parse(c.data)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	black, err := Parse(build("RGB ", matrixTags([3][3]float64{}, curv())))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTransform(black); err == nil {
		t.Error("a profile without colours was accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(build("RGB ", matrixTags(srgbD50, para(3, 2.4, 1/1.055, 0.055/1.055, 1/12.92, 0.04045))))
	f.Add(lutProfile("CMYK", "Lab ", "A2B0", mft(2, 4, 3, paper(1, 0.5)), nil))
	f.Add(build("GRAY", map[string][]byte{"kTRC": curv(0, 30000, 65535)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		tr, err := NewTransform(p)
		if err != nil || tr == nil {
			return
		}
		row := []byte{1, 2, 3, 4, 255, 255, 255, 255, 0, 128, 64, 9}
		tr.Row(row)
		tr.Row16(row[:4], []uint16{0, 65535, 30000, 1})
		if row[11] != 9 {
			t.Error("alpha was changed")
		}
	})
}

// In a grey profile whose connection space is CIELAB the curve gives lightness.
func TestGreyLightness(t *testing.T) {
	data := build("GRAY", map[string][]byte{"kTRC": curv()})
	copy(data[20:], "Lab ")
	p, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTransform(p)
	if err != nil {
		t.Fatal(err)
	}
	row := []byte{128, 128, 128, 255, 0, 0, 0, 255, 255, 255, 255, 7}
	tr.Row(row)
	// L* 50.2 is a luminance of 0.186, which sRGB writes as 119.
	if want := [12]byte{119, 119, 119, 255, 0, 0, 0, 255, 255, 255, 255, 7}; [12]byte(row) != want {
		t.Errorf("got %v, want %v", row, want)
	}
}
