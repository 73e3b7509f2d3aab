package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the stored formats, for the pictures on the terminal
	_ "image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	_ "golang.org/x/image/webp"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/attachments"
)

// codeImages reports images that were refused.
const codeImages = "IMAGES_REFUSED"

// codeExists reports files that are not replaced unasked.
const codeExists = "ALREADY_EXISTS"

// imageWorkers is how many images are worked on at once, as in a store.
const imageWorkers = 2

// imageFlags are those of image.
type imageFlags struct {
	json bool
	show bool
	out  string
	// force replaces files of out.
	force bool
}

func (a *app) imageCommand() *cobra.Command {
	var f imageFlags
	cmd := &cobra.Command{
		Use:   "image FILE...",
		Short: "Show what an image store makes of images",
		Long: `image does with each file what the image store does before it keeps it, and
shows what came in and what would be stored: type, size, dimensions, and whether
the bytes are kept as they are, or why not. Nothing is kept, unless --out names
a directory for the results.

PNG, JPEG, WebP and GIF are admitted, by their content, up to 20 MiB, 64
megapixels and 8192 pixels a side. What is stored is upright, 8-bit sRGB, one
frame, without metadata, at most 2048 pixels long and 4 MiB.

A terminal that speaks the kitty or iTerm2 protocol shows the picture, too. Any
other in true colour does so with --show, in half blocks; --show=false leaves
it out.`,
		Example: `  demo image photo.jpg
  demo image ~/Pictures/*.jpg
  demo image scan.png --show
  demo image *.webp --json | jq 'select(.passthrough | not) | .reason'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("give at least one FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.force && f.out == "" {
				return usage("--force needs --out DIR")
			}
			how := term.NoGraphics
			if asked := cmd.Flags().Changed("show"); !f.json && (f.show || !asked) {
				how = a.out.DetectGraphics(a.getenv, f.show)
			}
			if f.show && !f.json && how == term.NoGraphics {
				fmt.Fprintln(a.errors, "no picture can be shown here: that takes a terminal in true colour, or one with the kitty or iTerm2 protocol")
			}
			return a.images(cmd.Context(), args, f, how)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object a file")
	cmd.Flags().BoolVar(&f.show, "show", false, "show the pictures, in half blocks where the terminal has nothing better")
	cmd.Flags().StringVar(&f.out, "out", "", "write what would be stored to files in `DIR`, which is made")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace files that are in the directory of --out already")
	return cmd
}

// imageResult is what came of one file.
type imageResult struct {
	file  string
	bytes int64
	took  time.Duration
	attachments.Normalized
	err error
}

// images works on all files and tells of each in order.
func (a *app) images(ctx context.Context, files []string, f imageFlags, how term.Graphics) error {
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o777); err != nil {
			return fileFailure(err)
		}
	}
	results := make([]chan imageResult, len(files))
	for i := range results {
		results[i] = make(chan imageResult, 1)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, imageWorkers)
	go func() {
		for i, name := range files {
			slots <- struct{}{} // freed when the result has been told, which bounds what waits
			go func() { results[i] <- normalizeFile(ctx, name) }()
		}
	}()
	progress := term.NewProgress(a.errors, len(files))
	refused, there := 0, 0
	written := map[string]bool{}
	var failure error
	for i, name := range files {
		progress.Show(i, name)
		r := <-results[i]
		<-slots
		if failure != nil || ctx.Err() != nil {
			continue
		}
		progress.Hide()
		if r.err == nil && f.out != "" {
			r.err = saveImage(f, r, written)
		}
		switch {
		case errs.CodeOf(r.err) == codeExists:
			there++
		case r.err != nil:
			refused++
		}
		if failure = a.imageResult(r, f, how); failure != nil {
			cancel()
		}
	}
	progress.Hide()
	switch {
	case failure != nil:
		return failure
	case ctx.Err() != nil:
		return ctx.Err()
	case refused > 0:
		return failed(codeImages, "%d of %d images were refused; the lines above say why", refused, len(files))
	case there > 0:
		return failed(codeExists, "%d of %d results were not written, since a file of that name is already there; give --force to replace it, or another directory", there, len(files))
	}
	return nil
}

// normalizeFile reads a file and does the work.
func normalizeFile(ctx context.Context, name string) imageResult {
	r := imageResult{file: name}
	data, err := readImage(ctx, name)
	if err != nil {
		r.err = err
		return r
	}
	r.bytes = int64(len(data))
	began := time.Now()
	r.Normalized, r.err = attachments.Normalize(ctx, attachment.Image{Data: data, Name: filepath.Base(name)}, attachment.Limits{})
	r.took = time.Since(began)
	return r
}

func readImage(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, codedFile(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errs.New(errs.NotRegularFile, "it is no regular file")
	}
	most := attachment.Limits{}.WithDefaults().MaxImageBytes
	if info.Size() > most {
		return nil, errs.New(errs.ImageTooLarge, fmt.Sprintf("the file has %d bytes, more than the limit of %d", info.Size(), most))
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, codedFile(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, codedFile(err)
	}
	return data, nil
}

// codedFile gives an error of the file system its code.
func codedFile(err error) error {
	code := errs.IO
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = errs.NotFound
	case errors.Is(err, fs.ErrPermission):
		code = errs.Permission
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return errs.New(code, err.Error())
}

// extensions are those of the stored formats.
var extensions = map[attachment.MediaType]string{attachment.PNG: ".png", attachment.JPEG: ".jpg", attachment.WebP: ".webp"}

// saveImage writes what would be stored beside others, under the file's name.
// What is there already is replaced when that was asked for, but never the
// result of another file of the same command.
func saveImage(f imageFlags, r imageResult, written map[string]bool) error {
	base := filepath.Base(r.file)
	name := filepath.Join(f.out, strings.TrimSuffix(base, filepath.Ext(base))+extensions[r.Ref.MediaType])
	if written[name] {
		return errs.New(codeExists, name+" is already there, from another FILE; give them another directory each")
	}
	at := name
	if f.force {
		at = filepath.Join(f.out, ".bridle-"+filepath.Base(name))
	}
	file, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) && !f.force {
		return errs.New(codeExists, name+" is already there; give --force to replace it, or another directory")
	}
	if err != nil {
		return codedFile(err)
	}
	_, err = file.Write(r.Data)
	err = errors.Join(err, file.Close())
	if err == nil && f.force {
		err = os.Rename(at, name)
	}
	if err != nil {
		os.Remove(at)
		return codedFile(err)
	}
	written[name] = true
	return nil
}

// imageLine is the JSON form of a result. All keys are always there; what a
// refused image has not is null.
type imageLine struct {
	File        string          `json:"file"`
	Error       *imageError     `json:"error"`
	Source      *imageSource    `json:"source"`
	Stored      *attachment.Ref `json:"stored"`
	Passthrough bool            `json:"passthrough"`
	Reason      string          `json:"reason"` // why not
	Millis      int64           `json:"ms"`
}

type imageError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type imageSource struct {
	MediaType   attachment.MediaType `json:"mediaType"`
	Bytes       int64                `json:"bytes"`
	Width       int                  `json:"width"`
	Height      int                  `json:"height"`
	Samples     string               `json:"samples"`
	Depth       int                  `json:"depth"`
	Orientation int                  `json:"orientation"`
	Animated    bool                 `json:"animated"`
}

func (a *app) imageResult(r imageResult, f imageFlags, how term.Graphics) error {
	if f.json {
		line := imageLine{File: r.file, Passthrough: r.Passthrough, Reason: r.Reason, Millis: r.took.Milliseconds()}
		if r.err != nil {
			line.Error = &imageError{string(errs.CodeOf(r.err)), r.err.Error()}
		} else {
			s := r.Source
			line.Source = &imageSource{s.MediaType, r.bytes, s.Width, s.Height, s.Samples, s.Depth, s.Orientation, s.Animated}
			line.Stored = &r.Ref
		}
		data, err := encode(line)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s\n", data)
		return nil
	}
	if r.err != nil {
		fmt.Fprintf(a.out, "%s  %s %s\n", a.out.Paint(term.Bold, term.Line(r.file)),
			a.out.Paint(term.Red, string(errs.CodeOf(r.err))), term.Line(r.err.Error()))
		return nil
	}
	s := r.Source
	extra := fmt.Sprintf(", %s, %d bits", s.Samples, s.Depth)
	if s.Orientation > 1 {
		extra += fmt.Sprintf(", orientation %d", s.Orientation)
	}
	if s.Animated {
		extra += ", animated"
	}
	became := "kept as it is"
	if !r.Passthrough {
		became = "because " + r.Reason
	}
	fmt.Fprintf(a.out, "%s\n", a.out.Paint(term.Bold, term.Line(r.file)))
	fmt.Fprintf(a.out, "  in      %s%s\n", picture(s.MediaType, s.Width, s.Height, r.bytes), a.out.Paint(term.Dim, extra))
	fmt.Fprintf(a.out, "  stored  %s%s\n", picture(r.Ref.MediaType, r.Ref.Width, r.Ref.Height, r.Ref.Bytes),
		a.out.Paint(term.Dim, fmt.Sprintf(", %s, in %v", became, r.took.Round(time.Millisecond))))
	if how == term.NoGraphics {
		return nil
	}
	m, _, err := image.Decode(bytes.NewReader(r.Data))
	if err != nil {
		return nil // the facts were told; the picture is an extra
	}
	return a.out.Picture(m, how)
}

func picture(mt attachment.MediaType, w, h int, size int64) string {
	return fmt.Sprintf("%-10s  %d × %d  %s", mt, w, h, byteSize(size))
}
