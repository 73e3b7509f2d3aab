package jpeg

import (
	"bytes"
	stdjpeg "image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The pictures that come with the Go toolchain cover sampling factors,
// progressions, restart intervals and colour spaces that the standard encoder
// cannot write.
func TestToolchainPictures(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no Go command to ask for the toolchain's folder")
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src/image/testdata/*.jpeg"))
	if len(files) == 0 {
		t.Skip("the toolchain came without its test pictures")
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want, err := stdjpeg.Decode(bytes.NewReader(data))
		if err != nil {
			continue
		}
		t.Run(filepath.Base(f), func(t *testing.T) {
			got := &collect{w: want.Bounds().Dx()}
			if err := Decode(data, Options{}, got); err != nil {
				t.Fatal(err)
			}
			compare(t, got, want, 6)
			for _, s := range []int{2, 4, 8} {
				g := &collect{w: ScaledSize(want.Bounds().Dx(), s)}
				if err := Decode(data, Options{Scale: s}, g); err != nil {
					t.Fatal(err)
				}
				if g.h != ScaledSize(want.Bounds().Dy(), s) {
					t.Fatalf("scale %d: %d rows", s, g.h)
				}
			}
		})
	}
}
