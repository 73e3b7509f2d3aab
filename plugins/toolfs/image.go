package toolfs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

type imageArgs struct {
	FilePath string `json:"file_path"`
}

type imageValue struct {
	Path  string         `json:"path"`
	Image attachment.Ref `json:"image"`
}

func (t *tools) readImage() tool.Definition {
	return tool.Tool[imageArgs, imageValue]{
		Name: "read_image",
		Description: "Look at a PNG, JPEG, WebP or GIF image file. Large images are scaled down before you see them, " +
			"so there is no need to make a smaller copy first.",
		Input:    object(pathProperty, "file_path"),
		Parallel: true,
		Run:      t.runReadImage,
		Render:   renderImage,
		CallCard: func(a imageArgs) tool.Card { return callCard(tool.GenericCard, "read_image", a.FilePath) },
	}.Definition()
}

// imagesAtOnce bounds the images that are in memory as they were read, however
// many calls run.
const imagesAtOnce = 8

// mediaTypes are the types that extensions declare.
var mediaTypes = map[string]attachment.MediaType{
	".png": attachment.PNG, ".jpg": attachment.JPEG, ".jpeg": attachment.JPEG, ".webp": attachment.WebP, ".gif": attachment.GIF,
}

// runReadImage passes its gates in a fixed order: arguments, extension, store,
// the types that the store admits, and the model's route, all before the file is
// touched.
func (t *tools) runReadImage(ctx context.Context, call *tool.Call, a imageArgs) (imageValue, error) {
	var none imageValue
	if err := checkPath(a.FilePath); err != nil {
		return none, err
	}
	ext := extension(a.FilePath)
	declared, known := mediaTypes[ext]
	if !known {
		return none, cannotRead(errs.UnsupportedImage, a.FilePath, "read_image only accepts PNG/JPEG/WebP/GIF paths")
	}
	store, release, err := t.Attachments.Acquire()
	if err != nil {
		return none, err
	}
	defer release()
	if limits := store.Limits(); !limits.Accepts(declared) {
		return none, cannotRead(errs.UnsupportedImage, a.FilePath, notAccepted(declared, limits))
	}
	if err := t.checkRoute(call, a.FilePath); err != nil {
		return none, err
	}
	return on(ctx, t, call, a.FilePath, func(fs vfs.FileSystem, target vfs.Target) (imageValue, error) {
		info, err := fs.Stat(ctx, target)
		switch {
		case err != nil:
			return none, err
		case !info.Exists():
			return none, t.missing(ctx, call, target)
		case info.Type != vfs.File:
			return none, cannotRead(errs.NotRegularFile, target.Path, "not a regular file")
		}
		select {
		case t.images <- struct{}{}:
			defer func() { <-t.images }()
		case <-ctx.Done():
			return none, ctx.Err()
		}
		limits := store.Limits()
		data, err := fs.ReadBytes(ctx, target, min(limits.MaxImageBytes, limits.MaxMessageImageBytes))
		if err != nil {
			return none, err
		}
		ref, err := store.SaveImage(ctx, attachment.Image{Data: data.Data, Declared: declared, Name: filepath.Base(target.Path)})
		if err != nil {
			return none, imageError(target.Path, ext, declared, err)
		}
		if err := vfs.Observed.Send(ctx, t.Bus, vfs.Observation{Target: target, Version: data.Version, Size: int64(len(data.Data)), Actor: call}); err != nil {
			return none, err
		}
		return imageValue{Path: vfs.DisplayName(target.Path), Image: ref}, nil
	})
}

// extension is the one of a path's last component, in lower case. A name that
// only begins with a dot, as ".png", has none.
func extension(path string) string {
	base := filepath.Base(path)
	ext := filepath.Ext(base)
	if ext == base {
		return ""
	}
	return strings.ToLower(ext)
}

// notAccepted says what a deployment takes instead of a type.
func notAccepted(declared attachment.MediaType, limits attachment.Limits) string {
	var names []string
	for _, mt := range limits.WithDefaults().MediaTypes {
		names = append(names, string(mt))
	}
	return fmt.Sprintf("images of type %s are not accepted here; convert it to %s", declared, strings.Join(names, " or "))
}

// checkRoute demands that the model which will see the result takes images:
// the one of the session's latest request, else the agent's own.
func (t *tools) checkRoute(call *tool.Call, path string) error {
	refuse := func(why string, cause error) error {
		return &errs.Error{Code: errs.ModelNoImages, Op: "read", Path: path, Err: cause,
			Message: fmt.Sprintf(`cannot read "%s" as an image: %s`, vfs.DisplayName(path), why)}
	}
	models, release, err := t.Models.Acquire()
	if err != nil {
		return refuse("no model service is mounted, so it is not known whether the model takes images", err)
	}
	defer release()
	provider, model := route(call)
	if model == "" {
		return refuse("the call belongs to no model; set the agent's provider and model", nil)
	}
	info, err := models.ResolveModelInfo(provider, model)
	if err != nil {
		return refuse(fmt.Sprintf("nothing is known of model %q: %v", model, err), err)
	}
	if !info.Accepts(llm.ImageInput) {
		return refuse(fmt.Sprintf("model %q does not declare image input; switch to an image-capable model to read images", model), nil)
	}
	return nil
}

func route(call *tool.Call) (provider, model string) {
	if s := call.Session(); s != nil {
		if h, ok := s.RequestHeader(); ok && h.Header.Config.Model != "" {
			return h.Header.Config.Provider, h.Header.Config.Model
		}
	}
	if call.Agent == nil {
		return "", ""
	}
	return call.Agent.Provider, call.Agent.Model
}

// imageError words what the store refused for a model that knows the path.
func imageError(path, ext string, declared attachment.MediaType, err error) error {
	var e *errs.Error
	if !errors.As(err, &e) {
		return err
	}
	why := err.Error()
	if e.Code == errs.ImageTypeMismatch {
		why = fmt.Sprintf("the %s extension declares %s, but the bytes use a different image format; rename the file to match its actual format if it is PNG/JPEG/WebP/GIF, or convert it to one of those formats",
			ext, declared)
	}
	return &errs.Error{Code: e.Code, Op: "read", Path: path, Err: err,
		Message: fmt.Sprintf(`cannot read "%s": %s`, vfs.DisplayName(path), why)}
}

func renderImage(_ imageArgs, v imageValue) (tool.Rendered, error) {
	img := v.Image
	text := fmt.Sprintf("%s image, %dx%d px, %d bytes", img.MediaType, img.Width, img.Height, img.Bytes)
	if o := img.OriginalDimensions; o != nil {
		text += "\n" + scaleAdvice(img, *o)
	}
	text = fmt.Sprintf("<path>%s</path>\n<type>image</type>\n<content>\n%s\n</content>", v.Path, text)
	return tool.Rendered{Content: []llm.Block{llm.Text(text), llm.Image(img)}}, nil
}

// scaleAdvice tells a model that measures in the picture how to get from what
// it sees to the file.
func scaleAdvice(img attachment.Ref, original attachment.Dimensions) string {
	x := float64(original.Width) / float64(img.Width)
	y := float64(original.Height) / float64(img.Height)
	by := fmt.Sprintf("%.2f", x)
	if fy := fmt.Sprintf("%.2f", y); fy != by {
		by = fmt.Sprintf("%s (x) and %s (y)", by, fy)
	}
	return fmt.Sprintf("Scaled down from %dx%d px; multiply coordinates by %s to get those of the original image.",
		original.Width, original.Height, by)
}
