package jpeg

import (
	"bytes"
	stdjpeg "image/jpeg"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// scanFiles are small pictures in several scans: progressive ones of each
// sampling, with restart markers, of one and of four components, and a sequential
// one with a scan for each component.
func scanFiles(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.jpg")
	if err != nil || len(paths) < 7 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	files := map[string][]byte{}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(p)] = data
	}
	return files
}

// Scans that advance side by side give the picture that the standard decoder
// gathers from whole ones.
func TestScansMatchStandardDecoder(t *testing.T) {
	for name, data := range scanFiles(t) {
		t.Run(name, func(t *testing.T) {
			want, err := stdjpeg.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			got := &collect{w: want.Bounds().Dx()}
			if err := Decode(data, Options{}, got); err != nil {
				t.Fatal(err)
			}
			compare(t, got, want, 5)
		})
	}
}

func TestCutScansAreRefused(t *testing.T) {
	for name, data := range scanFiles(t) {
		for n := range len(data) {
			if err := Decode(data[:n], Options{}, &collect{w: 61}); err == nil {
				t.Fatalf("%s: %d of %d bytes were accepted", name, n, len(data))
			}
			// An end marker does not make up for what is missing before it.
			ended := append(bytes.Clone(data[:n]), 0xff, 0xd9)
			got := &collect{w: 61}
			if err := Decode(ended, Options{}, got); err == nil && got.h != 45 {
				t.Fatalf("%s: %d bytes and an end marker gave %d rows", name, n, got.h)
			}
		}
	}
}

// A progressive picture of any size is decoded in the memory of a few rows.
func TestScansNeedLittleMemory(t *testing.T) {
	// The size in the frame header is a lie, so the data runs out; but not before
	// everything is allocated that a true one would need.
	data := bytes.Clone(scanFiles(t)["444-restarts.jpg"])
	at := bytes.Index(data, []byte{0xff, 0xc2})
	if at < 0 {
		t.Fatal("no progressive frame")
	}
	copy(data[at+5:], []byte{0x1f, 0x40, 0x1f, 0x40}) // 8000 x 8000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := Decode(data, Options{}, &discard{row: make([]byte, 4*8000)})
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Error("the scans were accepted")
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range scanFiles(f) {
		f.Add(data)
	}
	f.Add(encode(f, testImage(20, 17)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for at := 0; at+9 < len(data); at++ {
			// Sizes are kept small, or the fuzzer learns to wait.
			if data[at] == 0xff && data[at+1] >= 0xc0 && data[at+1] <= 0xc2 {
				data = bytes.Clone(data)
				data[at+5], data[at+7] = 0, 0
			}
		}
		for _, scale := range []int{1, 2, 8} {
			_ = Decode(data, Options{Scale: scale, MaxLoss: 50}, &discard{row: make([]byte, 4*256)})
		}
	})
}
