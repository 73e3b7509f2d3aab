package harness_test

import (
	"context"
	"fmt"
	"iter"
	"log"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/models"
)

// Parrot reaches a model that repeats what it is told.
type Parrot struct{}

func (Parrot) Provider() string { return "parrot" }

func (p Parrot) Models(context.Context) ([]llm.ModelInfo, error) {
	grey, err := p.ResolveModel("grey")
	return []llm.ModelInfo{grey}, err
}

func (Parrot) ResolveModel(model string) (llm.ModelInfo, error) {
	return llm.ModelInfo{Provider: "parrot", Model: model, InputModalities: []llm.Modality{llm.TextInput}}, nil
}

func (Parrot) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	heard := llm.Text(r.Messages[len(r.Messages)-1].Text())
	return func(yield func(llm.Chunk, error) bool) {
		for _, chunk := range []llm.Chunk{
			{Type: llm.BlockStart, BlockType: llm.TextBlock},
			{Type: llm.TextDelta, Text: heard.Text},
			{Type: llm.BlockEnd, Block: &heard},
			{Type: llm.FinishChunk, Reason: &llm.FinishReason{Kind: llm.FinishStop}},
		} {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// Plugin puts the adapter into the model registry, whenever there is one.
func (p Parrot) Plugin() plug.Plugin {
	return plug.Plugin{
		Name:     "parrot",
		Services: []plug.Declaration{plug.Needs[*llm.Registry]()},
		Options: fx.Invoke(func(scope *plug.Scope, registry *plug.Service[*llm.Registry]) error {
			return registry.While(scope, func(scope *plug.Scope, models *llm.Registry) error {
				_, err := models.Register(scope, p)
				return err
			})
		}),
	}
}

func Example_adapter() {
	ctx := context.Background()
	d, err := harness.Compose(ctx, models.Plugin(models.Config{}), Parrot{}.Plugin())
	if err != nil {
		log.Fatal(err)
	}
	defer d.Stop(ctx)
	s, err := session.NewMemory(session.Header{}, session.Config{})
	if err != nil {
		log.Fatal(err)
	}
	a, err := d.Agent(s, agent.Config{Provider: "parrot", Model: "grey"})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := a.Ask(ctx, "Hello")
	fmt.Println(outcome.Text, err)
	// Output:
	// Hello <nil>
}
