package change_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/vfs"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
)

// TestOutage has the provider fail for several calls, or for all of them, in
// the middle of each operation, as a disk does that goes away, and work again
// later. The tree is then what it was or what it was to become, at the latest
// once the root is opened again, and nothing is lost on the way.
func TestOutage(t *testing.T) {
	for i, c := range operationCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "memfs", start)
			old, _ := w.state()
			count := &faulty{}
			if o := c.play(t.Context(), w, count); o.Fault != nil {
				t.Fatal(o.Fault)
			}
			want, _ := w.state()
			step := stride(count.calls, 60)
			for at := 1 + i%step; at <= count.calls; at += step {
				for _, more := range []int{1, 2, 3, 5, 8, 1 << 30} {
					outage(t, c, at, more, old, want)
				}
			}
		})
	}
}

// outage plays a case with some calls failing, and opens the root again.
func outage(t *testing.T, c operationCase, at, more int, old, want tree) {
	t.Helper()
	w := newWorld(t, "memfs", start)
	o := c.play(t.Context(), w, &faulty{at: at, more: more})
	when := fmt.Sprintf("call %d and %d more", at, more)
	got, _ := w.state()
	var fs vfs.FileSystem = w.fs
	if c.device {
		fs = devices{&faulty{FileSystem: w.fs}, "dev"}
	}
	found, err := New(Config{SandboxRoot: w.root}, new(event.Bus), nil, nil).Recover(t.Context(), fs, nil)
	if err != nil {
		t.Errorf("%s: %v", when, err)
	}
	now, _ := w.state()
	for _, made := range []string{"n/", "dev/new/", "new/", "new/deep/"} {
		if !cmp.Equal(now, want) {
			delete(now, made) // a parent directory that could not be removed is no loss
		}
	}
	said := "old"
	if len(o.Receipts) > 0 && (o.Receipts[0].RolledBack == nil || !*o.Receipts[0].RolledBack) {
		said = "new"
	}
	switch {
	case !cmp.Equal(now, old) && !cmp.Equal(now, want):
		t.Errorf("%s: neither state: %v, found %v\nbefore it was opened again:\n%s\nthen:\n%s", when, o.Fault, found, cmp.Diff(old, got), cmp.Diff(old, now))
	case said == "old" && cmp.Equal(now, want) && !cmp.Equal(now, old) && len(found) == 0 && o.Fault == nil:
		t.Errorf("%s: it was done, without a receipt", when)
	case said == "new" && !cmp.Equal(now, want) && len(found) == 0:
		t.Errorf("%s: the receipts say that it was done: %v", when, o.Receipts)
	}
}
