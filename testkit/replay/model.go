package replay

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// plugin puts the player in the place of the model and the person.
func (p *player) plugin() plug.Plugin {
	return plug.Plugin{
		Name:     "replay",
		Services: []plug.Declaration{plug.Needs[*llm.Registry]()},
		Options: fx.Invoke(func(registry *plug.Service[*llm.Registry], bus *event.Bus, scope *plug.Scope) error {
			approval.Answer.On(bus, scope, p.answer, event.First())
			tool.Execute.On(bus, scope, p.execute, event.First())
			if p.plan.exact {
				vfs.Observed.On(bus, scope, p.inOrder, event.First())
			}
			return registry.While(scope, func(scope *plug.Scope, r *llm.Registry) error {
				for _, provider := range p.providers() {
					if _, err := r.Register(scope, adapter{p, provider}); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
}

// registry is a plugin with a model registry, for deployments that have none.
func registry() plug.Plugin {
	return plug.Plugin{Name: "replay-models", Services: []plug.Declaration{plug.Provides[*llm.Registry]()},
		Options: fx.Provide(func() *llm.Registry { return new(llm.Registry) })}
}

func (p *player) providers() []string {
	var out []string
	for _, t := range p.plan.turns {
		if id := route(t).Provider; !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// route is the recorded route of a turn. A turn that ended before its first
// request has none, and an agent needs one.
func route(t *turnPlan) session.RequestConfig {
	c := t.config
	if c.Provider == "" {
		c.Provider = "replay"
	}
	if c.Model == "" {
		c.Model = "replay"
	}
	return c
}

// answer gives the recorded answer to a question.
func (p *player) answer(ctx context.Context, q approval.Question, next event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
	p.mu.Lock()
	recorded := p.plan.answers[q.CallID]
	n := p.answered[q.CallID]
	p.answered[q.CallID]++
	p.mu.Unlock()
	if n >= len(recorded) {
		return next(ctx, q)
	}
	switch o := recorded[n]; o {
	case approval.Cancelled:
		return approval.Cancelled, context.Cause(ctx)
	case approval.Unavailable:
		return next(ctx, q) // nobody could answer then, and nobody is here now
	default:
		return o, nil
	}
}

// execute stops a turn in the body of a call, where the recording shows that.
func (p *player) execute(ctx context.Context, c *tool.Call, next event.Next[*tool.Call, any]) (any, error) {
	p.mu.Lock()
	turn, cancel := p.turn, p.cancel
	p.mu.Unlock()
	if turn != nil && turn.cancelIn == c.ID {
		cancel()
	}
	return next(ctx, c)
}

// patience is how long an observation waits for its turn. It runs out only
// where a replay differs from the recording.
const patience = 2 * time.Second

// inOrder lets calls that run at once tell what they saw in the recorded
// order.
func (p *player) inOrder(ctx context.Context, o vfs.Observation) error {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		early, grown := p.early(o), p.grown
		p.mu.Unlock()
		if !early {
			return nil
		}
		select {
		case <-grown:
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// early reports whether another observation comes next in the recording, or
// this one, but somebody else is about to make it.
func (p *player) early(o vfs.Observation) bool {
	next := p.plan.seed + p.done
	if next >= len(p.plan.events) || p.plan.events[next].Type != session.TypeObserved {
		return false
	}
	var b session.Observed
	if p.plan.events[next].Decode(&b) != nil {
		return false
	}
	if b.Key != string(o.Target.Key) || p.admitted == next {
		return true
	}
	p.admitted = next
	return false
}

// adapter is the model of one provider.
type adapter struct {
	*player
	provider string
}

var _ llm.Adapter = adapter{}

func (a adapter) Provider() string { return a.provider }

func (a adapter) Models(context.Context) ([]llm.ModelInfo, error) { return nil, nil }

// ResolveModel knows what the caller said. Of another model it says that it
// takes images, unless a recorded result shows that it does not.
func (a adapter) ResolveModel(model string) (llm.ModelInfo, error) {
	for _, m := range a.models {
		if m.Model == model && (m.Provider == "" || m.Provider == a.provider) {
			return m, nil
		}
	}
	info := llm.ModelInfo{Provider: a.provider, Model: model, InputModalities: []llm.Modality{llm.TextInput, llm.ImageInput}}
	if a.textOnly[model] {
		info.InputModalities = info.InputModalities[:1]
	}
	return info, nil
}

// Stream gives the recorded answer.
func (a adapter) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(llm.Chunk{}, cancelled(r))
			return
		}
		t, s, at := a.attempt(r)
		if at == nil {
			yield(llm.Chunk{}, &recordedError{text: "the recording has no such request", code: errs.InvalidArgs})
			return
		}
		a.compare(t, s, r)
		a.mu.Lock()
		a.quiet = at.made
		a.mu.Unlock()
		for _, c := range at.chunks {
			if ctx.Err() != nil {
				break
			}
			if !yield(c, nil) {
				return
			}
		}
		switch {
		case ctx.Err() != nil, at.cut:
			a.stop()
			yield(llm.Chunk{}, cancelled(r))
		case at.failed != nil:
			yield(llm.Chunk{}, at.failed)
		}
	}
}

func cancelled(r llm.Request) error {
	return &llm.Error{Class: llm.Cancelled, Provider: r.Provider, Model: r.Model, Err: context.Canceled}
}

func (p *player) stop() {
	p.mu.Lock()
	cancel := p.cancel
	p.mu.Unlock()
	cancel()
}

// attempt returns the recorded attempt that the running request is, or nil.
func (p *player) attempt(r llm.Request) (*turnPlan, *stepPlan, *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	step := p.session.OpenStep()
	if p.turn == nil {
		return nil, nil, nil
	}
	s := p.turn.steps[step]
	key := [2]int{p.turn.n, step}
	n := p.attempts[key]
	p.attempts[key]++
	if s == nil || n >= len(s.attempts) {
		p.extra = append(p.extra, fmt.Sprintf("request of turn %d, step %d", p.turn.n, step))
		return nil, nil, nil
	}
	return p.turn, s, s.attempts[n]
}
