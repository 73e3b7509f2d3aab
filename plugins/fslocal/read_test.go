//go:build linux || darwin

package fslocal

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// readStream reads a whole stream and returns its version and content.
func readStream(t *testing.T, f *FS, tg vfs.Target) (vfs.Version, string) {
	t.Helper()
	s, err := f.StreamText(context.Background(), tg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	data, err := io.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	return s.Version(), string(data)
}

// TestOnlyRegularFilesAreOpened tries every way to content on everything that
// is no regular file. The test would hang if one of them blocked.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	f, dir := newFS(t)
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	os.Mkdir(filepath.Join(dir, "dir"), 0o755)
	os.Symlink("fifo", filepath.Join(dir, "link"))
	paths := []string{"fifo", "socket", "dir", "link", ".", "/", "/dev/null", "/dev/zero", "/dev/tty", "/dev/stdin"}
	if _, err := os.Stat("/proc/self/mem"); err == nil {
		paths = append(paths, "/proc/self/mem", "/proc/kmsg", "/proc/kcore", "/proc/self/fd/0", "/proc/self/pagemap", "/proc/self/environ", "/proc/sysrq-trigger")
	}
	ctx := context.Background()
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			if m, err := statPath(filepath.Join("/", path), true); strings.HasPrefix(path, "/") && (err != nil || !m.exists()) {
				t.Skip("there is no such file here")
			}
			tg := target(t, f, path)
			_, text := f.ReadText(ctx, tg)
			_, bytes := f.ReadBytes(ctx, tg, 10)
			_, stream := f.StreamText(ctx, tg)
			_, open := f.Open(ctx, tg)
			_, write := f.WriteText(ctx, tg, "x", vfs.Options{})
			_, absent := f.WriteText(ctx, tg, "x", vfs.Options{Guard: vfs.CreateIfAbsent()})
			_, edit := f.EditText(ctx, tg, vfs.Edit{Old: "x", New: "y"}, vfs.Options{})
			_, copied := f.Copy(ctx, tg, target(t, f, "copy of "+strings.ReplaceAll(path, "/", "_")), false, vfs.Options{})
			got := map[string]error{"ReadText": text, "ReadBytes": bytes, "StreamText": stream, "Open": open, "WriteText": write, "CreateIfAbsent": absent, "EditText": edit, "Copy": copied}
			if m, _ := f.Lstat(ctx, tg); m.Type == vfs.Link {
				delete(got, "Copy") // copies the link
			}
			for name, err := range got {
				if errors.Is(err, errs.NotObserved) && name == "CreateIfAbsent" && strings.HasPrefix(path, "/proc") {
					continue // a regular file for all that is known before it is opened
				}
				if !errors.Is(err, errs.NotRegularFile) {
					t.Errorf("%s: %v (%s)", name, err, errs.CodeOf(err))
				}
			}
		})
	}
}

// TestProcIsReadable reads a file that tells no size.
func TestProcIsReadable(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here")
	}
	f, _ := newFS(t)
	tg := target(t, f, "/proc/version")
	info, err := f.Stat(context.Background(), tg)
	if err != nil || info.Size != -1 {
		t.Errorf("size %d, %v; want -1", info.Size, err)
	}
	r := mustRead(t, f, tg)
	version, text := readStream(t, f, tg)
	if r.Content == "" || text != r.Content || version != r.Version {
		t.Errorf("read %q, streamed %q", r.Content, text)
	}
}

func TestReadText(t *testing.T) {
	long := strings.Repeat("é", 5000)
	tests := []struct {
		name, data string
		want       string
		code       errs.Code
	}{
		{name: "empty"},
		{name: "plain", data: "a\r\nb\n", want: "a\r\nb\n"},
		{name: "mark", data: "\xef\xbb\xbfa", want: "a"},
		{name: "only a mark", data: "\xef\xbb\xbf"},
		{name: "two marks", data: "\xef\xbb\xbf\xef\xbb\xbfa", want: "\xef\xbb\xbfa"},
		{name: "NUL", data: "a\x00b", code: errs.NotText},
		{name: "last NUL that counts", data: strings.Repeat("a", 8191) + "\x00", code: errs.NotText},
		{name: "first NUL that does not", data: strings.Repeat("a", 8192) + "\x00", want: strings.Repeat("a", 8192) + "\x00"},
		{name: "not UTF-8", data: "a\xffb", code: errs.NotText},
		{name: "cut rune", data: "a\xc3", code: errs.NotText},
		{name: "late", data: long + "\xff", code: errs.NotText},
		{name: "rune across chunks", data: strings.Repeat("a", streamChunk-1) + long, want: strings.Repeat("a", streamChunk-1) + long},
		{name: "bad at the end of many chunks", data: strings.Repeat("a", 3*streamChunk) + "\xc3", code: errs.NotText},
	}
	ctx := context.Background()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, dir := newFS(t)
			put(t, filepath.Join(dir, "a"), tt.data)
			tg := target(t, f, "a")
			r, err := f.ReadText(ctx, tg)
			if errs.CodeOf(err) != tt.code || r.Content != tt.want {
				t.Errorf("ReadText: %d bytes, %v", len(r.Content), err)
			}
			s, err := f.StreamText(ctx, tg)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			data, err := io.ReadAll(s)
			if errs.CodeOf(err) != tt.code {
				t.Errorf("StreamText: %v", err)
			}
			if tt.code == "" && string(data) != tt.want {
				t.Errorf("StreamText: %d bytes", len(data))
			}
			if (s.Version() != "") != (tt.code == "") {
				t.Errorf("version %q after %v", s.Version(), err)
			}
			b, err := f.ReadBytes(ctx, tg, int64(len(tt.data)))
			if err != nil || string(b.Data) != tt.data || cap(b.Data) > len(tt.data)+1 {
				t.Errorf("ReadBytes: %d bytes (cap %d), %v", len(b.Data), cap(b.Data), err)
			}
			if len(tt.data) > 0 {
				if _, err := f.ReadBytes(ctx, tg, int64(len(tt.data))-1); !errors.Is(err, errs.TooLarge) {
					t.Errorf("ReadBytes beyond the limit: %v", err)
				}
			}
		})
	}
}

// TestReadBytesDiscovers finds out that a file is larger than it says.
func TestReadBytesDiscovers(t *testing.T) {
	if _, err := os.Stat("/proc/version"); err != nil {
		t.Skip("no /proc here")
	}
	f, _ := newFS(t)
	_, err := f.ReadBytes(context.Background(), target(t, f, "/proc/version"), 3)
	if !errors.Is(err, errs.TooLarge) {
		t.Errorf("err = %v", err)
	}
	if _, err := f.ReadBytes(context.Background(), target(t, f, "/proc/version"), -1); !errors.Is(err, errs.InvalidArgs) {
		t.Errorf("a negative limit gave %v", err)
	}
}

func TestStreamEndsEarly(t *testing.T) {
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "a"), strings.Repeat("line\n", 2<<20/5*5))
	ctx, cancel := context.WithCancel(context.Background())
	s, err := f.StreamText(ctx, target(t, f, "a"))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1000)
	if _, err := s.Read(buf); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := s.Read(buf); !errors.Is(err, errs.FSAborted) {
		t.Errorf("after the end of its context a stream gave %v", err)
	}
	if s.Version() != "" {
		t.Error("a stream that was not read to its end has a version")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error("second Close:", err)
	}
	if _, err := s.Read(buf); err == nil {
		t.Error("a closed stream could be read")
	}
}

func TestStatAndLstat(t *testing.T) {
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "file"), "12345")
	os.Symlink("file", filepath.Join(dir, "link"))
	os.Symlink("nothing", filepath.Join(dir, "broken"))
	tests := []struct {
		path        string
		stat, lstat vfs.Type
	}{
		{"file", vfs.File, vfs.File},
		{"link", vfs.File, vfs.Link},
		{"broken", vfs.Absent, vfs.Link},
		{"nothing", vfs.Absent, vfs.Absent},
		{"file/below", vfs.Absent, vfs.Absent},
		{".", vfs.Directory, vfs.Directory},
		{"/", vfs.Directory, vfs.Directory},
		{"/dev/null", vfs.Other, vfs.Other},
	}
	for _, tt := range tests {
		tg := target(t, f, tt.path)
		s, err := f.Stat(context.Background(), tg)
		if err != nil || s.Type != tt.stat {
			t.Errorf("Stat(%s) = %v, %v", tt.path, s.Type, err)
		}
		l, err := f.Lstat(context.Background(), tg)
		if err != nil || l.Type != tt.lstat {
			t.Errorf("Lstat(%s) = %v, %v", tt.path, l.Type, err)
		}
		if (s.Version != "") != (tt.stat == vfs.File) {
			t.Errorf("Stat(%s) has version %q", tt.path, s.Version)
		}
	}
	s, _ := f.Stat(context.Background(), target(t, f, "file"))
	if s.Size != 5 || s.Mode != 0o644 || s.Modified.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestList(t *testing.T) {
	f, dir := newFS(t)
	for _, name := range []string{"b", "a", "B", "é", "a.b", "\x01", "\xff"} {
		put(t, filepath.Join(dir, name), "12")
	}
	os.Mkdir(filepath.Join(dir, "dir"), 0o755)
	os.Symlink("a", filepath.Join(dir, "link"))
	os.Symlink("none", filepath.Join(dir, "broken"))
	os.Symlink("loop", filepath.Join(dir, "loop"))
	unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644)
	entries, err := f.List(context.Background(), target(t, f, "."))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Name, Key string
		Type      vfs.Type
		Size      int64
	}
	var got []row
	for _, e := range entries {
		rel, _ := filepath.Rel(dir, string(e.Target.Key))
		got = append(got, row{e.Name, rel, e.Type, e.Size})
		if e.Target.Path != filepath.Join(dir, e.Name) {
			t.Errorf("%s is shown as %s", e.Name, e.Target.Path)
		}
	}
	want := []row{
		{"\x01", "\x01", vfs.File, 2}, {"B", "B", vfs.File, 2}, {"a", "a", vfs.File, 2}, {"a.b", "a.b", vfs.File, 2}, {"b", "b", vfs.File, 2},
		{"broken", "none", vfs.Other, 0}, {"dir", "dir", vfs.Directory, 0}, {"fifo", "fifo", vfs.Other, 0},
		{"link", "a", vfs.Link, 0}, {"loop", "loop", vfs.Other, 0}, {"é", "é", vfs.File, 2}, {"\xff", "\xff", vfs.File, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	for path, code := range map[string]errs.Code{"a": errs.NotDirectory, "none": errs.NotFound, "fifo": errs.NotDirectory, "a/x": errs.NotDirectory} {
		if _, err := f.List(context.Background(), target(t, f, path)); errs.CodeOf(err) != code {
			t.Errorf("List(%s) = %v", path, err)
		}
	}
}

func TestWalk(t *testing.T) {
	f, dir := newFS(t)
	for _, d := range []string{"a/x", "a-b", "skip/deep", "z"} {
		os.MkdirAll(filepath.Join(dir, d), 0o755)
	}
	for _, p := range []string{"a/f", "a/x/g", "a.txt", "skip/h", "z/1", "z/2", "z/3"} {
		put(t, filepath.Join(dir, p), "")
	}
	os.Symlink("../a", filepath.Join(dir, "z", "to-a"))
	var got []string
	err := f.WalkDir(context.Background(), target(t, f, "."), func(path string, e vfs.Entry, err error) error {
		got = append(got, path+" "+e.Type.String())
		if path == "skip" || path == "z/2" {
			return vfs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a directory", "a-b directory", "a.txt file", "a/f file", "a/x directory", "a/x/g file", "skip directory", "z directory", "z/1 file", "z/2 file"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	stop := errors.New("enough")
	if err := f.WalkDir(context.Background(), target(t, f, "."), func(string, vfs.Entry, error) error { return stop }); err != stop {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = f.WalkDir(ctx, target(t, f, "."), func(string, vfs.Entry, error) error { cancel(); return nil })
	if !errors.Is(err, errs.FSAborted) {
		t.Errorf("after cancel: %v", err)
	}
}

func TestOpen(t *testing.T) {
	f, dir := newFS(t)
	put(t, filepath.Join(dir, "a"), "0123456789")
	r, err := f.Open(context.Background(), target(t, f, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	buf := make([]byte, 4)
	if n, err := r.ReadAt(buf, 8); n != 2 || err != io.EOF {
		t.Errorf("ReadAt at the end: %d, %v", n, err)
	}
	if n, err := r.ReadAt(buf, 3); n != 4 || err != nil || string(buf) != "3456" {
		t.Errorf("ReadAt: %d, %v, %q", n, err, buf)
	}
	if r.Size() != 10 || r.Version() == "" {
		t.Errorf("size %d, version %q", r.Size(), r.Version())
	}
}

// A large file takes as much memory as it has bytes, and one more to find the
// end, however the buffer grew.
func TestBufferOfALargeFileIsItsSize(t *testing.T) {
	f, dir := newFS(t)
	const size = maxUnsized + maxUnsized/2
	path := filepath.Join(dir, "sparse")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	s, err := f.openFile("read", target(t, f, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	data, err := s.readAll(context.Background(), math.MaxInt64, nil)
	if err != nil || len(data) != size || cap(data) != size+1 {
		t.Errorf("read %d bytes into a buffer of %d: %v", len(data), cap(data), err)
	}
}
