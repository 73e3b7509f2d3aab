package llm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
)

func picture(name string, bytes int64, side int) attachment.Ref {
	return attachment.Ref{ID: "sha256:" + name, MediaType: attachment.PNG, Bytes: bytes, Width: side, Height: side, Name: name + ".png"}
}

func vision(l llm.MediaLimits) llm.ModelInfo {
	return llm.ModelInfo{Provider: "p", Model: "m", InputModalities: []llm.Modality{llm.TextInput, llm.ImageInput}, Media: l}
}

// say returns a message of the user with images.
func say(refs ...attachment.Ref) llm.Message {
	m := llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromUser}, Content: []llm.Block{llm.Text("12345")}}
	for _, r := range refs {
		m.Content = append(m.Content, llm.Image(r))
	}
	return m
}

// kept lists the images that messages still hold, and the reasons of those
// that they do not.
func kept(messages []llm.Message) (images string, reasons []string) {
	var names []string
	var walk func([]llm.Block)
	walk = func(blocks []llm.Block) {
		for _, b := range blocks {
			switch {
			case b.Type == llm.ImageBlock:
				names = append(names, strings.TrimSuffix(b.Attachment.Name, ".png"))
			case strings.HasPrefix(b.Text, "[Image"):
				names = append(names, "-")
				_, reason, _ := strings.Cut(b.Text, "request: ")
				reasons = append(reasons, strings.TrimSuffix(reason, ".]"))
			}
			walk(b.Content)
		}
	}
	for _, m := range messages {
		walk(m.Content)
	}
	return strings.Join(names, " "), reasons
}

func TestMediaBudget(t *testing.T) {
	a, b, c := picture("a", 300, 10), picture("b", 300, 20), picture("c", 300, 30)
	result := llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromTool, CallID: "x"},
		Content: []llm.Block{llm.ToolResult("x", false, llm.Text("env"), llm.Image(b))}}
	messages := []llm.Message{say(a), result, say(c)}
	tests := []struct {
		name    string
		budget  llm.MediaBudget
		want    string
		reasons []string
	}{
		{"no limits", llm.MediaBudget{Info: vision(llm.MediaLimits{})}, "a b c", nil},
		{"count", llm.MediaBudget{Info: vision(llm.MediaLimits{MaxImages: 2})}, "- b c",
			[]string{"this model takes at most 2 images in a request"}},
		{"pixels", llm.MediaBudget{Info: vision(llm.MediaLimits{MaxPixels: 400})}, "a b -",
			[]string{"this model takes images of at most 400 pixels"}},
		{"side", llm.MediaBudget{Info: vision(llm.MediaLimits{MaxDimension: 19})}, "a - -",
			[]string{"this model takes images of at most 19 px a side", "this model takes images of at most 19 px a side"}},
		{"bytes", llm.MediaBudget{Info: vision(llm.MediaLimits{MaxBytes: 299})}, "- - -",
			[]string{"this model takes images of at most 299 bytes", "this model takes images of at most 299 bytes", "this model takes images of at most 299 bytes"}},
		// Two images of 300 bytes are 800 in base64; the text is 14.
		{"request", llm.MediaBudget{Info: vision(llm.MediaLimits{MaxRequestBytes: 814})}, "- b c",
			[]string{"this model takes at most 814 bytes in a request"}},
		{"request, with what else is in it", llm.MediaBudget{Info: vision(llm.MediaLimits{MaxRequestBytes: 814}), OtherBytes: 1}, "- - c",
			[]string{"this model takes at most 814 bytes in a request", "this model takes at most 814 bytes in a request"}},
		{"a refused image takes no room", llm.MediaBudget{Info: vision(llm.MediaLimits{MaxImages: 2, MaxPixels: 400})}, "a b -",
			[]string{"this model takes images of at most 400 pixels"}},
		{"text alone", llm.MediaBudget{Info: llm.ModelInfo{InputModalities: []llm.Modality{llm.TextInput}}}, "- - -",
			[]string{"this model does not take images", "this model does not take images", "this model does not take images"}},
		{"nothing known", llm.MediaBudget{}, "- - -",
			[]string{"this model does not take images", "this model does not take images", "this model does not take images"}},
		{"reduced copies", llm.MediaBudget{Info: vision(llm.MediaLimits{MaxBytes: 100, MaxPixels: 100}), Sent: func(r attachment.Ref) (attachment.Ref, error) {
			r.Width, r.Height, r.Bytes = 10, 10, 100
			return r, nil
		}}, "a b c", nil},
		{"one is damaged", llm.MediaBudget{Info: vision(llm.MediaLimits{}), Sent: func(r attachment.Ref) (attachment.Ref, error) {
			if r.Name == "b.png" {
				return r, errs.New(errs.AttachmentCorrupt, "bad digest")
			}
			if r.Name == "c.png" {
				return r, errors.New("no code")
			}
			return r, nil
		}}, "a - -", []string{"it cannot be read (ATTACHMENT_CORRUPT)", "it cannot be read (ATTACHMENT_READ_FAILED)"}},
	}
	before := fmt.Sprintf("%+v", messages)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, n := tt.budget.Fit(messages)
			images, reasons := kept(got)
			if images != tt.want || n != len(tt.reasons) {
				t.Errorf("images %q and %d replaced, want %q", images, n, tt.want)
			}
			if diff := cmp.Diff(tt.reasons, reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
			if fmt.Sprintf("%+v", messages) != before {
				t.Error("the messages themselves were changed")
			}
		})
	}
}

func TestPlaceholder(t *testing.T) {
	want := `[Image "a.png" (image/png, 10x10 px, 300 bytes, attachment sha256:a) is not included in this request: why.]`
	if got := llm.Placeholder(picture("a", 300, 10), "why"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Whatever the limits: what is left is within them, is the newest of what
// fits alone, and the same arguments give the same result.
func TestMediaBudgetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var messages []llm.Message
		for i := range rapid.IntRange(0, 12).Draw(t, "images") {
			messages = append(messages, say(picture(fmt.Sprint(i), rapid.Int64Range(0, 500).Draw(t, "bytes"), rapid.IntRange(1, 40).Draw(t, "side"))))
		}
		l := llm.MediaLimits{
			MaxImages:       rapid.IntRange(0, 8).Draw(t, "count"),
			MaxBytes:        rapid.Int64Range(0, 500).Draw(t, "max bytes"),
			MaxPixels:       rapid.Int64Range(0, 1600).Draw(t, "max pixels"),
			MaxRequestBytes: rapid.Int64Range(0, 3000).Draw(t, "max request"),
		}
		budget := llm.MediaBudget{Info: vision(l)}
		got, n := budget.Fit(messages)
		again, _ := budget.Fit(messages)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatalf("not the same again:\n%s", diff)
		}
		count, size, gone, full := 0, int64(0), 0, false
		for i := len(got) - 1; i >= 0; i-- {
			size += 5
			b := got[i].Content[1]
			if b.Type != llm.ImageBlock {
				gone++
				full = full || strings.Contains(b.Text, "in a request")
				continue
			}
			if full {
				t.Fatalf("image %d stays, and a newer one went for want of room", i)
			}
			count++
			size += (b.Attachment.Bytes + 2) / 3 * 4
			if l.MaxBytes > 0 && b.Attachment.Bytes > l.MaxBytes {
				t.Fatalf("image %d is too big", i)
			}
		}
		if l.MaxImages > 0 && count > l.MaxImages {
			t.Fatalf("%d images of %d", count, l.MaxImages)
		}
		if l.MaxRequestBytes > 0 && count > 0 && size > l.MaxRequestBytes {
			t.Fatalf("%d bytes of %d", size, l.MaxRequestBytes)
		}
		if gone != n {
			t.Fatalf("%d replaced, %d reported", gone, n)
		}
	})
}
