package scenario_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit/scenario"
)

// album is a store of files as they are.
type album struct {
	attachment.Store
	objects map[string][]byte
}

func (a *album) keep(data []byte) (id string) {
	sum := sha256.Sum256(data)
	id = "sha256:" + hex.EncodeToString(sum[:])
	a.objects[id] = data
	return id
}

func (a *album) Read(_ context.Context, ref attachment.Ref) ([]byte, error) {
	data, ok := a.objects[ref.ID]
	if !ok {
		return nil, errs.New(errs.AttachmentNotFound, "no such attachment")
	}
	return data, nil
}

func (a *album) List(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for id := range a.objects {
			if !yield(id, nil) {
				return
			}
		}
	}
}

type pictureArgs struct {
	Path string `json:"file_path"`
}

type picture struct {
	Path  string         `json:"path"`
	Image attachment.Ref `json:"image"`
}

// pictures composes a read_image that stores files as they are and calls each
// a PNG of 30 by 20; spoil may change what it says of them.
func pictures(spoil func(a *album, v *picture, text *string, block *attachment.Ref)) scenario.Composer {
	return func(scenario.Setup) ([]plug.Plugin, error) {
		a := &album{objects: map[string][]byte{}}
		var text string
		var block attachment.Ref
		def := tool.Tool[pictureArgs, picture]{
			Name: "read_image", Input: tool.Schema(`{"type":"object"}`),
			Run: func(_ context.Context, call *tool.Call, args pictureArgs) (picture, error) {
				path := filepath.Join(call.Cwd(), args.Path)
				data, err := os.ReadFile(path)
				if err != nil {
					return picture{}, err
				}
				ref := attachment.Ref{ID: a.keep(data), MediaType: attachment.PNG, Bytes: int64(len(data)), Width: 30, Height: 20, Name: args.Path}
				v := picture{path, ref}
				if strings.HasPrefix(args.Path, "big") {
					v.Image.ID = a.keep([]byte("smaller"))
					v.Image.Bytes = 7
					v.Image.OriginalDimensions = &attachment.Dimensions{Width: 100, Height: 67}
				}
				text = fmt.Sprintf("<path>%s</path>\n<type>image</type>\n<content>\nimage/png image, 30x20 px, %d bytes", v.Path, v.Image.Bytes)
				if v.Image.OriginalDimensions != nil {
					text += "\nThe original has 100x67 px, 3.33 times as many."
				}
				text += "\n</content>"
				block = v.Image
				if spoil != nil {
					spoil(a, &v, &text, &block)
				}
				return v, nil
			},
			Render: func(pictureArgs, picture) (tool.Rendered, error) {
				return tool.Rendered{Content: []llm.Block{llm.Text(text), llm.Image(block)}}, nil
			},
		}.Definition()
		return []plug.Plugin{{
			Name:     "pictures",
			Services: []plug.Declaration{plug.Provides[attachment.Store]()},
			Options: fx.Options(
				fx.Provide(func() attachment.Store { return a }),
				fx.Invoke(func(tools *tool.Registry, scope *plug.Scope) error {
					_, err := tools.Register(scope, def)
					return err
				})),
		}}, nil
	}
}

const (
	small = `{"files":[{"path":"a.png","text":"a picture"}],"steps":[{"call":"read_image","args":{"file_path":"a.png"}}],
		"expect":[{"isError":false,"path":"{{cwd}}/a.png","image":{"mediaType":"image/png","width":31,"height":19,"name":"a.png","passthrough":true}}],"distinctAttachments":1}`
	big = `{"files":[{"path":"big.png","text":"a picture"}],"steps":[{"call":"read_image","args":{"file_path":"big.png"}}],
		"expect":[{"image":{"mediaType":"image/png","width":30,"height":20,"name":"big.png","originalDimensions":{"width":100,"height":67}}}],"distinctAttachments":2}`
)

func TestImages(t *testing.T) {
	for name, s := range map[string]string{"small": small, "big": big} {
		if out := play(t, s, pictures(nil)); !out.Pass {
			t.Errorf("%s: the scenario holds, got differences:\n%s", name, text(out))
		}
	}
}

// TestImageMismatches shows that every way in which a picture can be wrong is
// reported.
func TestImageMismatches(t *testing.T) {
	tests := []struct {
		name, scenario, fields string
		spoil                  func(a *album, v *picture, text *string, block *attachment.Ref)
	}{
		{"media type", small, "steps[0].image.mediaType steps[0].text", func(_ *album, v *picture, _ *string, b *attachment.Ref) {
			v.Image.MediaType, b.MediaType = attachment.JPEG, attachment.JPEG
		}},
		{"width", small, "steps[0].image.width steps[0].text", func(_ *album, v *picture, _ *string, b *attachment.Ref) {
			v.Image.Width, b.Width = 33, 33
		}},
		{"height", small, "steps[0].image.height steps[0].text", func(_ *album, v *picture, _ *string, b *attachment.Ref) {
			v.Image.Height, b.Height = 17, 17
		}},
		{"name", small, "steps[0].image.name", func(_ *album, v *picture, _ *string, b *attachment.Ref) {
			v.Image.Name, b.Name = "b.png", "b.png"
		}},
		{"not passed through", small, "steps[0].image.passthrough", func(a *album, v *picture, _ *string, b *attachment.Ref) {
			delete(a.objects, v.Image.ID)
			id := a.keep([]byte("aPICTURE!"))
			v.Image.ID, b.ID = id, id
		}},
		{"passed through", strings.ReplaceAll(small, `,"passthrough":true`, ""), "steps[0].image.passthrough", nil},
		{"no original dimensions", big, "steps[0].image.originalDimensions steps[0].text", func(_ *album, v *picture, _ *string, b *attachment.Ref) {
			v.Image.OriginalDimensions, b.OriginalDimensions = nil, nil
		}},
		{"original dimensions", strings.ReplaceAll(big, "67", "68"), "steps[0].image.originalDimensions", nil},
		{"unexpected original dimensions", strings.ReplaceAll(big, `,"originalDimensions":{"width":100,"height":67}`, ""), "steps[0].image.originalDimensions", nil},
		{"bytes", small, "steps[0].image.bytes steps[0].text", func(_ *album, v *picture, _ *string, b *attachment.Ref) {
			v.Image.Bytes, b.Bytes = 10, 10
		}},
		{"text", small, "steps[0].text", func(_ *album, _ *picture, text *string, _ *attachment.Ref) { *text += "\n" }},
		{"advice for what was not reduced", small, "steps[0].text", func(_ *album, _ *picture, text *string, _ *attachment.Ref) {
			*text = strings.Replace(*text, " bytes\n", " bytes\nscaled\n", 1)
		}},
		{"advice without the original", big, "steps[0].text", func(_ *album, _ *picture, text *string, _ *attachment.Ref) {
			*text = strings.Replace(*text, "100x67", "?", 1)
		}},
		{"advice with another factor", big, "steps[0].text", func(_ *album, _ *picture, text *string, _ *attachment.Ref) {
			*text = strings.Replace(*text, "3.33", "3.3", 1)
		}},
		{"another picture in the value", small, "steps[0].value.image.attachmentId", func(_ *album, v *picture, _ *string, _ *attachment.Ref) { v.Image.ID = "sha256:00" }},
		{"not in the store", small, "steps[0] steps[0].image.bytes distinctAttachments", func(a *album, _ *picture, _ *string, _ *attachment.Ref) { clear(a.objects) }},
		{"too many attachments", strings.ReplaceAll(small, `"distinctAttachments":1`, `"distinctAttachments":0`), "distinctAttachments", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := play(t, tt.scenario, pictures(tt.spoil))
			var fields []string
			for _, d := range out.Differences {
				fields = append(fields, d.Field)
			}
			if got := strings.Join(fields, " "); got != tt.fields || out.Pass {
				t.Errorf("pass %v with differences at %q, want a failure at %q:\n%s", out.Pass, got, tt.fields, text(out))
			}
		})
	}
}

// TestImageResults checks what is shown of a picture.
func TestImageResults(t *testing.T) {
	out := play(t, big, pictures(nil))
	var line struct {
		Results []struct {
			Path  string         `json:"path"`
			Image map[string]any `json:"image"`
		} `json:"results"`
		DistinctAttachments int `json:"distinctAttachments"`
	}
	if err := json.Unmarshal(out.Line(true), &line); err != nil {
		t.Fatal(err)
	}
	if len(line.Results) != 1 || line.Results[0].Path != "{{cwd}}/big.png" || line.Results[0].Image["width"] != 30.0 || line.DistinctAttachments != 2 {
		t.Errorf("results are %s", out.Line(true))
	}
}
