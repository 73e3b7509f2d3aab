// Package picture turns the encoded bytes of a picture that came from outside
// into the bytes of one that is safe to keep and to send: upright, 8-bit sRGB,
// one frame, without metadata, bounded in size. It knows nothing of files,
// stores or tools.
//
// [Inspect] reads the headers alone. [Normalize] admits, decodes to the last row
// and encodes again, or gives the very bytes back where they are in order
// already. [Derive] makes a smaller copy of a normalized picture.
//
// Every result is a function of the input bytes and the limits alone: the
// arithmetic on samples is on integers, so all machines give the same bytes.
// Rows travel from a decoder through the resampler without the whole picture in
// memory, except where a format leaves no choice; what hostile input can make
// the package hold is bounded by four bytes for each pixel that the limits admit.
package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
)

// Kind is the way a picture's samples are stored.
type Kind int

const (
	Gray Kind = iota
	GrayAlpha
	RGB
	RGBA
	Palette
	CMYK
)

func (k Kind) String() string {
	return [...]string{"grey", "grey with alpha", "rgb", "rgb with alpha", "palette", "cmyk"}[k]
}

// Info is what the headers of a picture say.
type Info struct {
	MediaType attachment.MediaType
	// Width and Height are in pixels as stored, before orientation.
	Width, Height int
	// Depth is the number of bits of a sample, or of a palette index.
	Depth int
	Kind  Kind
	// Orientation is that of Exif, 1 to 8.
	Orientation int
	// Animated is set where there is more than one frame.
	Animated bool
	// Unclean says why the bytes cannot be kept as they are, or is "".
	Unclean string

	png  *pngFile
	webp *webpFile
	gif  *gifFile
	jpeg *jpegFile
}

// Upright returns the size after orientation is applied.
func (i *Info) Upright() attachment.Dimensions {
	if i.Orientation >= 5 {
		return attachment.Dimensions{Width: i.Height, Height: i.Width}
	}
	return attachment.Dimensions{Width: i.Width, Height: i.Height}
}

// unclean records the first reason against keeping the bytes.
func (i *Info) unclean(format string, args ...any) {
	if i.Unclean == "" {
		i.Unclean = fmt.Sprintf(format, args...)
	}
}

func invalid(format string, args ...any) error {
	return errs.New(errs.InvalidImage, fmt.Sprintf(format, args...))
}

// Sniff tells the format of data by its first bytes. Where it is none of the
// four that are read, name is that of another known format, or "".
func Sniff(data []byte) (mt attachment.MediaType, name string) {
	has := func(at int, s string) bool {
		return len(data) >= at+len(s) && string(data[at:at+len(s)]) == s
	}
	switch {
	case has(0, "\x89PNG\r\n\x1a\n"):
		return attachment.PNG, "PNG"
	case has(0, "\xff\xd8\xff"):
		return attachment.JPEG, "JPEG"
	case has(0, "RIFF") && has(8, "WEBP"):
		return attachment.WebP, "WebP"
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return attachment.GIF, "GIF"
	case has(0, "II*\x00"), has(0, "MM\x00*"):
		return "", "TIFF"
	case has(4, "ftypavif"), has(4, "ftypavis"):
		return "", "AVIF"
	case has(4, "ftyphei"), has(4, "ftyphev"), has(4, "ftypmif1"):
		return "", "HEIC"
	case has(0, "BM") && len(data) > 14:
		return "", "BMP"
	case has(0, "\x00\x00\x01\x00"):
		return "", "ICO"
	case has(0, "\xff\x0a"), has(0, "\x00\x00\x00\x0cJXL "):
		return "", "JPEG XL"
	case has(0, "\x00\x00\x00\x0cjP  "):
		return "", "JPEG 2000"
	case has(0, "8BPS"):
		return "", "PSD"
	case has(0, "%PDF-"):
		return "", "PDF"
	}
	head := strings.TrimLeft(string(data[:min(len(data), 256)]), "\ufeff \t\r\n")
	if strings.HasPrefix(head, "<svg") || strings.HasPrefix(head, "<?xml") && strings.Contains(head, "<svg") {
		return "", "SVG"
	}
	return "", ""
}

// Inspect reads the headers of a picture and walks its structure to the end. It
// decodes no pixel and allocates little whatever the headers claim.
//
// Errors: INVALID_IMAGE for what is damaged, cut off or no picture at all;
// UNSUPPORTED_IMAGE_TYPE for other formats.
func Inspect(data []byte) (*Info, error) {
	info, err := inspect(data)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// inspect is Inspect, and returns what it knows beside an error.
func inspect(data []byte) (*Info, error) {
	mt, name := Sniff(data)
	info := &Info{MediaType: mt, Orientation: 1, Depth: 8}
	if len(data) == 0 {
		return info, invalid("the image is empty")
	}
	var err error
	switch mt {
	case attachment.PNG:
		err = inspectPNG(data, info)
	case attachment.JPEG:
		err = inspectJPEG(data, info)
	case attachment.WebP:
		err = inspectWebP(data, info)
	case attachment.GIF:
		err = inspectGIF(data, info)
	default:
		if name == "" {
			return info, invalid("the content is not an image that is known")
		}
		return info, errs.New(errs.UnsupportedImage, name+" images are not supported; convert it to PNG, JPEG, WebP or GIF")
	}
	if err != nil {
		return info, err
	}
	if info.Width < 1 || info.Height < 1 {
		return info, invalid("the %s image has no pixels: %d x %d", name, info.Width, info.Height)
	}
	if info.Orientation != 1 {
		info.unclean("orientation %d has to be applied", info.Orientation)
	}
	return info, nil
}

// canonical returns the media type in the form of the constants.
func canonical(mt attachment.MediaType) attachment.MediaType {
	s, _, _ := strings.Cut(string(mt), ";")
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "image/jpg" || s == "image/pjpeg" {
		return attachment.JPEG
	}
	return attachment.MediaType(s)
}

// Admit inspects data and checks it against the declared type, "" for none, and
// the admission limits. No pixel is decoded.
//
// Errors: those of Inspect, and IMAGE_TOO_LARGE, UNSUPPORTED_IMAGE_TYPE for a
// type that limits do not name, IMAGE_TYPE_MISMATCH,
// IMAGE_DIMENSION_TOO_LARGE, IMAGE_TOO_MANY_PIXELS.
func Admit(data []byte, declared attachment.MediaType, limits attachment.Limits) (*Info, error) {
	limits = limits.WithDefaults()
	if int64(len(data)) > limits.MaxImageBytes {
		return nil, errs.New(errs.ImageTooLarge, fmt.Sprintf("the image has %d bytes, more than the limit of %d", len(data), limits.MaxImageBytes))
	}
	declared = canonical(declared)
	mt, _ := Sniff(data)
	for _, t := range []attachment.MediaType{declared, mt} {
		if t != "" && !slices.Contains(limits.MediaTypes, t) {
			return nil, errs.New(errs.UnsupportedImage, fmt.Sprintf("images of type %q are not accepted; %s", string(t), accepted(limits)))
		}
	}
	if mt != "" && declared != "" && mt != declared {
		return nil, errs.New(errs.ImageTypeMismatch, fmt.Sprintf("the image is declared as %s but its content is %s", declared, mt))
	}
	info, err := inspect(data)
	// What the header claims counts before what is wrong further on: more of the
	// file would not help a picture that is too large.
	if err := checkSize(info.Width, info.Height, limits); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return info, nil
}

// accepted says what types are.
func accepted(limits attachment.Limits) string {
	var names []string
	for _, mt := range limits.MediaTypes {
		names = append(names, string(mt))
	}
	return "this store takes " + strings.Join(names, ", ")
}

func checkSize(w, h int, limits attachment.Limits) error {
	if w > limits.MaxImageDimension || h > limits.MaxImageDimension {
		return errs.New(errs.ImageDimension, fmt.Sprintf("the image is %d x %d pixels; a side may have at most %d", w, h, limits.MaxImageDimension))
	}
	if int64(w)*int64(h) > limits.MaxImagePixels {
		return errs.New(errs.ImageTooManyPixels, fmt.Sprintf("the image has %d x %d pixels, more than the limit of %d", w, h, limits.MaxImagePixels))
	}
	return nil
}
