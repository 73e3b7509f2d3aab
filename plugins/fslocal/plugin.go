package fslocal

import (
	"context"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Name is the name of the plugin.
const Name = "fslocal"

// module provides an [*FS], and the same as [vfs.FileSystem], and closes it at
// the end.
func module(cfg Config) fx.Option {
	return fx.Module(Name,
		fx.Provide(func(lc fx.Lifecycle) (*FS, vfs.FileSystem, error) {
			f, err := New(cfg)
			if err != nil {
				return nil, nil, err
			}
			lc.Append(fx.StopHook(func(context.Context) error { return f.Close() }))
			return f, f, nil
		}))
}

// Plugin provides the service [vfs.FileSystem] for the files of this machine.
func Plugin(cfg Config) plug.Plugin {
	return plug.Plugin{
		Name:     Name,
		Services: []plug.Declaration{plug.Provides[vfs.FileSystem]()},
		Options:  module(cfg),
	}
}
