package event

import "context"

// Next asks the rest of the listeners, and in the end the caller's default.
// It may be called any number of times, with other values too.
type Next[In, Out any] func(ctx context.Context, in In) (Out, error)

// Decider answers a waterfall event. Returning without calling next takes the
// decision; calling next and returning something else wraps it.
type Decider[In, Out any] func(ctx context.Context, in In, next Next[In, Out]) (Out, error)

// Waterfall is an event that asks. Make one with [NewWaterfall].
type Waterfall[In, Out any] struct {
	name  string
	index int64
}

// NewWaterfall declares an event. Declare each name once, as a package
// variable.
func NewWaterfall[In, Out any](name string) *Waterfall[In, Out] {
	return &Waterfall[In, Out]{name: name, index: declare(name)}
}

// Name returns the event's name.
func (w *Waterfall[In, Out]) Name() string { return w.name }

// On registers a decider until s ends or the returned undo is called, which
// may happen twice. The owner of s is named when the decider panics.
func (w *Waterfall[In, Out]) On(b *Bus, s Scope, fn Decider[In, Out], opts ...Option) (undo func()) {
	return add(b, w.index, s, fn, opts)
}

// Ask runs the listeners in order and returns what they decide; the last next
// is fallback, which gives the zero value when it is nil.
//
// An error that a listener returns is its decision and reaches the caller as
// it is; a panic becomes an error with the code LISTENER_FAILED.
func (w *Waterfall[In, Out]) Ask(ctx context.Context, b *Bus, in In, fallback Next[In, Out]) (Out, error) {
	listeners := load[Decider[In, Out]](b, w.index)
	if len(listeners) == 0 {
		return w.last(ctx, in, fallback)
	}
	return w.ask(ctx, listeners, in, fallback)
}

func (w *Waterfall[In, Out]) ask(ctx context.Context, rest []entry[Decider[In, Out]], in In, fallback Next[In, Out]) (Out, error) {
	if len(rest) == 0 {
		return w.last(ctx, in, fallback)
	}
	return w.call(ctx, rest[0], in, func(ctx context.Context, in In) (Out, error) {
		return w.ask(ctx, rest[1:], in, fallback)
	})
}

func (w *Waterfall[In, Out]) call(ctx context.Context, l entry[Decider[In, Out]], in In, next Next[In, Out]) (out Out, err error) {
	defer recovered(w.name, l.owner, &err)
	return l.fn(ctx, in, next)
}

func (w *Waterfall[In, Out]) last(ctx context.Context, in In, fallback Next[In, Out]) (Out, error) {
	if fallback == nil {
		var zero Out
		return zero, nil
	}
	return fallback(ctx, in)
}
