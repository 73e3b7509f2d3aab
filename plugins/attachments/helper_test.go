package attachments

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/attachment"
)

// childEnv names the directory of a store in which a child process of the tests
// saves pictures until it is killed.
const childEnv = "ATTACHMENTS_TEST_STORE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
	}
	goleak.VerifyTestMain(m)
}

// child saves pictures, new ones and old ones, and says when each is done.
func child(dir string) {
	s, err := New(Config{Dir: dir})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		ref, err := s.SaveImage(context.Background(), attachment.Image{Data: drawing(i%50, 40, 30), Declared: attachment.PNG})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("saved", ref.ID)
	}
}

func drawing(seed, w, h int) []byte {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{uint8(x*5 + seed), uint8(y*7 + seed*3), uint8(x*y + seed*11), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(t.TempDir(), "home", "attachments")
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func save(t testing.TB, s *Store, data []byte) attachment.Ref {
	t.Helper()
	ref, err := s.SaveImage(context.Background(), attachment.Image{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// files lists everything in the store but its directories and lock.
func files(t testing.TB, s *Store) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(s.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && p != lockName {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func list(t testing.TB, s *Store) []string {
	t.Helper()
	var out []string
	for id, err := range s.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
	}
	return out
}

func objectPath(ref attachment.Ref) string {
	digits := strings.TrimPrefix(ref.ID, idPrefix)
	return filepath.Join(objectsDir, digits[:2], digits)
}

// age puts the time of every object back.
func age(t testing.TB, s *Store, by time.Duration) {
	t.Helper()
	for _, f := range files(t, s) {
		then := time.Now().Add(-by)
		if err := s.root.Chtimes(f, then, then); err != nil {
			t.Fatal(err)
		}
	}
}
