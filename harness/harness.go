// Package harness composes deployments: plugins, the services through which
// they meet, and the registries of tools and prompt segments.
//
//	d, err := harness.Compose(ctx,
//		fslocal.Plugin(fslocal.Config{}),
//		fspolicy.Plugin(fspolicy.Config{}),
//		toolfs.Plugin(toolfs.Config{}),
//	)
//	defer d.Stop(ctx)
//	result := d.Tools().Execute(ctx, tool.Invocation{Name: "read", Arguments: `{"file_path":"README.md"}`})
//
// The packages beneath hold one contract each; this one imports no plugin.
//
//	plug        plugins, services that come and go, scopes of registrations
//	event       typed events: emit tells, waterfall asks
//	errs        coded errors
//	vfs         the filesystem provider
//	tool        definitions, registry and the pipeline of a call
//	prompt      system prompt and runtime context
//	llm         models, messages, adapters
//	session     logs, their folds and stores
//	agent       the turns of a session
//	attachment  the image store
//	approval    asking a person
//	sandbox     modes, grants, the policy of changes
package harness

import (
	"context"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// Deployment is a running composition of plugins.
//
// Its registries, [*tool.Registry] and [*prompt.Registry], are injected into
// the constructors of every plugin, beside what package plug gives them.
type Deployment struct {
	plug   *plug.Context
	tools  *tool.Registry
	prompt *prompt.Registry
}

// Compose starts a deployment of the given plugins, in whatever order. The
// errors are those of [plug.Compose]; after one nothing is left running.
func Compose(ctx context.Context, plugins ...plug.Plugin) (*Deployment, error) {
	d := &Deployment{plug: plug.NewContext(), prompt: prompt.NewRegistry()}
	d.tools = tool.NewRegistry(d.plug.Bus(), plug.ServiceOf[approval.Service](d.plug))
	d.plug.Supply(d.tools, d.prompt)
	if err := d.plug.Mount(ctx, plugins...); err != nil {
		return nil, err
	}
	return d, nil
}

// Module makes a deployment part of an fx application: it provides the
// [*Deployment], composes it when the application starts and stops it when the
// application stops.
func Module(plugins ...plug.Plugin) fx.Option {
	return fx.Module("bridle", fx.Provide(func(lc fx.Lifecycle) *Deployment {
		d := new(Deployment)
		lc.Append(fx.Hook{
			OnStart: func(ctx context.Context) error {
				composed, err := Compose(ctx, plugins...)
				if err != nil {
					return err
				}
				*d = *composed
				return nil
			},
			OnStop: func(ctx context.Context) error { return d.Stop(ctx) },
		})
		return d
	}))
}

// Tools returns the tools of the deployment.
func (d *Deployment) Tools() *tool.Registry { return d.tools }

// Prompt returns the prompt segments of the deployment.
func (d *Deployment) Prompt() *prompt.Registry { return d.prompt }

// Agent returns an agent that runs the turns of a session with the tools and
// models of the deployment.
func (d *Deployment) Agent(s *session.Session, cfg agent.Config) (*agent.Agent, error) {
	return agent.New(agent.Deps{
		Tools: d.tools, Prompt: d.prompt,
		Models:      plug.ServiceOf[*llm.Registry](d.plug),
		Attachments: plug.ServiceOf[attachment.Store](d.plug),
	}, s, cfg)
}

// Bus returns the events of the deployment.
func (d *Deployment) Bus() *event.Bus { return d.plug.Bus() }

// Context returns the context the plugins are mounted in, by which services
// are reached: plug.ServiceOf[vfs.FileSystem](d.Context()).
func (d *Deployment) Context() *plug.Context { return d.plug }

// Mount adds plugins while the deployment runs; see [plug.Context.Mount].
func (d *Deployment) Mount(ctx context.Context, plugins ...plug.Plugin) error {
	return d.plug.Mount(ctx, plugins...)
}

// Unmount removes a plugin; see [plug.Context.Unmount].
func (d *Deployment) Unmount(ctx context.Context, name string) error {
	return d.plug.Unmount(ctx, name)
}

// Replace puts a plugin in the place of another; see [plug.Context.Replace].
func (d *Deployment) Replace(ctx context.Context, name string, p plug.Plugin) error {
	return d.plug.Replace(ctx, name, p)
}

// Plugins names the mounted plugins in mount order.
func (d *Deployment) Plugins() []string { return d.plug.Plugins() }

// Stop ends the deployment and returns when everything has stopped. Stopping
// again does nothing.
func (d *Deployment) Stop(ctx context.Context) error {
	if d.plug == nil {
		return nil // a Module that never started
	}
	return d.plug.Stop(ctx)
}
