package plug

import (
	"errors"
	"fmt"
	"sync"
)

// Scope holds the undo of each registration that one owner made. It may be
// used concurrently.
type Scope struct {
	owner string

	mu       sync.Mutex
	undo     []func() error
	closed   bool
	succeeds string
}

// NewScope returns an open scope. Plugins get theirs injected; other callers,
// such as tests, make one and close it.
func NewScope(owner string) *Scope { return &Scope{owner: owner} }

// Owner names whose registrations these are.
func (s *Scope) Owner() string { return s.owner }

// Succeeds names the plugin that this one is about to replace, or "".
func (s *Scope) Succeeds() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.succeeds
}

func (s *Scope) setSucceeds(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.succeeds = name
}

// Add hands an undo over to the scope. On a scope that is closed it runs at
// once, so nothing registered late is left behind.
func (s *Scope) Add(undo func()) {
	if !s.add(func() error { undo(); return nil }) {
		undo()
	}
}

// add hands over an undo that may fail. It returns false on a scope that is
// closed.
func (s *Scope) add(undo func() error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.undo = append(s.undo, undo)
	}
	return !s.closed
}

// Close runs the undos, newest first, and returns when they have run. A panic
// in one does not keep the others from running; it comes back as an error.
// Closing again does nothing.
func (s *Scope) Close() error {
	s.mu.Lock()
	undo := s.undo
	s.undo, s.closed = nil, true
	s.mu.Unlock()

	var failures []error
	for i := len(undo) - 1; i >= 0; i-- {
		if err := s.run(undo[i]); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

func (s *Scope) run(undo func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("undo of a registration of %q panicked: %v", s.owner, v)
		}
	}()
	return undo()
}
