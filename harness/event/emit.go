package event

import (
	"context"
	"errors"
)

// Listener observes an event. It runs in the caller's goroutine and must be
// quick.
type Listener[T any] func(ctx context.Context, value T) error

// Emit is an event that tells. Make one with [NewEmit].
type Emit[T any] struct {
	name  string
	index int64
}

// NewEmit declares an event. Declare each name once, as a package variable.
func NewEmit[T any](name string) *Emit[T] {
	return &Emit[T]{name: name, index: declare(name)}
}

// Name returns the event's name.
func (e *Emit[T]) Name() string { return e.name }

// On registers a listener until s ends or the returned undo is called, which
// may happen twice. The owner of s is named when the listener fails.
func (e *Emit[T]) On(b *Bus, s Scope, fn Listener[T], opts ...Option) (undo func()) {
	return add(b, e.index, s, fn, opts)
}

// Send delivers value to every listener, also after one has failed. The error
// joins the failures, each with the code LISTENER_FAILED around its cause.
func (e *Emit[T]) Send(ctx context.Context, b *Bus, value T) error {
	var failures []error
	for _, l := range load[Listener[T]](b, e.index) {
		if err := e.call(ctx, l.owner, l.fn, value); err != nil {
			failures = append(failures, err)
		}
	}
	switch len(failures) {
	case 0:
		return nil
	case 1:
		return failures[0]
	}
	return errors.Join(failures...)
}

func (e *Emit[T]) call(ctx context.Context, owner string, fn Listener[T], value T) (err error) {
	defer recovered(e.name, owner, &err)
	if err := fn(ctx, value); err != nil {
		return failed(e.name, owner, err)
	}
	return nil
}
