package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

func TestMain(m *testing.M) {
	if roots := os.Getenv("SANDBOX_LANDLOCK"); roots != "" {
		os.Exit(landlockHelper(filepath.SplitList(roots), os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// allow is a policy that gives every call the same access.
type allow sandbox.Access

func (a allow) Access(context.Context, any, *sandbox.Grant) (sandbox.Access, error) {
	return sandbox.Access(a), nil
}
func (a allow) ModeOf(any) sandbox.Mode { return a.Mode }

// below allows changes below some directories.
func below(roots ...string) allow { return allow{Mode: sandbox.WorkspaceWrite, Roots: roots} }

// newFS returns a confining provider whose working directory is cwd.
func newFS(t testing.TB, cwd string, policy sandbox.Policy) *FS {
	t.Helper()
	f, err := New(fslocal.Config{Cwd: cwd, RecoveryDir: filepath.Join(cwd, "..", "recovery")}, policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// world makes files and directories; a name that ends in "/" is a directory, a
// content that begins with "->" is a symlink.
func world(t testing.TB, dir string, entries ...string) {
	t.Helper()
	for _, e := range entries {
		name, content, _ := strings.Cut(e, "=")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case strings.HasPrefix(content, "->"):
			err = os.Symlink(content[2:], path)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func target(t testing.TB, f vfs.FileSystem, path string) vfs.Target {
	t.Helper()
	tg, err := f.Resolve(context.Background(), path, vfs.ResolveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

// snapshot describes everything below a directory: names, types, contents,
// modes, and the times that a change would move.
func snapshot(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			content, _ = os.Readlink(path)
		}
		rel, _ := filepath.Rel(dir, path)
		all = append(all, fmt.Sprintf("%s %v %q %s", rel, info.Mode(), content, changeTimes(info)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// mutators are all changes there are, on a target and, where there are two, on
// another that is harmless.
var mutators = []struct {
	name string
	do   func(ctx context.Context, f vfs.FileSystem, t, harmless vfs.Target, opts vfs.Options) error
}{
	{"write", func(ctx context.Context, f vfs.FileSystem, t, _ vfs.Target, opts vfs.Options) error {
		_, err := f.WriteText(ctx, t, "EVIL", opts)
		return err
	}},
	{"edit", func(ctx context.Context, f vfs.FileSystem, t, _ vfs.Target, opts vfs.Options) error {
		_, err := f.EditText(ctx, t, vfs.Edit{Old: "e", New: "EVIL", All: true}, opts)
		return err
	}},
	{"write bytes", func(ctx context.Context, f vfs.FileSystem, t, _ vfs.Target, opts vfs.Options) error {
		_, err := vfs.WriteBytes(ctx, f, t, []byte("EVIL\x00"), vfs.Attr{Mode: 0o777, SetMode: true, Modified: time.Unix(1, 0)}, opts)
		return err
	}},
	{"make directory", func(ctx context.Context, f vfs.FileSystem, t, _ vfs.Target, opts vfs.Options) error {
		return vfs.MakeDir(ctx, f, t, opts)
	}},
	{"set attributes", func(ctx context.Context, f vfs.FileSystem, t, _ vfs.Target, opts vfs.Options) error {
		return vfs.SetDirAttr(ctx, f, t, vfs.Attr{Mode: 0o700, SetMode: true, Modified: time.Unix(1, 0)}, opts)
	}},
	{"symlink", func(ctx context.Context, f vfs.FileSystem, t, _ vfs.Target, opts vfs.Options) error {
		return vfs.Symlink(ctx, f, "EVIL", t, opts)
	}},
	{"rename to", func(ctx context.Context, f vfs.FileSystem, t, h vfs.Target, opts vfs.Options) error {
		return vfs.Rename(ctx, f, h, t, true, opts)
	}},
	{"rename from", func(ctx context.Context, f vfs.FileSystem, t, h vfs.Target, opts vfs.Options) error {
		return vfs.Rename(ctx, f, t, h, true, opts)
	}},
	{"copy to", func(ctx context.Context, f vfs.FileSystem, t, h vfs.Target, opts vfs.Options) error {
		_, err := vfs.Copy(ctx, f, h, t, true, opts)
		return err
	}},
	{"remove", func(ctx context.Context, f vfs.FileSystem, t, _ vfs.Target, opts vfs.Options) error {
		return vfs.Remove(ctx, f, t, opts)
	}},
	{"remove directory", func(ctx context.Context, f vfs.FileSystem, t, _ vfs.Target, opts vfs.Options) error {
		return vfs.RemoveDir(ctx, f, t, opts)
	}},
}

func wantCode(t *testing.T, what string, err error, code errs.Code) {
	t.Helper()
	if errs.CodeOf(err) != code {
		t.Errorf("%s: %v (%s), want %q", what, err, errs.CodeOf(err), code)
	}
}
