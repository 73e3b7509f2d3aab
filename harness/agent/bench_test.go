package agent_test

import (
	"testing"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/script"
)

// stepsPerTurn is how long the conversations of the benchmarks become.
const stepsPerTurn = 50

// turnScript is a turn whose steps make one call each.
func turnScript(n int) []script.Step {
	steps := make([]script.Step, n)
	for i := range steps {
		steps[i] = script.Step{Text: "let me look once more", Calls: []script.Call{{Name: "look", Arguments: `{"n":1}`}}}
	}
	steps[n-1] = script.Step{Text: "done"}
	return steps
}

// BenchmarkStep is one step of the loop, with a log in memory. What the loop
// costs is what this takes beside BenchmarkStepByHand.
func BenchmarkStep(b *testing.B) {
	model := script.New(script.Config{Provider: "p"})
	d := testkit.Compose(b, models(), model.Plugin(), new(lab).plugin())
	for b.Loop() {
		model.Add(turnScript(stepsPerTurn)...)
		s, err := session.NewMemory(session.Header{ID: "s", Cwd: "/w"}, session.Config{})
		if err != nil {
			b.Fatal(err)
		}
		a, err := d.Agent(s, agent.Config{Provider: "p", Model: "m"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := a.Ask(b.Context(), "go"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*stepsPerTurn), "µs/step")
}

// BenchmarkStepByHand calls the same model and the same tool without a loop.
func BenchmarkStepByHand(b *testing.B) {
	model := script.New(script.Config{Provider: "p"})
	d := testkit.Compose(b, models(), model.Plugin(), new(lab).plugin())
	for b.Loop() {
		model.Add(turnScript(stepsPerTurn)...)
		for range stepsPerTurn {
			var acc llm.Accumulator
			for c, err := range model.Stream(b.Context(), llm.Request{Provider: "p", Model: "m"}) {
				if err != nil {
					b.Fatal(err)
				}
				if err := acc.Add(c); err != nil {
					b.Fatal(err)
				}
			}
			for _, block := range acc.Blocks() {
				if block.Type == llm.ToolCallBlock {
					d.Tools().Execute(b.Context(), tool.Invocation{ID: block.ID, Name: block.Name, Arguments: block.Arguments})
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*stepsPerTurn), "µs/step")
}
