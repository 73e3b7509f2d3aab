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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// areas are the scenario files there are. A file that is not here fails the
// test, so that none is passed over.
var areas = []string{"edit", "fileops", "image", "prompt", "read", "sandbox", "write"}

// missing tells which parts of a scenario's deployment do not exist yet.
func missing(c scenario.Compose) string {
	switch {
	case c.Sandbox != nil:
		return "the sandboxed filesystem"
	case c.FileOps != nil:
		return "the file operations"
	}
	return ""
}

// TestScenarios plays every scenario file on the default deployment. A
// scenario whose plugins are missing must fail, so that it is taken up as soon
// as they are there.
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
	for i, file := range files {
		all, err := scenario.ReadFile(file)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s has %d scenarios: %v", file, len(all), err)
		}
		for _, s := range all {
			t.Run(areas[i]+"/"+s.Name, func(t *testing.T) {
				out := scenario.Run(t.Context(), s, deploy.Scenario, scenario.Config{})
				if what := missing(s.Compose); what != "" {
					if out.Pass {
						t.Fatalf("the scenario passes; %s can be taken off this test's list", what)
					}
					t.Skipf("this needs %s", what)
				}
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
