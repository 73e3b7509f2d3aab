package approve

import (
	"context"
	"sync"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
)

// Script is an answerer with prepared answers. It may be used concurrently.
type Script struct {
	mu      sync.Mutex
	answers []approval.Outcome
	asked   []approval.Question
}

// Scripted returns an answerer that gives the answers in order and is
// unavailable when they are used up.
func Scripted(answers ...approval.Outcome) *Script { return &Script{answers: answers} }

// Answer gives the next answer.
func (s *Script) Answer(_ context.Context, q approval.Question, _ event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	if len(s.answers) == 0 {
		return approval.Unavailable, nil
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return next, nil
}

// Asked returns the questions so far.
func (s *Script) Asked() []approval.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]approval.Question(nil), s.asked...)
}
