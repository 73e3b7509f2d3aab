package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// read returns every event, as "name|data" with a ! where it was cut, and the
// error at the end unless it is io.EOF.
func read(r io.Reader, limit int) ([]string, error) {
	var out []string
	sr := NewReader(r, limit)
	for {
		e, err := sr.Next()
		if err != nil {
			if _, again := sr.Next(); again != err {
				return out, fmt.Errorf("the error %v became %v", err, again)
			}
			if err == io.EOF {
				err = nil
			}
			return out, err
		}
		s := e.Name + "|" + string(e.Data)
		if e.Cut {
			s += "!"
		}
		out = append(out, s)
	}
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"|a"}},
		{"no blank after the colon", "data:a\n\n", []string{"|a"}},
		{"only one blank goes", "data:  a\n\n", []string{"| a"}},
		{"lines are joined", "data: a\ndata:\ndata: b\n\n", []string{"|a\n\nb"}},
		{"a field without a colon", "data\n\n", []string{"|"}},
		{"named", "event: ping\ndata: {}\n\n", []string{"ping|{}"}},
		{"name without data", "event: ping\n\n", []string{"ping|"}},
		{"the name does not stay", "event: x\ndata: 1\n\ndata: 2\n\n", []string{"x|1", "|2"}},
		{"CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"|a\nb", "|c"}},
		{"CR", "data: a\rdata: b\r\rdata: c\r\r", []string{"|a\nb", "|c"}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []string{"|a", "|b", "|c"}},
		{"comments keep alive", ": hi\n\n:\n\ndata: a\n: between\ndata: b\n\n: bye\n\n", []string{"|a\nb"}},
		{"unknown fields", "id: 1\nretry: 5\nfoo: bar\ndata: a\n\n", []string{"|a"}},
		{"byte-order mark", "\xef\xbb\xbfdata: a\n\n", []string{"|a"}},
		{"byte-order mark later is no mark", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []string{"|a"}},
		{"last blank line missing", "data: a\n\ndata: b\n", []string{"|a", "|b!"}},
		{"last line cut", "data: a\n\ndata: {\"b", []string{"|a", "|{\"b!"}},
		{"cut in a field name", "data: a\n\nda", []string{"|a"}},
		{"empty lines alone", "\n\r\n\r\n\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once":      strings.NewReader(tt.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, err := read(r, 100)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

// An event must not wait for bytes that come after its empty line: the LF of
// a CRLF, or the next event.
func TestEventIsHandedOutAtOnce(t *testing.T) {
	for _, in := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r"} {
		pr, pw := io.Pipe()
		go func() { _, _ = pw.Write([]byte(in)) }()
		e, err := NewReader(pr, 100).Next()
		if err != nil || string(e.Data) != "a" {
			t.Errorf("%q: got %q, %v", in, e.Data, err)
		}
		pw.Close()
	}
}

func TestLimit(t *testing.T) {
	fits := "event: 1234\ndata: 12345\n\n"
	if got, err := read(strings.NewReader(fits), 15); err != nil || len(got) != 1 {
		t.Errorf("15 bytes: got %q, %v", got, err)
	}
	for name, in := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 1000),
		"many lines": strings.Repeat("data: xxxx\n", 100),
		"a comment":  ":" + strings.Repeat("x", 1000),
	} {
		if _, err := read(strings.NewReader(in), 100); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: got error %v, want %v", name, err, ErrTooLong)
		}
	}
	// The limit is one of each event, not of the stream.
	if got, err := read(strings.NewReader(strings.Repeat("data: xxxx\n\n", 100)), 100); err != nil || len(got) != 100 {
		t.Errorf("100 small events: got %d, %v", len(got), err)
	}
}

func TestSourceErrorIsKept(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 100)
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	if diff := cmp.Diff([]string{"|a"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The events do not depend on how the bytes arrive nor on the kind of line
// ends, and their data never exceeds the limit.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "event: x\r\ndata: {\"a\":1}\r\n\r\n", ":c\rdata\r\r", "\xef\xbb\xbfdata:x\n\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 64
		whole, err := read(bytes.NewReader(in), limit)
		bytewise, err2 := read(iotest.OneByteReader(bytes.NewReader(in)), limit)
		if diff := cmp.Diff(whole, bytewise); diff != "" || (err == nil) != (err2 == nil) {
			t.Fatalf("errors %v and %v; byte by byte (-at once +bytewise):\n%s", err, err2, diff)
		}
		for _, e := range whole {
			if len(e) > limit+2 {
				t.Fatalf("an event of %d bytes passed the limit of %d", len(e), limit)
			}
		}
		if bytes.ContainsRune(in, '\r') {
			return
		}
		crlf, err3 := read(bytes.NewReader(bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n"))), limit)
		if diff := cmp.Diff(whole, crlf); diff != "" || (err == nil) != (err3 == nil) {
			t.Fatalf("errors %v and %v; with CRLF (-LF +CRLF):\n%s", err, err3, diff)
		}
	})
}
