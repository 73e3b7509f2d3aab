package textview

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func read(t testing.TB, text string, req Request) View {
	t.Helper()
	v, err := Read(t.Context(), strings.NewReader(text), int64(len(text)), req)
	if err != nil {
		t.Fatalf("Read(%+v): %v", req, err)
	}
	return v
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestLines(t *testing.T) {
	long := strings.Repeat("é", MaxChars)
	tests := []struct {
		name string
		text string
		req  Request
		want View
	}{
		{"whole", "alpha\nbeta\n", Request{}, View{Content: "1 alpha\n2 beta", StartLine: 1, EndLine: 2, EOF: true}},
		{"no final line feed", "a\nb", Request{}, View{Content: "1 a\n2 b", StartLine: 1, EndLine: 2, EOF: true}},
		{"empty", "", Request{}, View{StartLine: 1, EndLine: 0, EOF: true}},
		{"one empty line", "\n", Request{}, View{Content: "1 ", StartLine: 1, EndLine: 1, EOF: true}},
		{"CRLF and BOM", "\xef\xbb\xbfa\r\nb\rc\r\n", Request{}, View{Content: "1 a\n2 b\rc", StartLine: 1, EndLine: 2, EOF: true}},
		{"numbers are aligned", numbered(1, 10), Request{StartLine: 9}, View{Content: " 9 line 9\n10 line 10", StartLine: 9, EndLine: 10, EOF: true}},
		{"a range", numbered(1, 10), Request{StartLine: 2, EndLine: 3}, View{Content: " 2 line 2\n 3 line 3", StartLine: 2, EndLine: 3}},
		{"a range beyond the end", "a\nb\n", Request{StartLine: 2, EndLine: 9}, View{Content: "2 b", StartLine: 2, EndLine: 2, EOF: true}},
		{"only an end", "a\nb\n", Request{EndLine: 1}, View{Content: "1 a", StartLine: 1, EndLine: 1}},
		{"tail", "a\nb\nc\n", Request{TailLines: 2}, View{Content: "2 b\n3 c", StartLine: 2, EndLine: 3, EOF: true}},
		{"tail without final line feed", "a\nb", Request{TailLines: 1}, View{Content: "2 b", StartLine: 2, EndLine: 2, EOF: true}},
		{"tail of less", "a\n", Request{TailLines: 7}, View{Content: "1 a", StartLine: 1, EndLine: 1, EOF: true}},
		{"tail of nothing", "", Request{TailLines: 7}, View{StartLine: 1, EndLine: 0, EOF: true}},
		{"tail of BOM and empty lines", "\xef\xbb\xbf\n\n", Request{TailLines: 9}, View{Content: "1 \n2 ", StartLine: 1, EndLine: 2, EOF: true}},
		{"a line too long", "a\n" + long + "x\nb\n", Request{StartLine: 2}, View{Content: "2 " + long[:2*(MaxChars-2)], StartLine: 2, EndLine: 2, Reason: LineTooLong, NextChar: 2 + MaxChars - 2}},
		{"a line too long later", "a\n" + long + "\nb\n", Request{}, View{Content: "1 a", StartLine: 1, EndLine: 1, Reason: HitChars, NextLine: 2}},
		{"a first line too long with BOM", "\xef\xbb\xbf" + long, Request{}, View{Content: "1 " + long[:2*(MaxChars-2)], StartLine: 1, EndLine: 1, Reason: LineTooLong, NextChar: MaxChars - 1}},
		{"the longest line that fits", long[:2*(MaxChars-2)] + "\n", Request{}, View{Content: "1 " + long[:2*(MaxChars-2)], StartLine: 1, EndLine: 1, EOF: true}},
		{"tail whose last line is too long", "a\n" + long + long + long + "\n", Request{TailLines: 3}, View{Content: "2 " + long[:2*(MaxChars-2)], StartLine: 2, EndLine: 2, Reason: LineTooLong, NextChar: 2 + MaxChars - 2}},
		{"tail whose last line is just too long", "a\n" + long + "\n", Request{TailLines: 3}, View{Content: "2 " + long[:2*(MaxChars-2)], StartLine: 2, EndLine: 2, Reason: LineTooLong, NextChar: 2 + MaxChars - 2}},
		{"tail that drops a long line", long + "\nb\n", Request{TailLines: 3}, View{Content: "2 b", StartLine: 2, EndLine: 2, EOF: true, Reason: HitChars}},
		{"tail far from a long line", long + long + long + "\nb\n", Request{TailLines: 3}, View{Content: "2 b", StartLine: 2, EndLine: 2, EOF: true, Reason: HitChars}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := read(t, tt.text, tt.req)
			tt.want.Mode = Line
			tt.want.TotalBytes, tt.want.TotalChars = got.TotalBytes, got.TotalChars
			tt.want.TotalLines, tt.want.SHA256 = got.TotalLines, got.SHA256
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%.600s", d)
			}
		})
	}
}

func TestLimitsOfLines(t *testing.T) {
	text := numbered(1, 700)
	tests := []struct {
		name       string
		req        Request
		start, end int
		reason     Reason
		next       int
		eof        bool
	}{
		{"preview", Request{}, 1, 200, Preview, 201, false},
		{"from the start", Request{StartLine: 1}, 1, 500, HitLines, 501, false},
		{"to the end", Request{StartLine: 501}, 501, 700, Whole, 0, true},
		{"a range of too many", Request{StartLine: 2, EndLine: 650}, 2, 501, HitLines, 502, false},
		{"a range of just enough", Request{StartLine: 2, EndLine: 501}, 2, 501, Whole, 0, false},
		{"tail", Request{TailLines: 3}, 698, 700, Whole, 0, true},
		{"tail of too many", Request{TailLines: 600}, 201, 700, HitLines, 0, true},
	}
	for _, tt := range tests {
		v := read(t, text, tt.req)
		if v.StartLine != tt.start || v.EndLine != tt.end || v.Reason != tt.reason || v.NextLine != tt.next || v.EOF != tt.eof {
			t.Errorf("%s: lines %d-%d, reason %q, next %d, eof %v; want %d-%d, %q, %d, %v", tt.name,
				v.StartLine, v.EndLine, v.Reason, v.NextLine, v.EOF, tt.start, tt.end, tt.reason, tt.next, tt.eof)
		}
		if v.TotalLines != 700 {
			t.Errorf("%s: %d lines in total", tt.name, v.TotalLines)
		}
	}
	if v := read(t, numbered(1, 500), Request{}); v.EndLine != 500 || !v.EOF || v.Reason != Whole {
		t.Errorf("500 lines are no long file: %d lines, reason %q", v.EndLine, v.Reason)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		text    string
		req     Request
		field   string
		nearest int64
	}{
		{"a\nb\n", Request{StartLine: 3}, "start_line", 2},
		{"", Request{StartLine: 2}, "start_line", 1},
		{"aé日𝄞", Request{Mode: Byte, Offset: 2}, "offset_bytes", 1},
		{"aé日𝄞", Request{Mode: Byte, Offset: 4}, "offset_bytes", 3},
		{"aé日𝄞", Request{Mode: Byte, Offset: 5}, "offset_bytes", 6},
		{"aé日𝄞", Request{Mode: Byte, Offset: 8}, "offset_bytes", 6},
		{"aé日𝄞", Request{Mode: Byte, Offset: 9}, "offset_bytes", 10},
		{"aé", Request{Mode: Byte, Offset: 4}, "offset_bytes", 3},
		{"aé", Request{Mode: Char, Offset: 3}, "offset_chars", 2},
	}
	for _, tt := range tests {
		_, err := Read(t.Context(), strings.NewReader(tt.text), int64(len(tt.text)), tt.req)
		var re *RangeError
		if !errors.As(err, &re) || re.Field != tt.field || re.Nearest != tt.nearest {
			t.Errorf("%q, %+v: error %v, want %s, %d", tt.text, tt.req, err, tt.field, tt.nearest)
		}
	}
	late := strings.Repeat("text\n", 500_000)
	for name, text := range map[string]string{
		"NUL": "a\x00b", "Latin-1": "caf\xe9\n", "cut": "caf\xc3", "late": late + "\xff" + late, "late cut": late + "\xe6\x97",
	} {
		for _, req := range []Request{{}, {TailLines: 1}, {Mode: Byte}, {Mode: Char}} {
			if _, err := Read(t.Context(), strings.NewReader(text), int64(len(text)), req); !errors.Is(err, ErrNotText) {
				t.Errorf("%s, %+v: error %v, want ErrNotText", name, req, err)
			}
		}
	}
}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	if r.IntN(4) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for b.Len() < n {
		switch r.IntN(12) {
		case 0:
			b.WriteString("\n")
		case 1:
			b.WriteString("\r\n")
		case 2:
			b.WriteString("\r")
		case 3:
			b.WriteString([]string{"é", "日本", "𝄞"}[r.IntN(3)])
		case 4:
			b.WriteString(strings.Repeat("日", r.IntN(n/4+1)))
		default:
			b.WriteString(strings.Repeat("abc ", r.IntN(20)))
		}
	}
	return b.String()
}

// TestCursorsGiveEverythingOnce follows every kind of cursor to the end.
func TestCursorsGiveEverythingOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	rounds := 50
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		size := []int{10, 100, 3000, 300_000, 2_500_000}[[]int{0, 0, 1, 1, 2, 2, 3, 3, 4}[r.IntN(9)]]
		text := randomText(r, size)
		sum := sha256.Sum256([]byte(text))
		for _, mode := range []Mode{Byte, Char} {
			limit := 1 + r.Int64N(int64(len(text))+10)/int64(1+r.IntN(10))
			var b strings.Builder
			for offset, steps := int64(0), 0; ; steps++ {
				v := read(t, text, Request{Mode: mode, Offset: offset, Limit: limit})
				if v.SHA256 != hex.EncodeToString(sum[:]) || v.TotalBytes != int64(len(text)) || v.TotalChars != int64(utf8.RuneCountInString(text)) {
					t.Fatalf("totals: %+v", v)
				}
				if v.ShownBytes != len(v.Content) || v.ShownChars != utf8.RuneCountInString(v.Content) || !utf8.ValidString(v.Content) {
					t.Fatalf("%s at %d: shown %d bytes, %d characters; content has %d, %d", mode, offset, v.ShownBytes, v.ShownChars, len(v.Content), utf8.RuneCountInString(v.Content))
				}
				b.WriteString(v.Content)
				next := v.NextByte + v.NextChar
				if v.EOF {
					if next != 0 || v.Reason != Whole {
						t.Fatalf("at the end: cursor %d, reason %q", next, v.Reason)
					}
					break
				}
				if next <= offset || v.Reason == Whole {
					t.Fatalf("%s at %d: cursor %d, reason %q", mode, offset, next, v.Reason)
				}
				if offset = next; steps > 30 {
					break // far enough
				}
			}
			if !strings.HasPrefix(text, b.String()) || b.Len() < len(text) && b.Len() == 0 {
				t.Fatalf("%s windows of %d do not give the text", mode, limit)
			}
		}
		followLines(t, text)
		tails(t, r, text)
	}
}

func plainLines(text string) []string {
	text = strings.TrimPrefix(text, "\ufeff")
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// unnumber takes the lines out of a window and checks their numbers.
func unnumber(t *testing.T, v View) []string {
	t.Helper()
	if v.EndLine < v.StartLine {
		return nil
	}
	lines := strings.Split(v.Content, "\n")
	if len(lines) != v.EndLine-v.StartLine+1 {
		t.Fatalf("lines %d-%d are %d", v.StartLine, v.EndLine, len(lines))
	}
	for i, l := range lines {
		number, text, _ := strings.Cut(strings.TrimLeft(l, " "), " ")
		if number != strconv.Itoa(v.StartLine+i) {
			t.Fatalf("line %d has the number %q", v.StartLine+i, number)
		}
		lines[i] = text
	}
	if n := utf8.RuneCountInString(v.Content); n > MaxChars || len(lines) > MaxLines {
		t.Fatalf("%d characters, %d lines", n, len(lines))
	}
	return lines
}

func followLines(t *testing.T, text string) {
	t.Helper()
	want := plainLines(text)
	var got []string
	for req := (Request{}); ; {
		v := read(t, text, req)
		if v.TotalLines != len(want) && !(len(want) == 0 && text != "") {
			t.Fatalf("%d lines in total, want %d", v.TotalLines, len(want))
		}
		got = append(got, unnumber(t, v)...)
		if v.Reason == LineTooLong {
			// The rest of the line comes by characters, up to a place from
			// which lines can go on.
			rest := []rune(text)[v.NextChar:]
			line, _, _ := strings.Cut(string(rest), "\n")
			got[len(got)-1] += strings.TrimSuffix(line, "\r")
			if v.EndLine == v.TotalLines {
				break
			}
			req = Request{StartLine: v.EndLine + 1}
			continue
		}
		if v.EOF {
			if v.NextLine != 0 {
				t.Fatalf("at the end: cursor %d", v.NextLine)
			}
			break
		}
		if v.NextLine <= req.StartLine {
			t.Fatalf("cursor %d after %d", v.NextLine, req.StartLine)
		}
		req = Request{StartLine: v.NextLine}
	}
	if text == "\ufeff" {
		want = []string{""}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("lines (-want +got):\n%.500s", d)
	}
}

func tails(t *testing.T, r *rand.Rand, text string) {
	t.Helper()
	want := plainLines(text)
	n := 1 + r.IntN(700)
	v := read(t, text, Request{TailLines: n})
	got := unnumber(t, v)
	if v.EndLine != v.TotalLines {
		t.Fatalf("the tail ends in line %d of %d", v.EndLine, v.TotalLines)
	}
	if v.Reason == LineTooLong {
		if !strings.HasPrefix(want[len(want)-1], got[0]) || len(got) != 1 || v.EOF {
			t.Fatalf("the tail of a long line: %d lines, eof %v", len(got), v.EOF)
		}
		return
	}
	if text == "\ufeff" {
		return
	}
	if d := cmp.Diff(want[len(want)-len(got):], got); d != "" {
		t.Fatalf("tail (-want +got):\n%.500s", d)
	}
	if len(got) < min(n, len(want), MaxLines) && v.Reason != HitChars {
		t.Fatalf("a tail of %d has %d lines of %d, reason %q", n, len(got), len(want), v.Reason)
	}
}

// TestBlockBoundaries puts a character of each size and a CRLF at every place
// around a boundary of blocks.
func TestBlockBoundaries(t *testing.T) {
	for _, piece := range []string{"é", "日", "𝄞", "\r\n", "\n"} {
		for shift := -4; shift <= 1; shift++ {
			text := "x\n" + strings.Repeat("a", blockSize+shift-2) + piece + "b\nc"
			offset := int64(blockSize + shift)
			v := read(t, text, Request{Mode: Byte, Offset: offset, Limit: 100})
			if v.Content != piece+"b\nc" || !v.EOF {
				t.Errorf("bytes at %q, %+d: %q", piece, shift, v.Content)
			}
			v = read(t, text, Request{Mode: Char, Offset: offset, Limit: 100})
			if v.Content != piece+"b\nc" || !v.EOF {
				t.Errorf("characters at %q, %+d: %q", piece, shift, v.Content)
			}
			v = read(t, text, Request{Mode: Char, Offset: offset - 1, Limit: 2})
			if one, _ := utf8.DecodeRuneInString(piece); v.Content != "a"+string(one) {
				t.Errorf("characters before %q, %+d: %q", piece, shift, v.Content)
			}
			last := read(t, text, Request{TailLines: 1})
			v = read(t, text, Request{StartLine: last.StartLine})
			if v.Content != last.Content || !strings.HasSuffix(v.Content, " c") || v.TotalLines != 3+strings.Count(piece, "\n") {
				t.Errorf("last line after %q, %+d: %q and %q", piece, shift, v.Content, last.Content)
			}
		}
	}
}

type failing struct {
	io.ReaderAt
	at  int64
	err error
}

func (f failing) ReadAt(b []byte, offset int64) (int, error) {
	if offset >= f.at {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(b, offset)
}

func TestReadErrorsAndCancellation(t *testing.T) {
	text := bytes.Repeat([]byte("text\n"), 1_000_000)
	broken := errors.New("disk error")
	for _, at := range []int64{0, 1, blockSize, 3 * blockSize} {
		_, err := Read(t.Context(), failing{bytes.NewReader(text), at, broken}, int64(len(text)), Request{})
		if !errors.Is(err, broken) {
			t.Errorf("failing at %d: error %v", at, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, bytes.NewReader(text), int64(len(text)), Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	// A size that is not known, or that turned out wrong.
	for _, size := range []int64{-1, 6_000_000} {
		v, err := Read(t.Context(), bytes.NewReader(text), size, Request{TailLines: 1})
		if err != nil || v.TotalLines != 1_000_000 || v.Content != "1000000 text" {
			t.Errorf("size %d: %d lines, %q, error %v", size, v.TotalLines, v.Content, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a\r\n\xef\xbb\xbf日", int64(1), int64(2), 1)
	f.Fuzz(func(t *testing.T, text string, offset, limit int64, n int) {
		if offset < 0 || limit < 0 || n < 0 {
			return
		}
		for _, req := range []Request{
			{}, {StartLine: n}, {StartLine: n % 10, EndLine: n%10 + 3}, {TailLines: n},
			{Mode: Byte, Offset: offset, Limit: limit}, {Mode: Char, Offset: offset, Limit: limit},
		} {
			v, err := Read(t.Context(), strings.NewReader(text), int64(len(text)), req)
			if err == nil && (!utf8.ValidString(v.Content) || !v.EOF && v.Reason == Whole && req.EndLine == 0) {
				t.Fatalf("%+v: %+v", req, v)
			}
		}
	})
}

// BenchmarkEndOfLargeFile reads the last line of a file of 1 GiB: one pass
// of counting and hashing, whatever the window.
func BenchmarkEndOfLargeFile(b *testing.B) {
	text := []byte(strings.Repeat("func (v *View) number(lines []line, start int)\n", 1<<20/48))
	file := repeated{text, 1 << 30}
	b.SetBytes(file.size)
	for b.Loop() {
		if _, err := Read(b.Context(), file, file.size, Request{TailLines: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

// repeated is a text repeated up to a size.
type repeated struct {
	text []byte
	size int64
}

func (r repeated) ReadAt(b []byte, offset int64) (int, error) {
	n := 0
	for n < len(b) && offset < r.size {
		at := offset % int64(len(r.text))
		k := copy(b[n:], r.text[at:min(int64(len(r.text)), at+r.size-offset)])
		n, offset = n+k, offset+int64(k)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
