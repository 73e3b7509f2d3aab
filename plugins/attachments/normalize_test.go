package attachments_test

import (
	"bytes"
	"errors"
	"image"
	"image/gif"
	"image/png"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments"
)

// TestNormalizeSaysWhatAStoreWouldKeep compares with what a store does keep.
func TestNormalizeSaysWhatAStoreWouldKeep(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 30, 20))
	var asPNG, asGIF bytes.Buffer
	if err := errors.Join(png.Encode(&asPNG, m), gif.Encode(&asGIF, m, nil)); err != nil {
		t.Fatal(err)
	}
	store, err := attachments.New(attachments.Config{Dir: t.TempDir(), Limits: attachment.Limits{NormalizedImageMaxDimension: 25}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, tt := range []struct {
		name        string
		data        []byte
		limits      attachment.Limits
		passthrough bool
		reason      string
		source      attachments.Source
	}{
		{"kept", asPNG.Bytes(), attachment.Limits{}, true, "", attachments.Source{MediaType: attachment.PNG, Width: 30, Height: 20, Samples: "grey", Depth: 8, Orientation: 1}},
		{"too large", asPNG.Bytes(), store.Limits(), false, "a side is longer than 25 pixels", attachments.Source{MediaType: attachment.PNG, Width: 30, Height: 20, Samples: "grey", Depth: 8, Orientation: 1}},
		{"another format", asGIF.Bytes(), store.Limits(), false, "GIF is not kept", attachments.Source{MediaType: attachment.GIF, Width: 30, Height: 20, Samples: "palette", Depth: 8, Orientation: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img := attachment.Image{Data: tt.data, Name: "dir/a.png"}
			got, err := attachments.Normalize(t.Context(), img, tt.limits)
			if err != nil {
				t.Fatal(err)
			}
			if got.Passthrough != tt.passthrough || got.Reason != tt.reason {
				t.Errorf("passthrough %v because %q", got.Passthrough, got.Reason)
			}
			if diff := cmp.Diff(tt.source, got.Source); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
			if tt.passthrough {
				if !bytes.Equal(got.Data, tt.data) {
					t.Error("the bytes are others")
				}
				return
			}
			want, err := store.SaveImage(t.Context(), img)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Ref); diff != "" {
				t.Errorf("reference (-stored +got):\n%s", diff)
			}
		})
	}
	_, err = attachments.Normalize(t.Context(), attachment.Image{Data: []byte("x")}, attachment.Limits{})
	if !errors.Is(err, errs.InvalidImage) {
		t.Errorf("got %v", err)
	}
}
