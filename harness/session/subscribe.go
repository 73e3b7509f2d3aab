package session

import "slices"

type subscriber struct{ fn func(Event) }

type closer struct{ fn func() }

// deliver hands queued events to the subscribers in order. s.mu is held and
// is given up. Only one goroutine delivers at a time: a subscriber that
// appends, or another appender, leaves its events to the one that does.
func (s *Session) deliver() {
	if s.delivering {
		s.mu.Unlock()
		return
	}
	s.delivering = true
	for len(s.deliveries) > 0 {
		batch, subs := s.deliveries, slices.Clone(s.subs)
		s.deliveries = nil
		s.mu.Unlock()
		for _, e := range batch {
			for _, sub := range subs {
				s.tell(sub, e)
			}
		}
		s.mu.Lock()
	}
	s.delivering = false
	s.mu.Unlock()
}

func (s *Session) tell(sub *subscriber, e Event) {
	defer func() {
		if v := recover(); v != nil {
			s.config.Logger.Error("a subscriber of a session panicked", "session", s.header.ID, "event", e.Type, "panic", v)
		}
	}()
	sub.fn(e)
}

// Subscribe calls fn for each event that is appended from now on, in order.
// It runs within Append, must be quick, and may use the session. The returned
// undo may be called twice.
func (s *Session) Subscribe(fn func(Event)) (undo func()) {
	sub := &subscriber{fn}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs = append(slices.Clone(s.subs), sub)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subs = slices.DeleteFunc(slices.Clone(s.subs), func(x *subscriber) bool { return x == sub })
	}
}

// OnClose calls fn when the session has been closed, at once where it already
// is, so that what is kept for a session can go with it. The returned undo may
// be called twice.
func (s *Session) OnClose(fn func()) (undo func()) {
	c := &closer{fn}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.end(c)
		return func() {}
	}
	s.closers = append(s.closers, c)
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closers = slices.DeleteFunc(s.closers, func(x *closer) bool { return x == c })
	}
}

func (s *Session) end(c *closer) {
	defer func() {
		if v := recover(); v != nil {
			s.config.Logger.Error("what was to go with a session panicked", "session", s.header.ID, "panic", v)
		}
	}()
	c.fn()
}
