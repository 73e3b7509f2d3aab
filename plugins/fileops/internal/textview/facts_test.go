package textview

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counting counts the bytes that are read through it.
type counting struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.n.Add(int64(n))
	return n, err
}

// TestReadAgain proves that a window read with the facts of an earlier pass is
// the window of a whole pass, at random places in text whose characters lie
// across the marks, and that it costs the reading of some blocks alone.
func TestReadAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	blocks, n := 6, 40
	if testing.Short() {
		blocks, n = 3, 12
	}
	var b strings.Builder
	for b.Len() < blocks*blockSize+12345 {
		switch r.IntN(40) {
		case 0:
			b.WriteString(strings.Repeat("長い行", r.IntN(3000)))
		case 1:
			b.WriteString("\r\n\n")
		}
		b.WriteString("aé漢😀"[:[]int{1, 3, 6, 10}[r.IntN(4)]])
		if r.IntN(30) == 0 {
			b.WriteByte('\n')
		}
	}
	text := []byte(b.String())
	size := int64(len(text))
	first, facts, err := ReadAgain(t.Context(), bytes.NewReader(text), size, Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(facts.marks) < blocks {
		t.Fatalf("%d marks", len(facts.marks))
	}
	for range n {
		var req Request
		switch r.IntN(4) {
		case 0:
			req.StartLine = 1 + r.IntN(first.TotalLines+2)
			if r.IntN(2) == 0 {
				req.EndLine = req.StartLine + r.IntN(20)
			}
		case 1:
			req = Request{Mode: Byte, Offset: r.Int64N(size + 2), Limit: r.Int64N(2000)}
		case 2:
			req = Request{Mode: Char, Offset: r.Int64N(first.TotalChars + 2), Limit: r.Int64N(2000)}
		case 3:
			req.TailLines = 1 + r.IntN(20)
		}
		// Some begin just where a mark is.
		if m := facts.marks[r.IntN(len(facts.marks))]; r.IntN(3) == 0 {
			switch {
			case req.Mode == Byte:
				req.Offset = m.bytes + r.Int64N(9) - 4
			case req.Mode == Char:
				req.Offset = m.chars + r.Int64N(3) - 1
			case req.StartLine > 0:
				req.StartLine, req.EndLine = m.lines+r.IntN(4), 0
			}
		}
		want, wantErr := Read(t.Context(), bytes.NewReader(text), size, req)
		file := &counting{ReaderAt: bytes.NewReader(text)}
		got, again, gotErr := ReadAgain(t.Context(), file, size, req, facts)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v (-whole +again):\n%.2000s", req, diff)
		}
		if diff := cmp.Diff(wantErr, gotErr); diff != "" {
			t.Fatalf("%+v: error %v, want %v", req, gotErr, wantErr)
		}
		if again != facts {
			t.Fatalf("%+v: the facts are others", req)
		}
		if gotErr == nil && file.n.Load() > 3*blockSize {
			t.Errorf("%+v: %d bytes were read", req, file.n.Load())
		}
	}
	_, _, err = ReadAgain(t.Context(), bytes.NewReader(text[:blockSize]), blockSize, Request{StartLine: first.TotalLines}, facts)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is shorter than the facts say: error %v", err)
	}
}

// TestSpacing keeps the marks of huge files few.
func TestSpacing(t *testing.T) {
	for _, size := range []int64{0, 1, blockSize, 1 << 32, 1<<32 + 1, 1 << 40, 1 << 50} {
		n := spacing(size)
		if marks := size / (n * blockSize); n < 1 || marks > maxMarks {
			t.Errorf("size %d: a mark every %d blocks makes %d", size, n, marks)
		}
	}
}
