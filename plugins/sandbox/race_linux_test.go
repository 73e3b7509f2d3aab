package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// raceDir is on a filesystem in memory where there is one: the attempts then
// cost no disk syncs.
func raceDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sandbox-race")
	if err != nil {
		return tempDir(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// swap exchanges two directory entries in one step.
func swap(a, b string) {
	_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) // misses while a change is under way
}

// attack is one way to change the world under a change.
type attack struct {
	name string
	// paths are what is changed, relative to the workspace.
	paths []string
	// prepare adds to the world; base holds ws and out.
	prepare func(t *testing.T, base string)
	// disturb is run as fast as it goes.
	disturb func(base string)
	// linked tells that the attack itself moves change times outside.
	linked bool
}

func attacks() []attack {
	return []attack{
		{
			name:  "directory and symlink",
			paths: []string{"d/secret", "d/new", "d/sub/deep", "d/dir"},
			prepare: func(t *testing.T, base string) {
				world(t, base, "ws/d/secret=e", "ws/d/dir/", "ws/evil=->../out")
			},
			disturb: func(base string) { swap(base+"/ws/d", base+"/ws/evil") },
		},
		{
			name:  "deep directory and absolute symlink",
			paths: []string{"a/b/c/secret", "a/b/c/new", "a/b/c/sub/deep", "a/b/c/dir"},
			prepare: func(t *testing.T, base string) {
				world(t, base, "ws/a/b/c/secret=e", "ws/a/b/c/dir/", "ws/a/evil=->"+base+"/out-holder")
				world(t, base, "out-holder/c=->../out")
			},
			disturb: func(base string) { swap(base+"/ws/a/b", base+"/ws/a/evil") },
		},
		{
			name:  "file and symlink",
			paths: []string{"leaf"},
			prepare: func(t *testing.T, base string) {
				world(t, base, "ws/leaf=e", "ws/evil=->../out/secret")
			},
			disturb: func(base string) { swap(base+"/ws/leaf", base+"/ws/evil") },
		},
		{
			name:  "missing file and dangling symlink",
			paths: []string{"leaf"},
			disturb: func(base string) {
				os.Remove(base + "/ws/leaf")
				os.Symlink("../out/new", base+"/ws/leaf")
			},
		},
		{
			name:  "missing directory and symlink",
			paths: []string{"d/secret", "d/new/x", "d/sub/deep"},
			disturb: func(base string) {
				os.RemoveAll(base + "/ws/d")
				os.Symlink("../out", base+"/ws/d")
				os.Remove(base + "/ws/d")
			},
		},
		{
			name:  "file and hard link",
			paths: []string{"leaf"},
			disturb: func(base string) {
				os.Remove(base + "/ws/leaf")
				os.Link(base+"/out/secret", base+"/ws/leaf")
			},
			linked: true,
		},
		{
			name:  "staging file and hard link",
			paths: []string{"leaf"},
			disturb: func(base string) {
				for _, kind := range []string{"", "old"} {
					stage := fmt.Sprintf("%s/ws/.bridle-%016x-%s0.tmp", base, xxh3.HashString("leaf"), kind)
					os.Remove(stage)
					os.Link(base+"/out/secret", stage)
				}
			},
			linked: true,
		},
		{
			name:  "parent of the root",
			paths: []string{"secret", "new", "sub/deep", "dir"},
			prepare: func(t *testing.T, base string) {
				// The workspace is base/p/ws here, and what lies outside takes
				// its place together with its parent.
				world(t, base, "p/ws/secret=e", "p/ws/dir/", "q/ws/secret=e", "q/ws/dir/")
			},
			disturb: func(base string) { swap(base+"/p", base+"/q") },
		},
		{
			name:  "parent of the root and symlink",
			paths: []string{"secret", "new", "sub/deep", "dir"},
			prepare: func(t *testing.T, base string) {
				world(t, base, "p/ws/secret=e", "p/ws/dir/", "r/ws/secret=e", "r/ws/dir/", "q=->r")
			},
			disturb: func(base string) { swap(base+"/p", base+"/q") },
		},
		{
			name:  "chains of parents",
			paths: []string{"d/../secret", "d/../../out/secret", "d/sub/../../secret", "x/../d/../new", "d/dir"},
			prepare: func(t *testing.T, base string) {
				world(t, base, "ws/secret=e", "ws/d/sub/", "ws/d/dir/", "ws/evil=->../out/sub")
			},
			disturb: func(base string) { swap(base+"/ws/d", base+"/ws/evil") },
		},
	}
}

// TestRace changes the world as fast as it goes while every mutator works on
// it. Not a byte, file or directory outside may be different afterwards.
func TestRace(t *testing.T) {
	attempts := 300_000
	if testing.Short() {
		attempts = 20_000
	}
	all := attacks()
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			if diff := race(t, a, attempts/len(all), confined); diff != "" {
				t.Errorf("outside: before - after +\n%s", diff)
			}
		})
	}
}

func confined(t *testing.T, ws string) vfs.FileSystem { return newFS(t, ws, below(ws)) }

// TestRaceFindsEscapes tries the attacks on providers that do not confine, and
// on one that checks first and acts then, to make sure that they would show.
func TestRaceFindsEscapes(t *testing.T) {
	providers := map[string]func(t *testing.T, ws string) vfs.FileSystem{
		"no fence": func(t *testing.T, ws string) vfs.FileSystem { return newFS(t, ws, allow{Mode: sandbox.FullAccess}) },
		"check, then act": func(t *testing.T, ws string) vfs.FileSystem {
			f, err := fslocal.New(fslocal.Config{Cwd: ws, Fence: careless(ws)})
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
	}
	for name, provider := range providers {
		for _, a := range attacks() {
			// Not following symlinks holds up the careless one elsewhere, and
			// replacing entries protects hard links without any fence.
			if a.linked || name == "check, then act" && a.name != "parent of the root" {
				continue
			}
			t.Run(name+"/"+a.name, func(t *testing.T) {
				for range 20 {
					if race(t, a, 4000, provider) != "" {
						return
					}
				}
				t.Error("no attempt got out: the attack is worth nothing")
			})
		}
	}
}

// careless is a fence that looks at the path and lets the change happen by
// path.
type careless string

func (ws careless) Enter(_ context.Context, c fslocal.Change) (fslocal.Gate, error) {
	if _, ok := fslocal.Below(string(ws), c.Path); !ok {
		return fslocal.Gate{}, vfs.Denied(c.Target, sandbox.WorkspaceWrite)
	}
	return fslocal.Gate{}, nil
}

// race plays an attack and returns what is different outside.
func race(t *testing.T, a attack, attempts int, provider func(*testing.T, string) vfs.FileSystem) string {
	base := raceDir(t)
	world(t, base, "ws/harmless=e", "out/secret=secret", "out/dir/", "out/sub/inner=secret")
	if a.prepare != nil {
		a.prepare(t, base)
	}
	ws, outside := base+"/ws", []string{base + "/out"}
	if _, err := os.Lstat(base + "/p"); err == nil {
		ws = base + "/p/ws"
		world(t, base, "p/ws/harmless=e")
		// What lies outside is known by its handle: its path is part of the game.
		for _, name := range []string{"q/ws", "r/ws"} {
			if dir, err := os.Open(filepath.Join(base, name)); err == nil {
				defer dir.Close()
				outside = append(outside, fmt.Sprintf("/proc/self/fd/%d/.", dir.Fd()))
				break
			}
		}
	}
	see := func() (all [][]string) {
		for _, dir := range outside {
			s := snapshot(t, dir)
			if a.linked {
				s = withoutTimes(s)
			}
			all = append(all, s)
		}
		return all
	}
	before := see()
	f := provider(t, ws)
	// A change may work on what was resolved long ago, in another world.
	var early []vfs.Target
	for _, path := range a.paths {
		early = append(early, target(t, f, filepath.Join(ws, "harmless")), resolveAny(f, ws, path))
	}
	if _, err := f.WriteText(context.Background(), target(t, f, filepath.Join(ws, "first")), "x", vfs.Options{}); err != nil {
		t.Fatal(err) // the root is known from here on
	}

	stop := make(chan struct{})
	var attacker sync.WaitGroup
	attacker.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				a.disturb(base)
			}
		}
	})
	var done, denied, moved atomic.Int64
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			ctx := context.Background()
			for i := w; i < attempts; i += 4 {
				path := a.paths[i/len(mutators)%len(a.paths)]
				m := mutators[i%len(mutators)]
				tg := early[(2*(i/len(mutators))+1)%len(early)]
				if i%3 > 0 {
					tg = resolveAny(f, ws, path)
				}
				err := m.do(ctx, f, tg, early[0], vfs.Options{})
				switch {
				case err == nil:
					done.Add(1)
				case errors.Is(err, errs.SandboxDenied):
					denied.Add(1)
				case errs.CodeOf(err) == "":
					t.Errorf("%s %s: an error without a code: %v", m.name, path, err)
				default:
					moved.Add(1)
				}
			}
		})
	}
	workers.Wait()
	close(stop)
	attacker.Wait()
	t.Logf("%d attempts: %d done inside, %d denied, %d failed otherwise", attempts, done.Load(), denied.Load(), moved.Load())
	return cmp.Diff(before, see())
}

// resolveAny resolves a path in a world that may change meanwhile; a target
// that cannot be resolved is taken by its spelling.
func resolveAny(f vfs.FileSystem, ws, path string) vfs.Target {
	full := ws + "/" + path
	tg, err := f.Resolve(context.Background(), full, vfs.ResolveOptions{})
	if err != nil {
		return vfs.Target{Key: vfs.Key(filepath.Clean(full)), Path: full}
	}
	return tg
}

func withoutTimes(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		// A hard link moves a file's change time, and nothing else.
		out[i] = s[:len(s)-len(lastField(s))]
	}
	return out
}

func lastField(s string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '{' {
			return s[i:]
		}
	}
	return ""
}

// TestRaceReadOnly does the same where nothing may be changed at all.
func TestRaceReadOnly(t *testing.T) {
	base := raceDir(t)
	world(t, base, "ws/d/secret=e", "ws/harmless=e", "ws/d/dir/", "out/secret=secret")
	f := newFS(t, base+"/ws", allow{Mode: sandbox.ReadOnly, Roots: []string{base}})
	before := snapshot(t, base)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 200 {
				for _, path := range []string{"d/secret", "d/new", "new/deep", "d/dir"} {
					for _, m := range mutators {
						err := m.do(context.Background(), f, resolveAny(f, base+"/ws", path), resolveAny(f, base+"/ws", "harmless"), vfs.Options{})
						if !errors.Is(err, errs.SandboxDenied) {
							t.Errorf("%s %s: %v", m.name, path, err)
						}
					}
				}
			}
		})
	}
	workers.Wait()
	if diff := cmp.Diff(before, snapshot(t, base)); diff != "" {
		t.Errorf("before - after +\n%s", diff)
	}
}
