package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// pngFile is what the chunks of a PNG say (PNG specification, third edition).
type pngFile struct {
	colorType  int
	interlaced bool
	palette    []byte
	trns       []byte
	idat       [][]byte
	profiled   bool
	profile    []byte // nil where it cannot be read
	cicp       []byte
	srgb       bool
	gamma      uint32   // times 100000, 0 for none
	chrm       []uint32 // white, red, green, blue; x and y times 100000
}

// maxProfile bounds an embedded colour profile once it is decompressed: display
// profiles have a few kilobytes, those full of tables rarely a megabyte.
const maxProfile = 4 << 20

// pngKinds are the colour types with the depths that each allows.
var pngKinds = map[int]struct {
	kind   Kind
	depths []int
}{
	0: {Gray, []int{1, 2, 4, 8, 16}},
	2: {RGB, []int{8, 16}},
	3: {Palette, []int{1, 2, 4, 8}},
	4: {GrayAlpha, []int{8, 16}},
	6: {RGBA, []int{8, 16}},
}

// inspectPNG walks all chunks and checks their sums.
func inspectPNG(data []byte, info *Info) error {
	f := &pngFile{}
	info.png = f
	pos, first := 8, true
	for {
		if pos+12 > len(data) {
			return invalid("the PNG image is cut off")
		}
		n := int64(binary.BigEndian.Uint32(data[pos:]))
		end := int64(pos) + 12 + n
		if end > int64(len(data)) {
			return invalid("the PNG image is cut off")
		}
		id, body := string(data[pos+4:pos+8]), data[pos+8:end-4]
		if crc32.ChecksumIEEE(data[pos+4:end-4]) != binary.BigEndian.Uint32(data[end-4:]) {
			return invalid("the PNG image is damaged: the checksum of its %q chunk is wrong", id)
		}
		pos = int(end)
		if first != (id == "IHDR") {
			return invalid("the PNG image does not begin with its header")
		}
		first = false
		if id == "IEND" {
			break
		}
		if err := f.chunk(id, body, info); err != nil {
			return err
		}
	}
	if pos != len(data) {
		info.unclean("%d bytes follow its end", len(data)-pos)
	}
	if f.idat == nil {
		return invalid("the PNG image has no pixels")
	}
	if f.colorType == 3 && f.palette == nil {
		return invalid("the PNG image has no palette")
	}
	if info.Depth == 16 {
		info.unclean("it has 16 bits a sample")
	}
	if f.cicp == nil && f.profile == nil && !f.srgb && !f.plainColours() {
		info.unclean("its colours are not sRGB")
	}
	return nil
}

// chunk takes what one chunk says.
func (f *pngFile) chunk(id string, body []byte, info *Info) error {
	switch id {
	case "IHDR":
		return f.header(body, info)
	case "PLTE":
		if f.palette != nil || len(body) == 0 || len(body)%3 != 0 || len(body) > 768 || f.idat != nil {
			return invalid("the PNG image has a damaged palette")
		}
		f.palette = body
	case "tRNS":
		f.trns = body
	case "IDAT":
		f.idat = append(f.idat, body)
	case "sRGB":
		f.srgb = true
	case "gAMA":
		if len(body) == 4 {
			f.gamma = binary.BigEndian.Uint32(body)
		}
	case "cHRM":
		if len(body) == 32 {
			for i := range 8 {
				f.chrm = append(f.chrm, binary.BigEndian.Uint32(body[4*i:]))
			}
		}
	case "cICP":
		if len(body) == 4 {
			f.cicp = body
			if body[0] != 1 || body[1] != 13 {
				info.unclean("it has a colour profile")
			}
		}
	case "iCCP":
		// The first counts, so that many cost no more than one.
		if !f.profiled {
			f.profiled = true
			f.profile = inflateProfile(body)
		}
		info.unclean("it has a colour profile")
	case "eXIf":
		info.Orientation = exifOrientation(body)
		info.unclean("it has metadata")
	case "acTL":
		info.Animated = len(body) >= 4 && binary.BigEndian.Uint32(body) > 1
		info.unclean("it is animated")
	case "pHYs", "sBIT", "bKGD", "hIST":
		// Properties of the picture that say nothing of who made it.
	default:
		if id[0]&0x20 == 0 {
			return invalid("the PNG image has an unknown critical chunk %q", id)
		}
		info.unclean("it has metadata")
	}
	return nil
}

// header takes the IHDR chunk.
func (f *pngFile) header(body []byte, info *Info) error {
	if len(body) != 13 {
		return invalid("the PNG image has a damaged header")
	}
	w, h := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
	if w == 0 || h == 0 || w > 1<<31-1 || h > 1<<31-1 {
		return invalid("the PNG image has no valid size: %d x %d", w, h)
	}
	info.Width, info.Height = int(w), int(h)
	info.Depth = int(body[8])
	f.colorType = int(body[9])
	k, ok := pngKinds[f.colorType]
	depthOK := false
	for _, d := range k.depths {
		depthOK = depthOK || d == info.Depth
	}
	if !ok || !depthOK || body[10] != 0 || body[11] != 0 || body[12] > 1 {
		return invalid("the PNG image has a damaged header")
	}
	info.Kind = k.kind
	f.interlaced = body[12] == 1
	return nil
}

// inflateProfile reads the body of an iCCP chunk: a name, a compression method
// and the compressed profile. What cannot be read is no profile.
func inflateProfile(body []byte) []byte {
	i := bytes.IndexByte(body, 0)
	if i < 0 || i+2 > len(body) || body[i+1] != 0 {
		return nil
	}
	z, err := zlib.NewReader(bytes.NewReader(body[i+2:]))
	if err != nil {
		return nil
	}
	p, err := io.ReadAll(io.LimitReader(z, maxProfile+1))
	if err != nil || len(p) > maxProfile {
		return nil
	}
	return p
}

// plainColours tells whether gAMA and cHRM describe sRGB near enough, or are
// absent.
func (f *pngFile) plainColours() bool {
	if f.gamma != 0 && (f.gamma < 43000 || f.gamma > 48000) {
		return false
	}
	for i, want := range []uint32{31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000} {
		if f.chrm == nil {
			break
		}
		if d := int64(f.chrm[i]) - int64(want); d > 600 || d < -600 {
			return false
		}
	}
	return true
}
