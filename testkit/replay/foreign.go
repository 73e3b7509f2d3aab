package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// What is here lets a recording that another system wrote speak for itself
// where it holds less than ours, or has tools that are not here.

// withoutLogOnly takes the meaning from events that say that they have none for
// the conversation. They keep their places, which others refer to.
func withoutLogOnly(events []session.Event) []session.Event {
	out := slices.Clone(events)
	for i, e := range out {
		if e.LogOnly() && e.Type != session.TypeEndSeed {
			out[i].Type = "log-only/" + e.Type
		}
	}
	return out
}

// question is what an approval event of any spelling says.
type question struct {
	id, callID string
	outcome    approval.Outcome
}

// readQuestion reads an approval event. The names of its fields are not part of
// the format, so the usual ones are looked for, also one level down.
func readQuestion(e session.Event) question {
	var fields map[string]json.RawMessage
	if e.Decode(&fields) != nil {
		return question{}
	}
	word := func(names ...string) string {
		for _, name := range names {
			var s string
			if json.Unmarshal(fields[name], &s) == nil && s != "" {
				return s
			}
		}
		for _, inner := range []string{"request", "call", "toolCall", "question", "outcome", "decision", "result"} {
			var m map[string]json.RawMessage
			if json.Unmarshal(fields[inner], &m) != nil {
				continue
			}
			for _, name := range names {
				var s string
				if json.Unmarshal(m[name], &s) == nil && s != "" {
					return s
				}
			}
		}
		return ""
	}
	q := question{id: word("id", "requestId", "approvalId", "askId"), callID: word("callId", "toolCallId")}
	if e.Type == session.TypeApprovalDecided {
		q.outcome = outcomeOf(word("outcome", "decision", "result", "answer", "kind"))
	}
	return q
}

// outcomeOf reads the outcome of a question, however its tense is chosen.
func outcomeOf(word string) approval.Outcome {
	for _, o := range []struct {
		begins  string
		outcome approval.Outcome
	}{{"allow", approval.AllowedOnce}, {"approve", approval.AllowedOnce}, {"grant", approval.AllowedOnce},
		{"reject", approval.Rejected}, {"den", approval.Rejected}, {"cancel", approval.Cancelled}, {"abort", approval.Cancelled}} {
		if strings.HasPrefix(word, o.begins) {
			return o.outcome
		}
	}
	return approval.Unavailable
}

// answersOf returns the outcomes of the questions of each call, in order. A
// decision that names no call answers the question with its id, or else the
// newest question without an answer.
func answersOf(events []session.Event) map[string][]approval.Outcome {
	out := map[string][]approval.Outcome{}
	var open []question
	call := "" // the newest
	for _, e := range events {
		switch e.Type {
		case session.TypeToolCall:
			var b session.ToolCall
			_ = e.Decode(&b) // the reader has checked the core events
			call = b.CallID
		case session.TypeApprovalAsked:
			q := readQuestion(e)
			if q.callID == "" {
				q.callID = call // calls that ask run alone
			}
			open = append(open, q)
		case session.TypeApprovalDecided:
			q := readQuestion(e)
			i := slices.IndexFunc(open, func(o question) bool { return o.id == q.id && (q.callID == "" || o.callID == q.callID) })
			if i < 0 {
				i = len(open) - 1
			}
			if q.callID == "" && i >= 0 {
				q.callID = open[i].callID
			}
			if i >= 0 {
				open = slices.Delete(open, i, i+1)
			}
			out[q.callID] = append(out[q.callID], q.outcome)
		}
	}
	return out
}

// textOnly returns the models that the recording shows to take no images: one
// refused to be shown a picture, and never saw one.
func textOnly(p *plan) map[string]bool {
	const refusal = "does not declare image input"
	sees, refuses := map[string]bool{}, map[string]bool{}
	turnOf := map[int]*turnPlan{}
	for _, t := range p.turns {
		turnOf[t.n] = t
	}
	for _, m := range calls(p.events) {
		t := turnOf[m.call.Turn]
		if t == nil || m.call.Name != "read_image" {
			continue
		}
		model := route(t).Model
		if !m.outcome.IsError {
			sees[model] = true
		} else if strings.Contains(string(m.outcome.Content), refusal) {
			refuses[model] = true
		}
	}
	for model := range sees {
		delete(refuses, model)
	}
	return refuses
}

// callKey tells the calls of a recording apart: some servers give each answer
// the same ids.
type callKey struct {
	turn, step int
	id         string
}

func (m made) key() callKey { return callKey{m.call.Turn, m.call.Step, m.call.CallID} }

// wasStopped reports whether a result tells no more than that its call was
// stopped. How far it came is chance.
func wasStopped(o Outcome) bool {
	return o.IsError && o.Error != nil && slices.Contains(stopped, errs.Code(o.Error.Code))
}

// comparable returns both outcomes without what the recording does not tell, or
// tells in words of its own: an error without a code, and the class it had in
// another program.
func (p *plan) comparable(recorded, replayed Outcome) (Outcome, Outcome) {
	if p.exact || !recorded.IsError {
		return recorded, replayed
	}
	if recorded.Error == nil || recorded.Error.Code == "" {
		recorded.Error, replayed.Error = nil, nil
	} else if p.foreign && replayed.Error != nil {
		a, b := *recorded.Error, *replayed.Error
		a.Name, b.Name = "", ""
		recorded.Error, replayed.Error = &a, &b
	}
	return recorded, replayed
}

// standIns gives tools that the deployment does not have the results that the
// recording has of them, so that what follows them can be compared. They are
// told of as not replayed.
func (r *run) standIns() {
	results := map[callKey]Outcome{}
	names := map[string]bool{}
	for _, m := range calls(r.plan.events) {
		if m.event < int64(r.plan.seed) || m.call.Name == "" || m.outcome.Error != nil && errs.Code(m.outcome.Error.Code) == errs.UnknownTool {
			continue
		}
		if _, err := r.d.Tools().Lookup(nil, m.call.Name); err == nil || errs.CodeOf(err) != errs.UnknownTool {
			continue
		}
		results[m.key()], names[m.call.Name] = m.outcome, true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, err := r.d.Tools().Register(never{}, tool.Definition{
			Name: name, Description: "recorded", Input: tool.Schema(`{"type":"object"}`), Output: tool.Schema(`{}`),
			Run: func(_ context.Context, c *tool.Call) (any, error) { return c.ID, nil },
			Render: func(c *tool.Call, _ any) (tool.Rendered, error) {
				o, ok := results[r.player.keyOf(c.ID)]
				if !ok {
					return tool.Rendered{}, errs.New(errs.UnknownTool, fmt.Sprintf("the recording has no such call of %s", c.Name))
				}
				var blocks []llm.Block
				if err := json.Unmarshal(o.Content, &blocks); err != nil {
					return tool.Rendered{}, err
				}
				out := tool.Rendered{Content: blocks, IsError: o.IsError}
				if o.Meta != nil {
					out.Meta = o.Meta
				}
				return out, nil
			},
		})
		if err != nil {
			continue // a name that no tool here can have: the call differs
		}
		r.absent[name] = true
		r.note("the tool %s is not here; its recorded results stand for it", name)
	}
}

// never is the scope of what lasts as long as the deployment.
type never struct{}

func (never) Owner() string { return "replay" }
func (never) Add(func())    {}

// keyOf is the key of a call that runs now.
func (p *player) keyOf(id string) callKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == nil {
		return callKey{id: id}
	}
	return callKey{p.turn.n, p.session.OpenStep(), id}
}

// sameEnd reports whether two reasons of a turn's end mean the same. Not every
// system tells an answer that was cut at the output limit from a whole one.
func (p *plan) sameEnd(recorded, replayed session.EndReason) bool {
	if !p.exact && recorded.Kind == session.EndCompleted && replayed.Kind == agent.EndMaxTokens {
		return true
	}
	return recorded.Kind == replayed.Kind && recorded.Code == replayed.Code
}

// claimOne makes steering input of all but the first message that a turn, which
// starts at index start, claims at once: this loop claims one.
func (p *plan) claimOne(e session.Event, waiting []llm.Message, start int) {
	var b session.InboxSpliced
	_ = e.Decode(&b)
	n := min(b.RemovedCount, len(waiting))
	if b.Target != session.NextTurn || b.Start != 0 || len(b.Inserted) > 0 || n < 2 {
		return
	}
	for _, move := range []session.InboxSpliced{
		{Target: session.NextTurn, Start: 1, RemovedCount: n - 1},
		{Target: session.NextStep, Inserted: waiting[1:n]},
	} {
		p.inputs = append(p.inputs, input{start - 1, p.counts[start], move.Event()})
	}
}
