// Package vfstest tries whether a filesystem provider keeps the promises of
// [vfs.FileSystem] and of the optional abilities it has.
//
// The suite is a list of clauses, each with its own name, what it promises and
// why that matters. [Run] runs them all as subtests on worlds that a [Factory]
// makes:
//
//	func TestConformance(t *testing.T) {
//		vfstest.Run(t, func(t testing.TB) vfstest.World {
//			dir := t.TempDir()
//			return vfstest.World{FS: newProvider(t, dir), Dir: dir, Outside: outside}
//		})
//	}
//
// Some promises can be tried only by changing files behind the provider's
// back, or in worlds that have FIFOs or permissions. A world says what it
// offers with [Outside] and its flags; a clause that needs more is skipped and
// names what it misses.
//
// Each clause is itself tried on providers that break its promise; see the
// tests of this package. Not tried is what becomes of a change in a crash or on
// a full disk, for which a provider needs tests of its own.
package vfstest

import (
	"context"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// World is a provider with an empty directory of its own.
type World struct {
	FS vfs.FileSystem
	// Dir is the absolute path, with slashes, of an empty directory that the
	// clause may fill. No symlink leads to it.
	Dir string
	// DiffBasisMaxBytes is the provider's diff basis limit. 0 means the default
	// of 10 MiB; a smaller one makes the suite faster.
	DiffBasisMaxBytes int64
	// PermissionsBind tells that permission bits are enforced against this
	// process. They are not, for instance, against root.
	PermissionsBind bool
	// NoUnixNames tells that names cannot hold control characters, colons and
	// the like, as on Windows.
	NoUnixNames bool
	Outside     Outside
	// Patience is how long an operation may take that must not block. Default:
	// 10 s.
	Patience time.Duration
}

// Outside are ways to change and see the files without the provider, as
// another program would. Paths are absolute. A nil function is something that
// the world lacks.
type Outside struct {
	// Write puts content in place, into the existing file where there is one,
	// and makes missing directories.
	Write func(path string, data []byte) error
	Read  func(path string) ([]byte, error)
	// Rewrite replaces content by other content of the same size, in place, and
	// puts the file's times back.
	Rewrite func(path string, data []byte) error
	// Touch changes the file's times and nothing else.
	Touch func(path string) error
	// MakeDir makes a directory and its missing parents.
	MakeDir func(path string) error
	Symlink func(content, path string) error
	// Fifo makes a FIFO, or something else that is neither file nor directory.
	Fifo func(path string) error
	// Remove removes a file, symlink or directory, with all it holds.
	Remove func(path string) error
	// Chmod and Mode are about the nine permission bits.
	Chmod func(path string, mode uint32) error
	Mode  func(path string) (uint32, error)
	// Names returns the names in a directory, sorted.
	Names func(path string) ([]string, error)
	// Pause makes the next change of the file wait, with its target locked,
	// until release is called. reached is closed when it waits.
	Pause func(path string) (reached <-chan struct{}, release func())
}

// Factory makes a world for one clause.
type Factory func(t testing.TB) World

// Clause is one promise.
type Clause struct {
	// Name is the name of the subtest, as in "edit/guard first".
	Name string
	// Promise is what a provider does, and Why what becomes of its users when
	// it does not.
	Promise, Why string

	check func(*run)
}

// Clauses returns the suite.
func Clauses() []Clause {
	var all []Clause
	for _, group := range [][]Clause{
		resolveClauses, statClauses, versionClauses, readClauses, listClauses, writeClauses, guardClauses,
		editClauses, cancelClauses, abilityClauses, confineClauses,
	} {
		all = append(all, group...)
	}
	return all
}

// Run runs every clause as a subtest on a world of its own. At the end it logs
// how many were tried, and what it would take to try the others.
func Run(t *testing.T, factory Factory) {
	var tally tally
	for _, c := range Clauses() {
		t.Run(c.Name, func(t *testing.T) {
			v := c.Check(t.Context(), factory(t))
			tally.add(v)
			if len(v.Failures) > 0 {
				t.Error(c.explain(v))
			} else if v.Skipped != "" {
				t.Skip(v.Skipped)
			}
		})
	}
	if tally.clauses > 0 {
		t.Log(tally.String())
	}
}

// explain says what was seen, and once what was promised.
func (c Clause) explain(v Verdict) string {
	return fmt.Sprintf("%s\n  promised: %s\n  why: %s", strings.Join(v.Failures, "\n"), c.Promise, c.Why)
}

// tally counts the clauses of a run.
type tally struct {
	clauses int
	skipped map[string]int // by what was missing
}

func (t *tally) add(v Verdict) {
	t.clauses++
	if v.Skipped == "" || len(v.Failures) > 0 {
		return
	}
	if t.skipped == nil {
		t.skipped = map[string]int{}
	}
	t.skipped[v.Skipped]++
}

func (t *tally) String() string {
	var reasons []string
	tried := t.clauses
	for _, why := range slices.Sorted(maps.Keys(t.skipped)) {
		reasons = append(reasons, fmt.Sprintf("%s (%d)", why, t.skipped[why]))
		tried -= t.skipped[why]
	}
	all := fmt.Sprintf("%d of %d clauses were tried", tried, t.clauses)
	if len(reasons) == 0 {
		return all
	}
	return all + "; the others were skipped: " + strings.Join(reasons, "; ")
}

// Verdict is what came of one clause.
type Verdict struct {
	// Failures say what was seen instead of what was promised. There are none
	// where the promise is kept.
	Failures []string
	// Skipped says why the clause could not be tried here, or is "".
	Skipped string
}

// Check tries one clause on a world.
func (c Clause) Check(ctx context.Context, w World) Verdict {
	if w.Patience == 0 {
		w.Patience = 10 * time.Second
	}
	if w.DiffBasisMaxBytes == 0 {
		w.DiffBasisMaxBytes = vfs.DefaultDiffBasisMaxBytes
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{World: w, ctx: ctx}
	// A goroutine of its own, so that a check can end in the middle.
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				r.errorf("the provider panicked: %v", v)
			}
		}()
		c.check(r)
	}()
	<-done
	return r.verdict
}

// run is a clause at work.
type run struct {
	World
	ctx context.Context

	mu      sync.Mutex // some checks run operations at once
	verdict Verdict
}

func (r *run) errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdict.Failures = append(r.verdict.Failures, fmt.Sprintf(format, args...))
}

// fatalf ends the clause: what follows would make no sense.
func (r *run) fatalf(format string, args ...any) {
	r.errorf(format, args...)
	runtime.Goexit()
}

// skipf ends a clause that cannot be tried in this world.
func (r *run) skipf(format string, args ...any) {
	r.verdict.Skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// need skips the clause when the world lacks one of the ways it needs.
func (r *run) need(ways ...string) {
	var missing []string
	for _, way := range ways {
		if !r.has(way) {
			missing = append(missing, way)
		}
	}
	if len(missing) > 0 {
		r.skipf("this world has no Outside.%s", strings.Join(missing, ", Outside."))
	}
}

func (r *run) has(way string) bool {
	o := r.Outside
	switch way {
	case "Write":
		return o.Write != nil
	case "Read":
		return o.Read != nil
	case "Rewrite":
		return o.Rewrite != nil
	case "Touch":
		return o.Touch != nil
	case "MakeDir":
		return o.MakeDir != nil
	case "Symlink":
		return o.Symlink != nil
	case "Fifo":
		return o.Fifo != nil
	case "Remove":
		return o.Remove != nil
	case "Chmod":
		return o.Chmod != nil && o.Mode != nil
	case "Names":
		return o.Names != nil
	case "Pause":
		return o.Pause != nil
	}
	panic("unknown way " + way)
}

// path returns the absolute path of a name in the world's directory.
func (r *run) path(name string) string { return path.Join(r.Dir, name) }

// do ends the clause when preparing the world fails; that is no fault of the
// provider.
func (r *run) do(what string, err error) {
	if err != nil {
		r.fatalf("the world could not be prepared: %s: %v", what, err)
	}
}

// put makes a file with that content, without the provider where that is
// possible.
func (r *run) put(name, content string) vfs.Target {
	if r.Outside.Write != nil {
		r.do("write "+name, r.Outside.Write(r.path(name), []byte(content)))
		return r.at(name)
	}
	t := r.at(name)
	_, err := r.FS.WriteText(r.ctx, t, content, vfs.Options{})
	if errs.CodeOf(err) == errs.NotText {
		if _, ok := vfs.As[vfs.ByteWriter](r.FS); !ok {
			r.skipf("this world has no Outside.Write, and the provider writes text only")
		}
		_, err = vfs.WriteBytes(r.ctx, r.FS, t, []byte(content), vfs.Attr{}, vfs.Options{})
	}
	if err != nil {
		r.fatalf("writing %s failed: %v", name, err)
	}
	return t
}

// content returns the bytes of a file, without the provider where that is
// possible.
func (r *run) content(name string) string {
	if r.Outside.Read != nil {
		data, err := r.Outside.Read(r.path(name))
		if err != nil {
			r.errorf("%s cannot be read any more: %v", name, err)
		}
		return string(data)
	}
	b, err := r.FS.ReadBytes(r.ctx, r.at(name), 1<<30)
	if err != nil {
		r.errorf("%s cannot be read any more: %v", name, err)
	}
	return string(b.Data)
}

// at resolves a name in the world's directory.
func (r *run) at(name string) vfs.Target { return r.resolve(r.path(name)) }

func (r *run) resolve(p string) vfs.Target {
	t, err := r.FS.Resolve(r.ctx, p, vfs.ResolveOptions{})
	if err != nil {
		r.fatalf("resolving %q failed: %v", p, err)
	}
	return t
}

// ok reports an error where there must be none, and whether there was none.
func (r *run) ok(what string, err error) bool {
	if err != nil {
		r.errorf("%s failed: %v (%s)", what, err, errs.CodeOf(err))
	}
	return err == nil
}

// code checks that an error has one of the codes.
func (r *run) code(what string, err error, codes ...errs.Code) {
	got := errs.CodeOf(err)
	if err == nil {
		r.errorf("%s succeeded, want %s", what, join(codes))
		return
	}
	for _, c := range codes {
		if got == c {
			return
		}
	}
	r.errorf("%s failed with %q (%v), want %s", what, got, err, join(codes))
}

func join(codes []errs.Code) string {
	names := make([]string, len(codes))
	for i, c := range codes {
		names[i] = string(c)
	}
	return strings.Join(names, " or ")
}

// same compares the content of a file.
func (r *run) same(what, name, want string) {
	if got := r.content(name); got != want {
		r.errorf("%s: %s holds %s, want %s", what, name, brief(got), brief(want))
	}
}

// brief quotes a text, and the middle of it only by its length.
func brief(s string) string {
	if len(s) <= 200 {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q ... %q (%d bytes)", s[:80], s[len(s)-80:], len(s))
}

// promptly runs an operation that must not block. The clause ends when it
// does.
func (r *run) promptly(what string, op func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- op(ctx) }()
	timer := time.NewTimer(r.Patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		r.fatalf("%s blocks: it has not come back after %v", what, r.Patience)
		return nil
	}
}
