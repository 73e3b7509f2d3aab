package harness_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit/memfs"
	"github.com/bridle-go/bridle/testkit/script"
)

func Example_agent() {
	ctx := context.Background()
	// A model that says what is written here, in place of a real one.
	scripted := script.New(script.Config{Provider: "script"},
		script.Step{Text: "I look.", Calls: []script.Call{{Name: "read", Arguments: `{"file_path": "poem.txt"}`}}},
		script.Step{Text: "It is about a red wheelbarrow."},
	)
	d, err := harness.Compose(ctx,
		memfs.Plugin(memfs.Config{Files: map[string]string{"poem.txt": "so much depends\nupon\n"}}),
		fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{}),
		models.Plugin(models.Config{}), scripted.Plugin(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Stop(ctx)
	s, err := session.NewMemory(session.Header{Cwd: "/project"}, session.Config{})
	if err != nil {
		log.Fatal(err)
	}
	a, err := d.Agent(s, agent.Config{Provider: "script", Model: "any"})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := a.Ask(ctx, "What is the poem about?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Text)
	fmt.Println(outcome.Steps, "steps,", len(s.Messages()), "messages")
	// Output:
	// It is about a red wheelbarrow.
	// 2 steps, 4 messages
}
