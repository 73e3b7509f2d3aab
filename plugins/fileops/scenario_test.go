package fileops_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/testkit/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reading are the scenarios that need no operation that changes files.
var reading = []string{
	"fileops-hub-read-and-info", "fileops-view-line-window", "fileops-view-unchanged", "fileops-search-modes", "fileops-tree-and-list",
}

func compose(s scenario.Setup) ([]plug.Plugin, error) {
	cfg := fileops.Config{}
	if s.FileOps != nil {
		cfg = fileops.Config{Register: fileops.Register(s.FileOps.Register), Allow: s.FileOps.Allow, NoApproval: !s.FileOps.RequireApproval}
		if s.FileOps.SandboxRoot {
			cfg.SandboxRoot = s.Workspace
		}
	}
	plugins := []plug.Plugin{fslocal.Plugin(fslocal.Config{Cwd: s.Workspace}), fileops.Plugin(cfg)}
	if s.Policy {
		plugins = append(plugins, fspolicy.Plugin(fspolicy.Config{}))
	}
	if s.Approval != nil {
		plugins = append(plugins, approve.Plugin(approve.Config{Policy: s.Approval.Policy}))
	}
	return plugins, nil
}

func TestScenarios(t *testing.T) {
	all, err := scenario.ReadFile("../../testkit/testdata/fileops.json")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, s := range all {
		if !slices.Contains(reading, s.Name) {
			continue
		}
		played++
		t.Run(s.Name, func(t *testing.T) {
			out := scenario.Run(t.Context(), s, compose, scenario.Config{})
			for _, d := range out.Differences {
				t.Error(d)
			}
		})
	}
	if played != len(reading) {
		t.Errorf("%d of %d scenarios were found", played, len(reading))
	}
}
