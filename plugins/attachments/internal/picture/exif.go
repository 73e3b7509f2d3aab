package picture

import "encoding/binary"

// exifOrientation reads the orientation tag (0x0112) of the first directory of
// an Exif block, which is a TIFF header and its directories, with or without the
// "Exif\0\0" before it. It returns 1, upright, for everything else: a broken
// block is no reason to refuse the picture.
func exifOrientation(b []byte) int {
	if len(b) >= 6 && string(b[:6]) == "Exif\x00\x00" {
		b = b[6:]
	}
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder
	switch string(b[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 1
	}
	n := int(order.Uint16(b[at:]))
	for i := range n {
		e := at + 2 + 12*int64(i)
		if e+12 > int64(len(b)) {
			return 1
		}
		if order.Uint16(b[e:]) != 0x0112 {
			continue
		}
		v := 0
		switch order.Uint16(b[e+2:]) {
		case 3: // SHORT
			v = int(order.Uint16(b[e+8:]))
		case 4: // LONG, which a few writers use
			v = int(min(order.Uint32(b[e+8:]), 9))
		}
		if v >= 1 && v <= 8 {
			return v
		}
		return 1
	}
	return 1
}
