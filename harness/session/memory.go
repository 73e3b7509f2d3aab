package session

import (
	"context"
	"iter"
	"sync"
)

// memory keeps events in memory.
type memory struct {
	mu  sync.Mutex
	log []Event
}

func (m *memory) append(events []Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, events...)
	return nil
}

// snapshot returns the events there are; later ones do not show in it.
func (m *memory) snapshot() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log[:len(m.log):len(m.log)]
}

func (m *memory) checkpoint(context.Context) error { return nil }

func (m *memory) events() iter.Seq2[Event, error] {
	log := m.snapshot()
	return func(yield func(Event, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *memory) close() error { return nil }
