// Package event delivers typed events inside one deployment.
//
// There are two kinds, and the kind is part of the type. An [Emit] event
// tells: every listener sees the value, and the caller learns whether one
// failed. A [Waterfall] event asks: each listener may answer, or call next
// and wrap what comes back; the caller gets the value.
//
// Both kinds are synchronous and run in registration order, except that a
// listener may ask to be first. Delivery works on the listeners there were
// when it began: one that is added or removed meanwhile counts from the next
// time on. A panic in a listener becomes an error that names the event and
// the listener's owner.
//
// Topics are declared once, as package variables, and shared by all
// deployments; listeners belong to a [Bus], and each deployment has its own:
//
//	var Observed = event.NewEmit[Observation]("fs/observed")
//
//	Observed.On(bus, scope, func(ctx context.Context, o Observation) error { ... })
//	err := Observed.Send(ctx, bus, observation)
package event

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bridle-go/bridle/harness/errs"
)

// topics holds the names of all topics; a topic's place is its index in every
// bus.
var topics struct {
	mu    sync.Mutex
	names []string
}

// declare hands out the index of a topic.
func declare(name string) int64 {
	topics.mu.Lock()
	defer topics.mu.Unlock()
	topics.names = append(topics.names, name)
	return int64(len(topics.names) - 1)
}

// Scope owns registrations and undoes them when it ends. A plugin's scope is
// one.
type Scope interface {
	// Owner names who registers, for errors.
	Owner() string
	// Add hands over an undo; it may be called more than once.
	Add(undo func())
}

// Succeeds names the owner whose place s takes, or "". While both are there,
// registries let the successor register the names that the other holds, and
// the successor's count.
func Succeeds(s Scope) string {
	if successor, ok := s.(interface{ Succeeds() string }); ok {
		return successor.Succeeds()
	}
	return ""
}

// Bus holds the listeners of one deployment. The zero value is ready; a Bus
// must not be copied.
type Bus struct {
	mu    sync.Mutex
	slots atomic.Pointer[[]any] // topic index -> *list[F], copied on growth
}

// list is the listeners of one topic on one bus, replaced as a whole when it
// changes so that delivery needs no lock.
type list[F any] struct {
	entries atomic.Pointer[[]entry[F]]
}

type entry[F any] struct {
	owner string
	fn    F
	id    *int // identity for removal
}

// Option changes how a listener is registered.
type Option func(*options)

type options struct{ first bool }

// First puts the listener before all that are registered already. Of two that
// ask for it, the later one runs first.
func First() Option { return func(o *options) { o.first = true } }

func load[F any](b *Bus, index int64) []entry[F] {
	slots := b.slots.Load()
	if slots == nil || index >= int64(len(*slots)) || (*slots)[index] == nil {
		return nil
	}
	entries := (*slots)[index].(*list[F]).entries.Load()
	if entries == nil {
		return nil
	}
	return *entries
}

// add registers fn in s and returns its undo, which may be called twice.
func add[F any](b *Bus, index int64, s Scope, fn F, opts []Option) func() {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	e := entry[F]{owner: s.Owner(), fn: fn, id: new(int)}
	l := insert(b, index, e, o.first)
	undo := func() { remove(b, l, e.id) }
	s.Add(undo) // without the lock: a scope that has ended undoes at once
	return undo
}

// insert puts a listener into the list of its topic.
func insert[F any](b *Bus, index int64, e entry[F], first bool) *list[F] {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := ensure[F](b, index)
	var old []entry[F]
	if p := l.entries.Load(); p != nil {
		old = *p
	}
	next := make([]entry[F], 0, len(old)+1)
	if first {
		next = append(append(next, e), old...)
	} else {
		next = append(append(next, old...), e)
	}
	l.entries.Store(&next)
	return l
}

func remove[F any](b *Bus, l *list[F], id *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *l.entries.Load()
	next := make([]entry[F], 0, len(old))
	for _, e := range old {
		if e.id != id {
			next = append(next, e)
		}
	}
	l.entries.Store(&next)
}

// ensure returns the topic's list; b.mu is held.
func ensure[F any](b *Bus, index int64) *list[F] {
	var slots []any
	if p := b.slots.Load(); p != nil {
		slots = *p
	}
	if index < int64(len(slots)) && slots[index] != nil {
		return slots[index].(*list[F])
	}
	grown := make([]any, max(int64(len(slots)), index+1))
	copy(grown, slots)
	l := new(list[F])
	grown[index] = l
	b.slots.Store(&grown)
	return l
}

// failed turns what a listener returned or panicked with into an error that
// names the event and the owner.
func failed(topic, owner string, cause error) error {
	return &errs.Error{
		Code:    errs.ListenerFailed,
		Op:      topic,
		Message: fmt.Sprintf("listener of %q owned by %q failed: %v", topic, owner, cause),
		Err:     cause,
	}
}

func recovered(topic, owner string, err *error) {
	if v := recover(); v != nil {
		*err = failed(topic, owner, panicked(v))
	}
}
