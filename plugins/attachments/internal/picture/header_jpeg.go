package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bridle-go/bridle/harness/errs"
)

type jpegFile struct {
	progressive bool
	profile     []byte

	pieces   map[byte][]byte // of the profile, by their numbers
	oriented bool            // by the first Exif segment
}

// inspectJPEG walks the segments, passing over entropy coded data, up to the
// end marker.
func inspectJPEG(data []byte, info *Info) error {
	f := &jpegFile{pieces: map[byte][]byte{}}
	info.jpeg = f
	pos := 2
	coded := false // what lies before the next marker is entropy coded
	for {
		marker, next := nextJPEGMarker(data, pos)
		if marker == 0 {
			return invalid("the JPEG image is cut off: it has no end marker")
		}
		if !coded && len(bytes.Trim(data[pos:next-1], "\xff")) > 0 {
			info.unclean("it has data between its segments")
		}
		pos = next
		if marker == 0xd9 {
			break
		}
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 {
			continue
		}
		if pos+2 > len(data) {
			return invalid("the JPEG image is cut off in a segment")
		}
		n := int(binary.BigEndian.Uint16(data[pos:]))
		if n < 2 || pos+n > len(data) {
			return invalid("the JPEG image is cut off in a segment")
		}
		seg := data[pos+2 : pos+n]
		pos += n
		coded = marker == 0xda
		if err := f.segment(marker, seg, info); err != nil {
			return err
		}
	}
	if pos != len(data) {
		info.unclean("%d bytes follow its end", len(data)-pos)
	}
	if info.Width == 0 {
		return invalid("the JPEG image has no frame header")
	}
	// A profile travels in numbered pieces (ICC.1:2022, B.4).
	for i := 1; i <= len(f.pieces); i++ {
		f.profile = append(f.profile, f.pieces[byte(i)]...)
	}
	return nil
}

// segment takes what one segment says.
func (f *jpegFile) segment(marker byte, seg []byte, info *Info) error {
	switch {
	case marker == 0xc0 || marker == 0xc1 || marker == 0xc2:
		return jpegFrame(marker, seg, info)
	case marker > 0xc2 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8:
		return errs.New(errs.UnsupportedImage, "the JPEG image uses lossless, hierarchical or arithmetic coding, which is not supported")
	case marker == 0xe0 && bytes.HasPrefix(seg, []byte("JFIF\x00")):
		if len(seg) > 14 {
			info.unclean("it has a thumbnail")
		}
	case marker == 0xe1 && bytes.HasPrefix(seg, []byte("Exif\x00\x00")):
		if !f.oriented {
			info.Orientation = exifOrientation(seg)
		}
		f.oriented = true
		info.unclean("it has metadata")
	case marker == 0xe2 && bytes.HasPrefix(seg, []byte("ICC_PROFILE\x00")) && len(seg) >= 14:
		f.pieces[seg[12]] = seg[14:]
		info.unclean("it has a colour profile")
	case marker == 0xee && bytes.HasPrefix(seg, []byte("Adobe")):
	case marker >= 0xe0 && marker <= 0xef, marker == 0xfe:
		info.unclean("it has metadata")
	}
	return nil
}

func jpegFrame(marker byte, seg []byte, info *Info) error {
	if info.Width != 0 {
		return invalid("the JPEG image has two frame headers")
	}
	if len(seg) < 6 {
		return invalid("the JPEG image has a damaged frame header")
	}
	info.Depth = int(seg[0])
	info.Height = int(binary.BigEndian.Uint16(seg[1:]))
	info.Width = int(binary.BigEndian.Uint16(seg[3:]))
	if info.Width == 0 || info.Height == 0 {
		return invalid("the JPEG image has no pixels: %d x %d", info.Width, info.Height)
	}
	info.jpeg.progressive = marker == 0xc2
	if info.Depth != 8 {
		return errs.New(errs.UnsupportedImage, fmt.Sprintf("the JPEG image has %d bits a sample, which is not supported", info.Depth))
	}
	switch seg[5] {
	case 1:
		info.Kind = Gray
	case 3:
		info.Kind = RGB
	case 4:
		info.Kind = CMYK
		info.unclean("it is CMYK")
	default:
		return invalid("the JPEG image has %d components", seg[5])
	}
	return nil
}

// nextJPEGMarker finds the next marker at or after pos and returns it with the
// position after it, or 0.
func nextJPEGMarker(data []byte, pos int) (byte, int) {
	for pos < len(data) {
		i := bytes.IndexByte(data[pos:], 0xff)
		if i < 0 {
			return 0, len(data)
		}
		pos += i + 1
		for pos < len(data) && data[pos] == 0xff {
			pos++
		}
		if pos < len(data) && data[pos] != 0 {
			return data[pos], pos + 1
		}
		pos++
	}
	return 0, len(data)
}
