package deploy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/testkit/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// areas are the scenario files that this deployment has the plugins for.
// Every file must be here; false keeps one out, and says so in the test's
// output.
var areas = map[string]bool{
	"read":    true,
	"write":   true,
	"edit":    true,
	"prompt":  false, // needs the attachment store and the sandbox
	"sandbox": false,
	"fileops": false,
	"image":   false,
}

// TestScenarios plays every scenario file on the default deployment.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../../../testkit/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	for _, file := range files {
		area := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(area, func(t *testing.T) {
			supported, known := areas[area]
			if !known {
				t.Fatalf("%s is in no list; add its area to the areas of this test", file)
			}
			all, err := scenario.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) == 0 {
				t.Fatal("the file holds no scenario")
			}
			if !supported {
				t.Skip("this deployment does not have the plugins yet")
			}
			for _, s := range all {
				t.Run(s.Name, func(t *testing.T) {
					out := scenario.Run(t.Context(), s, deploy.Scenario, scenario.Config{})
					if out.Pass {
						return
					}
					for _, d := range out.Differences {
						t.Error(d)
					}
					t.Logf("whole outcome: %s", out.Line(true))
				})
			}
		})
	}
}
