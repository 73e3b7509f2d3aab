package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// TestRefusalsHaveNoEffect tries every mutator on every way out of the
// workspace, and in read-only mode on everything, and makes sure that nothing
// at all is different afterwards, times included.
func TestRefusalsHaveNoEffect(t *testing.T) {
	outside := []string{
		"../out/secret", "../out/new", "../out/new/deep/er", "../out/dir",
		"door/secret", "door/new", "door/new/deep/er", "door/dir",
		"file-door", "dangling-door", "abs-door/secret", "chain/secret",
		"sub/../door/secret", "door/../out/secret", "sub/../../out/secret",
		"../ws-x/f", "..", "../out",
	}
	inside := []string{"file", "sub", "sub/f", "new", "new/deep/er", "empty", "."}
	modes := []struct {
		name   string
		policy func(ws string) sandbox.Policy
		paths  []string
	}{
		{"workspace-write", func(ws string) sandbox.Policy { return below(ws) }, outside},
		{"workspace-write without roots", func(string) sandbox.Policy { return below() }, append(inside, outside...)},
		{"read-only", func(string) sandbox.Policy { return allow{Mode: sandbox.ReadOnly} }, append(inside, outside...)},
		{"read-only with roots", func(ws string) sandbox.Policy { return allow{Mode: sandbox.ReadOnly, Roots: []string{ws}} }, inside},
		{"unknown mode", func(ws string) sandbox.Policy { return allow{Mode: "root", Roots: []string{ws}} }, inside},
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			base := tempDir(t)
			ws := filepath.Join(base, "ws")
			world(t, base, "out/secret=secret", "out/dir/", "ws-x/f=e", "ws/file=e", "ws/sub/f=e", "ws/empty/", "ws/harmless=e",
				"ws/door=->../out", "ws/file-door=->../out/secret", "ws/dangling-door=->../out/new", "ws/abs-door=->"+base+"/out", "ws/chain=->door")
			f := newFS(t, ws, mode.policy(ws))
			before := snapshot(t, base)
			for _, path := range mode.paths {
				for _, m := range mutators {
					if mode.name == "workspace-write" && strings.HasSuffix(path, "-door") && onEntry(m.name) {
						continue // changes the symlink, which is inside
					}
					err := m.do(context.Background(), f, target(t, f, path), target(t, f, "harmless"), vfs.Options{})
					if !errors.Is(err, errs.SandboxDenied) {
						t.Errorf("%s %s: %v (%s)", m.name, path, err, errs.CodeOf(err))
					}
				}
				if diff := cmp.Diff(before, snapshot(t, base)); diff != "" {
					t.Fatalf("%s: before - after +\n%s", path, diff)
				}
			}
		})
	}
}

// onEntry reports whether a mutator changes a symlink rather than what it
// leads to.
func onEntry(name string) bool {
	switch name {
	case "write", "edit", "write bytes", "make directory", "set attributes":
		return false
	}
	return true
}

// TestDoorsAreEntries: a symlink to the outside is itself an entry inside.
func TestDoorsAreEntries(t *testing.T) {
	for _, m := range mutators {
		if !onEntry(m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			base := tempDir(t)
			ws := filepath.Join(base, "ws")
			world(t, base, "out/secret=e", "ws/harmless=e", "ws/door=->../out/secret", "ws/dir-door=->../out")
			before := snapshot(t, filepath.Join(base, "out"))
			f := newFS(t, ws, below(ws))
			for _, door := range []string{"door", "dir-door"} {
				err := m.do(context.Background(), f, target(t, f, door), target(t, f, "harmless"), vfs.Options{})
				if errors.Is(err, errs.SandboxDenied) {
					t.Errorf("%s: %v", door, err)
				}
			}
			if diff := cmp.Diff(before, snapshot(t, filepath.Join(base, "out"))); diff != "" {
				t.Errorf("outside: before - after +\n%s", diff)
			}
		})
	}
}

// TestInsideWorks tries every mutator inside the workspace, through every
// spelling of it.
func TestInsideWorks(t *testing.T) {
	base := tempDir(t)
	for _, prefix := range []string{"", "ws-link", "ws/../ws", "ws/sub/.."} {
		ws := filepath.Join(base, "ws")
		os.RemoveAll(ws)
		os.Remove(filepath.Join(base, "ws-link"))
		world(t, base, "ws/sub/", "ws-link=->ws", "ws/in=->sub")
		f := newFS(t, base, below(ws))
		at := func(name string) vfs.Target {
			if prefix == "" {
				return target(t, f, filepath.Join(ws, name))
			}
			return target(t, f, base+"/"+prefix+"/"+name)
		}
		ctx := context.Background()
		o := vfs.Options{}
		_, err := f.WriteText(ctx, at("a/b/file"), "one", o)
		wantCode(t, "write", err, "")
		_, err = f.EditText(ctx, at("a/b/file"), vfs.Edit{Old: "one", New: "two"}, o)
		wantCode(t, "edit", err, "")
		_, err = f.WriteText(ctx, at("in/file"), "through a symlink", o)
		wantCode(t, "write through a symlink", err, "")
		_, err = f.WriteBytes(ctx, at("bytes"), []byte{0}, vfs.Attr{}, o)
		wantCode(t, "write bytes", err, "")
		wantCode(t, "make directory", f.MakeDir(ctx, at("d/e"), o), "")
		wantCode(t, "make the root", f.MakeDir(ctx, at("."), o), "")
		wantCode(t, "symlink", f.Symlink(ctx, "/etc", at("link"), o), "")
		wantCode(t, "rename", f.Rename(ctx, at("a/b/file"), at("moved"), false, o), "")
		_, err = f.Copy(ctx, at("moved"), at("copy"), false, o)
		wantCode(t, "copy", err, "")
		wantCode(t, "remove", f.Remove(ctx, at("copy"), o), "")
		wantCode(t, "remove directory", f.RemoveDir(ctx, at("d/e"), o), "")
		_, err = f.WriteText(ctx, at("."), "x", o)
		wantCode(t, "write the root", err, errs.NotRegularFile)
		wantCode(t, "remove the root", f.RemoveDir(ctx, at("."), o), errs.SandboxDenied)
		wantCode(t, "move the root", f.Rename(ctx, at("."), at("d/x"), false, o), errs.SandboxDenied)
		data, err := os.ReadFile(filepath.Join(ws, "moved"))
		if err != nil || string(data) != "two" {
			t.Errorf("%s: %q, %v", prefix, data, err)
		}
	}
}

// TestRoots tries what each kind of root holds.
func TestRoots(t *testing.T) {
	tests := []struct {
		name    string
		roots   []string // relative to the base
		allowed []string
		denied  []string
	}{
		{"plain", []string{"ws"}, []string{"ws/x", "ws/sub/x", "alias/x"}, []string{"ws-x/x", "other/x", "x"}},
		{"slash at the end", []string{"ws/"}, []string{"ws/x"}, []string{"ws-x/x", "x"}},
		{"slashes and dots", []string{".//ws/./sub/.."}, []string{"ws/x"}, []string{"x"}},
		{"symlinked", []string{"alias"}, []string{"ws/x", "alias/x", "alias/sub/x"}, []string{"ws-x/x", "x"}},
		{"below a symlink", []string{"alias/sub"}, []string{"ws/sub/x", "alias/sub/x"}, []string{"ws/x", "alias/x"}},
		{"missing", []string{"none"}, nil, []string{"none", "none/x", "x"}},
		{"dangling", []string{"dangling"}, nil, []string{"dangling/x", "none/x"}},
		{"a file", []string{"ws/f"}, nil, []string{"ws/f", "ws/f/x", "ws/x"}},
		{"nested", []string{"ws/sub", "ws"}, []string{"ws/x", "ws/sub/x"}, []string{"x"}},
		{"several", []string{"other", "ws"}, []string{"ws/x", "other/x"}, []string{"x"}},
		{"a loop", []string{"loop", "ws"}, []string{"ws/x"}, []string{"loop2/x"}},
		{"everything", []string{"/"}, []string{"ws/x", "other/x", "x", "ws-x/x"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := tempDir(t)
			world(t, base, "ws/sub/", "ws/f=e", "ws-x/", "other/", "alias=->ws", "dangling=->none", "loop=->loop")
			var roots []string
			for _, r := range tt.roots {
				if r != "/" {
					r = base + "/" + r
				}
				roots = append(roots, r)
			}
			f := newFS(t, base, below(roots...))
			for _, path := range tt.allowed {
				_, err := f.WriteText(context.Background(), target(t, f, path), "x", vfs.Options{})
				wantCode(t, path, err, "")
			}
			for _, path := range tt.denied {
				_, err := f.WriteText(context.Background(), target(t, f, path), "x", vfs.Options{})
				wantCode(t, path, err, errs.SandboxDenied)
			}
		})
	}
}

// TestRootComesAndGoes: a root that is missing at first, deleted, made again,
// moved away, or replaced.
func TestRootComesAndGoes(t *testing.T) {
	base := tempDir(t)
	world(t, base, "out/")
	ws, out := filepath.Join(base, "ws"), filepath.Join(base, "out")
	f := newFS(t, base, below(ws))
	write := func(code errs.Code) {
		t.Helper()
		_, err := f.WriteText(context.Background(), target(t, f, ws+"/x"), "x", vfs.Options{})
		wantCode(t, "write", err, code)
	}
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write(errs.SandboxDenied) // not there yet
	step(os.Mkdir(ws, 0o755))
	write("")
	step(os.RemoveAll(ws))
	step(os.Mkdir(ws, 0o755))
	write("") // deleted and made again
	step(os.RemoveAll(ws))
	step(os.Symlink(out, ws))
	write(errs.SandboxDenied) // a symlink in its place leads elsewhere
	step(os.Remove(ws))
	step(os.Mkdir(ws, 0o755))
	write("")
	step(os.Rename(ws, ws+".old"))
	step(os.Mkdir(ws, 0o755))
	write(errs.SandboxDenied) // moved away and replaced
	step(os.Remove(ws))
	step(os.Rename(ws+".old", ws))
	write("") // and back
	if entries, _ := os.ReadDir(out); len(entries) > 0 {
		t.Errorf("%v outside", entries)
	}
}

// TestMissingRootStaysInItsPlace: a root that is missing, below another root,
// cannot be led elsewhere by a symlink that is put in its place or above it.
func TestMissingRootStaysInItsPlace(t *testing.T) {
	for name, link := range map[string]string{"itself": "ws/cache", "above it": "ws/deep"} {
		t.Run(name, func(t *testing.T) {
			base := tempDir(t)
			world(t, base, "ws/", "out/cache/")
			ws := filepath.Join(base, "ws")
			f := newFS(t, ws, below(ws, ws+"/cache", ws+"/deep/cache"))
			_, err := f.WriteText(context.Background(), target(t, f, "first"), "x", vfs.Options{})
			wantCode(t, "before", err, "")
			if err := vfs.Symlink(context.Background(), f, filepath.Join(base, "out"), target(t, f, filepath.Join(base, link)), vfs.Options{}); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"out/x", "out/cache/x", link + "/x", link + "/cache/x"} {
				_, err := f.WriteText(context.Background(), target(t, f, filepath.Join(base, path)), "x", vfs.Options{})
				wantCode(t, path, err, errs.SandboxDenied)
			}
			// A directory in its place is a root.
			wantCode(t, "remove", f.Remove(context.Background(), target(t, f, ws+"/../"+link), vfs.Options{}), "")
			world(t, base, "ws/cache/")
			_, err = f.WriteText(context.Background(), target(t, f, "cache/x"), "x", vfs.Options{})
			wantCode(t, "a directory", err, "")
		})
	}
}

// TestRecoveryDirIsReserved: what is in the recovery directory is put over
// files later, by calls that may do more. So no call may put anything there,
// though it be below a root, nor move it.
func TestRecoveryDirIsReserved(t *testing.T) {
	base := tempDir(t)
	world(t, base, "tmp/mine/recovery/kept=e", "tmp/h=harmless", "tmp/d/")
	if err := os.Chmod(filepath.Join(base, "tmp/mine/recovery"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := New(fslocal.Config{Cwd: base, RecoveryDir: filepath.Join(base, "tmp/mine/recovery")}, below(base))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := snapshot(t, filepath.Join(base, "tmp/mine"))
	for _, m := range mutators {
		for _, path := range []string{"tmp/mine/recovery", "tmp/mine/recovery/kept", "tmp/mine/recovery/.bridle-0-old0.tmp", "tmp/mine/recovery/new/x"} {
			err := m.do(context.Background(), f, target(t, f, path), target(t, f, "tmp/h"), vfs.Options{})
			wantCode(t, m.name+" "+path, err, errs.SandboxDenied)
		}
	}
	for _, path := range []string{"tmp", "tmp/mine"} {
		err := f.Rename(context.Background(), target(t, f, path), target(t, f, "moved"), false, vfs.Options{})
		wantCode(t, "move "+path, err, errs.SandboxDenied)
	}
	if diff := cmp.Diff(before, snapshot(t, filepath.Join(base, "tmp/mine"))); diff != "" {
		t.Errorf("the recovery directory (-before +after):\n%s", diff)
	}
	_, err = f.WriteText(context.Background(), target(t, f, "tmp/mine/x"), "x", vfs.Options{})
	wantCode(t, "beside it", err, "")
}

// TestHardLinks: the name below the root is replaced, the one outside keeps
// its content.
func TestHardLinks(t *testing.T) {
	base := tempDir(t)
	world(t, base, "out/secret=secret", "ws/")
	ws := filepath.Join(base, "ws")
	if err := os.Link(filepath.Join(base, "out/secret"), filepath.Join(ws, "twin")); err != nil {
		t.Fatal(err)
	}
	f := newFS(t, ws, below(ws))
	_, err := f.WriteText(context.Background(), target(t, f, "twin"), "mine", vfs.Options{})
	wantCode(t, "write", err, "")
	_, err = f.WriteBytes(context.Background(), target(t, f, "twin"), []byte("mine"), vfs.Attr{Mode: 0o666, SetMode: true}, vfs.Options{})
	wantCode(t, "write with a mode", err, "")
	data, _ := os.ReadFile(filepath.Join(base, "out/secret"))
	info, _ := os.Stat(filepath.Join(base, "out/secret"))
	if string(data) != "secret" || info.Mode() != 0o644 {
		t.Errorf("outside: %q, %v", data, info.Mode())
	}
}

// TestGrants: a grant widens the call and target it was given for.
func TestGrants(t *testing.T) {
	base := tempDir(t)
	world(t, base, "ws/a=e", "ws/b=e")
	ws := filepath.Join(base, "ws")
	policy, err := NewPolicy(PolicyConfig{TempDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	f := newFS(t, ws, policy)
	a, b := target(t, f, "a"), target(t, f, "b")
	const sumOfE, sumOfX = "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea", "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	grant := &sandbox.Grant{Mode: sandbox.FullAccess, CallID: "c1", Target: string(a.Key), Before: sumOfE, After: sumOfX}
	_, err = f.WriteText(context.Background(), b, "x", vfs.Options{Grant: grant})
	wantCode(t, "another target", err, errs.SandboxDenied)
	_, err = f.WriteText(context.Background(), a, "y", vfs.Options{Grant: grant})
	wantCode(t, "other content", err, errs.StaleVersion)
	_, err = f.WriteText(context.Background(), a, "x", vfs.Options{Grant: grant})
	wantCode(t, "as approved", err, "")
	_, err = f.WriteText(context.Background(), a, "x", vfs.Options{Grant: grant})
	wantCode(t, "again, on what it made", err, errs.StaleVersion)
	_, err = f.WriteText(context.Background(), a, "x", vfs.Options{})
	wantCode(t, "without it", err, errs.SandboxDenied)
}

type failing struct{}

func (failing) Access(context.Context, any, *sandbox.Grant) (sandbox.Access, error) {
	return sandbox.Access{Mode: sandbox.FullAccess}, errs.New(errs.ServiceUnavailable, "no policy")
}
func (failing) ModeOf(any) sandbox.Mode { return sandbox.FullAccess }

func TestFailingPolicy(t *testing.T) {
	base := tempDir(t)
	world(t, base, "a=e", "harmless=e", "d/")
	f := newFS(t, base, failing{})
	before := snapshot(t, base)
	for _, path := range []string{"a", "new/deep", "d"} {
		for _, m := range mutators {
			wantCode(t, m.name, m.do(context.Background(), f, target(t, f, path), target(t, f, "harmless"), vfs.Options{}), errs.ServiceUnavailable)
		}
	}
	if diff := cmp.Diff(before, snapshot(t, base)); diff != "" {
		t.Errorf("before - after +\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(fslocal.Config{}, nil); !errors.Is(err, errs.MissingService) {
		t.Errorf("without a policy: %v", err)
	}
	if _, err := New(fslocal.Config{Fence: &fence{}}, below()); !errors.Is(err, errs.InvalidArgs) {
		t.Errorf("with another fence: %v", err)
	}
}

// TestPinsAreBounded: roots come and go without holding everything open.
func TestPinsAreBounded(t *testing.T) {
	base := tempDir(t)
	f := &fence{pins: map[string]*pin{}}
	for range 3 * maxPins {
		dir, err := os.MkdirTemp(base, "root")
		if err != nil {
			t.Fatal(err)
		}
		f.policy = below(dir)
		g, err := f.Enter(context.Background(), fslocal.Change{Op: fslocal.OpWrite, Path: filepath.Join(dir, "x")})
		if err != nil {
			t.Fatal(err)
		}
		g.Release()
	}
	if len(f.pins) > maxPins {
		t.Errorf("%d roots are held open", len(f.pins))
	}
	f.close()
	if len(f.pins) != 0 {
		t.Errorf("%d roots are open after the end", len(f.pins))
	}
	_, err := f.Enter(context.Background(), fslocal.Change{Op: fslocal.OpWrite, Path: filepath.Join(base, "x")})
	wantCode(t, "after the end", err, errs.SandboxDenied)
}

// TestPlantedRecovery: somebody who can write in the workspace plants what the
// local provider would take for the copy of an overwriting that was killed,
// for a name that is a hard link of a file outside.
func TestPlantedRecovery(t *testing.T) {
	base := tempDir(t)
	world(t, base, "out/secret=secret", "ws/")
	ws := filepath.Join(base, "ws")
	if err := os.Link(filepath.Join(base, "out/secret"), filepath.Join(ws, "leaf")); err != nil {
		t.Fatal(err)
	}
	// The secret looks half overwritten: by "secXXX" over "EVLret".
	copied := binary.BigEndian.AppendUint64([]byte("bridle-recovery1"), 6)
	copied = append(binary.BigEndian.AppendUint64(copied, 6), "EVLretsecXXX"...)
	planted := filepath.Join(ws, fmt.Sprintf(".bridle-%016x-old0.tmp", xxh3.HashString("leaf")))
	if err := os.WriteFile(planted, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFS(t, ws, below(ws))
	if _, err := f.WriteText(context.Background(), target(t, f, "leaf"), "mine", vfs.Options{}); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(base, "out/secret")); string(data) != "secret" {
		t.Errorf("outside: %q", data)
	}

	// The copy itself is one that would be believed of a file with one name.
	os.Remove(filepath.Join(ws, "leaf"))
	world(t, base, "ws/leaf=secret")
	r, err := f.WriteText(context.Background(), target(t, f, "leaf"), "mine", vfs.Options{})
	if err != nil || r.Before == nil || *r.Before != "EVLret" {
		t.Errorf("the copy was not believed at all: %+v, %v", r, err)
	}
}
