package llm_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/llm"
)

func start(i int, kind llm.BlockType) llm.Chunk {
	return llm.Chunk{Type: llm.BlockStart, Index: i, BlockType: kind}
}
func text(i int, s string) llm.Chunk { return llm.Chunk{Type: llm.TextDelta, Index: i, Text: s} }
func args(i int, s string) llm.Chunk {
	return llm.Chunk{Type: llm.ToolCallDelta, Index: i, ID: "c", Name: "read", ArgumentsDelta: s}
}
func end(i int, b llm.Block) llm.Chunk {
	return llm.Chunk{Type: llm.BlockEnd, Index: i, Block: &b}
}
func done(kind llm.FinishKind) llm.Chunk {
	return llm.Chunk{Type: llm.FinishChunk, Reason: &llm.FinishReason{Kind: kind}}
}

func TestAccumulate(t *testing.T) {
	tests := []struct {
		name   string
		chunks []llm.Chunk
		want   []llm.Block
		open   []llm.Block
		closed bool
	}{
		{"nothing", nil, nil, nil, true},
		{"blocks that overlap", []llm.Chunk{
			start(0, llm.ReasoningBlock), {Type: llm.ReasoningDelta, Text: "hm"},
			start(1, llm.ToolCallBlock), args(1, "{"), args(1, "}"),
			end(0, llm.Reasoning("hm")), end(1, llm.ToolCall("c", "read", "{}")), done(llm.FinishToolCalls),
		}, []llm.Block{llm.Reasoning("hm"), llm.ToolCall("c", "read", "{}")}, nil, true},
		{"no deltas", []llm.Chunk{start(0, llm.TextBlock), end(0, llm.Text("DONE"))}, []llm.Block{llm.Text("DONE")}, nil, true},
		{"no start", []llm.Chunk{text(0, "a"), text(0, "b")}, []llm.Block{llm.Text("ab")}, nil, false},
		{"the block-end decides", []llm.Chunk{text(0, "a"), end(0, llm.Block{Type: llm.TextBlock, Text: "A", Signature: "s"})},
			[]llm.Block{{Type: llm.TextBlock, Text: "A", Signature: "s"}}, nil, true},
		{"cut short", []llm.Chunk{start(0, llm.TextBlock), text(0, "I w"), start(1, llm.ToolCallBlock), args(1, `{"pa`)},
			[]llm.Block{llm.Text("I w")}, []llm.Block{llm.ToolCall("c", "read", `{"pa`)}, false},
		{"empty blocks", []llm.Chunk{start(0, llm.TextBlock), end(0, llm.Text("")), start(1, llm.ReasoningBlock)}, nil, nil, false},
		{"a gap", []llm.Chunk{text(2, "c")}, []llm.Block{llm.Text("c")}, nil, false},
		{"unknown chunks", []llm.Chunk{{Type: "ping"}, text(0, "a"), {Type: "ping"}}, []llm.Block{llm.Text("a")}, nil, false},
		{"usage after the finish", []llm.Chunk{text(0, "a"), done(llm.FinishStop), {Type: llm.UsageChunk, Usage: &llm.Usage{}}}, []llm.Block{llm.Text("a")}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var acc llm.Accumulator
			for _, c := range tt.chunks {
				if err := acc.Add(c); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, acc.Blocks()); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.open, acc.OpenCalls()); diff != "" {
				t.Errorf("open calls (-want +got):\n%s", diff)
			}
			if acc.Closed() != tt.closed {
				t.Errorf("closed: %v", acc.Closed())
			}
		})
	}
}

// A chunk that cannot follow is refused and changes nothing.
func TestAccumulateRefuses(t *testing.T) {
	tests := []struct {
		name   string
		before []llm.Chunk
		bad    llm.Chunk
		want   string
	}{
		{"twice", []llm.Chunk{start(0, llm.TextBlock)}, start(0, llm.TextBlock), "block 0 is started twice"},
		{"after its end", []llm.Chunk{end(0, llm.Text("a"))}, text(0, "b"), "a text-delta chunk follows the end of block 0"},
		{"another kind", []llm.Chunk{start(0, llm.ReasoningBlock)}, text(0, "b"), "a text-delta chunk does not belong to block 0, which is a reasoning block"},
		{"an end of another kind", []llm.Chunk{text(0, "a")}, end(0, llm.Reasoning("a")), "a block-end chunk does not belong to block 0, which is a text block"},
		{"after the finish", []llm.Chunk{done(llm.FinishStop)}, text(0, "b"), "a text-delta chunk follows the finish of the answer"},
		{"finished twice", []llm.Chunk{done(llm.FinishStop)}, done(llm.FinishStop), "a finish chunk follows the finish of the answer"},
		{"a negative index", nil, text(-1, "b"), "a text-delta chunk has the block index -1, which is not in 0 to 4095"},
		{"a huge index", nil, text(1<<40, "b"), "which is not in 0 to 4095"},
		{"an end without a block", nil, llm.Chunk{Type: llm.BlockEnd}, "a block-end chunk carries no block"},
		{"a finish without a reason", nil, llm.Chunk{Type: llm.FinishChunk}, "a finish chunk gives no reason"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var acc llm.Accumulator
			for _, c := range tt.before {
				if err := acc.Add(c); err != nil {
					t.Fatal(err)
				}
			}
			before := acc.Blocks()
			if err := acc.Add(tt.bad); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if diff := cmp.Diff(before, acc.Blocks()); diff != "" {
				t.Errorf("the refused chunk changed the answer:\n%s", diff)
			}
		})
	}
}
