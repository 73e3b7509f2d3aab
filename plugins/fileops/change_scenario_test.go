package fileops_test

import (
	"testing"

	"github.com/bridle-go/bridle/testkit/scenario"
)

// TestEveryScenario plays all scenarios of the file operations.
func TestEveryScenario(t *testing.T) {
	all, err := scenario.ReadFile("../../testkit/testdata/fileops.json")
	if err != nil || len(all) < 16 {
		t.Fatalf("%d scenarios: %v", len(all), err)
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			out := scenario.Run(t.Context(), s, compose, scenario.Config{})
			for _, d := range out.Differences {
				t.Error(d)
			}
			if !out.Pass {
				t.Logf("whole outcome: %s", out.Line(true))
			}
		})
	}
}
