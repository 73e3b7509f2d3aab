// Package deploy says which plugins make up the deployments of the demo.
package deploy

import (
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/sandbox"
	"github.com/bridle-go/bridle/plugins/toolfs"
)

// Options describe a deployment. A nil part is absent from it.
type Options struct {
	FS fslocal.Config
	// Sandbox is the policy of a confining filesystem, which then takes the
	// place of the plain one.
	Sandbox *sandbox.PolicyConfig
	Policy  *fspolicy.Config
	Tools   toolfs.Config
	// FileOps are the file operations, beside the file tools.
	FileOps *fileops.Config
	// Attachments is the image store. While it is mounted there is read_image.
	Attachments *attachments.Config
	// Approval is the approval service; its answerers are plugins of their own.
	Approval *approve.Config
	// Models is the model registry with its catalogue; the providers are
	// plugins of their own.
	Models *models.Config
}

// Default describes the default deployment on a directory: the local files,
// the observation policy and the file tools.
func Default(dir string) Options {
	return Options{FS: fslocal.Config{Cwd: dir}, Policy: &fspolicy.Config{}}
}

// Plugins returns the plugins of a deployment.
func Plugins(o Options) []plug.Plugin {
	plugins := []plug.Plugin{toolfs.Plugin(o.Tools)}
	if o.Sandbox != nil {
		plugins = append(plugins, sandbox.Plugin(o.FS), sandbox.PolicyPlugin(*o.Sandbox))
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
	return plugins
}
