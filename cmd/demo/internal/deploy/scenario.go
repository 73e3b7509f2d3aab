package deploy

import (
	"path/filepath"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/sandbox"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit/scenario"
	"github.com/bridle-go/bridle/testkit/script"
)

// Scenario composes the deployment of a scenario.
func Scenario(s scenario.Setup) ([]plug.Plugin, error) {
	o := Default(s.Workspace)
	if !s.Policy {
		o.Policy = nil
	}
	o.FS.DiffBasisMaxBytes = s.FS.DiffBasisMaxBytes
	o.FS.RecoveryDir = filepath.Join(s.Home, "recovery")
	o.Tools = toolfs.Config(s.ToolFS)
	if s.Sandbox != nil {
		o.Sandbox = &sandbox.PolicyConfig{Mode: s.Sandbox.Mode}
	}
	if s.FileOps != nil {
		o.FileOps = &fileops.Config{Register: fileops.Register(s.FileOps.Register), Allow: s.FileOps.Allow,
			NoApproval: !s.FileOps.RequireApproval}
		if s.FileOps.SandboxRoot {
			o.FileOps.SandboxRoot = s.Workspace
		}
	}
	if s.Attachments != nil {
		o.Attachments = &attachments.Config{Dir: filepath.Join(s.Home, "attachments"), Limits: *s.Attachments}
	}
	if s.Approval != nil {
		o.Approval = &approve.Config{Policy: s.Approval.Policy}
	}
	if s.Model != nil {
		o.Models = &models.Config{}
	}
	plugins := Plugins(o)
	if s.Model != nil {
		plugins = append(plugins, script.New(script.Config{
			Provider: scenario.Provider,
			Models:   []llm.ModelInfo{{Model: scenario.ModelName, InputModalities: s.Model.InputModalities}},
		}).Plugin())
	}
	return plugins, nil
}
