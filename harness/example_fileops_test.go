package harness_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// notesOnly allows changes of the notes, and leaves every other question to
// the answerers after it; when nobody answers, the change is refused.
func notesOnly(ctx context.Context, q approval.Question, next event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
	if strings.HasPrefix(q.Path, "/project/notes/") {
		return approval.AllowedOnce, nil
	}
	return next(ctx, q)
}

func Example_fileOperations() {
	ctx := context.Background()
	d, err := harness.Compose(ctx, memfs.Plugin(memfs.Config{Cwd: "/project"}),
		fileops.Plugin(fileops.Config{}), // NoApproval: true would ask nobody
		approve.Plugin(approve.Config{}), approve.Answerer("notes-only", notesOnly))
	if err != nil {
		log.Fatal(err)
	}
	defer d.Stop(ctx)
	s, err := session.NewMemory(session.Header{Cwd: "/project"}, session.Config{})
	if err != nil {
		log.Fatal(err)
	}
	create := func(path string) tool.Result {
		return d.Tools().Execute(ctx, tool.Invocation{Name: fileops.HubName, Agent: &tool.Agent{Session: s},
			Arguments: `{"operation": "create_file", "path": "` + path + `", "config": {"content": "milk\n"}}`})
	}
	fmt.Println("a note failed:", create("notes/shopping.txt").IsError)
	fmt.Println("a program:", create("main.go").Error.Code)
	// Output:
	// a note failed: false
	// a program: APPROVAL_DENIED
}
