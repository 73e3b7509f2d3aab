package picture

import "encoding/binary"

// gifFile is the first frame of a GIF.
type gifFile struct {
	left, top, width, height int
	interlaced               bool
	palette                  []byte // red, green, blue
	transparent              int    // index, or -1
	litWidth                 int
	data                     []byte // sub-blocks
}

// inspectGIF reads the screen, the first frame, and the structure of the rest:
// block lengths alone, so a million frames cost nothing.
func inspectGIF(data []byte, info *Info) error {
	if len(data) < 13 {
		return errGIFCut
	}
	info.Kind = Palette
	info.Width = int(binary.LittleEndian.Uint16(data[6:]))
	info.Height = int(binary.LittleEndian.Uint16(data[8:]))
	global, pos, ok := gifColours(data, 13, data[10])
	if !ok {
		return errGIFCut
	}
	transparent := -1
	frames := 0
	for pos < len(data) {
		switch data[pos] {
		case 0x3b:
			pos = len(data)
		case 0x21:
			if pos+2 > len(data) {
				return errGIFCut
			}
			// A graphic control is of the frame behind it.
			if data[pos+1] == 0xf9 && pos+7 < len(data) && data[pos+2] == 4 {
				transparent = -1
				if data[pos+3]&1 != 0 {
					transparent = int(data[pos+6])
				}
			}
			end, ok := skipSubBlocks(data, pos+2)
			if !ok {
				return errGIFCut
			}
			pos = end
		case 0x2c:
			frames++
			// Only the first frame is looked at; the others are passed over.
			end, err := gifFrame(data, pos, frames == 1, global, transparent, info)
			if err != nil {
				return err
			}
			pos = end
			transparent = -1
		default:
			// Browsers stop at garbage after a frame; before one it is damage.
			if frames == 0 {
				return invalid("the GIF image has an unknown block %#x", data[pos])
			}
			pos = len(data)
		}
	}
	if frames == 0 {
		return invalid("the GIF image has no frame")
	}
	info.Animated = frames > 1
	info.unclean("GIF is not kept")
	return info.gif.measure(info)
}

var errGIFCut = invalid("the GIF image is cut off")

// measure fits the screen to the first frame, which must be one that can be
// decoded.
func (f *gifFile) measure(info *Info) error {
	// A few writers leave the screen at zero or smaller than the first frame, which
	// viewers then show whole.
	info.Width = max(info.Width, f.left+f.width)
	info.Height = max(info.Height, f.top+f.height)
	if f.palette == nil {
		return invalid("the GIF image has no colours")
	}
	if f.litWidth < 1 || f.litWidth > 8 {
		return invalid("the GIF image has a damaged code size")
	}
	return nil
}

// gifColours reads the colour table at pos, if flags say that there is one, and
// returns the position after it.
func gifColours(data []byte, pos int, flags byte) (table []byte, next int, ok bool) {
	if flags&0x80 == 0 {
		return nil, pos, true
	}
	next = pos + 3<<(flags&7+1)
	if next > len(data) {
		return nil, 0, false
	}
	return data[pos:next], next, true
}

// gifFrame reads the frame at pos, keeps it in info where it is the first, and
// returns the position after it.
func gifFrame(data []byte, pos int, first bool, palette []byte, transparent int, info *Info) (int, error) {
	if pos+10 > len(data) {
		return 0, errGIFCut
	}
	d := data[pos : pos+10]
	local, pos, ok := gifColours(data, pos+10, d[9])
	if !ok || pos >= len(data) {
		return 0, errGIFCut
	}
	if local != nil {
		palette = local
	}
	end, ok := skipSubBlocks(data, pos+1)
	if !ok {
		return 0, errGIFCut
	}
	if first {
		info.gif = &gifFile{
			left: int(binary.LittleEndian.Uint16(d[1:])), top: int(binary.LittleEndian.Uint16(d[3:])),
			width: int(binary.LittleEndian.Uint16(d[5:])), height: int(binary.LittleEndian.Uint16(d[7:])),
			interlaced: d[9]&0x40 != 0, palette: palette, transparent: transparent,
			litWidth: int(data[pos]), data: data[pos+1 : end],
		}
	}
	return end, nil
}

// skipSubBlocks passes over length-prefixed blocks up to the empty one.
func skipSubBlocks(data []byte, pos int) (int, bool) {
	for pos < len(data) {
		n := int(data[pos])
		pos += n + 1
		if n == 0 {
			return pos, true
		}
	}
	return pos, false
}
