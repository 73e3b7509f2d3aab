package fileops_test

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// A deployment with the hub over files in memory.
func Example() {
	ctx := context.Background()
	d, err := harness.Compose(ctx,
		memfs.Plugin(memfs.Config{Files: map[string]string{"notes.txt": "one\ntwo\n"}}),
		fileops.Plugin(fileops.Config{SandboxRoot: memfs.DefaultCwd}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Stop(ctx)
	r := d.Tools().Execute(ctx, tool.Invocation{ID: "1", Name: fileops.HubName,
		Arguments: `{"operation":"diff_file","path":"notes.txt","config":{"new_content":"one\n2\n"}}`})
	fmt.Println(r.Text())
	// Output: {"operation":"diff_file","summary":"1 line added, 1 removed","result":{"file_path":"/project/notes.txt","diff":"--- /project/notes.txt\n+++ /project/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n","has_changes":true,"added_lines":1,"removed_lines":1,"truncated":false}}
}
