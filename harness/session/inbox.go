package session

import "github.com/bridle-go/bridle/harness/llm"

// Inbox returns the messages waiting in a queue, in order.
func (s *Session) Inbox(target InboxTarget) []llm.Message {
	return view(s, func(st *State) []llm.Message { return st.Inbox(target) })
}

// Enqueue adds messages to the end of a queue. Errors are those of
// [Session.Append].
func (s *Session) Enqueue(target InboxTarget, messages ...llm.Message) error {
	if len(messages) == 0 {
		return nil
	}
	return s.splice(target, func(waiting []llm.Message) InboxSpliced {
		return InboxSpliced{Start: len(waiting), Inserted: messages}
	})
}

// Dequeue takes the first messages out of a queue and returns them: at most
// that many, or all of them for a negative number. Each message is given out
// once, whoever else takes or adds. Errors are those of [Session.Append].
func (s *Session) Dequeue(target InboxTarget, most int) ([]llm.Message, error) {
	var taken []llm.Message
	err := s.splice(target, func(waiting []llm.Message) InboxSpliced {
		if most >= 0 && len(waiting) > most {
			waiting = waiting[:most]
		}
		taken = waiting
		return InboxSpliced{RemovedCount: len(taken)}
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// splice appends the change that plan makes of a queue. Looking at the queue
// and changing it are one step: a position that was read before another
// append would be that of another message.
func (s *Session) splice(target InboxTarget, plan func(waiting []llm.Message) InboxSpliced) error {
	s.mu.Lock()
	change := plan(s.state.Inbox(target))
	if change.RemovedCount == 0 && len(change.Inserted) == 0 {
		s.mu.Unlock()
		return nil
	}
	change.Target = target
	events := []Event{change.Event()}
	bodies, err := s.acceptAll(events)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	_, err = s.commit(events, bodies, false)
	return err
}
