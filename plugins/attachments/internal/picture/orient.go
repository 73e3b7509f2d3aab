package picture

// orient applies an Exif orientation: it returns the picture as it is meant to be
// seen. Orientations 5 to 8 swap the sides.
func orient(m *raster, orientation int) *raster {
	if orientation <= 1 || orientation > 8 {
		return m
	}
	w, h := m.w, m.h
	if orientation >= 5 {
		w, h = h, w
	}
	out := newRaster(w, h)
	for y := range h {
		row := out.row(y)
		for x := range w {
			// Where the pixel shown at (x, y) is stored (Exif 2.32, table 6).
			var sx, sy int
			switch orientation {
			case 2: // mirrored
				sx, sy = w-1-x, y
			case 3: // upside down
				sx, sy = w-1-x, h-1-y
			case 4: // mirrored upside down
				sx, sy = x, h-1-y
			case 5: // transposed
				sx, sy = y, x
			case 6: // to be turned right
				sx, sy = y, w-1-x
			case 7: // transposed across the other diagonal
				sx, sy = h-1-y, w-1-x
			case 8: // to be turned left
				sx, sy = h-1-y, x
			}
			copy(row[4*x:4*x+4], m.pix[4*(sy*m.w+sx):])
		}
	}
	return out
}
