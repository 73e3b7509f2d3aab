package picture

import (
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments/internal/icc"
)

// whole numbers alone, so that the pictures are the same on every machine.
func pattern(w, h int, alpha bool) *image.NRGBA {
	return draw(w, h, func(x, y int) color.NRGBA {
		c := color.NRGBA{uint8(x*x/97 + y), uint8(y*y/61 + 2*x), uint8((x ^ y) * 3), 255}
		if alpha {
			c.A = uint8(x * 255 / w)
		}
		return c
	})
}

// The same picture gives the same bytes on every machine. A change of these
// digests means that stores hold two forms of one picture from then on: it must
// be meant.
func TestGolden(t *testing.T) {
	limits := attachment.Limits{NormalizedImageMaxDimension: 200}
	p3, err := icc.FromPrimaries(icc.DisplayP3, icc.SRGBCurve)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"opaque", pngBytes(t, pattern(500, 300, false)), goldenOpaque},
		{"alpha", pngBytes(t, pattern(500, 300, true)), goldenAlpha},
		{"deep", rawPNG(500, 300, 6, 16, true, false), goldenDeep},
		{"profile", withPNGProfile(pngBytes(t, pattern(300, 500, false)), profile(p3.Matrix, 2.2)), goldenProfile},
		{"jpeg", jpegBytes(t, pattern(700, 450, false), 90), goldenJPEG},
		{"palette", rawPNG(300, 200, 3, 4, false, false), goldenPalette},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := normalize(t, c.data, "", limits)
			if got := fmt.Sprintf("%s %x", n.MediaType, sha256.Sum256(n.Data)); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

const (
	goldenOpaque  = "image/jpeg 9966c69f4feb234a133c12dfa57ffcaaae9b93e313b890141b4f607e73598475"
	goldenAlpha   = "image/webp 52214cd57db34a67eecaf6ccb947fe65e74265270e13dd4ba658101d2cc7476b"
	goldenDeep    = "image/png 06f712400cf43581ca18d03f8e14f44553b57cf68e52a60aa354981a622e9163"
	goldenProfile = "image/jpeg a7d66fddb3c211f27be162a427ed17445c1eabd15f469bef6fe3090e987fc5a6"
	goldenJPEG    = "image/jpeg a00b662e40a81acf5a9ef699bb64846778727eda11f778e3d7e1fc00416d0f0c"
	goldenPalette = "image/png 304215973c2441c1e7d033187d6ca7dd3404aedcb701c017a373217ba5c0467c"
)
