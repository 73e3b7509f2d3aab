// Package plug composes plugins into one running context on go.uber.org/fx.
//
// A [Plugin] is a named bundle of fx options together with the services it
// needs, may use, or provides. A [Context] mounts plugins: each gets an fx
// application of its own, so that it can come and go while the others run.
// They meet through [Service] handles and through events, never by knowing
// each other.
//
// A [Service] is a place for one implementation of an interface. Who uses it
// holds the handle and takes the implementation for the length of one call,
// so a provider can leave, or be replaced, under running users.
//
// A [Scope] belongs to one mounted plugin and holds the undo of everything
// the plugin registered. When the plugin leaves, they run newest first.
//
// Mounting has one order whatever order the plugins are given in: a provider
// before those that need it, and by name where that leaves a choice. Nothing
// of a plugin runs before all that are mounted together have been checked.
package plug

import (
	"context"
	"fmt"
	"reflect"

	"go.uber.org/fx"
)

// Plugin is a named bundle of fx options.
//
// Its constructors may ask for the plugin's [*Scope], the [*Context], the
// deployment's event bus, the handles of the services it declares, and the
// ground values the context was composed with. Constructors wire; start hooks
// acquire.
type Plugin struct {
	// Name identifies the plugin in one context and in errors.
	Name string
	// Services declares what the plugin needs, may use, and provides.
	Services []Declaration
	// Options is what fx gets. It may be nil.
	Options fx.Option
}

// Declaration is one service in a plugin's declaration. Make one with
// [Needs], [Uses] or [Provides].
type Declaration struct {
	kind kind
	typ  reflect.Type
	name string
	// handle gives the plugin's constructors the *Service[T].
	handle func(c *Context) fx.Option
	// collect takes the implementation out of the plugin's fx application and
	// returns how to publish it.
	collect func(c *Context) (fx.Option, publisher)
}

type kind uint8

const (
	needs kind = iota
	uses
	provides
)

// publisher puts a collected implementation in place for owner. With replace
// it takes over from the current provider, whose drain is returned.
type publisher func(owner string, replace bool) (place, error)

// place is one published implementation.
type place interface {
	// swap tells that a replacement of the provider is under way, until end is
	// called.
	swap() (end func())
	// hide ends the registrations that stand on the implementation and makes
	// the service unavailable, if the implementation is still the current one.
	hide() error
	// restore undoes the replacement by a successor that then failed.
	restore() error
	// drain waits until no call is in flight.
	drain(ctx context.Context) error
}

// Needs declares a service that must have a provider when the plugin is
// mounted. Constructors get it as *Service[T].
func Needs[T any]() Declaration { return declare[T](needs) }

// Uses declares a service that may be absent and may come and go. Constructors
// get it as *Service[T].
func Uses[T any]() Declaration { return declare[T](uses) }

// Provides declares that the plugin's fx options provide a T, which becomes
// the implementation of the service once the plugin has started.
func Provides[T any]() Declaration {
	d := declare[T](provides)
	d.collect = func(c *Context) (fx.Option, publisher) {
		var impl T
		return fx.Populate(&impl), func(owner string, replace bool) (place, error) {
			return ServiceOf[T](c).publish(owner, impl, replace)
		}
	}
	return d
}

func declare[T any](k kind) Declaration {
	return Declaration{
		kind: k,
		typ:  reflect.TypeFor[T](),
		name: serviceName[T](),
		handle: func(c *Context) fx.Option {
			return fx.Supply(ServiceOf[T](c))
		},
	}
}

// serviceName is how errors name a service: its type, as in "vfs.FileSystem".
func serviceName[T any]() string {
	t := reflect.TypeFor[T]()
	if t.Name() == "" {
		return fmt.Sprint(t)
	}
	return t.String()
}
