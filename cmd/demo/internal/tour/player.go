package tour

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit/script"
)

// The route of the scripted model.
const (
	provider = "script"
	model    = "tour"
)

// player has the scripted model play the turns of the tour in the agent loop,
// and tells the guide what it does.
type player struct {
	guide *guide
	agent *agent.Agent
	scope *plug.Scope

	steps  []step // of the running turn, that have a call which was not made yet
	cancel context.CancelFunc
	err    error // what went otherwise than the script says
}

func newPlayer(g *guide) (*player, error) {
	s, err := session.NewMemory(session.Header{Cwd: g.dir}, session.Config{})
	if err != nil {
		return nil, err
	}
	d := g.deployment
	c := d.Context()
	a, err := agent.New(agent.Deps{
		Tools: d.Tools(), Prompt: d.Prompt(),
		Models: plug.ServiceOf[*llm.Registry](c), Attachments: plug.ServiceOf[attachment.Store](c),
	}, s, agent.Config{Provider: provider, Model: model})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	p := &player{guide: g, agent: a, scope: plug.NewScope("tour")}
	s.Subscribe(p.said)
	tool.Done.On(d.Bus(), p.scope, p.called)
	return p, nil
}

// turn plays one turn.
func (p *player) turn(ctx context.Context, user string, steps []step) error {
	p.steps = nil
	for _, s := range steps {
		answer := script.Step{Text: s.say}
		if s.tool != "" {
			arguments, err := json.Marshal(s.args)
			if err != nil {
				return err
			}
			answer.Calls = []script.Call{{Name: s.tool, Arguments: string(arguments)}}
			p.steps = append(p.steps, s)
		}
		p.guide.model.Add(answer)
	}
	// The turn has a context of its own, so that what goes otherwise than the
	// script says can end it.
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	p.cancel = cancel
	_, err := p.agent.Ask(running, user)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p.err != nil:
		return p.err
	case err == nil && len(p.steps) > 0:
		return fmt.Errorf("the call of %s was not made", p.steps[0].tool)
	}
	return err
}

// said shows the model's text as soon as it is in the log.
func (p *player) said(e session.Event) {
	if e.Type != session.TypeAssistantMessage {
		return
	}
	var m session.AssistantMessage
	if err := e.Decode(&m); err != nil {
		p.fail(err)
		return
	}
	if text := m.Message.Text(); text != "" {
		p.guide.said(text)
	}
}

// called shows what came of a call.
func (p *player) called(_ context.Context, e tool.Executed) error {
	if len(p.steps) == 0 {
		p.fail(fmt.Errorf("the call of %s is not in the script", e.Call.Name))
		return nil
	}
	s := p.steps[0]
	p.steps = p.steps[1:]
	d, err := p.guide.deployment.Tools().Lookup(p.agent.Caller(), e.Call.Name)
	if err == nil {
		err = p.guide.called(s, d, string(e.Call.Arguments), e.Result)
	}
	p.fail(err)
	return nil
}

// fail ends the turn: what follows would not be what the script tells.
func (p *player) fail(err error) {
	if err != nil && p.err == nil {
		p.err = err
		p.cancel()
	}
}

func (p *player) close() error {
	return errors.Join(p.scope.Close(), p.agent.Session().Close())
}
