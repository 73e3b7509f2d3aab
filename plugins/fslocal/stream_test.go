package fslocal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/errs"
)

// What a stream writes is what it gives to be read, also after part of it was
// read, and with the same version and errors.
func TestStreamWritesWhatItReads(t *testing.T) {
	long := strings.Repeat("é", streamChunk) // a rune across every edge there is
	for name, data := range map[string]string{
		"empty": "", "mark alone": "\ufeff", "mark": "\ufeffa", "short": "short",
		"chunks": "a" + long + long + long, "marked chunks": "\ufeff" + long, "one chunk": long[:streamChunk],
		"not text": "a\xff", "not text late": long + long + "\xc3", "NUL": "\x00" + long,
	} {
		for _, first := range []int{0, 5, 5 + streamChunk} {
			f, dir := newFS(t)
			put(t, filepath.Join(dir, "a"), data)
			// A file that settles meanwhile gets more into its version than the digest.
			open := func() (s io.ReadCloser, sum func() digest) {
				st, err := f.StreamText(context.Background(), target(t, f, "a"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { st.Close() })
				return st, func() (sum digest) {
					if d := parseVersion(st.Version()).digest; d != nil {
						sum = *d
					}
					return sum
				}
			}
			read, readDigest := open()
			want, wantErr := io.ReadAll(read)
			written, writtenDigest := open()
			var got bytes.Buffer
			buf := make([]byte, first)
			n, err := 0, error(nil)
			if first > 0 {
				n, err = written.Read(buf)
				got.Write(buf[:n])
			}
			if err == nil || err == io.EOF {
				var more int64
				more, err = written.(io.WriterTo).WriteTo(&got)
				if int64(n)+more != int64(got.Len()) {
					t.Errorf("%s: %d bytes said to be written of %d", name, more, got.Len()-n)
				}
			}
			if errs.CodeOf(err) != errs.CodeOf(wantErr) {
				t.Errorf("%s: wrote with %v, read with %v", name, err, wantErr)
			}
			if wantErr == nil && (got.String() != string(want) || writtenDigest() != readDigest()) {
				t.Errorf("%s after %d bytes: %d bytes written, %d read; digests %v and %v",
					name, first, got.Len(), len(want), writtenDigest(), readDigest())
			}
			if wantErr != nil && writtenDigest() != (digest{}) {
				t.Errorf("%s has digest %v", name, writtenDigest())
			}
			if n, err := written.(io.WriterTo).WriteTo(&got); n != 0 || errs.CodeOf(err) != errs.CodeOf(wantErr) {
				t.Errorf("%s: behind the end %d bytes, %v", name, n, err)
			}
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestStreamStopsWriting(t *testing.T) {
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "a"), strings.Repeat("line\n", 1<<19))
	full := errors.New("full")
	ctx, cancel := context.WithCancel(context.Background())
	for _, tt := range []struct {
		name string
		to   writerFunc
		want error
	}{
		{"failing writer", func([]byte) (int, error) { return 0, full }, full},
		{"short writer", func(p []byte) (int, error) { return len(p) - 1, nil }, io.ErrShortWrite},
		{"cancelled", func(p []byte) (int, error) { cancel(); return len(p), nil }, errs.FSAborted},
	} {
		s, err := f.StreamText(ctx, target(t, f, "a"))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := s.(io.WriterTo).WriteTo(tt.to); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		}
		if s.Version() != "" {
			t.Errorf("%s: version %q of half a file", tt.name, s.Version())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s, err := f.StreamText(context.Background(), target(t, f, "a"))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if n, err := s.(io.WriterTo).WriteTo(io.Discard); n != 0 || !errors.Is(err, errs.IO) {
		t.Errorf("a closed stream wrote %d bytes with %v", n, err)
	}
}
