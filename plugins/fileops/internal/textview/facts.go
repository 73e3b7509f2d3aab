package textview

import (
	"context"
	"io"
)

// Facts are what one pass over a file tells about all of it, with marks on
// the way from which later windows can be read. They hold as long as the
// content is the same, which is for the caller to know.
type Facts struct {
	t     totals
	marks []position
}

// maxMarks bounds the marks of a file: some 100 KB of memory, and for a file of
// 1 TiB a mark every 256 MiB.
const maxMarks = 4096

// spacing is the number of blocks from mark to mark in a file of a size.
func spacing(size int64) int64 {
	all := size / blockSize
	return max(1, (all+maxMarks-1)/maxMarks)
}

// A window knows where it begins and when it has seen enough.
type window interface {
	collector
	// beyond reports that everything the window wants lies behind p, even if
	// the reading begins there.
	beyond(p position) bool
	// enough reports that the window needs nothing of what follows p.
	enough(p position) bool
}

func (w *lineWindow) beyond(p position) bool { return p.lines < w.start-1 }
func (w *lineWindow) enough(position) bool   { return w.done }

func (w *byteWindow) beyond(p position) bool { return p.bytes <= max(0, w.offset-4) }
func (w *byteWindow) enough(p position) bool { return p.bytes >= w.offset+w.limit+4 }

func (w *charWindow) beyond(p position) bool { return p.chars <= w.offset }
func (w *charWindow) enough(position) bool   { return w.done }

func (*tailWindow) beyond(position) bool { return true }
func (*tailWindow) enough(position) bool { return true }

// window reads what w wants, from the last mark before it.
func (f *Facts) window(ctx context.Context, file io.ReaderAt, w window) error {
	var at position
	for _, m := range f.marks {
		if !w.beyond(m) {
			break
		}
		at = m
	}
	buf := make([]byte, min(blockSize, max(f.t.bytes-at.bytes, 1)))
	for more := true; more && !w.enough(at); {
		if err := ctx.Err(); err != nil {
			return err
		}
		var n int
		var err error
		if n, more, err = readBlock(file, buf, at.bytes, f.t.bytes); err != nil {
			return err
		}
		w.block(buf[:n], at)
		at = at.after(buf[:n])
	}
	if !w.enough(at) && at.bytes < f.t.bytes {
		return io.ErrUnexpectedEOF // it is not the file that the facts are about
	}
	return nil
}
