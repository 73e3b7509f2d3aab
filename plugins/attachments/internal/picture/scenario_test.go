package picture

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
)

// scenario is the part of a conformance scenario that concerns pictures alone.
type scenario struct {
	Name    string
	Compose struct{ Attachments attachment.Limits }
	Files   []scenarioFile
	Steps   []struct {
		Put  *scenarioFile
		Call string
		Args struct {
			FilePath string `json:"file_path"`
		}
	}
	Expect []struct {
		IsError bool
		Image   *struct {
			MediaType          attachment.MediaType
			Width, Height      int
			OriginalDimensions *attachment.Dimensions
			Passthrough        bool
		}
	}
}

type scenarioFile struct {
	Path   string
	Base64 []byte
	Text   string
}

// Every picture of the conformance scenarios comes out with the type, the size
// and the passthrough that they ask for.
func TestConformancePictures(t *testing.T) {
	var all []scenario
	for _, name := range []string{"image", "extra-image"} {
		raw, err := os.ReadFile("../../../../testkit/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var more []scenario
		if err := json.Unmarshal(raw, &more); err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	checked := 0
	for _, s := range all {
		for i, step := range s.Steps {
			for k := range s.Files {
				if step.Put != nil && step.Put.Path == s.Files[k].Path {
					s.Files[k] = *step.Put
				}
			}
			if step.Call != "read_image" {
				continue
			}
			for _, f := range s.Files {
				declared := declaredBy(f.Path)
				if f.Path != step.Args.FilePath || declared == "" {
					continue
				}
				want := s.Expect[i]
				if want.IsError && !strings.Contains(s.Name, "malformed") && !strings.Contains(s.Name, "limits") && !strings.Contains(s.Name, "extension") {
					continue // refused for a reason outside the picture
				}
				t.Run(s.Name+"/"+f.Path, func(t *testing.T) {
					data := f.Base64
					if f.Text != "" {
						data = []byte(f.Text)
					}
					checked++
					got, err := Normalize(context.Background(), data, declared, s.Compose.Attachments)
					if want.IsError {
						if err == nil {
							t.Fatal("it was accepted")
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					w := want.Image
					if got.MediaType != w.MediaType || !near(got.Width, w.Width) || !near(got.Height, w.Height) || got.Passthrough != w.Passthrough {
						t.Errorf("got %s %dx%d passthrough %v (%s), want %+v", got.MediaType, got.Width, got.Height, got.Passthrough, got.Reason, w)
					}
					if (got.Original == nil) != (w.OriginalDimensions == nil) || got.Original != nil && *got.Original != *w.OriginalDimensions {
						t.Errorf("original dimensions: got %v, want %v", got.Original, w.OriginalDimensions)
					}
				})
			}
		}
	}
	if checked < 90 {
		t.Errorf("only %d pictures were checked", checked)
	}
}

func near(a, b int) bool { return a-b <= 1 && b-a <= 1 }

func declaredBy(name string) attachment.MediaType {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return attachment.PNG
	case ".jpg", ".jpeg":
		return attachment.JPEG
	case ".webp":
		return attachment.WebP
	case ".gif":
		return attachment.GIF
	}
	return ""
}
