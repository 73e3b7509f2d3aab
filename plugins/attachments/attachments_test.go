package attachments

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
)

func TestSaveAndRead(t *testing.T) {
	s := open(t, Config{})
	data := drawing(1, 40, 30)
	ref, err := s.SaveImage(context.Background(), attachment.Image{Data: data, Declared: attachment.PNG, Name: "a/b\\c\u202e\x07.png"})
	if err != nil {
		t.Fatal(err)
	}
	want := attachment.Ref{ID: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), MediaType: attachment.PNG, Bytes: int64(len(data)), Width: 40, Height: 30, Name: "c.png"}
	if d := cmp.Diff(want, ref); d != "" {
		t.Error("reference (-want +got):\n" + d)
	}
	got, err := s.Read(context.Background(), ref)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	// The same picture is the same object, and nothing else is left.
	if again := save(t, s, data); again.ID != ref.ID {
		t.Error("another object for the same picture")
	}
	if f := files(t, s); len(f) != 1 {
		t.Errorf("files: %v", f)
	}
	big := save(t, s, drawing(2, 2500, 100))
	if big.Width != 2048 || big.Height != 82 || big.OriginalDimensions == nil || *big.OriginalDimensions != (attachment.Dimensions{Width: 2500, Height: 100}) {
		t.Errorf("a large picture: %+v", big)
	}
	// A store is closed to others.
	if runtime.GOOS != "windows" {
		for _, p := range append(files(t, s), ".", objectsDir, stagingDir, lockName) {
			info, err := s.root.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", p, info.Mode())
			}
		}
	}
}

func TestLeafName(t *testing.T) {
	for in, want := range map[string]string{
		"x.png": "x.png", "/a/b/x.png": "x.png", `C:\a\x.png`: "x.png", "a/": "", "..": "", ".": "",
		"a\nb\x00c\u007fd\u0085e": "abcde", "\u202egnp.exe": "gnp.exe", "bild \u00e4\u00f6.png": "bild \u00e4\u00f6.png", "bad\xffutf": "bad\ufffdutf",
		strings.Repeat("\u00e4", 200): strings.Repeat("\u00e4", 127),
	} {
		if got := leafName(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// A batch with one bad image stores nothing and says which it is.
func TestBatchIsAllOrNothing(t *testing.T) {
	s := open(t, Config{Limits: attachment.Limits{MaxMessageImages: 3, MaxMessageImageBytes: 100_000}})
	ok := func(i int) attachment.Image { return attachment.Image{Data: drawing(i, 40, 30)} }
	for _, c := range []struct {
		name string
		imgs []attachment.Image
		want errs.Code
	}{
		{"cut off", []attachment.Image{ok(1), {Data: drawing(2, 40, 30)[:300]}, ok(3)}, errs.InvalidImage},
		{"wrong type", []attachment.Image{ok(1), {Data: drawing(2, 40, 30), Declared: attachment.JPEG}}, errs.ImageTypeMismatch},
		{"too many", []attachment.Image{ok(1), ok(2), ok(3), ok(4)}, errs.TooManyImages},
		{"too large", []attachment.Image{ok(1), {Data: make([]byte, 100_000)}}, errs.ImagesTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			refs, err := s.SaveImages(context.Background(), c.imgs)
			if !errors.Is(err, c.want) || refs != nil {
				t.Errorf("got %v, %v, want %s", refs, err, c.want)
			}
			if f := files(t, s); len(f) != 0 {
				t.Errorf("left: %v", f)
			}
		})
	}
	refs, err := s.SaveImages(context.Background(), []attachment.Image{ok(1), ok(2), ok(1)})
	if err != nil || len(refs) != 3 || refs[0].ID != refs[2].ID || len(list(t, s)) != 2 {
		t.Errorf("got %v, %v", refs, err)
	}
	if refs, err := s.SaveImages(context.Background(), nil); err != nil || len(refs) != 0 {
		t.Errorf("an empty batch: %v, %v", refs, err)
	}
}

// An image that comes again is not decoded again, unless its object is gone or
// damaged.
func TestSavedAgain(t *testing.T) {
	s := open(t, Config{Concurrency: 1})
	data := drawing(1, 3000, 40)
	ref := save(t, s, data)
	release, err := s.slot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// Nothing can be decoded now.
	again, err := s.SaveImage(context.Background(), attachment.Image{Data: data, Name: "b.png"})
	if err != nil {
		t.Fatal(err)
	}
	want := ref
	want.Name = "b.png"
	if d := cmp.Diff(want, again); d != "" {
		t.Error("reference (-want +got):\n" + d)
	}
	release()
	for _, spoil := range []func() error{
		func() error { return s.root.Remove(objectPath(ref)) },
		func() error { return s.root.WriteFile(objectPath(ref), []byte("x"), 0o600) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if again := save(t, s, data); again.ID != ref.ID {
			t.Errorf("got %+v", again)
		}
		if _, err := s.Read(context.Background(), ref); err != nil {
			t.Error(err)
		}
	}
	for i := range maxRecent + 10 {
		s.recent.put(saveKey{digestOf([]byte{byte(i), byte(i >> 8)}), ""}, ref)
	}
	if len(s.recent.refs) != maxRecent || len(s.recent.order) != maxRecent {
		t.Errorf("%d images are remembered", len(s.recent.refs))
	}
}

// What was changed on the disk or in the reference is not given out.
func TestReadVerifies(t *testing.T) {
	s := open(t, Config{})
	data := drawing(1, 40, 30)
	ref := save(t, s, data)
	change := func(f func(*attachment.Ref)) attachment.Ref { r := ref; f(&r); return r }
	for _, c := range []struct {
		name string
		ref  attachment.Ref
		want errs.Code
	}{
		{"no such object", change(func(r *attachment.Ref) { r.ID = idPrefix + strings.Repeat("0", 64) }), errs.AttachmentNotFound},
		{"no id", change(func(r *attachment.Ref) { r.ID = "" }), errs.InvalidAttachmentRef},
		{"a path", change(func(r *attachment.Ref) { r.ID = "sha256:../../../etc/passwd" }), errs.InvalidAttachmentRef},
		{"upper case", change(func(r *attachment.Ref) { r.ID = idPrefix + strings.Repeat("A", 64) }), errs.InvalidAttachmentRef},
		{"no size", change(func(r *attachment.Ref) { r.Width = 0 }), errs.InvalidAttachmentRef},
		{"other bytes", change(func(r *attachment.Ref) { r.Bytes++ }), errs.AttachmentCorrupt},
		{"other width", change(func(r *attachment.Ref) { r.Width++ }), errs.AttachmentCorrupt},
		{"other type", change(func(r *attachment.Ref) { r.MediaType = attachment.JPEG }), errs.AttachmentCorrupt},
	} {
		if _, err := s.Read(context.Background(), c.ref); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	path := objectPath(ref)
	for name, content := range map[string][]byte{"cut": data[:100], "empty": nil, "flipped": flip(data), "longer": append(bytes.Clone(data), 0)} {
		if err := s.root.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(context.Background(), ref); !errors.Is(err, errs.AttachmentCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
		// Saving the picture again heals it.
		save(t, s, data)
		if got, err := s.Read(context.Background(), ref); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: not healed: %v", name, err)
		}
	}
}

func flip(b []byte) []byte {
	c := bytes.Clone(b)
	c[len(c)/2] ^= 4
	return c
}

func TestVariants(t *testing.T) {
	s := open(t, Config{})
	ref := save(t, s, drawing(1, 400, 300))
	same, data, err := s.Variant(context.Background(), ref, attachment.Variant{MaxDimension: 400})
	if err != nil || same.ID != ref.ID || int64(len(data)) != ref.Bytes {
		t.Errorf("a variant that fits: %+v, %v", same, err)
	}
	v := attachment.Variant{MaxDimension: 100, MaxBytes: 4000}
	small, data, err := s.Variant(context.Background(), ref, v)
	if err != nil {
		t.Fatal(err)
	}
	if small.Width > 100 || small.Bytes > 4000 || small.ID != digestOf(data).String() || small.OriginalDimensions == nil || small.OriginalDimensions.Width != 400 {
		t.Errorf("got %+v", small)
	}
	if n := len(list(t, s)); n != 1 {
		t.Errorf("%d objects; a variant is none", n)
	}
	// A damaged cached copy is derived again, to the same bytes.
	var cached string
	for _, f := range files(t, s) {
		if strings.HasPrefix(f, variantsDir) {
			cached = f
		}
	}
	if cached == "" {
		t.Fatal("nothing was cached")
	}
	for _, content := range [][]byte{nil, []byte("x"), flip(data)} {
		if err := s.root.WriteFile(cached, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, again, err := s.Variant(context.Background(), ref, v)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("after damage: %d bytes, %v", len(again), err)
		}
	}
	if _, _, err := s.Variant(context.Background(), ref, attachment.Variant{MaxBytes: 10}); !errors.Is(err, errs.ImageTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Many callers share one computation, and one who leaves does not end it.
func TestFlights(t *testing.T) {
	var f flights[string, int]
	var running sync.WaitGroup
	begun, proceed := make(chan struct{}), make(chan struct{})
	starts := 0
	start := func() func(context.Context) (int, error) {
		starts++
		return func(ctx context.Context) (int, error) {
			close(begun)
			select {
			case <-proceed:
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	}
	impatient, leave := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	gone := make(chan error, 1)
	wg.Go(func() {
		_, err := f.do(impatient, &running, "k", start)
		gone <- err
	})
	<-begun
	results := make(chan int, 10)
	for range 10 {
		wg.Go(func() {
			v, err := f.do(context.Background(), &running, "k", start)
			if err != nil {
				t.Error(err)
			}
			results <- v
		})
	}
	for waiting := 0; waiting != 11; {
		f.mu.Lock()
		waiting = f.m["k"].waiters
		f.mu.Unlock()
		runtime.Gosched()
	}
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the impatient one got %v", err)
	}
	close(proceed)
	wg.Wait()
	running.Wait()
	for range 10 {
		if v := <-results; v != 7 {
			t.Errorf("got %d", v)
		}
	}
	if starts != 1 || len(f.m) != 0 {
		t.Errorf("%d computations, %d left", starts, len(f.m))
	}
	// With nobody left the computation ends.
	begun, proceed = make(chan struct{}), make(chan struct{})
	alone, leave := context.WithCancel(context.Background())
	go func() { <-begun; leave() }()
	if _, err := f.do(alone, &running, "k", start); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	running.Wait()
}

func TestCollect(t *testing.T) {
	s := open(t, Config{Grace: time.Hour})
	a, b := save(t, s, drawing(1, 40, 30)), save(t, s, drawing(2, 40, 30))
	for _, ref := range []attachment.Ref{a, b} {
		if _, _, err := s.Variant(context.Background(), ref, attachment.Variant{MaxDimension: 10}); err != nil {
			t.Fatal(err)
		}
	}
	if ids := list(t, s); !slices.IsSorted(ids) || len(ids) != 2 {
		t.Errorf("listing: %v", ids)
	}
	if n, _, err := s.Collect(context.Background(), nil); err != nil || n != 0 {
		t.Errorf("young objects: %d, %v", n, err)
	}
	age(t, s, 2*time.Hour)
	// Asked for again, an old object is young again.
	save(t, s, drawing(2, 40, 30))
	c := save(t, s, drawing(3, 40, 30))
	n, size, err := s.Collect(context.Background(), map[string]bool{a.ID: true})
	if err != nil || n != 0 || size != 0 {
		t.Errorf("kept and young ones: %d objects, %d bytes, %v", n, size, err)
	}
	age(t, s, 2*time.Hour)
	n, size, err = s.Collect(context.Background(), map[string]bool{a.ID: true})
	if err != nil || n != 2 || size < b.Bytes+c.Bytes {
		t.Errorf("got %d objects, %d bytes, %v", n, size, err)
	}
	if d := cmp.Diff([]string{a.ID}, list(t, s)); d != "" {
		t.Error(d)
	}
	if f := files(t, s); len(f) != 2 {
		t.Errorf("left: %v", f)
	}
	if _, err := s.Read(context.Background(), b); !errors.Is(err, errs.AttachmentNotFound) {
		t.Errorf("got %v", err)
	}
}

// A hundred calls with twenty pictures make twenty objects and leave nothing.
func TestManyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	one, two := open(t, Config{Dir: dir}), open(t, Config{Dir: dir})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			s := one
			if i%3 == 0 {
				s = two
			}
			ref, err := s.SaveImage(context.Background(), attachment.Image{Data: drawing(i%20, 120, 80), Name: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Read(context.Background(), ref); err != nil {
				t.Error(err)
			}
			if _, _, err := s.Variant(context.Background(), ref, attachment.Variant{MaxDimension: 50}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(list(t, one)); n != 20 {
		t.Errorf("%d objects", n)
	}
	if f := files(t, one); len(f) != 40 {
		t.Errorf("files: %v", f)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, Config{})
	ref := save(t, s, drawing(1, 40, 30))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.SaveImage(context.Background(), attachment.Image{Data: drawing(1, 40, 30)})
	_, err2 := s.Read(context.Background(), ref)
	_, _, err3 := s.Variant(context.Background(), ref, attachment.Variant{})
	_, _, err4 := s.Collect(context.Background(), nil)
	for _, err := range []error{err, err2, err3, err4} {
		if !errors.Is(err, errs.Stopped) {
			t.Errorf("got %v", err)
		}
	}
}

func TestCancelledSaveLeavesNothing(t *testing.T) {
	s := open(t, Config{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.SaveImage(ctx, attachment.Image{Data: drawing(1, 40, 30)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if f := files(t, s); len(f) != 0 {
		t.Errorf("left: %v", f)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]Config{
		"negative limit":       {Limits: attachment.Limits{MaxImagePixels: -1}},
		"negative concurrency": {Concurrency: -2},
		"negative grace":       {Grace: -time.Second},
		"unknown type":         {Limits: attachment.Limits{MediaTypes: []attachment.MediaType{attachment.PNG, "image/bmp"}}},
	} {
		cfg.Dir = filepath.Join(t.TempDir(), "store")
		if _, err := New(cfg); !errors.Is(err, errs.InvalidArgs) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(cfg.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory was made: %v", name, err)
		}
	}
}

func TestUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file, filepath.Join(file, "below")} {
		if s, err := New(Config{Dir: dir}); !errors.Is(err, errs.AttachmentWriteFailed) {
			t.Errorf("%q: %v", dir, err)
			s.Close()
		}
	}
}
