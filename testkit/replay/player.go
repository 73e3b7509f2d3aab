package replay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// player stands for the model and the person, and for the clock.
type player struct {
	plan   *plan
	models []llm.ModelInfo
	// textOnly are the models that take no images.
	textOnly map[string]bool
	// compare is called with each request, from the goroutine of the loop.
	compare func(t *turnPlan, s *stepPlan, r llm.Request)

	mu       sync.Mutex
	session  *session.Session
	turn     *turnPlan // the running one
	cancel   context.CancelFunc
	done     int // shared events so far
	fed      int // inputs so far
	drawn    int // ids so far
	spare    int // ids that are not in the recording
	attempts map[[2]int]int
	answered map[string]int
	extra    []string      // requests that are not in the recording
	quiet    bool          // the chunks that come are not in the recording
	admitted int           // index of the observation that is about to be made
	grown    chan struct{} // closed when an event was appended
}

func newPlayer(p *plan, models []llm.ModelInfo) *player {
	return &player{plan: p, models: models, textOnly: textOnly(p), admitted: -1, attempts: map[[2]int]int{}, answered: map[string]int{}, grown: make(chan struct{})}
}

// config is the clock and the ids of the replayed session.
func (p *player) config(types []string) session.Config {
	c := session.Config{KnownTypes: types, NewID: p.newID, Recall: p.recall, Clock: func() time.Time { return time.UnixMilli(0) }}
	if p.plan.exact {
		c.TimeOf = func(seq int64) (time.Time, bool) {
			if seq >= int64(len(p.plan.events)) {
				return time.Time{}, false
			}
			return time.UnixMilli(p.plan.events[seq].Time), true
		}
	}
	return c
}

func (p *player) newID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn < len(p.plan.ids) {
		p.drawn++
		return p.plan.ids[p.drawn-1].id
	}
	p.spare++
	return fmt.Sprintf("replay-%d", p.spare)
}

// use makes s the session that is replayed, at index i of the recording.
func (p *player) use(s *session.Session, i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session, p.done = s, p.plan.sharedBefore(i)
	// What the loop wrote of a turn that was cut may have drawn too many ids.
	for p.drawn = 0; p.drawn < len(p.plan.ids) && p.plan.ids[p.drawn].index < i; {
		p.drawn++
	}
	for p.fed = 0; p.fed < len(p.plan.inputs) && p.plan.inputs[p.fed].index < i; {
		p.fed++
	}
	s.Subscribe(p.follow)
}

// follow is told of each event of the replay, within its Append.
func (p *player) follow(e session.Event) {
	p.mu.Lock()
	p.count(e)
	close(p.grown)
	p.grown = make(chan struct{})
	turn, cancel := p.turn, p.cancel
	ended := turn != nil && e.Type == session.TypeTurnEnd
	stop := turn != nil && turn.cancelAfter >= 0 && p.done >= turn.cancelAfter
	if ended {
		p.turn = nil // what is said between turns is for the driver to feed
	}
	p.mu.Unlock()
	if ended || stop {
		cancel()
	}
	if turn != nil && !ended && !(stop && turn.cut) {
		_ = p.feed() // an input that the log refuses shows as a difference
	}
}

// count keeps the place in the recording. p.mu is held.
func (p *player) count(e session.Event) {
	if e.Type == session.TypeAssistantChunk && p.quiet {
		return
	}
	if p.plan.shared(e) {
		p.done++
	}
	// Where a replay differs, it must not differ in everything that follows: a
	// step begins where it does in the recording.
	var b session.StepStart
	if e.Type == session.TypeStepStart && p.turn != nil && e.Decode(&b) == nil {
		if s := p.turn.steps[b.Step]; s != nil {
			p.done = p.plan.sharedBefore(s.begun + 1)
		}
	}
}

// feed appends the inputs that are due.
func (p *player) feed() error {
	return p.feedWhile(func(in input) bool { return in.after <= p.done })
}

func (p *player) feedWhile(due func(input) bool) error {
	for {
		p.mu.Lock()
		if p.fed == len(p.plan.inputs) || !due(p.plan.inputs[p.fed]) {
			p.mu.Unlock()
			return nil
		}
		e, s := p.plan.inputs[p.fed].event, p.session
		p.fed++
		p.mu.Unlock()
		if _, err := s.Append(e); err != nil {
			return err
		}
	}
}

// reach feeds what comes before index i of the recording, and goes on there.
func (p *player) reach(i int) error {
	err := p.feedWhile(func(in input) bool { return in.index < i })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = p.plan.sharedBefore(i)
	return err
}

// begin makes t the running turn.
func (p *player) begin(t *turnPlan, cancel context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn, p.cancel = t, cancel
}
