package tree

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk/walktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func render(t testing.TB, tree *walktest.Tree, o Options) Tree {
	t.Helper()
	root := tree.Open()
	o.RootName = "ws"
	got, err := Render(context.Background(), root, o)
	root.Close()
	if err != nil {
		t.Fatalf("Render: %v", err)
	}
	if n := tree.StillOpen(); n != 0 {
		t.Errorf("%d directories are still open", n)
	}
	return got
}

func globs(t testing.TB, use gitignore.Use, patterns ...string) *gitignore.Globs {
	t.Helper()
	g, err := gitignore.NewGlobs(patterns, use)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sample has what a tree can meet.
func sample() *walktest.Tree {
	return walktest.Mem(map[string]walktest.File{
		"src/a.go":           {Data: "aaa"},
		"src/sub/b.rs":       {Data: "b"},
		"src-old/x.go":       {Data: "x"},
		"empty":              {Type: vfs.Directory},
		".hidden":            {},
		".gitignore":         {Data: "out/\n"},
		".git/HEAD":          {Data: "ref"},
		"out/x":              {},
		"link":               {Type: vfs.Link},
		"pipe":               {Type: vfs.Other},
		"locked":             {Type: vfs.Directory, Err: errors.New("no permission")},
		"odd\n\x1b\xff":      {},
		"README.md":          {Data: "readme"},
		".fileops-backups/b": {},
	})
}

func TestRender(t *testing.T) {
	plain := Options{MaxDepth: -1, MaxFileSize: -1, Skip: func(name string) bool { return name == ".fileops-backups" }}
	with := func(f func(*Options)) Options { o := plain; f(&o); return o }
	tests := []struct {
		name string
		o    Options
		want string
		cut  string
	}{
		{"plain", plain, `ws/
  README.md
  empty/
  link  (symlink)
  locked/  (unreadable)
  odd\n\x1b\xff
  pipe  (special)
  src/
    a.go
    sub/
      b.rs
  src-old/
    x.go`, ""},
		{"depth 0", with(func(o *Options) { o.MaxDepth = 0 }), "ws/", "depth"},
		{"depth 1", with(func(o *Options) { o.MaxDepth = 1 }), `ws/
  README.md
  empty/
  link  (symlink)
  locked/  (unreadable)
  odd\n\x1b\xff
  pipe  (special)
  src/
  src-old/`, "depth"},
		{"hidden", with(func(o *Options) {
			o.ShowHidden = true
			o.Include = globs(t, gitignore.IncludeEntries, ".*", "/*.md")
		}), `ws/
  .git/
  .gitignore
  .hidden
  README.md`, ""},
		{"include", with(func(o *Options) { o.Include = globs(t, gitignore.IncludeEntries, "*.rs") }), `ws/
  src/
    sub/
      b.rs`, ""},
		{"include below the depth", with(func(o *Options) {
			o.Include = globs(t, gitignore.IncludeEntries, "*.rs")
			o.MaxDepth = 1
		}), "ws/\n  src/", "depth"},
		{"directories only", with(func(o *Options) { o.Include = globs(t, gitignore.IncludeEntries, "*/") }), `ws/
  empty/
  locked/  (unreadable)
  src/
    sub/
  src-old/`, ""},
		{"exclude", with(func(o *Options) {
			o.Exclude = globs(t, gitignore.ExcludeEntries, "src/**", "*.md", "link", "locked", "odd*", "pipe", "x.go")
		}), `ws/
  empty/
  src-old/`, ""},
		{"size", with(func(o *Options) {
			o.MaxFileSize = 2
			o.Include = globs(t, gitignore.IncludeEntries, "*.go", "*.rs")
		}), `ws/
  src/
    sub/
      b.rs
  src-old/
    x.go`, ""},
		{"characters", with(func(o *Options) { o.MaxChars = len("ws/\n  README.md\n  empty/") }), "ws/\n  README.md\n  empty/", "chars"},
		{"no room for the root", with(func(o *Options) { o.MaxChars = 2 }), "", "chars"},
		{"no room for an entry", with(func(o *Options) { o.MaxChars = 4 }), "ws/", "chars"},
		{"entries", with(func(o *Options) { o.MaxScanned = 7 }), "ws/\n  README.md\n  empty/\n  link  (symlink)", "scanned"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := render(t, sample(), tt.o)
			if d := cmp.Diff(tt.want, got.Text); d != "" {
				t.Errorf("tree (-want +got):\n%s", d)
			}
			cut := ""
			for name, is := range map[string]bool{"depth": got.CutByDepth, "chars": got.CutByChars, "scanned": got.CutByScanned, "time": got.CutByTime} {
				if is {
					cut += name
				}
			}
			if cut != tt.cut {
				t.Errorf("cut by %q, want %q", cut, tt.cut)
			}
			dirs := strings.Count(got.Text, "/\n") + strings.Count(got.Text, "/  (")
			if strings.HasSuffix(got.Text, "/") {
				dirs++
			}
			if lines := strings.Count(got.Text, "\n"); got.Text != "" && (got.RenderedDirs != dirs || got.RenderedFiles+dirs != lines+1) {
				t.Errorf("%d directories and %d files in\n%s", got.RenderedDirs, got.RenderedFiles, got.Text)
			}
		})
	}
}

func TestStats(t *testing.T) {
	o := Options{MaxDepth: 1, MaxFileSize: -1, Stats: true, Scope: Scanned}
	got := render(t, sample(), o)
	want := []ExtensionStat{{"", 3, 0}, {".go", 2, 4}, {".md", 1, 6}, {".rs", 1, 1}}
	if d := cmp.Diff(want, got.Extensions); d != "" {
		t.Errorf("extensions (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]DirStat{{".", 7}, {"src", 2}, {"src-old", 1}, {"src/sub", 1}}, got.Largest); d != "" {
		t.Errorf("largest (-want +got):\n%s", d)
	}
	if got.ScannedFiles != 7 || got.ScannedDirs != 6 || got.RenderedFiles != 4 || got.RenderedDirs != 5 {
		t.Errorf("counts: %+v", got)
	}
	o.Scope = Rendered
	got = render(t, sample(), o)
	if d := cmp.Diff([]ExtensionStat{{"", 3, 0}, {".md", 1, 6}}, got.Extensions); d != "" {
		t.Errorf("rendered extensions (-want +got):\n%s", d)
	}
	if got.ScannedFiles != 4 || got.ScannedDirs != 5 {
		t.Errorf("rendered counts: %+v", got)
	}
}

func randomTree(r *rand.Rand) map[string]string {
	files := map[string]string{}
	names := []string{"a", "b", "é", "日本", "a.go", "b.rs", "long" + strings.Repeat("x", 40), "-", "~"}
	var build func(dir string, depth int)
	build = func(dir string, depth int) {
		for range r.IntN(8) {
			path := walk.Join(dir, names[r.IntN(len(names))])
			if depth < 5 && r.IntN(3) == 0 && files[path] == "" {
				files[path+"/"] = ""
				build(path, depth+1)
			} else if _, dir := files[path+"/"]; !dir {
				files[path] = "x"
			}
		}
	}
	build("", 0)
	return files
}

// TestPagesGiveEveryEntryOnce follows the offsets to the end for trees and
// listings.
func TestPagesGiveEveryEntryOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		files := randomTree(r)
		for path := range files { // a file that is also a directory is none
			if _, dup := files[path+"/"]; dup {
				delete(files, path)
			}
		}
		mem := walktest.Text(files)
		o := Options{MaxDepth: r.IntN(7), MaxFileSize: -1}
		if r.IntN(3) == 0 {
			o.Include = globs(t, gitignore.IncludeEntries, "*.go", "a")
		}
		whole := render(t, mem, o)
		wantLines := strings.Split(whole.Text, "\n")[1:]
		var got []string
		o.MaxChars = 70 + r.IntN(200)
		prints := map[string]bool{}
		for pages := 0; ; pages++ {
			page := render(t, mem, o)
			if n := utf8.RuneCountInString(page.Text); n > o.MaxChars {
				t.Fatalf("%d characters, at most %d were allowed", n, o.MaxChars)
			}
			lines := strings.Split(page.Text, "\n")
			if !strings.HasPrefix(lines[0], "ws/") {
				t.Fatalf("the first line is %q", lines[0])
			}
			got = append(got, lines[1:]...)
			prints[page.Fingerprint] = true
			if page.Next == 0 {
				if len(prints) != pages+1 {
					t.Errorf("%d pages have %d fingerprints", pages+1, len(prints))
				}
				break
			}
			if page.Next <= o.Offset {
				t.Fatalf("offset %d leads to %d", o.Offset, page.Next)
			}
			o.Offset = page.Next
		}
		if d := cmp.Diff(wantLines, got); d != "" && !(len(wantLines) == 0 && len(got) == 0) {
			t.Fatalf("lines (-want +got):\n%s", d)
		}
		listPages(t, r, mem)
	}
}

func listPages(t *testing.T, r *rand.Rand, mem *walktest.Tree) {
	t.Helper()
	o := ListOptions{Depth: 1 + r.IntN(5), Page: 1_000_000}
	root := mem.Open()
	defer root.Close()
	whole, err := List(t.Context(), root, o)
	if err != nil || whole.Total != len(whole.Entries) {
		t.Fatalf("%d of %d, error %v", len(whole.Entries), whole.Total, err)
	}
	var got []Listed
	for o.Page = 1 + r.IntN(10); ; o.Offset += o.Page {
		page, err := List(t.Context(), root, o)
		if err != nil || page.Total != whole.Total {
			t.Fatalf("total %d, want %d, error %v", page.Total, whole.Total, err)
		}
		got = append(got, page.Entries...)
		if len(page.Entries) < o.Page {
			break
		}
	}
	if d := cmp.Diff(whole.Entries, got); d != "" {
		t.Fatalf("entries (-want +got):\n%s", d)
	}
}

func TestFingerprintIsOfNamesAndTypes(t *testing.T) {
	base := map[string]walktest.File{"a/b": {Data: "x"}, "c": {Data: "y"}}
	change := func(path string, f walktest.File) map[string]walktest.File {
		out := map[string]walktest.File{path: f}
		for p, f := range base {
			if p != path {
				out[p] = f
			}
		}
		return out
	}
	o := Options{MaxDepth: -1, MaxFileSize: -1}
	want := render(t, walktest.Mem(base), o).Fingerprint
	if got := render(t, walktest.Mem(change("c", walktest.File{Data: "other content"})), o).Fingerprint; got != want {
		t.Error("content changes the fingerprint")
	}
	for name, files := range map[string]map[string]walktest.File{
		"type":   change("c", walktest.File{Type: vfs.Link}),
		"kind":   change("c", walktest.File{Type: vfs.Directory}),
		"name":   change("d", walktest.File{}),
		"nested": {"a": {Type: vfs.Directory}, "b": {}, "c": {}},
	} {
		if got := render(t, walktest.Mem(files), o).Fingerprint; got == want {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
}

func TestList(t *testing.T) {
	name := func(p string) *gitignore.Name {
		n, err := gitignore.NewName(p)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	tests := []struct {
		name string
		o    ListOptions
		want []string
		all  int
	}{
		{"own entries", ListOptions{Depth: 1, Page: 50}, []string{"README.md", "empty", "link", "locked", "odd\n\x1b\xff", "out", "pipe", "src", "src-old"}, 9},
		{"below", ListOptions{Depth: 3, Page: 50, Name: name("*.{go,rs}")}, []string{"src/a.go", "src/sub/b.rs", "src-old/x.go"}, 3},
		{"hidden", ListOptions{Depth: 1, Page: 2, ShowHidden: true}, []string{".fileops-backups", ".git"}, 13},
		{"a later page", ListOptions{Depth: 1, Page: 2, Offset: 7}, []string{"src", "src-old"}, 9},
		{"beyond the end", ListOptions{Depth: 1, Page: 2, Offset: 70}, nil, 9},
	}
	for _, tt := range tests {
		root := sample().Open()
		got, err := List(t.Context(), root, tt.o)
		root.Close()
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, e := range got.Entries {
			paths = append(paths, e.Path)
			if (e.Err != nil) != (e.Path == "locked" && tt.o.Depth > 1) {
				t.Errorf("%s: %q has the error %v", tt.name, e.Path, e.Err)
			}
		}
		if d := cmp.Diff(tt.want, paths); d != "" || got.Total != tt.all {
			t.Errorf("%s: %d in all, want %d, paths (-want +got):\n%s", tt.name, got.Total, tt.all, d)
		}
	}
	root := sample().Open()
	defer root.Close()
	got, err := List(t.Context(), root, ListOptions{Depth: 2, Page: 50, Name: name("locked")})
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Err == nil {
		t.Errorf("an unreadable directory: %+v, error %v", got, err)
	}
}

func TestHugeTrees(t *testing.T) {
	files := map[string]walktest.File{}
	for i := range 100_000 {
		files[fmt.Sprintf("d%d/f%d", i%300, i)] = walktest.File{}
	}
	deep := strings.Repeat("x/", 200) + "end"
	files[deep] = walktest.File{}
	mem := walktest.Mem(files)
	got := render(t, mem, Options{MaxDepth: -1, MaxFileSize: -1})
	if !got.CutByChars || got.Next == 0 || utf8.RuneCountInString(got.Text) > DefaultChars {
		t.Errorf("%d characters, cut %v, next %d", len(got.Text), got.CutByChars, got.Next)
	}
	got = render(t, mem, Options{MaxDepth: MaxDepth, MaxFileSize: -1, Scope: Scanned, MaxScanned: 200_000, Offset: 100_300, MaxChars: MaxChars})
	if got.ScannedFiles != 100_001 || !strings.HasSuffix(got.Text, "\n"+strings.Repeat("  ", 201)+"end") {
		t.Errorf("%d files; the end is %q", got.ScannedFiles, got.Text[max(0, len(got.Text)-30):])
	}
}

func TestTimeAndCancellation(t *testing.T) {
	mem := sample()
	root := mem.Open()
	defer root.Close()
	got, err := Render(t.Context(), slow{root}, Options{MaxDepth: -1, MaxFileSize: -1, MaxTime: time.Millisecond})
	if err != nil || !got.CutByTime {
		t.Errorf("cut by time: %v, error %v", got.CutByTime, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Render(ctx, root, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Render: error %v", err)
	}
	if _, err := List(ctx, root, ListOptions{Depth: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("List: error %v", err)
	}
}

// slow opens no directory before the context ends.
type slow struct{ walk.Dir }

func (s slow) OpenDir(ctx context.Context, _ string) (walk.Dir, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestDeterminism(t *testing.T) {
	var texts []string
	for range 5 {
		texts = append(texts, render(t, sample(), Options{MaxDepth: -1, MaxFileSize: -1}).Text)
	}
	if len(slices.Compact(texts)) != 1 {
		t.Error("the same tree is drawn in different ways")
	}
}
