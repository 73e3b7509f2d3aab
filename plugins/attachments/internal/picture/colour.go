package picture

import (
	"github.com/bridle-go/bridle/plugins/attachments/internal/icc"
)

// transform returns the conversion of the picture's colours to sRGB, or nil
// where they are sRGB, say nothing, or speak in a way that cannot be read: a
// picture in slightly wrong colours is better than none.
func (i *Info) transform() *icc.Transform {
	var p *icc.Profile
	var err error
	switch {
	case i.png != nil:
		p, err = i.png.profileOf()
	case i.webp != nil && i.webp.profile != nil:
		p, err = icc.Parse(i.webp.profile)
	case i.jpeg != nil && len(i.jpeg.profile) > 0:
		p, err = icc.Parse(i.jpeg.profile)
	}
	if p == nil || err != nil {
		return nil
	}
	// A profile for other samples than the picture has is a mistake of the writer;
	// only grey samples are as good as coloured ones.
	grey := i.Kind == Gray || i.Kind == GrayAlpha
	if p.Space == icc.Gray && !grey || (p.Space == icc.CMYK) != (i.Kind == CMYK) {
		return nil
	}
	t, err := icc.NewTransform(p)
	if err != nil {
		return nil
	}
	return t
}

// profileOf follows the precedence of the PNG specification: cICP, iCCP, sRGB,
// then gAMA with cHRM.
func (f *pngFile) profileOf() (*icc.Profile, error) {
	switch {
	case f.cicp != nil:
		if p := f.fromCICP(); p != nil {
			return p, nil
		}
		return nil, nil
	case f.profile != nil:
		return icc.Parse(f.profile)
	case f.srgb || f.plainColours():
		return nil, nil
	}
	prim, curve := icc.Rec709, icc.Curve(icc.SRGBCurve)
	if f.chrm != nil {
		at := func(i int) icc.Chromaticity {
			return icc.Chromaticity{X: float64(f.chrm[2*i]) / 100000, Y: float64(f.chrm[2*i+1]) / 100000}
		}
		prim = icc.Primaries{White: at(0), Red: at(1), Green: at(2), Blue: at(3)}
	}
	// gAMA is the exponent that makes samples of light. One near zero or above
	// four comes from broken writers.
	if f.gamma >= 10000 && f.gamma <= 400000 && (f.gamma < 43000 || f.gamma > 48000) {
		curve = icc.Power(100000 / float64(f.gamma))
	}
	return icc.FromPrimaries(prim, curve)
}

// fromCICP reads the code points of ITU-T H.273 that describe displays of
// standard range. The curves for high dynamic range have no faithful picture in
// 8 bits and are taken as they are.
func (f *pngFile) fromCICP() *icc.Profile {
	var prim icc.Primaries
	switch f.cicp[0] {
	case 1:
		prim = icc.Rec709
	case 9:
		prim = icc.Rec2020
	case 12:
		prim = icc.DisplayP3
	default:
		return nil
	}
	var curve icc.Curve
	switch f.cicp[1] {
	case 13, 1, 6, 14, 15: // the video curves are shown like sRGB
		curve = icc.SRGBCurve
	case 4:
		curve = icc.Power(2.2)
	case 5:
		curve = icc.Power(2.8)
	case 8:
		curve = icc.Power(1)
	default:
		return nil
	}
	p, err := icc.FromPrimaries(prim, curve)
	if err != nil {
		return nil
	}
	return p
}
