// Package deploy says which plugins make up the deployments of the demo, and
// reads them from a configuration file.
package deploy

import (
	"cmp"
	"path/filepath"

	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/plugins/anthropic"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/openai"
	confine "github.com/bridle-go/bridle/plugins/sandbox"
	"github.com/bridle-go/bridle/plugins/toolfs"
)

// Options describe a deployment. A nil part is absent from it.
type Options struct {
	FS fslocal.Config
	// Sandbox is the policy of a confining filesystem, which then takes the
	// place of the plain one.
	Sandbox *confine.PolicyConfig
	Policy  *fspolicy.Config
	Tools   toolfs.Config
	// NoTools leaves the file tools out.
	NoTools bool
	// FileOps are the file operations, beside the file tools.
	FileOps *fileops.Config
	// Attachments is the image store. While it is mounted there is read_image.
	Attachments *attachments.Config
	// Approval is the approval service; its answerers are plugins of their own.
	Approval *approve.Config
	// Models is the model registry with its catalogue.
	Models *models.Config
	// OpenAI and Anthropic are endpoints of models; they need Models.
	OpenAI    []openai.Config
	Anthropic []anthropic.Config
}

// Default describes the basic deployment on a directory: the local files,
// the observation policy and the file tools.
func Default(dir string) Options {
	return Options{FS: fslocal.Config{Cwd: dir}, Policy: &fspolicy.Config{}}
}

// Agent describes the default deployment of demo run: files confined to its
// workspace, the observation policy, the file tools and operations, images,
// approval, and the model registry.
func Agent() Options {
	return Options{
		Sandbox: &confine.PolicyConfig{Mode: sandbox.WorkspaceWrite}, Policy: &fspolicy.Config{},
		FileOps: &fileops.Config{BackupToolChanges: true}, Attachments: &attachments.Config{}, Approval: &approve.Config{}, Models: &models.Config{},
	}
}

// Place fills in the directories that were left open: the workspace, and what
// goes below home, where the deployment keeps its own files.
func (o *Options) Place(workspace, home string) {
	o.FS.Cwd = cmp.Or(o.FS.Cwd, workspace)
	o.FS.RecoveryDir = cmp.Or(o.FS.RecoveryDir, filepath.Join(home, "recovery"))
	if o.Attachments != nil {
		o.Attachments.Dir = cmp.Or(o.Attachments.Dir, filepath.Join(home, "attachments"))
	}
}

// Plugins returns the plugins of a deployment.
func Plugins(o Options) []plug.Plugin {
	var plugins []plug.Plugin
	if !o.NoTools {
		plugins = append(plugins, toolfs.Plugin(o.Tools))
	}
	if o.Sandbox != nil {
		plugins = append(plugins, confine.Plugin(o.FS), confine.PolicyPlugin(*o.Sandbox))
	} else {
		plugins = append(plugins, fslocal.Plugin(o.FS))
	}
	if o.FileOps != nil {
		plugins = append(plugins, fileops.Plugin(*o.FileOps))
	}
	if o.Policy != nil {
		plugins = append(plugins, fspolicy.Plugin(*o.Policy))
	}
	if o.Attachments != nil {
		plugins = append(plugins, attachments.Plugin(*o.Attachments))
	}
	if o.Approval != nil {
		plugins = append(plugins, approve.Plugin(*o.Approval))
	}
	if o.Models != nil {
		plugins = append(plugins, models.Plugin(*o.Models))
	}
	for _, c := range o.OpenAI {
		plugins = append(plugins, openai.Plugin(c))
	}
	for _, c := range o.Anthropic {
		plugins = append(plugins, anthropic.Plugin(c))
	}
	return plugins
}
