package memfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/memfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The promises of the provider are tried in package vfstest; these tests are
// about what is particular to this one.

func resolve(t *testing.T, f *memfs.FS, name string) vfs.Target {
	t.Helper()
	target, err := f.Resolve(t.Context(), name, vfs.ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestFiles(t *testing.T) {
	f := memfs.Must(memfs.Config{Cwd: "/home/me", Files: map[string]string{
		"a.txt": "a", "deep/er/b.txt": "b", "/abs": "c", "empty/": "",
	}})
	for name, want := range map[string]string{"a.txt": "a", "/home/me/deep/er/b.txt": "b", "/abs": "c"} {
		if text, err := f.ReadText(t.Context(), resolve(t, f, name)); err != nil || text.Content != want {
			t.Errorf("%s holds %q (%v), want %q", name, text.Content, err, want)
		}
	}
	names, err := f.World().Names(".")
	if diff := cmp.Diff([]string{"a.txt", "deep", "empty"}, names); diff != "" || err != nil {
		t.Errorf("names (-want +got), error %v\n%s", err, diff)
	}
	if info, err := f.Stat(t.Context(), resolve(t, f, "empty")); err != nil || info.Type != vfs.Directory {
		t.Errorf("empty is %v (%v), want a directory", info.Type, err)
	}
}

func TestTxtar(t *testing.T) {
	got := memfs.Txtar("what it is about\n-- a/b --\none\ntwo\n-- c --\n")
	if diff := cmp.Diff(map[string]string{"a/b": "one\ntwo\n", "c": ""}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBadConfig(t *testing.T) {
	for _, cfg := range []memfs.Config{
		{Cwd: "relative"}, {DiffBasisMaxBytes: -1}, {Files: map[string]string{"a": "", "a/b": ""}},
	} {
		if _, err := memfs.New(cfg); err == nil {
			t.Errorf("New(%+v) gave no error", cfg)
		}
	}
}

func TestPlugin(t *testing.T) {
	f := memfs.Must(memfs.Config{Files: map[string]string{"a": "x"}})
	for _, p := range []plug.Plugin{memfs.Plugin(memfs.Config{Files: map[string]string{"a": "x"}}), memfs.Provide(f)} {
		d := testkit.Compose(t, p)
		provider, release, err := plug.ServiceOf[vfs.FileSystem](d.Context()).Acquire()
		if err != nil {
			t.Fatal(err)
		}
		target, err := provider.Resolve(t.Context(), "a", vfs.ResolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := provider.ReadText(t.Context(), target); err != nil || text.Content != "x" {
			t.Errorf("a holds %q (%v), want x", text.Content, err)
		}
		release()
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestFault makes each operation fail once, and checks that it changed nothing.
func TestFault(t *testing.T) {
	full := errors.New("no space left")
	var failing string
	f := memfs.Must(memfs.Config{
		Files: map[string]string{"f": "x", "d/f": "y"},
		Fault: func(verb string, _ vfs.Target) error {
			if verb == failing {
				return full
			}
			return nil
		},
	})
	target, dir, fresh := resolve(t, f, "f"), resolve(t, f, "d"), resolve(t, f, "new")
	var none vfs.Options
	operations := map[string]func(context.Context) error{
		"stat":       func(ctx context.Context) error { _, err := f.Stat(ctx, target); return err },
		"lstat":      func(ctx context.Context) error { _, err := f.Lstat(ctx, target); return err },
		"readtext":   func(ctx context.Context) error { _, err := f.ReadText(ctx, target); return err },
		"readbytes":  func(ctx context.Context) error { _, err := f.ReadBytes(ctx, target, 9); return err },
		"streamtext": func(ctx context.Context) error { _, err := f.StreamText(ctx, target); return err },
		"open":       func(ctx context.Context) error { _, err := f.Open(ctx, target); return err },
		"list":       func(ctx context.Context) error { _, err := f.List(ctx, dir); return err },
		"readlink":   func(ctx context.Context) error { _, err := f.Readlink(ctx, target); return err },
		"writetext":  func(ctx context.Context) error { _, err := f.WriteText(ctx, target, "z", none); return err },
		"writebytes": func(ctx context.Context) error {
			_, err := f.WriteBytes(ctx, target, []byte("z"), vfs.Attr{}, none)
			return err
		},
		"edittext": func(ctx context.Context) error {
			_, err := f.EditText(ctx, target, vfs.Edit{Old: "x", New: "z"}, none)
			return err
		},
		"remove":    func(ctx context.Context) error { return f.Remove(ctx, target, none) },
		"removedir": func(ctx context.Context) error { return f.RemoveDir(ctx, dir, none) },
		"makedir":   func(ctx context.Context) error { return f.MakeDir(ctx, fresh, none) },
		"rename":    func(ctx context.Context) error { return f.Rename(ctx, target, fresh, false, none) },
		"copy":      func(ctx context.Context) error { _, err := f.Copy(ctx, target, fresh, false, none); return err },
		"symlink":   func(ctx context.Context) error { return f.Symlink(ctx, "f", fresh, none) },
	}
	for verb, operation := range operations {
		failing = verb
		if err := operation(t.Context()); !errors.Is(err, full) || errs.CodeOf(err) != errs.IO {
			t.Errorf("%s gave %v, want the fault as FS_IO_ERROR", verb, err)
		}
		data, err := f.World().Get("f")
		names, _ := f.World().Names(".")
		if string(data) != "x" || err != nil || !cmp.Equal(names, []string{"d", "f"}) {
			t.Fatalf("after a failed %s f holds %q (%v) among %q", verb, data, err, names)
		}
	}
}

func TestFaultKeepsItsCode(t *testing.T) {
	f := memfs.Must(memfs.Config{Files: map[string]string{"f": "x"}, Fault: func(string, vfs.Target) error {
		return errs.New(errs.Permission, "not today")
	}})
	if _, err := f.ReadText(t.Context(), resolve(t, f, "f")); errs.CodeOf(err) != errs.Permission {
		t.Errorf("error %v, want FS_PERMISSION_DENIED", err)
	}
}

func TestGrantIsJudged(t *testing.T) {
	const x, y = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", "a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa"
	for _, g := range []struct {
		sandbox.Grant
		ok bool
	}{
		{sandbox.Grant{Before: x, After: y}, true}, {sandbox.Grant{Before: y, After: y}, false},
		{sandbox.Grant{Before: x, After: x}, false}, {sandbox.Grant{After: y}, false},
	} {
		f := memfs.Must(memfs.Config{Files: map[string]string{"f": "x"}})
		_, err := f.WriteText(t.Context(), resolve(t, f, "f"), "y", vfs.Options{Grant: &g.Grant})
		if g.ok != (err == nil) || !g.ok && errs.CodeOf(err) != errs.StaleVersion {
			t.Errorf("with the grant %+v writing gave %v", g.Grant, err)
		}
	}
}

func TestWorld(t *testing.T) {
	at := time.Unix(1000, 0)
	f := memfs.Must(memfs.Config{Now: func() time.Time { return at }})
	w := f.World()
	steps := []error{
		w.Put("d/f", []byte("one")), w.Symlink("d/f", "link"), w.Put("link", []byte("two")),
		w.MakeOther("pipe"), w.Chmod("d/f", 0o4751), w.Touch("d/f", time.Unix(2000, 0)), w.Remove("link"),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	data, err := w.Get("d/f")
	mode, err2 := w.Mode("d/f")
	modified, err3 := w.Modified("d/f")
	if err := errors.Join(err, err2, err3); err != nil || string(data) != "two" || mode != 0o751 || !modified.Equal(time.Unix(2000, 0)) {
		t.Errorf("d/f holds %q with mode %o and time %v (%v)", data, mode, modified, err)
	}
	if got, err := w.Modified("pipe"); err != nil || !got.Equal(at) {
		t.Errorf("pipe was made at %v (%v), want %v", got, err, at)
	}
	for what, err := range map[string]error{
		"get missing": second(w.Get("x")), "get dir": second(w.Get("d")), "mode": second(w.Mode("x")), "modified": second(w.Modified("x")),
		"names": second(w.Names("d/f")), "chmod": w.Chmod("x", 0), "touch": w.Touch("x", at), "remove": w.Remove("x"),
		"symlink": w.Symlink("x", "d"), "other": w.MakeOther("d"), "put": w.Put("d", nil),
	} {
		var path *fs.PathError
		if !errors.As(err, &path) {
			t.Errorf("%s gave %v, want an error that names the path", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func Example() {
	f := memfs.Must(memfs.Config{Files: memfs.Txtar("-- notes.txt --\nteh end\n")})
	ctx := context.Background()
	notes, err := f.Resolve(ctx, "notes.txt", vfs.ResolveOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	seen, err := f.ReadText(ctx, notes)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := f.World().Put("notes.txt", []byte("somebody else's\n")); err != nil {
		fmt.Println(err)
		return
	}
	_, err = f.EditText(ctx, notes, vfs.Edit{Old: "teh", New: "the"}, vfs.Options{Guard: vfs.ReplaceIfVersion(seen.Version)})
	fmt.Println(errs.CodeOf(err))
	fmt.Println(err)
	// Output:
	// FS_STALE_VERSION
	// "/project/notes.txt" changed since it was read
}
