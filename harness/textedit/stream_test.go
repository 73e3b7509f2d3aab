package textedit

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDecode(t *testing.T) {
	long := strings.Repeat("x", NULWindow)
	tests := []struct {
		name string
		data string
		text string
		bom  bool
		err  error
	}{
		{"empty", "", "", false, nil},
		{"plain", "a\r\nb", "a\r\nb", false, nil},
		{"BOM", "\ufeffa", "a", true, nil},
		{"BOM alone", "\ufeff", "", true, nil},
		{"BOM inside", "a\ufeff", "a\ufeff", false, nil},
		{"half a BOM", "\xef\xbb", "", false, &NotTextError{}},
		{"NUL", "abc\x00def", "", false, &NotTextError{Offset: 3, NUL: true}},
		{"NUL at the edge of the window", long[1:] + "\x00", "", false, &NotTextError{Offset: NULWindow - 1, NUL: true}},
		{"NUL behind the window", long + "\x00", long + "\x00", false, nil},
		{"invalid before NUL", "a\xff\x00", "", false, &NotTextError{Offset: 1}},
		{"NUL before invalid", "a\x00\xff", "", false, &NotTextError{Offset: 1, NUL: true}},
		{"invalid far behind", long + "\xff", "", false, &NotTextError{Offset: NULWindow}},
		{"cut off", "caf\xc3", "", false, &NotTextError{Offset: 3}},
		{"surrogate", "\xed\xa0\x80", "", false, &NotTextError{}},
		{"overlong", "\xc0\x80", "", false, &NotTextError{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, bom, err := Decode([]byte(tt.data))
			if diff := cmp.Diff(tt.err, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if text != tt.text || bom != tt.bom {
				t.Errorf("got %q, %v; want %q, %v", text, bom, tt.text, tt.bom)
			}
			// The stream gives the same, one byte at a time as well.
			for _, src := range []io.Reader{strings.NewReader(tt.data), iotest.OneByteReader(strings.NewReader(tt.data)), iotest.DataErrReader(strings.NewReader(tt.data))} {
				got, err := io.ReadAll(NewReader(src))
				if diff := cmp.Diff(tt.err, err); diff != "" {
					t.Errorf("stream error (-want +got):\n%s", diff)
				}
				if tt.err == nil && string(got) != tt.text {
					t.Errorf("stream = %q, want %q", got, tt.text)
				}
			}
		})
	}
}

// TestPropertyStream checks that chunks cut anywhere give what the whole does.
func TestPropertyStream(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "é", "你", "🙂", "\x00", "\xff", "\xe4\xbd", "\xf0\x9f\x99", "\x80", bom, strings.Repeat("x", 4096)})
	rapid.Check(t, func(t *rapid.T) {
		data := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
		everywhere := rapid.Bool().Draw(t, "NUL everywhere")
		window := NULWindow
		if everywhere {
			window = len(data)
		}
		want := check([]byte(data), window)
		v := Validator{NULEverywhere: everywhere}
		for rest := data; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			if _, err := v.Write([]byte(rest[:n])); err != nil {
				break
			}
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, v.Close()); diff != "" {
			t.Fatalf("%q (-whole +chunks):\n%s", data, diff)
		}
		r := NewReader(strings.NewReader(data))
		var got strings.Builder
		var err error
		for err == nil {
			buf := make([]byte, rapid.IntRange(4, 5000).Draw(t, "buffer"))
			var n int
			n, err = r.Read(buf)
			if check(buf[:n], 0) != nil {
				t.Fatalf("chunk %q is cut inside a rune", buf[:n])
			}
			got.Write(buf[:n])
		}
		text, _, want := Decode([]byte(data))
		if want == nil {
			want = io.EOF
		}
		if diff := cmp.Diff(want, err, cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })); diff != "" {
			t.Fatalf("%q (-whole +stream):\n%s", data, diff)
		}
		if err == io.EOF && got.String() != text {
			t.Fatalf("%q: stream = %q, want %q", data, got.String(), text)
		}
		// The same when the rest is written after some of it was read.
		r = NewReader(hide{strings.NewReader(data)})
		if rapid.Bool().Draw(t, "from a writer") {
			r = NewReader(strings.NewReader(data))
		}
		got.Reset()
		buf := make([]byte, rapid.IntRange(4, 5000).Draw(t, "first"))
		if n, err := r.Read(buf); err == nil || err == io.EOF {
			got.Write(buf[:n])
		}
		_, err = r.WriteTo(&wholeRunes{t, &got})
		if err == nil {
			err = io.EOF
		}
		if diff := cmp.Diff(want, err, cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })); diff != "" {
			t.Fatalf("%q (-whole +written):\n%s", data, diff)
		}
		if err == io.EOF && got.String() != text {
			t.Fatalf("%q: written = %q, want %q", data, got.String(), text)
		}
	})
}

// hide makes a source nothing but a reader of one byte at a time.
type hide struct{ io.Reader }

func (h hide) Read(p []byte) (int, error) { return h.Reader.Read(p[:min(len(p), 1)]) }

// wholeRunes takes no piece that is cut inside a rune.
type wholeRunes struct {
	t  *rapid.T
	to io.Writer
}

func (w *wholeRunes) Write(p []byte) (int, error) {
	if check(p, 0) != nil {
		w.t.Fatalf("piece %q is cut inside a rune", p)
	}
	return w.to.Write(p)
}

// TestPropertyValid compares with the standard library.
func TestPropertyValid(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "é", "你", "🙂", "\xff", "\xe4\xbd", "\xf0\x9f\x99", "\x80",
		strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("é", 256), strings.Repeat("你", 171), strings.Repeat("🙂", 129)})
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), ""))
		if got, want := valid(data), utf8.Valid(data); got != want {
			t.Fatalf("%q: %v, want %v", data, got, want)
		}
	})
}

func TestReaderPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\xe4"), iotest.ErrReader(broken)))
	if got, err := io.ReadAll(r); err != broken || string(got) != "a" {
		t.Errorf("got %q, %v; want the error of the source", got, err)
	}
	if _, err := NewReader(strings.NewReader("a")).Read(make([]byte, 3)); err != io.ErrShortBuffer {
		t.Errorf("short buffer: %v", err)
	}
}

func TestNormalizeBreaks(t *testing.T) {
	if got := NormalizeBreaks("a\r\nb\rc\nd\r\r\n"); got != "a\nb\rc\nd\r\n" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkApply(b *testing.B) {
	for name, size := range map[string]int{"10MiB": 10 << 20, "100MiB": 100 << 20} {
		line := strings.Repeat("x", 40)
		for style, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "mixed": "\n" + line + "\r\n"} {
			text := strings.Repeat(line+end, size/len(line+end))
			text = text[:len(text)/2] + "the needle" + end + "is here" + text[len(text)/2:]
			before := []byte(text)
			b.Run(name+"/"+style, func(b *testing.B) {
				b.SetBytes(int64(len(before)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Apply(before, "needle\n", "pin\n\n", false); err != nil && style != "mixed" {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkValidator(b *testing.B) {
	chunk := []byte(strings.Repeat("the quick brown fox jumps over it\n", 256<<10/34))
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	var v Validator
	for b.Loop() {
		if _, err := v.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
}
