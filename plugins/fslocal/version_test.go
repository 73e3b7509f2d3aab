//go:build linux || darwin

package fslocal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// age lets a file's times become trusted without waiting: the provider takes
// now from the clock, so the file is made to lie in the past. Change times
// cannot be set; they are waited for.
func settle(t *testing.T, path string) {
	t.Helper()
	for {
		now := time.Now()
		m, err := statPath(path, true)
		if err != nil {
			t.Fatal(err)
		}
		if settled(m, now, worldDisk) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestVersionGuard tries what may and may not make a version stale, for
// versions from each source, for content that is read when it is replaced and
// for content so large that metadata may decide, and across a restart.
func TestVersionGuard(t *testing.T) {
	const text = "content of the file\n"
	changes := []struct {
		name  string
		stale bool
		do    func(t *testing.T, path string)
		// metadata tells that a version of metadata alone is stale after it.
		metadata bool
	}{
		{"nothing", false, func(*testing.T, string) {}, false},
		{"touch", false, func(t *testing.T, path string) {
			now := time.Now().Add(time.Hour)
			if err := os.Chtimes(path, now, now); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"same bytes again", false, func(t *testing.T, path string) { put(t, path, text) }, true},
		{"delete and create", false, func(t *testing.T, path string) {
			os.Remove(path)
			put(t, path, text)
		}, true},
		{"other content", true, func(t *testing.T, path string) { put(t, path, "longer "+text) }, true},
		{"same size", true, func(t *testing.T, path string) { put(t, path, strings.ToUpper(text)) }, true},
		{"same size, times put back", true, func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, strings.ToUpper(text))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"removed", true, func(t *testing.T, path string) { os.Remove(path) }, true},
	}
	sources := map[string]func(f *FS, t *testing.T, tg vfs.Target) vfs.Version{
		"ReadText": func(f *FS, t *testing.T, tg vfs.Target) vfs.Version {
			r, err := f.ReadText(context.Background(), tg)
			if err != nil {
				t.Fatal(err)
			}
			return r.Version
		},
		"ReadBytes": func(f *FS, t *testing.T, tg vfs.Target) vfs.Version {
			r, err := f.ReadBytes(context.Background(), tg, 1000)
			if err != nil {
				t.Fatal(err)
			}
			return r.Version
		},
		"Stat": func(f *FS, t *testing.T, tg vfs.Target) vfs.Version {
			i, err := f.Stat(context.Background(), tg)
			if err != nil {
				t.Fatal(err)
			}
			return i.Version
		},
		"WriteText": func(f *FS, t *testing.T, tg vfs.Target) vfs.Version {
			r, err := f.WriteText(context.Background(), tg, text, vfs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return r.Version
		},
	}
	for _, limit := range []int64{0, 1} {
		for _, settledFirst := range []bool{false, true} {
			for source, version := range sources {
				for _, c := range changes {
					name := strings.Join([]string{map[int64]string{0: "small", 1: "large"}[limit],
						map[bool]string{false: "fresh", true: "settled"}[settledFirst], source, c.name}, "/")
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						f, dir := newFS(t, Config{DiffBasisMaxBytes: limit})
						path := filepath.Join(dir, "a")
						put(t, path, text)
						tg := target(t, f, "a")
						if settledFirst {
							settle(t, path)
						}
						v := version(f, t, tg)
						c.do(t, path)
						want := c.stale
						if source == "Stat" && settledFirst && c.metadata {
							want = true // metadata says less than content
						}
						before, _ := os.ReadFile(path)
						again, _ := newFS(t, Config{DiffBasisMaxBytes: limit})
						_, err := again.WriteText(context.Background(), tg, "new", vfs.Options{Guard: vfs.ReplaceIfVersion(v)})
						if want != errors.Is(err, errs.StaleVersion) || err != nil && !want {
							t.Fatalf("err = %v, want stale: %v (version %s)", err, want, v)
						}
						if want {
							after, _ := os.ReadFile(path)
							if diff := cmp.Diff(string(before), string(after)); diff != "" {
								t.Errorf("a refused write changed the file:\n%s", diff)
							}
						}
					})
				}
			}
		}
	}
}

// TestVersionsOfOneContentAgree makes sure that every way to a version gives
// the same digest, at and around the borders of its leaves.
func TestVersionsOfOneContentAgree(t *testing.T) {
	ctx := context.Background()
	for _, size := range []int{0, 1, leafSize - 1, leafSize, leafSize + 1, 3*leafSize - 7, 4 * leafSize, 13*leafSize + 5} {
		f, dir := newFS(t)
		text := strings.Repeat("0123456789abcde\n", size/16+1)[:size]
		path := filepath.Join(dir, "a")
		put(t, path, text)
		tg := target(t, f, "a")
		want := *parseVersion(mustRead(t, f, tg).Version).digest
		if want.size != int64(size) {
			t.Errorf("size %d: digest has size %d", size, want.size)
		}
		h := newHasher()
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 100_003)
			h.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		stream, got := readStream(t, f, tg)
		if got != text {
			t.Errorf("size %d: the stream has other content", size)
		}
		info, err := f.Stat(ctx, tg)
		if err != nil {
			t.Fatal(err)
		}
		written, err := f.WriteText(ctx, tg, text, vfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// A slow machine may find the file settled, and then known by its times.
		if v := parseVersion(info.Version); v.identity == nil && (v.digest == nil || *v.digest != want) {
			t.Errorf("size %d: Stat gave %s", size, info.Version)
		}
		for name, d := range map[string]*digest{
			"pieces": ptr(h.digest()),
			"stream": parseVersion(stream).digest,
			"write":  parseVersion(written.Version).digest,
		} {
			if d == nil || *d != want {
				t.Errorf("size %d: %s has digest %v, want %v", size, name, d, want)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

func mustRead(t *testing.T, f *FS, tg vfs.Target) vfs.Text {
	t.Helper()
	r, err := f.ReadText(context.Background(), tg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTokensRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want token
		if rapid.Bool().Draw(t, "digest") {
			want.digest = &digest{size: rapid.Int64Min(0).Draw(t, "size")}
			want.digest.sum.Hi, want.digest.sum.Lo = rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")
		}
		if rapid.Bool().Draw(t, "identity") {
			want.identity = &identity{rapid.Uint64().Draw(t, "dev"), rapid.Uint64().Draw(t, "ino"), rapid.Int64().Draw(t, "len"),
				rapid.Int64().Draw(t, "mtime"), rapid.Int64().Draw(t, "ctime")}
		}
		got := parseVersion(want.version())
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(token{}, digest{}, identity{})); diff != "" {
			t.Fatal(diff)
		}
	})
	for _, v := range []vfs.Version{"", "x", "l1.-.-", "l2.5-00.1", "l1.5-00.1_2_3_4_5", "l1..", "l1.-.1_2_3"} {
		if got := parseVersion(v); got.digest != nil {
			t.Errorf("parseVersion(%q) = %+v", v, got)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("l1.8-c796d15e493d134d5d953b5446c61440.1_2_3_4_5")
	f.Fuzz(func(t *testing.T, s string) {
		first := parseVersion(vfs.Version(s))
		if diff := cmp.Diff(first, parseVersion(first.version()), cmp.AllowUnexported(token{}, digest{}, identity{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestDigestsAreBounded makes sure that the table forgets.
func TestDigestsAreBounded(t *testing.T) {
	var d digests
	for i := range 10 * digestCapacity {
		d.put(identity{ino: uint64(i)}, digest{size: int64(i)})
	}
	if n := len(d.new) + len(d.old); n > digestCapacity {
		t.Errorf("%d digests are remembered, want at most %d", n, digestCapacity)
	}
	if sum, ok := d.get(identity{ino: 10*digestCapacity - 1}); !ok || sum.size != 10*digestCapacity-1 {
		t.Error("the latest digest was forgotten")
	}
}
