package session

import (
	"context"
	"iter"
)

// memory keeps events in memory.
type memory struct{ log []Event }

func (m *memory) append(events []Event) error {
	m.log = append(m.log, events...)
	return nil
}

func (m *memory) checkpoint(context.Context) error { return nil }

func (m *memory) events() iter.Seq2[Event, error] {
	log := m.log[:len(m.log):len(m.log)]
	return func(yield func(Event, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *memory) close() error { return nil }
