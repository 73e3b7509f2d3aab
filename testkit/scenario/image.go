package scenario

import (
	"fmt"
	"strings"
)

// tolerance is how many pixels a side may differ from what is expected, since
// resizers round differently.
const tolerance = 1

// image compares the picture of a result. What can only be known from the
// picture itself, its bytes and the exact size of a reduced one, must agree
// between the value, the block that the model gets, the text around it and
// the store.
func (c checker) image(want Image, got *Result) {
	if got.Image == nil || got.ref == nil {
		c.fail(".image", want, got.Text)
		return
	}
	g, ref := *got.Image, *got.ref
	if want.MediaType != g.MediaType {
		c.fail(".image.mediaType", want.MediaType, g.MediaType)
	}
	if !near(want.Width, g.Width) {
		c.fail(".image.width", want.Width, g.Width)
	}
	if !near(want.Height, g.Height) {
		c.fail(".image.height", want.Height, g.Height)
	}
	if want.Name != g.Name {
		c.fail(".image.name", want.Name, g.Name)
	}
	if want.Passthrough != g.Passthrough {
		c.fail(".image.passthrough", want.Passthrough, g.Passthrough)
	}
	switch w, g := want.OriginalDimensions, g.OriginalDimensions; {
	case w == nil && g != nil, w != nil && (g == nil || *w != *g):
		c.fail(".image.originalDimensions", w, g)
	}
	if got.stored != ref.Bytes {
		c.fail(".image.bytes", got.stored, ref.Bytes)
	}
	c.imageValue(got)
	c.envelope(got)
}

// imageValue checks that the value names the picture that the block carries.
func (c checker) imageValue(got *Result) {
	ref, err := parse(encode(got.ref))
	if err != nil {
		c.fail(".value.image", "a reference", err.Error())
		return
	}
	object, _ := got.Value.(map[string]any)
	c.equal(".value.image", ref, object["image"], false)
}

// envelope checks the text around the picture: its type, size and bytes, and
// for a reduced one the advice how to come back to the original's pixels.
func (c checker) envelope(got *Result) {
	ref := got.ref
	start := fmt.Sprintf("<path>%s</path>\n<type>image</type>\n<content>\n%s image, %dx%d px, %d bytes",
		got.Path, ref.MediaType, ref.Width, ref.Height, ref.Bytes)
	const end = "\n</content>"
	rest, ok := strings.CutPrefix(*got.Text, start)
	advice, closed := strings.CutSuffix(rest, end)
	if !ok || !closed {
		c.fail(".text", start+"..."+end, *got.Text)
		return
	}
	original := ref.OriginalDimensions
	if original == nil {
		if advice != "" {
			c.fail(".text", start+end, *got.Text)
		}
		return
	}
	for _, part := range []string{
		fmt.Sprintf("%dx%d", original.Width, original.Height),
		fmt.Sprintf("%.2f", float64(original.Width)/float64(ref.Width)),
	} {
		if !strings.Contains(advice, part) {
			c.fail(".text", "advice that names "+part, *got.Text)
		}
	}
}

func near(a, b int) bool { return a-b <= tolerance && b-a <= tolerance }
