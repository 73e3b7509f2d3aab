package vfstest_test

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit/memfs"
	"github.com/bridle-go/bridle/testkit/vfstest"
)

// forgetful is a provider that does not judge guards.
type forgetful struct{ *memfs.FS }

func (f forgetful) WriteText(ctx context.Context, t vfs.Target, content string, o vfs.Options) (vfs.WriteResult, error) {
	o.Guard = vfs.Guard{}
	return f.FS.WriteText(ctx, t, content, o)
}

// A test runs the whole suite with [vfstest.Run]; a clause can also be tried
// alone, on a provider that is not expected to keep it.
func ExampleClause_Check() {
	for _, clause := range vfstest.Clauses() {
		if clause.Name != "guard/create if absent" {
			continue
		}
		fs := memfs.Must(memfs.Config{Files: map[string]string{"dir/": ""}})
		verdict := clause.Check(context.Background(), vfstest.World{FS: forgetful{fs}, Dir: "/project/dir"})
		fmt.Println("promised:", clause.Promise)
		fmt.Println("broken:", len(verdict.Failures) > 0)
		fmt.Println("why it matters:", clause.Why)
	}
	// Output:
	// promised: create-if-absent makes a missing file, and is FS_NOT_OBSERVED, with nothing changed, where anything exists
	// broken: true
	// why it matters: an agent that believes a file is new must not overwrite it
}
