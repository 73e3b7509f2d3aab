package deploy

import (
	"errors"
	"path/filepath"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/models"
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
	var missing []error
	if s.Sandbox != nil {
		missing = append(missing, errors.New("this build has no sandboxed filesystem"))
	}
	if s.FileOps != nil {
		missing = append(missing, errors.New("this build has no file operations"))
	}
	return plugins, errors.Join(missing...)
}
