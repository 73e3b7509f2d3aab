package fslocal_test

import (
	"context"
	"fmt"
	"os"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// A provider works without any container: here a file is created, read, and
// changed only as long as it is what was read.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files, err := fslocal.New(fslocal.Config{Cwd: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer files.Close()

	notes, _ := files.Resolve(ctx, "docs/notes.txt", vfs.ResolveOptions{})
	created, _ := files.WriteText(ctx, notes, "draft\n", vfs.Options{Guard: vfs.CreateIfAbsent()})
	fmt.Println(created.Operation)

	read, _ := files.ReadText(ctx, notes)
	os.WriteFile(dir+"/docs/notes.txt", []byte("somebody else's\n"), 0o644)

	_, err = files.EditText(ctx, notes, vfs.Edit{Old: "draft", New: "final"},
		vfs.Options{Guard: vfs.ReplaceIfVersion(read.Version)})
	fmt.Println(errs.CodeOf(err))
	// Output:
	// create
	// FS_STALE_VERSION
}
