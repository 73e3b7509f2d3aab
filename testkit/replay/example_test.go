package replay_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit/replay"
	"github.com/bridle-go/bridle/testkit/script"
)

// greeter is a deployment with one tool.
func greeter(word string) func(replay.Setup) ([]plug.Plugin, error) {
	return func(replay.Setup) ([]plug.Plugin, error) {
		return []plug.Plugin{{Name: "greeter", Options: fx.Invoke(func(r *tool.Registry, s *plug.Scope) error {
			_, err := r.Register(s, tool.Tool[struct {
				Name string `json:"name"`
			}, string]{
				Name: "greet", Input: tool.Schema(`{"type":"object","properties":{"name":{"type":"string"}}}`),
				Run: func(_ context.Context, _ *tool.Call, a struct {
					Name string `json:"name"`
				}) (string, error) {
					return word + ", " + a.Name, nil
				},
				Render: func(_ struct {
					Name string `json:"name"`
				}, v string) (tool.Rendered, error) {
					return tool.Rendered{Content: []llm.Block{llm.Text(v)}}, nil
				},
			}.Definition())
			return err
		})}}, nil
	}
}

// A session is recorded once, and shows from then on whether a change of the
// tools changes what a model would have seen.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, "greeting")

	err = replay.Record(ctx, folder, replay.Recorder{
		Plugins: greeter("Hello"),
		Prompts: []string{"Greet Ada."},
		Script: []script.Step{
			{Calls: []script.Call{{Name: "greet", Arguments: `{"name":"Ada"}`}}},
			{Text: "Done."},
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	rec, err := replay.Load(folder)
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range []string{"Hello", "Good day"} {
		report, err := replay.Run(ctx, rec, replay.Config{Plugins: greeter(word)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Equal(), report.First())
	}
	// Output:
	// true <nil>
	// false event 14, result of greet (call-1), content[0].text
	//   recorded: Hello, Ada
	//   replayed: Good day, Ada
}
