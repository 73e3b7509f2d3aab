package attachments

import (
	"context"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/plug"
)

// Name is the name of the plugin.
const Name = "attachments"

// module provides a [*Store], and the same as [attachment.Store], and closes it
// at the end.
func module(cfg Config) fx.Option {
	return fx.Module(Name,
		fx.Provide(func(lc fx.Lifecycle) (*Store, attachment.Store, error) {
			s, err := New(cfg)
			if err != nil {
				return nil, nil, err
			}
			lc.Append(fx.StopHook(func(context.Context) error { return s.Close() }))
			return s, s, nil
		}))
}

// Plugin provides the service [attachment.Store] on the local disk.
func Plugin(cfg Config) plug.Plugin {
	return plug.Plugin{
		Name:     Name,
		Services: []plug.Declaration{plug.Provides[attachment.Store]()},
		Options:  module(cfg),
	}
}
