package deploy

import (
	"errors"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/approve"
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
	o.Tools = toolfs.Config(s.ToolFS)
	if s.Approval != nil {
		o.Approval = &approve.Config{Policy: s.Approval.Policy}
	}
	if s.Model != nil {
		o.Models = []llm.Adapter{script.New(script.Config{
			Provider: scenario.Provider,
			Models:   []llm.ModelInfo{{Model: scenario.ModelName, InputModalities: s.Model.InputModalities}},
		})}
	}
	var missing []error
	if s.Sandbox != nil {
		missing = append(missing, errors.New("this build has no sandboxed filesystem"))
	}
	if s.Attachments != nil && *s.Attachments != (attachment.Limits{}) {
		missing = append(missing, errors.New("this build has no attachment store"))
	}
	if s.FileOps != nil {
		missing = append(missing, errors.New("this build has no file operations"))
	}
	return Plugins(o), errors.Join(missing...)
}
