package harness_test

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/memfs"
	"github.com/bridle-go/bridle/testkit/vfstest"
)

// AtRoot is a provider whose paths may begin with "@/", the root of a project.
// Everything else it leaves to the provider that it wraps.
type AtRoot struct {
	vfs.FileSystem
	Root string
}

func (p AtRoot) Resolve(ctx context.Context, path string, opts vfs.ResolveOptions) (vfs.Target, error) {
	if rest, ok := strings.CutPrefix(path, "@/"); ok {
		path, opts.Cwd = cmp.Or(rest, "."), p.Root
	}
	return p.FileSystem.Resolve(ctx, path, opts)
}

// Unwrap keeps the optional abilities of the wrapped provider.
func (p AtRoot) Unwrap() vfs.FileSystem { return p.FileSystem }

// Plugin returns the provider as a plugin called "atroot".
func (p AtRoot) Plugin() plug.Plugin {
	return plug.Plugin{
		Name:     "atroot",
		Services: []plug.Declaration{plug.Provides[vfs.FileSystem]()},
		Options:  fx.Provide(func() vfs.FileSystem { return p }),
	}
}

// TestAtRoot tries every promise of the contract.
func TestAtRoot(t *testing.T) {
	vfstest.Run(t, func(t testing.TB) vfstest.World {
		files, err := memfs.New(memfs.Config{Cwd: "/project"})
		if err != nil {
			t.Fatal(err)
		}
		return vfstest.World{FS: AtRoot{files, "/project"}, Dir: "/project"}
	})
}

// TestAtRootPath tries what it adds.
func TestAtRootPath(t *testing.T) {
	files, err := memfs.New(memfs.Config{Cwd: "/project", Files: map[string]string{"go.mod": "module x\n"}})
	if err != nil {
		t.Fatal(err)
	}
	d := testkit.Compose(t, AtRoot{files, "/project"}.Plugin(), WordCount())
	r := testkit.MustCall(t, d, testkit.Agent(t, "/elsewhere"), "count_words", map[string]any{"file_path": "@/go.mod"})
	if got, want := r.Text(), "2 words"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
