package models_test

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/openai"
)

// A deployment with two endpoints. What is known of a model depends on the
// route to it: the window of open weights is a setting of the server.
func Example() {
	ctx := context.Background()
	d, err := harness.Compose(ctx,
		models.Plugin(models.Config{
			Models: map[string]llm.ModelInfo{"laptop/qwen2.5vl:7b": {ContextWindow: 8192}},
		}),
		openai.Plugin(openai.Config{}),
		openai.Plugin(openai.Config{Flavour: openai.Ollama, Provider: "laptop"}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Stop(ctx)

	registry, release, err := plug.ServiceOf[*llm.Registry](d.Context()).Acquire()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer release()
	for _, route := range [][2]string{{"openai", "gpt-4.1"}, {"laptop", "qwen2.5vl:7b"}, {"laptop", "gpt-4.1"}} {
		info, err := registry.ResolveModelInfo(route[0], route[1])
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(info.Provider, info.Model, info.ContextWindow, info.InputModalities)
	}
	// Output:
	// openai gpt-4.1 1047576 [text image]
	// laptop qwen2.5vl:7b 8192 [text image]
	// laptop gpt-4.1 0 []
}
