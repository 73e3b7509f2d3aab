package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bridle-go/bridle/harness/errs"
	contract "github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/sandbox"
)

// A provider that may change one directory: a symlink does not lead out of it.
func Example() {
	ctx := context.Background()
	base, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(base)
	workspace := filepath.Join(base, "workspace")
	os.Mkdir(workspace, 0o755)
	os.Symlink(base, filepath.Join(workspace, "door"))

	policy, err := sandbox.NewPolicy(sandbox.PolicyConfig{
		Mode: contract.WorkspaceWrite, Roots: []string{workspace}, TempDirs: []string{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := sandbox.New(fslocal.Config{Cwd: workspace}, policy)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer files.Close()

	for _, path := range []string{"notes.txt", "door/notes.txt"} {
		target, _ := files.Resolve(ctx, path, vfs.ResolveOptions{})
		_, err := files.WriteText(ctx, target, "text\n", vfs.Options{})
		fmt.Printf("%s: %q\n", path, errs.CodeOf(err))
	}
	// Output:
	// notes.txt: ""
	// door/notes.txt: "FS_SANDBOX_DENIED"
}
