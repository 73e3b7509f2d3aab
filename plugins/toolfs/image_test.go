package toolfs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit/script"
)

// crowd is a store that counts how many images are being saved at once.
type crowd struct {
	attachment.Store
	mu         sync.Mutex
	here, most int
	full       chan struct{} // closed when eight are there
}

func (c *crowd) Limits() attachment.Limits { return attachment.Limits{}.WithDefaults() }

func (c *crowd) SaveImage(context.Context, attachment.Image) (attachment.Ref, error) {
	c.mu.Lock()
	c.here++
	if c.most = max(c.most, c.here); c.here == 8 && c.most == 8 {
		select {
		case <-c.full:
		default:
			close(c.full)
		}
	}
	c.mu.Unlock()
	<-c.full
	c.mu.Lock()
	c.here--
	c.mu.Unlock()
	return attachment.Ref{ID: "sha256:" + strings.Repeat("0", 64), MediaType: attachment.PNG, Bytes: 1, Width: 1, Height: 1}, nil
}

// However many calls run, eight images at most are in memory as they were read.
func TestImagesInMemoryAreBounded(t *testing.T) {
	store := &crowd{full: make(chan struct{})}
	model := script.New(script.Config{Provider: "p", Models: []llm.ModelInfo{
		{Provider: "p", Model: "sees", InputModalities: []llm.Modality{llm.TextInput, llm.ImageInput}},
	}})
	w := newWorld(t, toolfs.Plugin(toolfs.Config{}), models.Plugin(models.Config{}), model.Plugin(), plug.Plugin{
		Name: "crowd", Services: []plug.Declaration{plug.Provides[attachment.Store]()},
		Options: fx.Provide(func() attachment.Store { return store }),
	})
	w.put("a.png", string(pngOf(t, 8, 8, 1)))
	a := w.viewer("s", "sees")
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if r := w.call(a, "read_image", args{"file_path": "a.png"}); r.IsError {
				t.Error(r.Text())
			}
		})
	}
	wg.Wait()
	if store.most != 8 {
		t.Errorf("%d images were in memory at once", store.most)
	}
}

// newGallery is a world with a real store and two models, of which "blind"
// takes text alone.
func newGallery(t *testing.T, limits attachment.Limits) (w *world, store string) {
	t.Helper()
	store = t.TempDir()
	model := script.New(script.Config{Provider: "p", Models: []llm.ModelInfo{
		{Provider: "p", Model: "sees", InputModalities: []llm.Modality{llm.TextInput, llm.ImageInput}},
		{Provider: "p", Model: "blind", InputModalities: []llm.Modality{llm.TextInput}},
		{Provider: "p", Model: "unknown"},
	}})
	w = newWorld(t, toolfs.Plugin(toolfs.Config{}), fspolicy.Plugin(fspolicy.Config{}), models.Plugin(models.Config{}), model.Plugin(),
		attachments.Plugin(attachments.Config{Dir: store, Limits: limits}))
	return w, store
}

func (w *world) viewer(id, model string) *tool.Agent {
	a := w.agent(id)
	a.Provider, a.Model = "p", model
	return a
}

func pngOf(t *testing.T, width, height int, seed uint8) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = uint8(i)*7 ^ seed | 0x80
	}
	for y := range height {
		img.SetNRGBA(0, y, color.NRGBA{seed, seed, 1, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The gates are passed in a fixed order, and all but the last come before the
// file is touched.
func TestImageGates(t *testing.T) {
	w, _ := newGallery(t, attachment.Limits{MaxImageBytes: 4096, MediaTypes: []attachment.MediaType{attachment.PNG, attachment.JPEG}})
	w.put("a.png", string(pngOf(t, 8, 8, 1)))
	w.put("lie.jpg", string(pngOf(t, 8, 8, 1)))
	w.put("big.png", strings.Repeat("x", 5000))
	if err := os.Mkdir(filepath.Join(w.dir, "d.png"), 0o755); err != nil {
		t.Fatal(err)
	}
	sees := w.viewer("s1", "sees")
	logged := w.viewer("s2", "sees")
	header := session.RequestHeader{Header: session.RequestHead{
		Config: session.RequestConfig{Provider: "p", Model: "blind"}, System: json.RawMessage(`""`), Tools: json.RawMessage(`[]`),
	}, Reason: "initial"}
	if _, err := logged.Session.Append(header.Event()); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		agent      *tool.Agent
		code, text string
	}{
		{"blank path", " ", w.viewer("b", "blind"), "INVALID_ARGS", "file_path must be a non-empty string"},
		{"extension before route", "gone.txt", w.viewer("b", "blind"), "UNSUPPORTED_IMAGE_TYPE", `cannot read "gone.txt": read_image only accepts PNG/JPEG/WebP/GIF paths`},
		{"a dot begins no extension", "d/.png", w.viewer("b", "blind"), "UNSUPPORTED_IMAGE_TYPE", `cannot read "d/.png": read_image only accepts PNG/JPEG/WebP/GIF paths`},
		{"accepted types before route", "gone.GIF", w.viewer("b", "blind"), "UNSUPPORTED_IMAGE_TYPE",
			`cannot read "gone.GIF": images of type image/gif are not accepted here; convert it to image/png or image/jpeg`},
		{"route before file", "gone.png", w.viewer("b", "blind"), "MODEL_NO_IMAGE_INPUT",
			`cannot read "gone.png" as an image: model "blind" does not declare image input; switch to an image-capable model to read images`},
		{"nothing declared", "a.png", w.viewer("u", "unknown"), "MODEL_NO_IMAGE_INPUT",
			`cannot read "a.png" as an image: model "unknown" does not declare image input; switch to an image-capable model to read images`},
		{"the session's latest request counts first", "a.png", logged, "MODEL_NO_IMAGE_INPUT",
			`cannot read "a.png" as an image: model "blind" does not declare image input; switch to an image-capable model to read images`},
		{"no agent, no route", "a.png", nil, "MODEL_NO_IMAGE_INPUT", `cannot read "a.png" as an image: the call belongs to no model; set the agent's provider and model`},
		{"missing", "gone.png", sees, "FS_NOT_FOUND", `cannot read "{}/gone.png": not found`},
		{"directory", "d.png", sees, "FS_NOT_REGULAR_FILE", `cannot read "{}/d.png": not a regular file`},
		{"too many bytes", "big.png", sees, "FS_TOO_LARGE", ""},
		{"another format", "lie.jpg", sees, "IMAGE_TYPE_MISMATCH", `cannot read "{}/lie.jpg": the .jpg extension declares image/jpeg, but the bytes use a different image format; ` +
			`rename the file to match its actual format if it is PNG/JPEG/WebP/GIF, or convert it to one of those formats`},
		{"good", "a.png", sees, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := w.call(test.agent, "read_image", args{"file_path": test.path})
			want := strings.ReplaceAll("Error: "+test.text, "{}", w.dir)
			if codeOf(r.Error) != test.code || test.text != "" && r.Text() != want {
				t.Errorf("%s\ngot  %s\nwant %s", codeOf(r.Error), r.Text(), want)
			}
		})
	}
}

func TestImageResult(t *testing.T) {
	w, _ := newGallery(t, attachment.Limits{NormalizedImageMaxDimension: 50})
	w.put("wide.png", string(pngOf(t, 200, 40, 1)))
	r := w.call(w.viewer("s", "sees"), "read_image", args{"file_path": "wide.png"})
	var v struct{ Image attachment.Ref }
	if err := decodeValue(r, &v); err != nil {
		t.Fatal(err, r.Text())
	}
	want := fmt.Sprintf("<path>%s/wide.png</path>\n<type>image</type>\n<content>\n%s image, 50x10 px, %d bytes\n"+
		"Scaled down from 200x40 px; multiply coordinates by 4.00 to get those of the original image.\n</content>", w.dir, v.Image.MediaType, v.Image.Bytes)
	if len(r.Content) != 2 || r.Content[0].Text != want || r.Content[1].Type != llm.ImageBlock || r.Content[1].Attachment.ID != v.Image.ID {
		t.Errorf("content %+v\nwant text %q and the image", r.Content, want)
	}
}

// A read_image observes the file as read does: it may be overwritten then, and
// a missing one created.
func TestImageIsObserved(t *testing.T) {
	w, _ := newGallery(t, attachment.Limits{})
	w.put("a.png", string(pngOf(t, 8, 8, 1)))
	a := w.viewer("s", "sees")
	for _, name := range []string{"a.png", "new.png"} {
		w.call(a, "read_image", args{"file_path": name})
		if r := w.call(a, "write", args{"file_path": name, "content": "text"}); r.IsError {
			t.Error(r.Text())
		}
	}
}

// A hundred concurrent calls on twenty files leave twenty objects and nothing
// else.
func TestManyImagesAtOnce(t *testing.T) {
	w, store := newGallery(t, attachment.Limits{NormalizedImageMaxDimension: 64})
	const files, calls = 20, 100
	for i := range files {
		w.put(fmt.Sprintf("%d.png", i), string(pngOf(t, 100+i, 80, uint8(i))))
	}
	a := w.viewer("s", "sees")
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			if r := w.call(a, "read_image", args{"file_path": fmt.Sprintf("%d.png", i%files)}); r.IsError {
				t.Error(r.Text())
			}
		})
	}
	wg.Wait()
	attach, release, err := plug.ServiceOf[attachment.Store](w.Context()).Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	objects := 0
	for _, err := range attach.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		objects++
	}
	if objects != files {
		t.Errorf("%d objects for %d files", objects, files)
	}
	left := 0
	if err := filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left++
			if strings.Contains(path, "stag") || strings.Contains(path, "tmp-") {
				t.Errorf("left over: %s", path)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if left > files+2 {
		t.Errorf("%d files in the store for %d objects", left, files)
	}
}
