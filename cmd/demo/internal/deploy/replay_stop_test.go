package deploy_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit/replay"
	"github.com/bridle-go/bridle/testkit/script"
)

// A turn that was stopped at any chunk of its answer, the finish too, is
// stopped there again, whether or not the answer has calls.
func TestStoppedAtEveryChunkReplays(t *testing.T) {
	const chunks = 12 // more than any of the answers has
	for _, finish := range []llm.FinishKind{"", llm.FinishMaxTokens} {
		for _, calls := range [][]script.Call{nil, {read("a.txt")}, {read("a.txt"), read("b.txt")}} {
			for n := 1; n <= chunks; n++ {
				t.Run(fmt.Sprintf("%s %d calls, chunk %d", finish, len(calls), n), func(t *testing.T) {
					stopped := act{name: "stopped", prompt: "p", at: session.TypeAssistantChunk, n: n, do: cancelled,
						script: []script.Step{{Text: "ok", Finish: finish, Calls: calls}}}
					folder := filepath.Join(memDir(t), "recording")
					if err := replay.Record(t.Context(), folder, perform([]act{stopped})); err != nil {
						t.Fatal(err)
					}
					rec, err := replay.Load(folder)
					if err != nil {
						t.Fatal(err)
					}
					for _, exact := range []bool{true, false} {
						report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: inMemory(), Cwd: "/w", Exact: exact})
						if err != nil {
							t.Fatal(err)
						}
						for _, d := range report.Differences {
							t.Errorf("exact %v: %v", exact, d)
						}
					}
				})
			}
		}
	}
}
