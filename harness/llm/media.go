package llm

import (
	"fmt"
	"slices"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
)

// MediaBudget says what a request may carry.
type MediaBudget struct {
	// Info is the route's model: a model that takes no images gets none.
	Info ModelInfo
	// OtherBytes counts what goes into the request beside the messages: the
	// system prompt and the tool schemas.
	OtherBytes int64
	// Sent returns the facts of an image as it would be sent, which is a
	// reduced copy where the stored one exceeds the route's limits, or why it
	// cannot be sent. When it is nil the stored images themselves are sent.
	Sent func(ref attachment.Ref) (attachment.Ref, error)
}

// Fit returns messages in which each image that the budget has no room for is
// a text block that names it. Images that no limit lets through alone go
// whatever their age; then the oldest go until count and bytes are within the
// limits. Equal arguments give equal results, and messages itself is not
// changed.
//
// The second result counts the images that were replaced.
func (b MediaBudget) Fit(messages []Message) ([]Message, int) {
	images := b.collect(messages)
	if len(images) == 0 {
		return messages, 0
	}
	limits := b.Info.Media
	used := b.OtherBytes + textBytes(messages)
	kept, full := 0, ""
	replaced := 0
	for _, im := range slices.Backward(images) { // newest first
		if im.reason != "" {
			replaced++
			continue
		}
		size := base64Len(im.bytes)
		switch {
		case full != "":
		case limits.MaxImages > 0 && kept >= limits.MaxImages:
			full = fmt.Sprintf("this model takes at most %d images in a request", limits.MaxImages)
		case limits.MaxRequestBytes > 0 && used+size > limits.MaxRequestBytes:
			full = fmt.Sprintf("this model takes at most %d bytes in a request", limits.MaxRequestBytes)
		}
		if full != "" {
			im.reason = full
			replaced++
			continue
		}
		kept++
		used += size
	}
	if replaced == 0 {
		return messages, 0
	}
	next := 0
	out := slices.Clone(messages)
	for i := range out {
		out[i].Content = replaceImages(out[i].Content, images, &next)
	}
	return out, replaced
}

// image is one image of the messages, in their order.
type image struct {
	ref    attachment.Ref
	bytes  int64
	reason string // why it is not sent, or ""
}

// collect lists the images and judges each one alone.
func (b MediaBudget) collect(messages []Message) []*image {
	var images []*image
	for _, m := range messages {
		walkImages(m.Content, func(ref attachment.Ref) {
			im := &image{ref: ref}
			im.bytes, im.reason = b.judge(ref)
			images = append(images, im)
		})
	}
	return images
}

func (b MediaBudget) judge(ref attachment.Ref) (bytes int64, reason string) {
	if !b.Info.Accepts(ImageInput) {
		return 0, "this model does not take images"
	}
	sent := ref
	if b.Sent != nil {
		var err error
		if sent, err = b.Sent(ref); err != nil {
			// The code alone: the text of an error may differ from run to run,
			// and the request must not.
			code := errs.CodeOf(err)
			if code == "" {
				code = errs.AttachmentReadFailed
			}
			return 0, fmt.Sprintf("it cannot be read (%s)", code)
		}
	}
	l := b.Info.Media
	switch {
	case l.MaxDimension > 0 && max(sent.Width, sent.Height) > l.MaxDimension:
		return 0, fmt.Sprintf("this model takes images of at most %d px a side", l.MaxDimension)
	case l.MaxPixels > 0 && int64(sent.Width)*int64(sent.Height) > l.MaxPixels:
		return 0, fmt.Sprintf("this model takes images of at most %d pixels", l.MaxPixels)
	case l.MaxBytes > 0 && sent.Bytes > l.MaxBytes:
		return 0, fmt.Sprintf("this model takes images of at most %d bytes", l.MaxBytes)
	}
	return sent.Bytes, ""
}

func walkImages(blocks []Block, fn func(attachment.Ref)) {
	for _, b := range blocks {
		switch {
		case b.Type == ImageBlock && b.Attachment != nil:
			fn(*b.Attachment)
		case b.Type == ToolResultBlock:
			walkImages(b.Content, fn)
		}
	}
}

// replaceImages returns blocks with the refused images replaced, in step with
// walkImages.
func replaceImages(blocks []Block, images []*image, next *int) []Block {
	var out []Block // made when the first block changes
	set := func(i int, b Block) {
		if out == nil {
			out = slices.Clone(blocks)
		}
		out[i] = b
	}
	for i, b := range blocks {
		switch {
		case b.Type == ImageBlock && b.Attachment != nil:
			im := images[*next]
			*next++
			if im.reason != "" {
				set(i, Text(Placeholder(im.ref, im.reason)))
			}
		case b.Type == ToolResultBlock:
			b.Content = replaceImages(b.Content, images, next)
			set(i, b)
		}
	}
	if out == nil {
		return blocks
	}
	return out
}

// Placeholder returns the text that stands for an image that is not sent.
func Placeholder(ref attachment.Ref, reason string) string {
	name := ""
	if ref.Name != "" {
		name = fmt.Sprintf(" %q", ref.Name)
	}
	return fmt.Sprintf("[Image%s (%s, %dx%d px, %d bytes, attachment %s) is not included in this request: %s.]",
		name, ref.MediaType, ref.Width, ref.Height, ref.Bytes, ref.ID, reason)
}

// textBytes counts the bytes of text in messages.
func textBytes(messages []Message) int64 {
	var n int64
	var count func([]Block)
	count = func(blocks []Block) {
		for _, b := range blocks {
			n += int64(len(b.Text) + len(b.Arguments) + len(b.Name) + len(b.ID) + len(b.ToolCallID))
			count(b.Content)
		}
	}
	for _, m := range messages {
		count(m.Content)
	}
	return n
}

func base64Len(n int64) int64 { return (n + 2) / 3 * 4 }
