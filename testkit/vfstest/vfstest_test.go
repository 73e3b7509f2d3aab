package vfstest_test

import (
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit/memfs"
	"github.com/bridle-go/bridle/testkit/vfstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const dir = "/project/dir"

// memWorld is the in-memory provider, seen through wrap where that is not nil.
func memWorld(wrap func(*memfs.FS) vfs.FileSystem) vfstest.World {
	var gate gate
	fs := memfs.Must(memfs.Config{
		Cwd: "/project", Files: map[string]string{"dir/": ""}, DiffBasisMaxBytes: 64,
		Fault: func(verb string, t vfs.Target) error {
			gate.pass(verb, t.Path)
			return nil
		},
	})
	w := fs.World()
	var provider vfs.FileSystem = fs
	if wrap != nil {
		provider = wrap(fs)
	}
	return vfstest.World{
		FS: provider, Dir: dir, DiffBasisMaxBytes: 64, PermissionsBind: true,
		Outside: vfstest.Outside{
			Write: w.Put, Read: w.Get, MakeDir: w.MakeDir, Symlink: w.Symlink, Fifo: w.MakeOther,
			Remove: w.Remove, Chmod: w.Chmod, Names: w.Names,
			Touch: func(p string) error { return w.Touch(p, time.Unix(1, 0)) },
			Rewrite: func(p string, data []byte) error {
				at, err := w.Modified(p)
				if err != nil {
					return err
				}
				if err := w.Put(p, data); err != nil {
					return err
				}
				return w.Touch(p, at)
			},
			Mode: w.Mode, Pause: gate.close,
		},
	}
}

// gate makes changes of one path wait.
type gate struct {
	mu      sync.Mutex
	path    string
	reached chan struct{}
	open    chan struct{}
}

func (g *gate) close(p string) (reached <-chan struct{}, release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.path, g.reached, g.open = p, make(chan struct{}), make(chan struct{})
	return g.reached, sync.OnceFunc(func() { close(g.open) })
}

func (g *gate) pass(verb, p string) {
	g.mu.Lock()
	if p != g.path || verb != "writetext" {
		g.mu.Unlock()
		return
	}
	reached, open := g.reached, g.open
	g.path = ""
	g.mu.Unlock()
	close(reached)
	<-open
}

func TestMemfs(t *testing.T) {
	vfstest.Run(t, func(testing.TB) vfstest.World { return memWorld(nil) })
}

// TestClauses checks that each clause says what it is about, under a name of
// its own.
func TestClauses(t *testing.T) {
	var names []string
	for _, c := range vfstest.Clauses() {
		if c.Promise == "" || c.Why == "" || path.Dir(c.Name) == "." {
			t.Errorf("clause %q is incomplete: %+v", c.Name, c)
		}
		if slices.Contains(names, c.Name) {
			t.Errorf("two clauses are called %q", c.Name)
		}
		names = append(names, c.Name)
	}
}

// TestBareWorld shows that a world without any Outside runs what it can, and
// says why it does not run the rest.
func TestBareWorld(t *testing.T) {
	ran := 0
	for _, c := range vfstest.Clauses() {
		w := memWorld(nil)
		w.Outside = vfstest.Outside{}
		v := c.Check(t.Context(), w)
		if len(v.Failures) > 0 {
			t.Errorf("%s: %q", c.Name, v.Failures)
		}
		if v.Skipped == "" {
			ran++
		}
	}
	if ran < 25 {
		t.Errorf("only %d clauses ran", ran)
	}
}

// TestAFailureIsExplainedOnce says what was promised once, however many things
// were seen instead.
func TestAFailureIsExplainedOnce(t *testing.T) {
	c := vfstest.Clause{Promise: "it is kept", Why: "users lose it"}
	got := c.Explain(vfstest.Verdict{Failures: []string{"one is lost", "two is lost"}})
	want := "one is lost\ntwo is lost\n  promised: it is kept\n  why: users lose it"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTally(t *testing.T) {
	kept, broken := vfstest.Verdict{}, vfstest.Verdict{Failures: []string{"lost"}, Skipped: "there is no Fifo"}
	noWrite, noTouch := vfstest.Verdict{Skipped: "there is no Write"}, vfstest.Verdict{Skipped: "there is no Touch"}
	tests := []struct {
		verdicts []vfstest.Verdict
		want     string
	}{
		{[]vfstest.Verdict{kept, broken}, "2 of 2 clauses were tried"},
		{[]vfstest.Verdict{noWrite, kept, noTouch, noWrite, broken},
			"2 of 5 clauses were tried; the others were skipped: there is no Touch (1); there is no Write (2)"},
	}
	for _, test := range tests {
		if got := vfstest.Tally(test.verdicts...); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
