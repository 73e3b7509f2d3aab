package fileops_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// metered counts what is read through Open, and may do something when a file
// has just been opened.
type metered struct {
	*memfs.FS
	read   atomic.Int64
	opened func()
	blind  bool // versions prove nothing
}

func (m *metered) Open(ctx context.Context, t vfs.Target) (vfs.Reader, error) {
	r, err := m.FS.Open(ctx, t)
	if m.opened != nil {
		m.opened()
	}
	return meteredReader{r, m}, err
}

func (m *metered) SameVersion(want, got vfs.Version) bool { return !m.blind && want == got }

type meteredReader struct {
	vfs.Reader
	m *metered
}

func (r meteredReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.Reader.ReadAt(p, at)
	r.m.read.Add(int64(n))
	return n, err
}

// TestPagesOfALargeFile proves that the pages after the first one read no more
// than they show, that their facts are of the content they show, and that
// everything is read again as soon as the version is another or proves nothing.
func TestPagesOfALargeFile(t *testing.T) {
	const line = "0123456789abcde\n"
	const lines = 6 << 20 / len(line)
	fs, err := memfs.New(memfs.Config{Files: map[string]string{"big.txt": strings.Repeat(line, lines)}})
	if err != nil {
		t.Fatal(err)
	}
	m := &metered{FS: fs}
	d := testkit.Compose(t, provider(m), fileops.Plugin(fileops.Config{}))
	write := func(text string) {
		t.Helper()
		target, err := fs.Resolve(t.Context(), "big.txt", vfs.ResolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fs.WriteText(t.Context(), target, text, vfs.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	page := func(start int) (object, int64) {
		t.Helper()
		before := m.read.Load()
		got := result(t, d, "view_file", "big.txt", object{"start_line": start, "end_line": start})
		return got, m.read.Load() - before
	}
	whole := func(got object, read int64) {
		t.Helper()
		if read < 6<<20 || got["total_lines"] != float64(lines) {
			t.Errorf("%d bytes were read for %v lines", read, got["total_lines"])
		}
	}
	first, read := page(1)
	whole(first, read)
	for _, start := range []int{2, lines / 2, lines, lines / 3} {
		got, read := page(start)
		if read > 2<<20 {
			t.Errorf("line %d: %d bytes were read", start, read)
		}
		if got["sha256"] != first["sha256"] || got["total_lines"] != first["total_lines"] || got["content"] != fmt.Sprintf("%d %s", start, line[:15]) && start == lines {
			t.Errorf("line %d: %v", start, got)
		}
	}
	write(strings.Repeat("0123456789ABCDE\n", lines))
	second, read := page(lines)
	whole(second, read)
	if second["sha256"] == first["sha256"] || !strings.HasSuffix(second["content"].(string), "ABCDE") {
		t.Errorf("after a change: %v", second)
	}

	// A change while a page is read: the facts kept are not taken for it, and
	// what is shown is of one content.
	changed := false
	m.opened = func() {
		if !changed {
			changed = true
			write(strings.Repeat("fedcba987654321\n", lines))
		}
	}
	page(1)
	m.opened = nil
	third, _ := page(1)
	if third["sha256"] == second["sha256"] || !strings.HasSuffix(third["content"].(string), "fedcba987654321") {
		t.Errorf("after a change in between: %v", third)
	}

	m.blind = true
	for range 2 {
		got, read := page(5)
		whole(got, read)
	}
}
