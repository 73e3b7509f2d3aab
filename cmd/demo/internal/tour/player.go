package tour

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// player plays the steps of one turn and tells the guide what happens.
type player interface {
	turn(ctx context.Context, user string, steps []step, g *guide) error
	close()
}

// direct makes the calls of the steps itself, in the pipeline of the
// deployment.
type direct struct {
	deployment *harness.Deployment
	agent      *tool.Agent
	calls      int
}

func newPlayer(d *harness.Deployment, dir string) (player, error) {
	s, err := session.NewMemory(session.Header{Cwd: dir}, session.Config{})
	if err != nil {
		return nil, err
	}
	return &direct{deployment: d, agent: &tool.Agent{Session: s}}, nil
}

func (p *direct) turn(ctx context.Context, _ string, steps []step, g *guide) error {
	for _, s := range steps {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.say != "" {
			g.said(s.say)
		}
		if s.tool == "" {
			continue
		}
		arguments, err := json.Marshal(s.args)
		if err != nil {
			return err
		}
		d, err := p.deployment.Tools().Lookup(p.agent, s.tool)
		if err != nil {
			return err
		}
		p.calls++
		r := p.deployment.Tools().Execute(ctx, tool.Invocation{
			ID: fmt.Sprintf("call-%d", p.calls), Name: s.tool, Arguments: string(arguments), Agent: p.agent,
		})
		if err := g.called(ctx, s, d, string(arguments), r); err != nil {
			return err
		}
	}
	return nil
}

func (p *direct) close() { _ = p.agent.Session.Close() } // a session in memory cannot fail to close
