package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk/walktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runTree(t *testing.T, tree *walktest.Tree, q Query, o Options) Result {
	t.Helper()
	p, err := Compile(q)
	if err != nil {
		t.Fatal(err)
	}
	root := tree.Open()
	r, err := Run(t.Context(), Root{Dir: root}, p, o)
	root.Close()
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	if n := tree.StillOpen(); n != 0 {
		t.Errorf("%d directories are still open", n)
	}
	return r
}

func paths(r Result) []string {
	var out []string
	for _, f := range r.Matched {
		out = append(out, f.Path)
	}
	return out
}

// many makes a tree whose path order differs from the order of names.
func many(n int) (map[string]string, []string) {
	files := map[string]string{}
	var want []string
	for i := range n {
		for _, p := range []string{"a-b/%d", "a/%d", "a.go/%d", "a/z/%d", "b%d"} {
			path := fmt.Sprintf(p, i)
			files[path] = strings.Repeat("x hit\n", 1+i%3)
			want = append(want, path)
		}
	}
	slices.Sort(want)
	return files, want
}

func TestResultsAreInPathOrder(t *testing.T) {
	files, want := many(60)
	for _, workers := range []int{1, 2, 7} {
		r := runTree(t, walktest.Text(files), Query{Text: "hit"}, Options{Mode: Files, Workers: workers})
		if d := cmp.Diff(want, paths(r)); d != "" {
			t.Fatalf("%d workers (-want +got):\n%s", workers, d)
		}
		if r.Reason != Complete || r.MatchedFiles != len(want) || r.Searched != len(want) {
			t.Errorf("%d workers: %+v", workers, r)
		}
	}
}

// TestLimitsCutTheEnd proves that a limited result is the beginning of the
// unlimited one, for every limit.
func TestLimitsCutTheEnd(t *testing.T) {
	files, want := many(40)
	total := 0
	for _, f := range files {
		total += strings.Count(f, "hit")
	}
	tests := []struct {
		name   string
		o      Options
		reason Reason
		files  int
	}{
		{"results", Options{MaxResults: 10}, HitMaxResults, -1},
		{"exactly all results", Options{MaxResults: total}, Complete, len(want)},
		{"one result less", Options{MaxResults: total - 1}, HitMaxResults, -1},
		{"files", Options{Mode: Files, MaxFiles: 7}, HitMaxFiles, 7},
		{"exactly all files", Options{Mode: Files, MaxFiles: len(want)}, Complete, len(want)},
		{"scanned files", Options{Mode: Files, MaxScannedFiles: 9}, HitScannedFiles, 9},
		{"exactly all scanned", Options{Mode: Files, MaxScannedFiles: len(want)}, Complete, len(want)},
		{"scanned bytes", Options{Mode: Files, MaxScannedBytes: 100}, HitScannedBytes, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before []string
			for round := range 3 {
				r := runTree(t, walktest.Text(files), Query{Text: "hit"}, tt.o)
				got := paths(r)
				if r.Reason != tt.reason || len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("reason %q, want %q; %d paths, not the first ones: %q", r.Reason, tt.reason, len(got), got)
				}
				if tt.files >= 0 && len(got) != tt.files {
					t.Errorf("%d files, want %d", len(got), tt.files)
				}
				if tt.o.MaxResults > 0 && r.Total > tt.o.MaxResults || tt.reason == HitMaxResults && r.Total != tt.o.MaxResults {
					t.Errorf("%d results", r.Total)
				}
				if tt.o.MaxScannedBytes > 0 && r.Bytes > tt.o.MaxScannedBytes {
					t.Errorf("%d bytes", r.Bytes)
				}
				if round > 0 && !slices.Equal(before, got) {
					t.Errorf("another result in round %d", round)
				}
				before = got
			}
		})
	}
}

func TestCountGoesOnBeyondTheList(t *testing.T) {
	files, want := many(40)
	r := runTree(t, walktest.Text(files), Query{Text: "hit"}, Options{Mode: Count, MaxFiles: 3})
	total := 0
	for _, f := range files {
		total += strings.Count(f, "hit")
	}
	if len(r.Matched) != 3 || r.MatchedFiles != len(want) || r.Total != total || r.Reason != HitMaxFiles {
		t.Errorf("%d listed, %d files, %d matches, reason %q", len(r.Matched), r.MatchedFiles, r.Total, r.Reason)
	}
}

func TestWhatIsSearched(t *testing.T) {
	tree := walktest.Mem(map[string]walktest.File{
		"a.go":              {Data: "hit"},
		"a.txt":             {Data: "hit"},
		"bin":               {Data: "hit\x00"},
		".hidden":           {Data: "hit"},
		".git/x":            {Data: "hit"},
		".git/info/exclude": {Data: "excluded\n"},
		"excluded":          {Data: "hit"},
		".gitignore":        {Data: "out/\n*.tmp\n"},
		"out/a.go":          {Data: "hit"},
		"x.tmp":             {Data: "hit"},
		"sub/.gitignore":    {Data: "!x.tmp\n"},
		"sub/x.tmp":         {Data: "hit"},
		"sub/.ignore":       {Data: "quiet\n"},
		"sub/quiet":         {Data: "hit"},
		"link":              {Type: vfs.Link},
		"fifo":              {Type: vfs.Other},
		"locked":            {Type: vfs.Directory, Err: errors.New("no permission")},
		"broken":            {Err: errors.New("disk error")},
		"nested/.git/HEAD":  {Data: "ref"},
		"nested/y.tmp":      {Data: "hit"},
		"skipme/a.go":       {Data: "hit"},
	})
	globs := func(use gitignore.Use, patterns ...string) *gitignore.Globs {
		g, err := gitignore.NewGlobs(patterns, use)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	skip := func(name string) bool { return name == "skipme" }
	tests := []struct {
		name string
		o    Options
		want []string
	}{
		{"plain", Options{Skip: skip}, []string{"a.go", "a.txt", "nested/y.tmp", "sub/x.tmp"}},
		{"include", Options{Skip: skip, Include: globs(gitignore.IncludeFiles, "*.go")}, []string{"a.go"}},
		{"include a directory", Options{Include: globs(gitignore.IncludeFiles, "sub/")}, []string{"sub/x.tmp"}},
		{"exclude", Options{Exclude: globs(gitignore.ExcludeEntries, "*.go", "sub/**", "nested")}, []string{"a.txt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Mode = Files
			r := runTree(t, tree, Query{Text: "hit"}, tt.o)
			if d := cmp.Diff(tt.want, paths(r)); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
			if tt.name == "plain" {
				want := []PathError{{Path: "broken"}, {Path: "locked"}}
				if d := cmp.Diff(want, r.Errors, cmpopts.IgnoreFields(PathError{}, "Err")); d != "" || r.Failed != 2 {
					t.Errorf("errors (-want +got):\n%s", d)
				}
			}
		})
	}
}

func TestSingleFile(t *testing.T) {
	tree := walktest.Text(map[string]string{".gitignore": "x\n", "x": "a\nhit\n", "y": "hit\n"})
	p, err := Compile(Query{Text: "hit"})
	if err != nil {
		t.Fatal(err)
	}
	root := tree.Open()
	defer root.Close()
	r, err := Run(t.Context(), Root{Dir: root, File: "x"}, p, Options{Context: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{Path: "x", Count: 1, Matches: []Match{{Line: 2, Column: 1, EndLine: 2, Text: "hit", Found: "hit", Before: []string{"a"}}}}}
	if d := cmp.Diff(want, r.Matched); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOneFileBeyondTheByteLimit(t *testing.T) {
	tree := walktest.Text(map[string]string{"big": strings.Repeat("hit\n", 100_000)})
	r := runTree(t, tree, Query{Text: "hit"}, Options{Mode: Count, MaxScannedBytes: 200_000})
	if r.Total != 50_000 || r.Bytes != 200_000 || r.Reason != HitScannedBytes {
		t.Errorf("%d matches in %d bytes, reason %q", r.Total, r.Bytes, r.Reason)
	}
}

func TestCancellation(t *testing.T) {
	files, _ := many(100)
	tree := walktest.Text(files)
	p, err := Compile(Query{Text: "hit"})
	if err != nil {
		t.Fatal(err)
	}
	root := tree.Open()
	defer root.Close()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Run(ctx, Root{Dir: root}, p, Options{Mode: Count, Progress: func(int) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if n := tree.StillOpen(); n != 1 {
		t.Errorf("%d directories are open, want only the root", n)
	}
}

func TestTimeout(t *testing.T) {
	tree := walktest.Text(map[string]string{"a": "hit\n", "b": strings.Repeat("ab", 1<<20) + "c", "c": "hit\n"})
	r := runTree(t, tree, Query{Text: `hit|(?:[ab]?){500}[ab]{500}c`, Regex: true}, Options{Timeout: 50 * time.Millisecond})
	if r.Reason != HitTimeout || !slices.Equal(paths(r), []string{"a"}) {
		t.Errorf("reason %q, files %q; what comes after the file that took too long must not be there", r.Reason, paths(r))
	}
}

func TestDeepTree(t *testing.T) {
	files := map[string]string{
		strings.Repeat("d/", 200) + "f": "hit",
		strings.Repeat("e/", 600) + "f": "hit",
	}
	r := runTree(t, walktest.Text(files), Query{Text: "hit"}, Options{Mode: Files})
	if d := cmp.Diff([]string{strings.Repeat("d/", 200) + "f"}, paths(r)); d != "" || r.Failed != 1 {
		t.Errorf("%d failed, files (-want +got):\n%s", r.Failed, d)
	}
}
