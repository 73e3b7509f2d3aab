package plug

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/bridle-go/bridle/harness/errs"
)

// Service is the place of one implementation of T in a context. The handle
// stays the same while implementations come and go. Its methods may be called
// concurrently.
type Service[T any] struct {
	name string

	mu      sync.Mutex
	current *mounted[T]
	changed chan struct{} // closed when current is set or swaps ends; made by who waits
	swaps   int           // replacements of the provider under way
	watches []*watch[T]
	// turn keeps the watches' callbacks in the order of the changes, without
	// holding mu while they run.
	turn sync.Mutex
}

// mounted is one published implementation.
type mounted[T any] struct {
	service *Service[T]
	owner   string
	value   T

	calls int           // in flight; guarded by service.mu
	idle  chan struct{} // closed when calls reaches 0; made by who drains
}

// watch is one While.
type watch[T any] struct {
	parent *Scope
	fn     func(*Scope, T) error
	scope  *Scope // of the current implementation; guarded by Service.turn
}

// ServiceOf returns c's handle of the service T.
func ServiceOf[T any](c *Context) *Service[T] {
	return serviceIn(c, func() *Service[T] { return NewService[T]() })
}

// NewService returns a handle that belongs to no context, for tests and for
// use without a context.
func NewService[T any]() *Service[T] { return &Service[T]{name: serviceName[T]()} }

// Acquire returns the current implementation for the length of one call. The
// caller must call release when it is done; until then the implementation is
// not stopped. Without an implementation the error is SERVICE_UNAVAILABLE.
func (s *Service[T]) Acquire() (impl T, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.current
	if m == nil {
		return impl, nil, s.unavailable()
	}
	m.calls++
	return m.value, m.release, nil
}

// Wait is Acquire for a caller that would rather wait for a successor than
// fail. It waits while a replacement of the provider is under way, until there
// is an implementation or ctx ends. Where no provider is mounted and none is
// being replaced nobody is known to come, and the error is SERVICE_UNAVAILABLE
// at once.
func (s *Service[T]) Wait(ctx context.Context) (impl T, release func(), err error) {
	for {
		s.mu.Lock()
		if m := s.current; m != nil {
			m.calls++
			s.mu.Unlock()
			return m.value, m.release, nil
		}
		if s.swaps == 0 {
			s.mu.Unlock()
			return impl, nil, s.unavailable()
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return impl, nil, errors.Join(s.unavailable(), context.Cause(ctx))
		}
	}
}

// wake lets those who wait look again. s.mu is held.
func (s *Service[T]) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Mounted reports whether there is an implementation, and whose.
func (s *Service[T]) Mounted() (owner string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return "", false
	}
	return s.current.owner, true
}

// While runs fn whenever the service gets an implementation, and at once when
// it has one. What fn registers in the scope it is given lasts as long as that
// implementation, and no longer than scope. fn runs before any other change of
// the service, so it must not call While or Provide of it. An error of fn is
// returned to whoever mounts the implementation, which then is not mounted, or
// from While itself.
func (s *Service[T]) While(scope *Scope, fn func(*Scope, T) error) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	w := &watch[T]{parent: scope, fn: fn}
	s.mu.Lock()
	m := s.current
	s.mu.Unlock()
	if m != nil {
		if err := w.begin(m.value); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.watches = append(s.watches, w)
	s.mu.Unlock()
	leave := func() error {
		s.mu.Lock()
		s.watches = slices.DeleteFunc(s.watches, func(x *watch[T]) bool { return x == w })
		s.mu.Unlock()
		return w.end()
	}
	held := scope.add(func() error {
		s.turn.Lock()
		defer s.turn.Unlock()
		return leave()
	})
	if !held {
		return leave() // the scope has ended, and so does what fn registered
	}
	return nil
}

// Provide puts an implementation in place for a service that belongs to no
// plugin. The undo hides it again and waits for calls in flight.
func (s *Service[T]) Provide(owner string, impl T) (undo func(), err error) {
	p, err := s.publish(owner, impl, false)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		_ = p.hide()
		_ = p.drain(context.Background()) // cannot fail without an end of the context
	}), nil
}

func (s *Service[T]) publish(owner string, impl T, replace bool) (place, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	m := &mounted[T]{service: s, owner: owner, value: impl}

	s.mu.Lock()
	old := s.current
	if old != nil && !replace {
		s.mu.Unlock()
		return nil, duplicate(s.name, old.owner, owner)
	}
	watches := slices.Clone(s.watches)
	s.current = m
	s.wake()
	s.mu.Unlock()

	if err := s.takeUp(watches, m); err != nil {
		s.mu.Lock()
		s.current = nil
		s.mu.Unlock()
		return nil, err
	}
	return m, nil
}

// takeUp begins every watch with an implementation, or ends them all. s.turn is
// held.
func (s *Service[T]) takeUp(watches []*watch[T], m *mounted[T]) error {
	for i, w := range watches {
		err := w.end()
		if err == nil {
			err = w.begin(m.value)
		}
		if err != nil {
			for _, done := range watches[:i+1] {
				err = errors.Join(err, done.end())
			}
			return fmt.Errorf("plugin %q could not take up service %s: %w", w.parent.Owner(), s.name, err)
		}
	}
	return nil
}

func (m *mounted[T]) restore() error {
	s := m.service
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	if s.current != nil {
		s.mu.Unlock()
		return nil
	}
	s.current = m
	s.wake()
	watches := slices.Clone(s.watches)
	s.mu.Unlock()
	// The service is there again even for those who cannot take it up anew.
	return s.takeUp(watches, m)
}

func (m *mounted[T]) swap() (end func()) {
	s := m.service
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swaps++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.swaps--
		s.wake()
	}
}

func (m *mounted[T]) hide() error {
	s := m.service
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	if s.current != m {
		s.mu.Unlock()
		return nil // a successor has taken over
	}
	s.current = nil
	watches := slices.Clone(s.watches)
	s.mu.Unlock()
	var failures []error
	for i := len(watches) - 1; i >= 0; i-- {
		failures = append(failures, watches[i].end())
	}
	return errors.Join(failures...)
}

func (m *mounted[T]) drain(ctx context.Context) error {
	s := m.service
	s.mu.Lock()
	if m.calls == 0 {
		s.mu.Unlock()
		return nil
	}
	if m.idle == nil {
		m.idle = make(chan struct{})
	}
	idle, calls := m.idle, m.calls
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d calls on service %s of plugin %q are still in flight: %w", calls, s.name, m.owner, context.Cause(ctx))
	}
}

func (m *mounted[T]) release() {
	m.service.mu.Lock()
	defer m.service.mu.Unlock()
	m.calls--
	if m.calls == 0 && m.idle != nil {
		close(m.idle)
		m.idle = nil
	}
}

func (w *watch[T]) begin(impl T) (err error) {
	w.scope = NewScope(w.parent.Owner())
	w.scope.setSucceeds(w.parent.Succeeds())
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
		if err != nil {
			err = errors.Join(err, w.scope.Close())
			w.scope = nil
		}
	}()
	return w.fn(w.scope, impl)
}

func (w *watch[T]) end() error {
	if w.scope == nil {
		return nil
	}
	scope := w.scope
	w.scope = nil
	return scope.Close()
}

func (s *Service[T]) unavailable() error {
	return &errs.Error{Code: errs.ServiceUnavailable, Op: s.name,
		Message: fmt.Sprintf("service %s has no provider now; mount a plugin that provides it", s.name)}
}

func duplicate(service, first, second string) error {
	return &errs.Error{Code: errs.DuplicateService, Op: service,
		Message: fmt.Sprintf("service %s is provided by both %q and %q; mount one of them", service, first, second)}
}
