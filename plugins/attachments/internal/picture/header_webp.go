package picture

import "encoding/binary"

// webpFile is the first frame of a WebP and where it lies on the canvas.
type webpFile struct {
	left, top, width, height int
	alpha                    []byte // ALPH chunk, or nil
	lossy                    []byte // VP8 chunk
	lossless                 []byte // VP8L chunk
	profile                  []byte

	extended bool // it has a header with the size of the canvas
	frames   int
}

// chunk reads a RIFF chunk at pos and returns the position after it.
func chunk(data []byte, pos int) (id string, body []byte, next int, ok bool) {
	if pos+8 > len(data) {
		return "", nil, 0, false
	}
	n := int64(binary.LittleEndian.Uint32(data[pos+4:]))
	end := int64(pos) + 8 + n
	if end > int64(len(data)) {
		return "", nil, 0, false
	}
	next = int(min(end+n&1, int64(len(data))))
	return string(data[pos : pos+4]), data[pos+8 : end], next, true
}

func le24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// inspectWebP walks the container as RFC 9649 describes it.
func inspectWebP(data []byte, info *Info) error {
	size := int64(binary.LittleEndian.Uint32(data[4:])) + 8
	if size > int64(len(data)) {
		return invalid("the WebP image is cut off: %d of %d bytes", len(data), size)
	}
	if rest := int64(len(data)) - size; rest > 0 {
		info.unclean("%d bytes follow its end", rest)
	}
	data = data[:size]
	f := &webpFile{}
	info.webp = f
	for pos := 12; pos < len(data); {
		id, body, next, ok := chunk(data, pos)
		if !ok {
			return invalid("the WebP image is cut off in a chunk")
		}
		if err := f.chunk(id, body, info); err != nil {
			return err
		}
		pos = next
	}
	if f.lossy == nil && f.lossless == nil {
		return invalid("the WebP image has no picture")
	}
	return f.measure(info)
}

// chunk takes what a chunk outside of the frames says.
func (f *webpFile) chunk(id string, body []byte, info *Info) error {
	switch id {
	case "VP8X":
		if f.extended || f.frames > 0 || len(body) < 10 {
			return invalid("the WebP image has a damaged header")
		}
		f.extended = true
		info.Width, info.Height = le24(body[4:])+1, le24(body[7:])+1
		if body[0]&0x02 != 0 {
			info.unclean("it is animated")
		}
	case "ICCP":
		f.profile = body
		info.unclean("it has a colour profile")
	case "EXIF":
		info.Orientation = exifOrientation(body)
		info.unclean("it has metadata")
	case "ANIM":
		info.unclean("it is animated")
	case "ANMF":
		if f.frames++; f.frames > 1 {
			return nil
		}
		if len(body) < 16 {
			return invalid("the WebP image has a damaged frame")
		}
		f.left, f.top = 2*le24(body), 2*le24(body[3:])
		f.width, f.height = le24(body[6:])+1, le24(body[9:])+1
		info.unclean("it is animated")
		return webpFrame(body[16:], f)
	case "ALPH", "VP8 ", "VP8L":
		if id != "ALPH" {
			f.frames++
		}
		if f.lossy != nil || f.lossless != nil {
			return invalid("the WebP image has two pictures")
		}
		f.set(id, body)
	default:
		info.unclean("it has metadata")
	}
	return nil
}

// measure sets the size and kind of the image, where canvas, frame and picture
// agree about them.
func (f *webpFile) measure(info *Info) error {
	w, h, alpha, err := f.size()
	if err != nil {
		return err
	}
	if f.width == 0 {
		f.width, f.height = w, h
	}
	if w != f.width || h != f.height {
		return invalid("the WebP image's frame is %d x %d but its picture %d x %d", f.width, f.height, w, h)
	}
	if !f.extended {
		info.Width, info.Height = w, h
	}
	if f.left+w > info.Width || f.top+h > info.Height {
		return invalid("the WebP image's frame lies outside its canvas")
	}
	if f.extended && !info.Animated && f.frames == 1 && info.Unclean == "" && (w != info.Width || h != info.Height) {
		return invalid("the WebP image is %d x %d but its picture %d x %d", info.Width, info.Height, w, h)
	}
	info.Animated = f.frames > 1
	info.Kind = RGB
	if alpha {
		info.Kind = RGBA
	}
	return nil
}

func (f *webpFile) set(id string, body []byte) {
	switch id {
	case "ALPH":
		f.alpha = body
	case "VP8 ":
		f.lossy = body
	case "VP8L":
		f.lossless = body
	}
}

// webpFrame reads the chunks inside an animation frame.
func webpFrame(data []byte, f *webpFile) error {
	for pos := 0; pos < len(data); {
		id, body, next, ok := chunk(data, pos)
		if !ok {
			return invalid("the WebP image is cut off in a frame")
		}
		pos = next
		f.set(id, body)
	}
	return nil
}

// size reads the picture's own header.
func (f *webpFile) size() (w, h int, alpha bool, err error) {
	if f.lossless != nil {
		b := f.lossless
		if len(b) < 5 || b[0] != 0x2f {
			return 0, 0, false, invalid("the WebP image has a damaged lossless header")
		}
		v := binary.LittleEndian.Uint32(b[1:])
		return int(v&0x3fff) + 1, int(v>>14&0x3fff) + 1, v>>28&1 != 0, nil
	}
	b := f.lossy
	if len(b) < 10 || b[0]&1 != 0 || string(b[3:6]) != "\x9d\x01\x2a" {
		return 0, 0, false, invalid("the WebP image has a damaged lossy header")
	}
	w = int(binary.LittleEndian.Uint16(b[6:]) & 0x3fff)
	h = int(binary.LittleEndian.Uint16(b[8:]) & 0x3fff)
	if w == 0 || h == 0 {
		return 0, 0, false, invalid("the WebP image has no pixels: %d x %d", w, h)
	}
	return w, h, f.alpha != nil, nil
}
