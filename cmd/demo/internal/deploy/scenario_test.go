package deploy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/testkit/scenario"
)

func leakTest(m *testing.M) { goleak.VerifyTestMain(m) }

// areas are the scenario files there are. A file that is not here fails the
// test, so that none is passed over.
var areas = []string{
	"edit", "extra-edit", "extra-fileops-answers", "extra-fileops-change", "extra-fileops-edge", "extra-fileops-read", "extra-image", "extra-mixed", "extra-policy", "extra-prompt", "extra-read", "extra-sandbox", "extra-write",
	"fileops", "image", "prompt", "read", "sandbox", "write",
}

// TestScenarios plays every scenario file on the deployment that it asks for.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../../../testkit/testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		found = append(found, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	if !slices.Equal(found, areas) {
		t.Fatalf("the scenario files are %q, want %q", found, areas)
	}
	memory := memDir(t)
	for i, file := range files {
		all, err := scenario.ReadFile(file)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s has %d scenarios: %v", file, len(all), err)
		}
		for _, s := range all {
			t.Run(areas[i]+"/"+s.Name, func(t *testing.T) {
				t.Parallel() // each has folders and a deployment of its own
				config := scenario.Config{}
				if s.Compose.Sandbox == nil { // a sandboxed one needs a place that is not temporary
					config.Dir = memory
				}
				out := scenario.Run(t.Context(), s, deploy.Scenario, config)
				for _, d := range out.Differences {
					t.Error(d)
				}
				if !out.Pass {
					t.Logf("whole outcome: %s", out.Line(true))
				}
			})
		}
	}
}
