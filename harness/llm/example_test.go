package llm_test

import (
	"fmt"

	"github.com/bridle-go/bridle/harness/llm"
)

// The chunks of a stream add up to the content of an answer.
func ExampleAccumulator() {
	whole := llm.Text("Hello.")
	var acc llm.Accumulator
	for _, c := range []llm.Chunk{
		{Type: llm.BlockStart, Index: 0, BlockType: llm.TextBlock},
		{Type: llm.TextDelta, Index: 0, Text: "Hel"},
		{Type: llm.TextDelta, Index: 0, Text: "lo."},
		{Type: llm.BlockEnd, Index: 0, Block: &whole},
		{Type: llm.UsageChunk, Usage: &llm.Usage{InputTokens: 9, OutputTokens: 2}},
		{Type: llm.FinishChunk, Reason: &llm.FinishReason{Kind: llm.FinishStop}},
	} {
		if err := acc.Add(c); err != nil {
			fmt.Println(err)
			return
		}
	}
	reason, _ := acc.Finish()
	fmt.Println(string(llm.AppendBlocks(nil, acc.Blocks())), reason.Kind)
	// Output: [{"type":"text","text":"Hello."}] stop
}
