package plug

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
)

// Context is a running deployment. Its methods may be called concurrently;
// mounting and unmounting happen one at a time, so that a constructor, a hook or
// an undo of a plugin that mounted or unmounted another would wait for itself.
type Context struct {
	bus    event.Bus
	ground []any

	services sync.Map // reflect.Type -> *Service[T]

	mu      sync.Mutex // held while plugins come and go
	mounted []*instance
	stopped bool

	// names are those of mounted, for who looks while plugins come and go.
	names atomic.Pointer[[]string]
}

// instance is one mounted plugin.
type instance struct {
	plugin Plugin
	scope  *Scope
	app    *fx.App
	places []place
}

// Compose mounts plugins into a new context. Ground values are injected into
// the constructors of every plugin by their type; the deployment's registries
// are such values.
//
// Errors name the plugins and services they are about: SERVICE_MISSING,
// SERVICE_DUPLICATE, PLUGIN_DUPLICATE and PLUGIN_CYCLE before anything of any
// plugin has run, PLUGIN_FAILED for one that could not start. After an error
// nothing is left mounted.
func Compose(ctx context.Context, ground []any, plugins ...Plugin) (*Context, error) {
	c := NewContext()
	c.Supply(ground...)
	if err := c.Mount(ctx, plugins...); err != nil {
		return nil, err
	}
	return c, nil
}

// NewContext returns a context with no plugins, for those whose ground values
// need its bus or its services.
func NewContext() *Context { return new(Context) }

// Supply adds ground values. It must come before anything is mounted.
func (c *Context) Supply(ground ...any) { c.ground = append(c.ground, ground...) }

// Bus returns the context's events.
func (c *Context) Bus() *event.Bus { return &c.bus }

// Plugins returns the names of the mounted plugins in mount order.
func (c *Context) Plugins() []string {
	if names := c.names.Load(); names != nil {
		return slices.Clone(*names)
	}
	return []string{}
}

// noteNames is called after each change of mounted.
func (c *Context) noteNames() {
	names := make([]string, len(c.mounted))
	for i, m := range c.mounted {
		names[i] = m.plugin.Name
	}
	c.names.Store(&names)
}

// Mount adds plugins to the running context: all of them, or none.
func (c *Context) Mount(ctx context.Context, plugins ...Plugin) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return stopped()
	}
	ordered, err := c.plan(plugins, "")
	if err != nil {
		return err
	}
	for i, p := range ordered {
		m, err := c.start(ctx, p, "")
		if err != nil {
			for range i {
				err = errors.Join(err, c.leave(context.WithoutCancel(ctx), len(c.mounted)-1))
			}
			return err
		}
		c.mounted = append(c.mounted, m)
		c.noteNames()
	}
	return nil
}

// Unmount removes a plugin. Its services become unavailable at once, calls in
// flight on them are let finish, then its registrations are undone, newest
// first, and its stop hooks run. Plugins that need its services stay mounted:
// their calls fail with SERVICE_UNAVAILABLE until a successor is mounted.
//
// When ctx ends before the calls in flight have, the plugin is stopped all the
// same and the error says so.
func (c *Context) Unmount(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.find(name)
	if err != nil {
		return err
	}
	return c.leave(ctx, i)
}

// Replace mounts p in the place of the plugin called name. The successor is
// started first and takes the services over in one step, so that no call is
// refused in between; then the predecessor leaves as with Unmount. When the
// successor cannot start, the predecessor stays.
func (c *Context) Replace(ctx context.Context, name string, p Plugin) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.find(name)
	if err != nil {
		return err
	}
	if _, err := c.plan([]Plugin{p}, name); err != nil {
		return err
	}
	m, err := c.succeed(ctx, p, c.mounted[i])
	if err != nil {
		return err
	}
	err = c.leave(ctx, i)
	m.scope.setSucceeds("")
	c.mounted = slices.Insert(c.mounted, i, m)
	c.noteNames()
	return err
}

// Stop unmounts everything, newest first, and returns when it has stopped.
// Stopping again does nothing.
func (c *Context) Stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	var failures []error
	for len(c.mounted) > 0 {
		failures = append(failures, c.leave(ctx, len(c.mounted)-1))
	}
	return errors.Join(failures...)
}

func (c *Context) find(name string) (int, error) {
	if c.stopped {
		return 0, stopped()
	}
	for i, m := range c.mounted {
		if m.plugin.Name == name {
			return i, nil
		}
	}
	return 0, &errs.Error{Code: errs.UnknownPlugin, Message: fmt.Sprintf("no plugin is mounted as %q", name)}
}

// start runs one plugin and publishes its services. After an error nothing of
// it is left.
func (c *Context) start(ctx context.Context, p Plugin, succeeds string) (_ *instance, err error) {
	m := &instance{plugin: p, scope: NewScope(p.Name)}
	m.scope.setSucceeds(succeeds)
	opts, publish := c.assemble(p, m.scope)
	m.app = fx.New(opts, fx.RecoverFromPanics())
	if err := m.app.Err(); err != nil {
		return nil, failed(p.Name, errors.Join(err, m.scope.Close()))
	}
	if err := m.app.Start(ctx); err != nil {
		return nil, failed(p.Name, errors.Join(err, m.scope.Close()))
	}
	for _, pub := range publish {
		at, err := pub(p.Name, succeeds != "")
		if err != nil {
			return nil, failed(p.Name, errors.Join(err, m.stop(context.WithoutCancel(ctx))))
		}
		m.places = append(m.places, at)
	}
	return m, nil
}

// succeed starts p in the place of old, which is left serving when p fails.
// Until one of them serves, callers may wait; no longer, for what p does not
// provide will not come, and a call that waits for it would hold up old's leave.
func (c *Context) succeed(ctx context.Context, p Plugin, old *instance) (*instance, error) {
	for _, at := range old.places {
		defer at.swap()()
	}
	m, err := c.start(ctx, p, old.plugin.Name)
	if err != nil {
		for _, at := range old.places {
			err = errors.Join(err, at.restore())
		}
		return nil, err
	}
	return m, nil
}

// leave stops the i-th mounted plugin.
func (c *Context) leave(ctx context.Context, i int) error {
	m := c.mounted[i]
	c.mounted = slices.Delete(c.mounted, i, i+1)
	c.noteNames()
	if err := m.stop(ctx); err != nil {
		return fmt.Errorf("stopping plugin %q: %w", m.plugin.Name, err)
	}
	return nil
}

func (m *instance) stop(ctx context.Context) error {
	var failures []error
	for i := len(m.places) - 1; i >= 0; i-- {
		failures = append(failures, m.places[i].hide())
	}
	for i := len(m.places) - 1; i >= 0; i-- {
		failures = append(failures, m.places[i].drain(ctx))
	}
	failures = append(failures, m.scope.Close())
	// Stop hooks get a context that has not ended: what was started is stopped
	// even when the caller has lost patience.
	failures = append(failures, m.app.Stop(context.WithoutCancel(ctx)))
	return errors.Join(failures...)
}

// assemble returns everything that p's fx application gets.
func (c *Context) assemble(p Plugin, scope *Scope) (fx.Option, []publisher) {
	opts := []fx.Option{fx.NopLogger, fx.Supply(c, scope, &c.bus), fx.Decorate(guarded)}
	if len(c.ground) > 0 {
		opts = append(opts, fx.Supply(c.ground...))
	}
	var publish []publisher
	for _, d := range p.Services {
		if d.kind == provides {
			opt, pub := d.collect(c)
			opts, publish = append(opts, opt), append(publish, pub)
			continue
		}
		opts = append(opts, d.handle(c))
	}
	if p.Options != nil {
		opts = append(opts, p.Options)
	}
	return fx.Options(opts...), publish
}

func serviceIn[T any](c *Context, make func() *Service[T]) *Service[T] {
	key := reflect.TypeFor[T]()
	if s, ok := c.services.Load(key); ok {
		return s.(*Service[T])
	}
	s, _ := c.services.LoadOrStore(key, make())
	return s.(*Service[T])
}

func failed(plugin string, cause error) error {
	return &errs.Error{Code: errs.PluginFailed, Op: plugin,
		Message: fmt.Sprintf("plugin %q could not start: %v", plugin, cause), Err: cause}
}

func stopped() error {
	return errs.New(errs.Stopped, "the context has stopped; compose a new one")
}
