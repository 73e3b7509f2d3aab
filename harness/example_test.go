package harness_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "workspace-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("in teh end\n"), 0o644)

	d, err := harness.Compose(ctx, fslocal.Plugin(fslocal.Config{}), fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{}))
	if err != nil {
		log.Fatal(err)
	}
	defer d.Stop(ctx)
	s, err := session.NewMemory(session.Header{Cwd: dir}, session.Config{})
	if err != nil {
		log.Fatal(err)
	}
	call := func(name, arguments string) tool.Result {
		return d.Tools().Execute(ctx, tool.Invocation{Name: name, Arguments: arguments, Agent: &tool.Agent{Session: s}})
	}
	edit := `{"file_path": "notes.txt", "old_string": "teh", "new_string": "the"}`
	fmt.Println("blind edit:", call("edit", edit).Error.Code)
	call("read", `{"file_path": "notes.txt"}`)
	fmt.Println("edit:", string(call("edit", edit).Meta))
	// Output:
	// blind edit: FS_NOT_OBSERVED
	// edit: {"diffs":[{"path":"notes.txt","oldText":"in teh end","newText":"in the end"}]}
}
