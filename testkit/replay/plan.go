package replay

import (
	"cmp"
	"slices"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// plan is what a recording says about what comes from outside.
type plan struct {
	exact  bool
	events []session.Event
	counts []int // shared events before each index, without those of the seed
	// seed is how many events were copied from another session: they are
	// taken over as they are.
	seed  int
	turns []*turnPlan
	// inputs are the events that nobody in the deployment writes, in order.
	inputs []input
	// ids are the ids that were drawn from the session's generator, in order.
	ids []drawn
	// answers are the outcomes of the questions of each call, in order.
	answers map[string][]approval.Outcome
	// told is what each call told.
	told map[callKey]*telling
	// foreign tells that another system worded the runtime context.
	foreign bool
}

// input is an event to append once as many shared events as before it in the
// recording have been appended.
type input struct {
	index int // in the recording
	after int
	event session.Event
}

type drawn struct {
	index int
	id    string
}

// turnPlan is one recorded turn.
type turnPlan struct {
	n          int
	start, end int // indexes of its first event and of the one behind its last
	reason     session.EndReason
	whole      bool // the recording has its end
	// cancelAfter is how many shared events come before the turn was
	// cancelled or its process ended; -1 when it was not.
	cancelAfter int
	// cut tells that the process ended, or that the recording ends in the turn:
	// what follows the cut was written by somebody else than the loop.
	cut bool
	// cutAt is the index of the first event behind the cancellation.
	cutAt int
	// cancelIn is the call in whose body the turn was cancelled, or "".
	cancelIn string
	config   session.RequestConfig
	steps    map[int]*stepPlan
	maxSteps int
}

// stepPlan is one recorded step.
type stepPlan struct {
	n        int
	begun    int  // index of its first event
	asked    int  // index of the first event behind the request, or of the step's end
	answered bool // the recording has the whole answer, or what came of it
	attempts []*attempt
}

// attempt is one recorded attempt at a request.
type attempt struct {
	chunks []llm.Chunk
	// failed is the recorded failure, nil for an attempt that ended well.
	failed error
	// cut tells that the turn was cancelled, or its process ended, before the
	// attempt ended.
	cut bool
	// made tells that the chunks are not in the recording.
	made bool
}

// end kinds of turns that the loop ends by itself. A turn that ended in any
// other way is stopped where the recording shows it stopped.
var ownEnds = []string{session.EndCompleted, session.EndError, session.EndMaxSteps, agent.EndMaxTokens, session.EndAborted}

// shared reports whether both logs have the event wherever the loop does the
// same. Of another system's log, only what any loop logs is.
func (p *plan) shared(e session.Event) bool {
	if p.exact {
		return true
	}
	switch e.Type {
	case session.TypeTurnStart, session.TypeTurnEnd, session.TypeStepStart, session.TypeStepEnd,
		session.TypeAssistantChunk, session.TypeAssistantMessage, session.TypeToolCall, session.TypeToolResult,
		session.TypeInboxSpliced, session.TypeApprovalAsked, session.TypeApprovalDecided,
		session.TypeSandboxMode, session.TypeApprovalPolicy:
		return true
	case session.TypeUserMessage:
		var m llm.Message
		return e.Decode(&m) == nil && !isSnapshot(m)
	}
	return false
}

func isSnapshot(m llm.Message) bool {
	return m.Source.Kind == llm.FromPlugin && m.Source.Form == session.SnapshotForm
}

func newPlan(log *session.Log, exact bool) *plan {
	p := &plan{exact: exact, events: log.Events}
	if !exact {
		p.events = withoutLogOnly(log.Events)
	}
	for i, e := range p.events {
		if e.Type == session.TypeEndSeed {
			p.seed = i + 1
		}
		var m llm.Message
		if e.Type == session.TypeUserMessage && e.Decode(&m) == nil && isSnapshot(m) && m.Source.Plugin != agent.ContextPlugin {
			p.foreign = true
		}
	}
	p.count()
	p.answers = answersOf(p.events[p.seed:])
	p.told = tellings(log.Events)
	p.readTurns()
	p.readInputs()
	if !exact {
		p.addUnqueued()
	}
	return p
}

// sharedBefore counts the shared events before index i, without the seed.
func (p *plan) sharedBefore(i int) int { return p.counts[i] }

func (p *plan) count() {
	p.counts = make([]int, len(p.events)+1)
	for i, e := range p.events {
		p.counts[i+1] = p.counts[i]
		if i >= p.seed && p.shared(e) {
			p.counts[i+1]++
		}
	}
}

func (p *plan) readTurns() {
	var t *turnPlan
	var config session.RequestConfig
	for i, e := range p.events {
		if i < p.seed && e.Type != session.TypeRequestHeader {
			continue
		}
		switch e.Type {
		case session.TypeTurnStart:
			var b session.TurnStart
			_ = e.Decode(&b) // the reader has checked the core events
			if t != nil && !t.whole {
				t.end = p.lastOf(t, i)
			}
			t = &turnPlan{n: b.Turn, start: i, end: len(p.events), cancelAfter: -1, steps: map[int]*stepPlan{}, config: config}
			p.turns = append(p.turns, t)
		case session.TypeRequestHeader:
			var b session.RequestHeader
			_ = e.Decode(&b)
			config = b.Header.Config
			if t != nil && !t.whole {
				t.config = config
			}
		case session.TypeTurnEnd:
			if t == nil || t.whole {
				continue
			}
			var b session.TurnEnd
			_ = e.Decode(&b)
			t.reason, t.end, t.whole = b.Reason, i+1, true
		}
	}
	for _, t := range p.turns {
		p.readTurn(t)
	}
}

// lastOf is the index behind the last event of a turn that has no end, before
// the next one at index i: what waits for that one is no part of it.
func (p *plan) lastOf(t *turnPlan, i int) int {
	for i > t.start+1 && (p.events[i-1].Type == session.TypeInboxSpliced || !p.exact && !p.shared(p.events[i-1])) {
		i--
	}
	return i
}

// inputKind tells whether nobody in the deployment writes the event.
func (p *plan) isInput(e session.Event, turn, step int) bool {
	switch e.Type {
	case session.TypeSandboxMode, session.TypeApprovalPolicy:
		return true
	case session.TypeTitle:
		var b session.Title
		return e.Decode(&b) == nil && b.Source.Kind != "fallback"
	case session.TypeInboxSpliced:
		// The loop takes messages out: the one that a turn is about before its
		// first step, steering at any. Whatever else happens to a queue comes
		// from outside.
		var b session.InboxSpliced
		_ = e.Decode(&b)
		claim := turn > 0 && len(b.Inserted) == 0 && (b.Target == session.NextStep || step == 0)
		return !claim
	case session.TypeUserMessage:
		// A notice of a plugin that is not here.
		var m llm.Message
		return !p.exact && e.Decode(&m) == nil && m.Source.Kind == llm.FromPlugin && !isSnapshot(m)
	}
	return false
}

func (p *plan) readInputs() {
	turn, step := 0, 0
	cut := p.cuts()
	var inbox session.State
	start := 0 // of the turn
	for i := p.seed; i < len(p.events); i++ {
		e := p.events[i]
		switch e.Type {
		case session.TypeTurnStart:
			turn, step, start = 1, 0, i
		case session.TypeStepStart:
			step = 1
		case session.TypeTurnEnd:
			turn = 0
		case session.TypeInboxSpliced:
			if !p.exact && turn > 0 && step == 0 && !cut(i) {
				p.claimOne(e, inbox.Inbox(session.NextTurn), start)
			}
			_ = inbox.Apply(e)
		}
		// What follows the end of a process was written when the log was opened
		// again, up to the next turn, and is taken over with the log.
		if !cut(i) {
			if p.isInput(e, turn, step) {
				p.inputs = append(p.inputs, input{i, p.counts[i], bare(e)})
			} else if id := p.drawnID(e); id != "" {
				p.ids = append(p.ids, drawn{i, id})
			}
		}
	}
}

// addUnqueued makes inputs of what a person said without the inbox, which some
// logs do not tell of. The loop takes all its input from there.
func (p *plan) addUnqueued() {
	queued := map[string]bool{}
	for _, e := range p.events {
		var b session.InboxSpliced
		if e.Type == session.TypeInboxSpliced && e.Decode(&b) == nil {
			for _, m := range b.Inserted {
				queued[m.ID] = true
			}
		}
	}
	for _, t := range p.turns {
		first, begun := true, t.start
		for i := t.start; i < t.cutAt; i++ {
			e := p.events[i]
			var m llm.Message
			switch {
			case e.Type == session.TypeStepStart:
				begun = i
			case e.Type == session.TypeUserMessage && e.Decode(&m) == nil && m.Source.Kind == llm.FromUser && !queued[m.ID]:
				in := input{begun, p.counts[begun], session.InboxSpliced{Target: session.NextStep, Start: len(p.inputs), Inserted: []llm.Message{m}}.Event()}
				if first {
					in = input{t.start - 1, p.counts[t.start], session.InboxSpliced{Target: session.NextTurn, Inserted: []llm.Message{m}}.Event()}
				}
				p.inputs = append(p.inputs, in)
			}
			first = first && e.Type != session.TypeUserMessage
		}
	}
	slices.SortStableFunc(p.inputs, func(a, b input) int { return cmp.Compare(a.index, b.index) })
}

// cuts reports which events were not written by the loop that is replayed.
func (p *plan) cuts() func(i int) bool {
	return func(i int) bool {
		return slices.ContainsFunc(p.turns, func(t *turnPlan) bool { return t.cut && i >= t.cutAt && i < p.resume(t) })
	}
}

// resume is the index behind the events that closed a turn which was cut: its
// end, and the messages that were put back into the inbox.
func (p *plan) resume(t *turnPlan) int {
	i := t.end
	for i < len(p.events) && t.whole {
		var b session.InboxSpliced
		if p.events[i].Type != session.TypeInboxSpliced || p.events[i].Decode(&b) != nil || len(b.Inserted) != 1 || !p.claimed(t, b.Inserted[0].ID) {
			break
		}
		i++
	}
	return i
}

// claimed reports whether a message was in the inbox before the turn's end.
func (p *plan) claimed(t *turnPlan, id string) bool {
	for _, e := range p.events[:t.cutAt] {
		var b session.InboxSpliced
		if e.Type == session.TypeInboxSpliced && e.Decode(&b) == nil &&
			slices.ContainsFunc(b.Inserted, func(m llm.Message) bool { return m.ID == id }) {
			return true
		}
	}
	return false
}

// bare is an event as it is handed to Append, which numbers it.
func bare(e session.Event) session.Event {
	e.Seq, e.Time = 0, 0
	return e
}

// drawnID returns the id that the loop or a plugin drew for an event, or "".
func (p *plan) drawnID(e session.Event) string {
	switch e.Type {
	case session.TypeUserMessage:
		var m llm.Message
		if e.Decode(&m) == nil && m.Source.Kind == llm.FromPlugin && (p.exact || m.Source.Plugin == agent.ContextPlugin) {
			return m.ID
		}
	case session.TypeAssistantMessage:
		var b session.AssistantMessage
		_ = e.Decode(&b)
		return b.Message.ID
	case session.TypeToolResult:
		var b session.ToolResult
		_ = e.Decode(&b)
		return b.Message.ID
	case session.TypeApprovalAsked:
		var b session.ApprovalAsked
		if e.Decode(&b) == nil {
			return b.ID
		}
	}
	return ""
}
