//go:build linux || darwin

package fslocal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
)

func TestWrite(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	r, err := f.WriteText(ctx, target(t, f, "a/b/c"), "one\n", vfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := vfs.WriteResult{Operation: vfs.Create, Version: mustRead(t, f, target(t, f, "a/b/c")).Version, Size: 4, After: "one\n"}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("create: want - got +\n%s", diff)
	}
	r, err = f.WriteText(ctx, target(t, f, "a/b/c"), "\xef\xbb\xbftwo\r\n", vfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want = vfs.WriteResult{Operation: vfs.Update, Version: mustRead(t, f, target(t, f, "a/b/c")).Version, Size: 8, Before: ptr("one\n"), After: "two\r\n"}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("update: want - got +\n%s", diff)
	}
	if got := content(t, filepath.Join(dir, "a/b/c")); got != "\xef\xbb\xbftwo\r\n" {
		t.Errorf("the file holds %q", got)
	}
	wantNames(t, filepath.Join(dir, "a/b"), "c")
	if _, err := f.WriteText(ctx, target(t, f, "bad/x"), "a\xff", vfs.Options{}); !errors.Is(err, errs.NotText) {
		t.Errorf("content that is no text gave %v", err)
	}
	wantNames(t, dir, "a")
	// A NUL is written like any other character, though what holds it early is
	// no text for those who read it.
	if _, err := f.WriteText(ctx, target(t, f, "nul"), "a\x00b", vfs.Options{}); err != nil {
		t.Errorf("content with a NUL gave %v", err)
	}
	if got := content(t, filepath.Join(dir, "nul")); got != "a\x00b" {
		t.Errorf("the file holds %q", got)
	}
}

func TestBefore(t *testing.T) {
	ctx := context.Background()
	big, small := strings.Repeat("b", 100), strings.Repeat("s", 99)
	tests := []struct {
		name, old, new string
		exact          bool
		want           *string
	}{
		{"small", small, small, false, &small},
		{"old at the limit", big, small, false, nil},
		{"new at the limit", small, big, false, nil},
		{"exact", big, big, true, &big},
		{"not text", "a\x00", small, false, nil},
		{"mark", "\xef\xbb\xbfx", small, false, ptr("x")},
		{"empty", "", small, false, ptr("")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, dir := newFS(t, Config{DiffBasisMaxBytes: 100})
			put(t, filepath.Join(dir, "a"), tt.old)
			r, err := f.WriteText(ctx, target(t, f, "a"), tt.new, vfs.Options{Exact: tt.exact})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.Before); diff != "" || r.Operation != vfs.Update || r.After != tt.new {
				t.Errorf("before: want - got +\n%s", diff)
			}
		})
	}
}

// TestAttributesAreKept makes sure that a write changes content and nothing
// else that can be kept.
func TestAttributesAreKept(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	write := func(name string) {
		t.Helper()
		if _, err := f.WriteText(ctx, target(t, f, name), "new\n", vfs.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	write("sub/fresh")
	wantMode := func(name string, want os.FileMode) {
		t.Helper()
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, want %v (%v)", name, info.Mode(), want, err)
		}
	}
	wantMode("sub/fresh", 0o640)
	wantMode("sub", os.ModeDir|0o750)
	for _, mode := range []os.FileMode{0o755, 0o600, 0o666, 0o640} {
		put(t, filepath.Join(dir, "m"), "x")
		os.Chmod(filepath.Join(dir, "m"), mode)
		write("m")
		wantMode("m", mode)
	}
	if os.Getuid() == 0 {
		put(t, filepath.Join(dir, "owned"), "x")
		os.Chown(filepath.Join(dir, "owned"), 1234, 2345)
		write("owned")
		m, _ := statPath(filepath.Join(dir, "owned"), true)
		if m.uid != 1234 || m.gid != 2345 {
			t.Errorf("owner is %d:%d", m.uid, m.gid)
		}
	}
	put(t, filepath.Join(dir, "x"), "x")
	if unix.Setxattr(filepath.Join(dir, "x"), "user.note", []byte("kept"), 0) == nil {
		write("x")
		buf := make([]byte, 10)
		n, err := unix.Getxattr(filepath.Join(dir, "x"), "user.note", buf)
		if err != nil || string(buf[:n]) != "kept" {
			t.Errorf("extended attribute: %q, %v", buf[:max(n, 0)], err)
		}
	}
	modified := time.Unix(1234567890, 987654321)
	if _, err := f.WriteBytes(ctx, target(t, f, "m"), []byte{0, 1}, vfs.Attr{Mode: 0o711, SetMode: true, Modified: modified}, vfs.Options{}); err != nil {
		t.Fatal(err)
	}
	wantMode("m", 0o711)
	if info, _ := os.Stat(filepath.Join(dir, "m")); !info.ModTime().Equal(modified) {
		t.Errorf("modified %v", info.ModTime())
	}
}

func TestLinksStay(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "real"), "old\n")
	os.Symlink("real", filepath.Join(dir, "link"))
	os.Symlink("new/place", filepath.Join(dir, "dangling"))
	os.Link(filepath.Join(dir, "real"), filepath.Join(dir, "twin"))
	for name, text := range map[string]string{"link": "through\n", "dangling": "landed\n"} {
		if _, err := f.WriteText(ctx, target(t, f, name), text, vfs.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Readlink(filepath.Join(dir, "link")); err != nil {
		t.Error("the symlink is gone")
	}
	got := []string{content(t, filepath.Join(dir, "real")), content(t, filepath.Join(dir, "new/place")), content(t, filepath.Join(dir, "twin"))}
	if diff := cmp.Diff([]string{"through\n", "landed\n", "old\n"}, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	// A leaf that has become a symlink since it was resolved is followed anew.
	tg := target(t, f, "later")
	os.Symlink("real", filepath.Join(dir, "later"))
	if _, err := f.WriteText(ctx, tg, "followed\n", vfs.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(dir, "real")); got != "followed\n" {
		t.Errorf("%q", got)
	}
	os.Symlink("loop", filepath.Join(dir, "loop"))
	if _, err := f.WriteText(ctx, vfs.Target{Key: vfs.Key(filepath.Join(dir, "loop")), Path: filepath.Join(dir, "loop")}, "x", vfs.Options{}); !errors.Is(err, errs.IO) {
		t.Errorf("a loop gave %v", err)
	}
}

func TestGuards(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "a"), "old\n")
	seen := mustRead(t, f, target(t, f, "a")).Version
	tests := []struct {
		name, path string
		guard      vfs.Guard
		code       errs.Code
	}{
		{"absent on absent", "new1", vfs.CreateIfAbsent(), ""},
		{"absent on existing", "a", vfs.CreateIfAbsent(), errs.NotObserved},
		{"version on absent", "new2", vfs.ReplaceIfVersion(seen), errs.StaleVersion},
		{"other version", "a", vfs.ReplaceIfVersion("nonsense"), errs.StaleVersion},
		{"empty version", "a", vfs.ReplaceIfVersion(""), errs.StaleVersion},
		{"version", "a", vfs.ReplaceIfVersion(seen), ""},
		{"version again", "a", vfs.ReplaceIfVersion(seen), errs.StaleVersion},
	}
	for _, tt := range tests {
		_, err := f.WriteText(ctx, target(t, f, tt.path), "new "+tt.name, vfs.Options{Guard: tt.guard})
		if errs.CodeOf(err) != tt.code {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	wantNames(t, dir, "a", "new1")
	_, err := f.EditText(ctx, target(t, f, "a"), vfs.Edit{Old: "not there", New: "x"}, vfs.Options{Guard: vfs.ReplaceIfVersion(seen)})
	if !errors.Is(err, errs.StaleVersion) {
		t.Errorf("the guard is not judged before the match: %v", err)
	}
	_, err = f.WriteText(ctx, target(t, f, "no/such/dir"), "x", vfs.Options{Guard: vfs.ReplaceIfVersion(seen)})
	if !errors.Is(err, errs.StaleVersion) {
		t.Errorf("%v", err)
	}
	wantNames(t, dir, "a", "new1")
}

func TestEdit(t *testing.T) {
	ctx := context.Background()
	f, dir := newFS(t)
	path := filepath.Join(dir, "a")
	tests := []struct {
		name, old string
		edit      vfs.Edit
		want      string
		code      errs.Code
		says      string
	}{
		{name: "once", old: "\xef\xbb\xbfa\r\nb\nc  ", edit: vfs.Edit{Old: "a\nb", New: "A\nB"}, want: "\xef\xbb\xbfA\r\nB\nc  "},
		{name: "all", old: "x y x", edit: vfs.Edit{Old: "x", New: "zz", All: true}, want: "zz y zz"},
		{name: "ambiguous", old: "x\ny\nx\n", edit: vfs.Edit{Old: "x", New: "z"}, code: errs.AmbiguousEdit, says: "2 times, on lines 1 and 3"},
		{name: "missing", old: "x", edit: vfs.Edit{Old: "q", New: "z"}, code: errs.EditNotFound, says: "not found"},
		{name: "empty", old: "x", edit: vfs.Edit{New: "z"}, code: errs.EditNotFound, says: "empty"},
		{name: "NUL", old: strings.Repeat("a", 9000) + "\x00", edit: vfs.Edit{Old: "a", New: "b", All: true}, code: errs.NotText},
		{name: "not UTF-8", old: "a\xff", edit: vfs.Edit{Old: "a", New: "b"}, code: errs.NotText},
		{name: "replacement that is no text", old: "a", edit: vfs.Edit{Old: "a", New: "\xff"}, code: errs.InvalidArgs},
	}
	for _, tt := range tests {
		put(t, path, tt.old)
		r, err := f.EditText(ctx, target(t, f, "a"), tt.edit, vfs.Options{})
		if errs.CodeOf(err) != tt.code || tt.code != "" && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
		want := tt.want
		if tt.code != "" {
			want = tt.old
		} else if r.Before == nil || "\xef\xbb\xbf"+*r.Before != "\xef\xbb\xbf"+strings.TrimPrefix(tt.old, "\xef\xbb\xbf") || r.After != strings.TrimPrefix(tt.want, "\xef\xbb\xbf") {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if got := content(t, path); got != want {
			t.Errorf("%s: the file holds %q, want %q", tt.name, got, want)
		}
	}
	if _, err := f.EditText(ctx, target(t, f, "none/x"), vfs.Edit{Old: "a", New: "b"}, vfs.Options{}); !errors.Is(err, errs.NotFound) {
		t.Errorf("%v", err)
	}
	wantNames(t, dir, "a")
}

// TestEditKeepsTheRest edits random files in random places and makes sure that
// every byte elsewhere stays.
func TestEditKeepsTheRest(t *testing.T) {
	f, dir := newFS(t)
	path := filepath.Join(dir, "a")
	rapid.Check(t, func(rt *rapid.T) {
		piece := rapid.StringOf(rapid.SampledFrom([]rune("ab \t\r\né")))
		head, tail := piece.Draw(rt, "head"), piece.Draw(rt, "tail")
		if rapid.Bool().Draw(rt, "mark") {
			head = "\xef\xbb\xbf" + head
		}
		// Neighbours that cannot form a break with the needle.
		put(t, path, head+"<NEEDLE>"+tail)
		if _, err := f.EditText(context.Background(), target(t, f, "a"), vfs.Edit{Old: "<NEEDLE>", New: "<new>"}, vfs.Options{}); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(head+"<new>"+tail, content(t, path)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestGrant(t *testing.T) {
	ctx := context.Background()
	sha := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return hex.EncodeToString(sum[:])
	}
	for _, limit := range []int64{0, 1} {
		f, dir := newFS(t, Config{DiffBasisMaxBytes: limit})
		put(t, filepath.Join(dir, "a"), "old")
		tests := []struct {
			name, path    string
			before, after string
			code          errs.Code
		}{
			{"right", "a", sha("old"), sha("new"), ""},
			{"other file", "a", sha("other"), sha("new"), errs.StaleVersion},
			{"other content", "a", sha("old"), sha("other"), errs.StaleVersion},
			{"there though absent", "a", "", sha("new"), errs.StaleVersion},
			{"absent", "p/b", "", sha("new"), ""},
			{"absent though there", "c", sha("old"), sha("new"), errs.StaleVersion},
			{"empty hash of content", "a", sha("old"), "", errs.StaleVersion},
		}
		for _, tt := range tests {
			put(t, filepath.Join(dir, "a"), "old")
			g := &sandbox.Grant{Before: tt.before, After: tt.after}
			_, err := f.WriteText(ctx, target(t, f, tt.path), "new", vfs.Options{Grant: g})
			if errs.CodeOf(err) != tt.code {
				t.Errorf("%s: %v", tt.name, err)
			}
			if tt.code != "" && content(t, filepath.Join(dir, "a")) != "old" {
				t.Errorf("%s: the file was changed", tt.name)
			}
		}
		wantNames(t, dir, "a", "p")
	}
}
