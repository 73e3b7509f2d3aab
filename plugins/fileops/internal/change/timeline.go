package change

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/bridle-go/bridle/harness/session"
)

// TypeRewound is the type of the event that tells that a rewind, or one hop of
// it, was made as a whole. It is ignorable.
const TypeRewound = "fileops/rewound"

// Rewound is the body of that event.
type Rewound struct {
	CallID string `json:"callId"`
	ToTurn int    `json:"toTurn"`
	// ReceiptIDs are the changes that were taken back.
	ReceiptIDs []string `json:"receiptIds"`
}

// A timeline has the states that a session's files were in. What a turn or a
// rewind changed leads back from one state to another; a rewind that was made
// as a whole ends in a state that was there before. So there may be several ways
// back, and the shortest is gone: otherwise rewinds would take each other back
// again and again.
type timeline struct {
	now   int
	turns []int // the state at the end of each turn; the first is the beginning
	ways  map[int][]way
}

// way leads from a state to an earlier one by taking changes back.
type way struct {
	to      int
	changes []logged // oldest first
	// used tells that it is that of a rewind and was gone before: what the rewind
	// had put away has been brought back by then.
	used bool
}

const (
	// rewindCost has what turns changed go before what rewinds did: it tells people
	// more.
	rewindCost = 1 << 20
	// usedCost keeps a way that was used for when there is no other.
	usedCost = 1 << 40
)

func (w way) cost() int64 {
	switch {
	case w.used:
		return usedCost + int64(len(w.changes))
	case w.ofRewind():
		return rewindCost + int64(len(w.changes))
	}
	return int64(len(w.changes))
}

func (w way) ofRewind() bool { return w.changes[0].Receipt.Operation == rewindOp }

// logged is one change in a log.
type logged struct {
	Logged
	turn int
}

// turns is the turn of the change; none for what a rewind did.
func (l logged) turns() []int {
	if l.Receipt.Operation == rewindOp {
		return []int{}
	}
	return []int{l.turn}
}

// stretch names what the change is part of: a turn or a rewind.
func (l logged) stretch() string {
	if l.Receipt.Operation == rewindOp {
		return l.CallID
	}
	return fmt.Sprint("turn ", l.turn)
}

// item is a change or, in between, the end of a rewind.
type item struct {
	logged
	rewound *Rewound
}

// timelineOf reads a log with so many turns. A change between two turns counts
// as of the next.
func timelineOf(events iter.Seq2[session.Event, error], turns int) (*timeline, []logged, error) {
	items, err := itemsOf(events)
	if err != nil {
		return nil, nil, err
	}
	t := &timeline{turns: []int{0}, ways: map[int][]way{}}
	var all []logged
	states, stretch := 1, ""
	for _, it := range items {
		if end := it.rewound; end != nil {
			if stretch == end.CallID && end.ToTurn >= 0 && end.ToTurn < len(t.turns) {
				t.use(end.ReceiptIDs)
				t.meet(t.turns[end.ToTurn])
				stretch = ""
			}
			continue
		}
		all = append(all, it.logged)
		for len(t.turns) < it.turn {
			t.turns = append(t.turns, t.now)
		}
		if s := it.stretch(); s != stretch {
			stretch = s
			t.ways[states] = []way{{to: t.now}}
			t.now = states
			states++
		}
		last := &t.ways[t.now][0]
		last.changes = append(last.changes, it.logged)
	}
	for len(t.turns) <= turns {
		t.turns = append(t.turns, t.now)
	}
	return t, all, nil
}

// use marks the ways of rewinds that another one has gone.
func (t *timeline) use(receipts []string) {
	gone := map[string]bool{}
	for _, id := range receipts {
		gone[id] = true
	}
	for _, ways := range t.ways {
		for i := range ways {
			w := &ways[i]
			w.used = w.used || w.ofRewind() && gone[w.changes[0].Receipt.ReceiptID]
		}
	}
}

// meet makes the state now the same as one from before.
func (t *timeline) meet(state int) {
	t.ways[state] = append(t.ways[state], t.ways[t.now]...)
	delete(t.ways, t.now)
	t.now = state
}

// itemsOf reads the changes of a log, oldest first, without those that were
// taken back at once.
func itemsOf(events iter.Seq2[session.Event, error]) ([]item, error) {
	var all []item
	back := map[string]bool{}
	turn, open := 0, false
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		switch e.Type {
		case session.TypeTurnStart:
			turn, open = turn+1, true
		case session.TypeTurnEnd:
			open = false
		case TypeRolledBack:
			var b RolledBack
			if e.Decode(&b) == nil {
				for _, id := range b.ReceiptIDs {
					back[id] = true
				}
			}
		case TypeRewound:
			var end Rewound
			if e.Decode(&end) == nil {
				all = append(all, item{rewound: &end})
			}
		case TypeReceipt:
			l := logged{turn: turn}
			if !open {
				l.turn++
			}
			if err := e.Decode(&l.Logged); err != nil {
				return nil, fmt.Errorf("receipt in event %d: %w", e.Seq, err)
			}
			all = append(all, item{logged: l})
		}
	}
	return slices.DeleteFunc(all, func(it item) bool {
		return it.rewound == nil && (back[it.Receipt.ReceiptID] || it.Undo.Path == "" ||
			it.Undo.From == "" && it.Undo.Before.equal(it.Undo.After))
	}), nil
}

// backTo gives what to take back, in that order, to come to the end of a turn.
// Of ways that are equally long the newest is gone.
func (t *timeline) backTo(turn int) []hop {
	goal := t.turns[turn]
	type reached struct {
		cost int64
		from int // the state before on the way
		by   way
		done bool
	}
	at := map[int]*reached{t.now: {}}
	for {
		next := -1
		for state, r := range at {
			if !r.done && (next < 0 || r.cost < at[next].cost || r.cost == at[next].cost && state > next) {
				next = state
			}
		}
		if next < 0 || next == goal {
			break
		}
		at[next].done = true
		for _, w := range slices.Backward(t.ways[next]) {
			cost := at[next].cost + w.cost()
			if r := at[w.to]; r == nil || !r.done && cost < r.cost {
				at[w.to] = &reached{cost: cost, from: next, by: w}
			}
		}
	}
	var ways []way
	for state := goal; state != t.now; {
		r := at[state]
		if r == nil {
			return nil // a log leads back to all of its states
		}
		ways = append(ways, r.by)
		state = r.from
	}
	var out []hop
	for _, w := range slices.Backward(ways) {
		ofRewind := w.ofRewind()
		if n := len(out); n == 0 || ofRewind || out[n-1].ofRewind {
			out = append(out, hop{ofRewind: ofRewind})
		}
		h := &out[len(out)-1]
		h.toTurn = t.turnOf(w.to)
		for _, l := range slices.Backward(w.changes) {
			h.changes = append(h.changes, l)
		}
	}
	return out
}

// hop is a part of the way back that is gone in one: some turns, or one rewind.
// Of each it is told where it ended, since with the rewind that it takes back
// the way to that state is gone.
type hop struct {
	ofRewind bool
	toTurn   int      // where it ends; -1 is the end of no turn
	changes  []logged // newest first
}

// turnOf is the last turn that ended in a state.
func (t *timeline) turnOf(state int) int {
	for turn, s := range slices.Backward(t.turns) {
		if s == state {
			return turn
		}
	}
	return -1
}

// logRewound tells that a hop was made as a whole. Without that it can still be
// taken back.
func (r *run) logRewound(h hop) error {
	s := r.call.Session()
	if s == nil || h.toTurn < 0 {
		return nil
	}
	end := Rewound{CallID: r.call.ID, ToTurn: h.toTurn, ReceiptIDs: []string{}}
	for _, l := range h.changes {
		end.ReceiptIDs = append(end.ReceiptIDs, l.Receipt.ReceiptID)
	}
	data, err := json.Marshal(end)
	if err == nil {
		_, err = s.Append(session.Event{Type: TypeRewound, Data: data, Ignorable: true})
	}
	return err
}
