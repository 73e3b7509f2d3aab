package session_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// Whoever adds to a queue while others take from it: each message is given
// out once, none is lost, and those of one sender stay in order. The log says
// the same when it is folded again.
func TestInboxIsTakenOnce(t *testing.T) {
	const senders, takers, each = 8, 3, 200
	s, err := session.NewMemory(session.Header{Cwd: "/w"}, fixed())
	if err != nil {
		t.Fatal(err)
	}
	var sending, taking sync.WaitGroup
	for sender := range senders {
		sending.Go(func() {
			for i := range each {
				if err := s.Enqueue(session.NextStep, user(fmt.Sprintf("%d/%d", sender, i), "x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sent := make(chan struct{})
	taken := make([][]llm.Message, takers)
	for taker := range takers {
		taking.Go(func() {
			for {
				var last bool
				select {
				case <-sent:
					last = true
				default:
				}
				ms, err := s.Dequeue(session.NextStep, taker-1) // all, none or one at a time
				if err != nil {
					t.Error(err)
					return
				}
				taken[taker] = append(taken[taker], ms...)
				if last {
					return
				}
			}
		})
	}
	sending.Wait()
	close(sent)
	taking.Wait()

	got := map[string]int{}
	for _, ms := range append(taken, s.Inbox(session.NextStep)) {
		newest := map[int]int{}
		for _, m := range ms {
			got[m.ID]++
			var sender, i int
			fmt.Sscanf(m.ID, "%d/%d", &sender, &i)
			if before, ok := newest[sender]; ok && before >= i {
				t.Errorf("message %d of sender %d came after %d", i, sender, before)
			}
			newest[sender] = i
		}
	}
	want := map[string]int{}
	for sender := range senders {
		for i := range each {
			want[fmt.Sprintf("%d/%d", sender, i)] = 1
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages given out (-want +got):\n%s", d)
	}

	var events []session.Event
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	again, err := session.NewMemory(session.Header{Cwd: "/w"}, fixed(), events...)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.Inbox(session.NextStep), again.Inbox(session.NextStep)); d != "" {
		t.Errorf("the inbox of the log (-live +folded):\n%s", d)
	}
}

// A subscriber may use the inbox while a change of it is told.
func TestInboxFromSubscriber(t *testing.T) {
	s, err := session.NewMemory(session.Header{Cwd: "/w"}, fixed())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Subscribe(func(e session.Event) {
		if len(s.Inbox(session.NextTurn)) == 1 {
			if err := s.Enqueue(session.NextTurn, user("second", "x")); err != nil {
				t.Error(err)
			}
		}
	})()
	if err := s.Enqueue(session.NextTurn, user("first", "x")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.Inbox(session.NextTurn) {
		got = append(got, m.ID)
	}
	if d := cmp.Diff([]string{"first", "second"}, got); d != "" {
		t.Errorf("the queue (-want +got):\n%s", d)
	}
}
