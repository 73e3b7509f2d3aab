package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

func (r *run) differ(d *Difference) {
	if d == nil {
		return
	}
	d.Recorded, d.Replayed = string(r.spell([]byte(d.Recorded))), string(r.spell([]byte(d.Replayed)))
	r.report.Differences = append(r.report.Differences, *d)
}

// foldTo brings the fold of the recording up to before index i.
func (r *run) foldTo(i int) {
	for ; r.at < i; r.at++ {
		_ = r.recorded.Apply(r.plan.events[r.at]) // events of plugins are in no fold
	}
}

// compareRequest compares a request with the recorded one: the conversation as
// the logs have it, and the fixed part.
func (r *run) compareRequest(t *turnPlan, s *stepPlan, _ llm.Request) {
	r.foldTo(s.asked)
	r.report.Requests++
	where := fmt.Sprintf("request of turn %d, step %d", t.n, s.n)
	event := int64(s.asked)
	if d := r.compareMessages(r.recorded.Messages(), r.session.Messages()); d != nil {
		d.Event, d.Where = event, where
		r.differ(d)
		return
	}
	recorded, told := r.recorded.RequestHeader()
	if !told && !r.plan.exact {
		return // the recording does not say
	}
	replayed, _ := r.session.RequestHeader()
	r.differ(differ(event, where, r.head(recorded.Header, recorded.Header), r.head(replayed.Header, recorded.Header)))
}

// compareMessages compares two conversations and returns their first
// difference, or nil.
func (r *run) compareMessages(recorded, replayed []llm.Message) *Difference {
	a, b := r.conversation(recorded), r.conversation(replayed)
	for i := range max(len(a), len(b)) {
		x, y := any(absent{}), any(absent{})
		if i < len(a) && i < len(b) {
			// Logs are append-only, so what was equal in the request before is not
			// looked at again.
			ids := [2]string{a[i].ID, b[i].ID}
			if i < len(r.same) && r.same[i] == ids {
				continue
			}
			if !r.plan.exact {
				a[i].ID, b[i].ID = "", ""
			}
			one, two := a[i].AppendJSON(nil), b[i].AppendJSON(nil)
			if bytes.Equal(one, two) {
				r.same = append(r.same[:min(i, len(r.same))], ids)
				continue
			}
			x, y = parse(one), parse(two)
		} else if i < len(a) {
			x = parse(a[i].AppendJSON(nil))
		} else {
			y = parse(b[i].AppendJSON(nil))
		}
		if path, av, bv, different := firstDifference(fmt.Sprintf("messages[%d]", i), x, y); different {
			return &Difference{Path: path, Recorded: spell(av), Replayed: spell(bv)}
		}
	}
	return nil
}

// conversation returns messages as they are compared.
func (r *run) conversation(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, 0, len(messages))
	for _, m := range messages {
		if r.plan.foreign && isSnapshot(m) {
			continue
		}
		out = append(out, r.withoutStopped(m))
	}
	return out
}

// withoutStopped takes the words from the results of calls that were stopped
// when the turn was: how far they came is chance.
func (r *run) withoutStopped(m llm.Message) llm.Message {
	is := func(b llm.Block) bool {
		return b.Type == llm.ToolResultBlock && b.IsError && r.stopped[b.ToolCallID]
	}
	if len(r.stopped) == 0 || !slices.ContainsFunc(m.Content, is) {
		return m
	}
	m.Content = slices.Clone(m.Content)
	for i, b := range m.Content {
		if is(b) {
			m.Content[i].Content = nil
		}
	}
	return m
}

// head returns the fixed part of a request without what like leaves open.
func (r *run) head(h, like session.RequestHead) json.RawMessage {
	out := map[string]any{"provider": h.Config.Provider, "model": h.Config.Model, "options": h.Config.Extra}
	if r.plan.foreign {
		return encode(out) // another system words its prompt and its tools in its own way
	}
	if like.System != nil && !marked(like.System, systemMark) {
		out["system"] = h.System
	}
	if like.Tools != nil && !marked(like.Tools, toolsMark) {
		out["tools"] = h.Tools
	}
	return encode(out)
}

// made is a call with its result, as a log has them.
type made struct {
	call    session.ToolCall
	result  session.ToolResult
	event   int64
	outcome Outcome
}

// calls reads the results of a log in order.
func calls(events []session.Event) []made {
	asked := map[callKey]session.ToolCall{}
	var out []made
	for _, e := range events {
		switch e.Type {
		case session.TypeAssistantMessage:
			var b session.AssistantMessage
			_ = e.Decode(&b)
			for _, c := range b.Message.ToolCalls() {
				asked[callKey{b.Turn, b.Step, c.ID}] = session.ToolCall{Turn: b.Turn, Step: b.Step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments}
			}
		case session.TypeToolCall:
			var b session.ToolCall
			_ = e.Decode(&b)
			asked[callKey{b.Turn, b.Step, b.CallID}] = b
		case session.TypeToolResult:
			var b session.ToolResult
			_ = e.Decode(&b)
			for _, block := range b.Message.Content {
				if block.Type != llm.ToolResultBlock {
					continue
				}
				call, ok := asked[callKey{b.Turn, b.Step, block.ToolCallID}]
				if !ok {
					call = session.ToolCall{Turn: b.Turn, Step: b.Step, CallID: block.ToolCallID}
				}
				out = append(out, made{call, b, e.Seq, Outcome{
					Content: llm.AppendBlocks(nil, block.Content), IsError: block.IsError, Error: b.Error, Meta: b.Meta,
				}})
			}
		}
	}
	return out
}

// finish compares what the session logged since it was opened with the
// recording up to before index cut. After that another session goes on.
func (r *run) finish(cut int) error {
	log := &session.Log{Header: r.session.Header()}
	for e, err := range r.session.Events() {
		if err != nil {
			return err
		}
		log.Events = append(log.Events, e)
	}
	r.report.Log = log
	added := log.Events[min(r.opened, len(log.Events)):]
	r.made = append(r.made, calls(added)...)
	if r.plan.exact {
		r.compareEvents(added, cut)
	}
	r.compareEnds(added, cut)
	return nil
}

// compareEvents compares the added events with the recorded ones, byte by
// byte.
func (r *run) compareEvents(added []session.Event, cut int) {
	for i, recorded := range r.plan.events[min(r.from, cut):cut] {
		if i >= len(added) {
			r.differ(&Difference{Event: recorded.Seq, Where: recorded.Type, Recorded: string(recorded.AppendJSON(nil)), Replayed: spell(absent{})})
			return
		}
		a, b := recorded.AppendJSON(nil), added[i].AppendJSON(nil)
		if string(a) == string(b) {
			continue
		}
		d := differ(recorded.Seq, recorded.Type, a, b)
		if d == nil { // the same value in another spelling
			d = &Difference{Event: recorded.Seq, Where: recorded.Type, Recorded: string(a), Replayed: string(b)}
		}
		r.differ(d)
		return // what follows a difference tells nothing new
	}
	if n := cut - r.from; n < len(added) && cut == len(r.plan.events) {
		r.differ(&Difference{Event: -1, Where: added[n].Type, Recorded: spell(absent{}), Replayed: string(added[n].AppendJSON(nil))})
	}
}

// compareEnds compares how turns ended, and how many steps they had.
func (r *run) compareEnds(added []session.Event, cut int) {
	ends := map[int]session.EndReason{}
	steps := map[int]int{}
	for _, e := range added {
		switch e.Type {
		case session.TypeTurnEnd:
			var b session.TurnEnd
			_ = e.Decode(&b)
			ends[b.Turn] = b.Reason
		case session.TypeStepStart:
			var b session.StepStart
			_ = e.Decode(&b)
			steps[b.Turn]++
		}
	}
	for _, t := range r.plan.turns {
		if t.start < r.from || t.start >= cut || t.cut {
			continue
		}
		where := fmt.Sprintf("end of turn %d", t.n)
		if len(t.steps) != steps[t.n] {
			r.differ(&Difference{Event: int64(t.end - 1), Where: where, Path: "steps", Recorded: fmt.Sprint(len(t.steps)), Replayed: fmt.Sprint(steps[t.n])})
		} else if replayed := ends[t.n]; !r.plan.sameEnd(t.reason, replayed) {
			r.differ(&Difference{Event: int64(t.end - 1), Where: where, Path: "reason",
				Recorded: reason(t.reason), Replayed: reason(replayed)})
		}
	}
}

func reason(r session.EndReason) string {
	text := r.Kind
	if r.Code != "" {
		text += " " + r.Code
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}

// compareCalls compares the results of all calls.
func (r *run) compareCalls() {
	replayed := map[callKey][]made{}
	for _, m := range r.made {
		replayed[m.key()] = append(replayed[m.key()], m)
	}
	for _, m := range calls(r.plan.events) {
		c := Call{Event: m.event, Turn: m.call.Turn, Step: m.call.Step, ID: m.call.CallID, Name: m.call.Name,
			Arguments: string(r.spell([]byte(m.call.Arguments))), Recorded: r.spelled(m.outcome)}
		name := c.Name
		if name == "" {
			name = "a call that is not recorded"
		}
		where := fmt.Sprintf("result of %s (%s)", name, c.ID)
		switch again := replayed[m.key()]; {
		case m.event < int64(r.plan.seed):
			c.Skipped, c.Equal = "it was copied from another session", true
		case r.plan.afterCut(m.event):
			c.Skipped, c.Equal = "it was written because the process ended", true
		case len(again) == 0:
			r.differ(&Difference{Event: m.event, Where: where, Recorded: string(encode(m.outcome)), Replayed: spell(absent{})})
		default:
			outcome := r.spelled(again[0].outcome)
			c.Replayed = &outcome
			replayed[m.key()] = again[1:]
			a, b := r.plan.comparable(c.Recorded, outcome)
			d := differ(m.event, where, encode(a), encode(b))
			switch {
			case r.absent[c.Name]:
				c.Replayed, c.Skipped, d = nil, "this deployment has no such tool", nil
			case d != nil && !r.plan.exact && wasStopped(m.outcome) && wasStopped(outcome):
				c.Skipped, d = "it was stopped, and how far it came is chance", nil
			}
			c.Equal = d == nil
			r.differ(d)
		}
		r.report.Calls = append(r.report.Calls, c)
	}
	for _, m := range r.made {
		if left := replayed[m.key()]; len(left) > 0 && !r.plan.inCutTurn(m.call.Turn) {
			replayed[m.key()] = left[1:]
			r.differ(&Difference{Event: -1, Where: fmt.Sprintf("result of %s (%s)", m.call.Name, m.call.CallID),
				Recorded: spell(absent{}), Replayed: string(encode(m.outcome))})
		}
	}
}

func (r *run) spelled(o Outcome) Outcome {
	o.Content, o.Meta = r.spell(o.Content), r.spell(o.Meta)
	return o
}

// afterCut reports whether an event was written by somebody else than the
// loop.
func (p *plan) afterCut(event int64) bool {
	return slices.ContainsFunc(p.turns, func(t *turnPlan) bool { return t.cut && event >= int64(t.cutAt) && event < int64(t.end) })
}

func (p *plan) inCutTurn(n int) bool {
	return slices.ContainsFunc(p.turns, func(t *turnPlan) bool { return t.cut && t.n == n })
}

// compareAll ends a replay.
func (r *run) compareAll() error {
	if err := r.finish(len(r.plan.events)); err != nil {
		return err
	}
	r.compareCalls()
	for _, what := range r.player.extra {
		r.differ(&Difference{Event: -1, Where: what, Recorded: spell(absent{}), Replayed: "a request"})
	}
	// What is not in the recording comes last: it follows from what is.
	slices.SortStableFunc(r.report.Differences, func(a, b Difference) int { return cmp.Compare(uint64(a.Event), uint64(b.Event)) })
	return nil
}
