// Package deploy says which plugins make up the deployments of the demo.
package deploy

import (
	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
)

// Options describe a deployment. A nil part is absent from it.
type Options struct {
	FS     fslocal.Config
	Policy *fspolicy.Config
	Tools  toolfs.Config
	// Approval is the approval service; its answerers are plugins of their own.
	Approval *approve.Config
	// Models are the providers of language models. Nil leaves the model service
	// out; an empty list mounts it without providers.
	Models []llm.Adapter
}

// Default describes the default deployment on a directory: the local files,
// the observation policy and the file tools.
func Default(dir string) Options {
	return Options{FS: fslocal.Config{Cwd: dir}, Policy: &fspolicy.Config{}}
}

// Plugins returns the plugins of a deployment.
func Plugins(o Options) []plug.Plugin {
	plugins := []plug.Plugin{fslocal.Plugin(o.FS), toolfs.Plugin(o.Tools)}
	if o.Policy != nil {
		plugins = append(plugins, fspolicy.Plugin(*o.Policy))
	}
	if o.Approval != nil {
		plugins = append(plugins, approve.Plugin(*o.Approval))
	}
	if o.Models != nil {
		plugins = append(plugins, Models(o.Models...))
	}
	return plugins
}

// Models returns a plugin called "models" that provides the model registry
// with the adapters in it.
func Models(adapters ...llm.Adapter) plug.Plugin {
	return plug.Plugin{
		Name:     "models",
		Services: []plug.Declaration{plug.Provides[*llm.Registry]()},
		Options: fx.Provide(func(scope *plug.Scope) (*llm.Registry, error) {
			r := new(llm.Registry)
			for _, a := range adapters {
				undo, err := r.Register(scope.Owner(), a)
				if err != nil {
					return nil, err
				}
				scope.Add(undo)
			}
			return r, nil
		}),
	}
}
