package deploy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/testkit/script"
)

// A turn is cancelled in each of its phases, with real files and a log on
// disk. The log opens again with nothing to put right and a conversation that
// a provider accepts, and another process goes on with it.
func TestCancelledSessionsOpenAgain(t *testing.T) {
	for _, one := range acts {
		t.Run(one.name, func(t *testing.T) {
			p := newPlace(t, map[string]string{"a.txt": "alpha\n", "b.txt": "beta\n", "c.txt": "gamma\n"})
			var answer func(context.Context) approval.Outcome
			person := approve.Answerer("person", func(ctx context.Context, q approval.Question, next event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
				if answer == nil {
					return next(ctx, q)
				}
				return answer(ctx), nil
			})
			o := deploy.Default(p.workspace)
			o.Approval = &approve.Config{}
			d := compose(t, append(deploy.Plugins(o), registryPlugin(), script.New(script.Config{Provider: "p"}, one.script...).Plugin(), asking(), person)...)
			store := session.NewFileStore(p.sessions, session.Config{MayRetry: d.Tools().MayRetry})
			s, err := store.Create(t.Context(), session.Header{ID: "s", Cwd: p.workspace})
			if err != nil {
				t.Fatal(err)
			}
			a, err := d.Agent(s, agent.Config{Provider: "p", Model: "m", Retry: agent.Retry{Sleep: noSleep}})
			if err != nil {
				t.Fatal(err)
			}
			if err := one.play(t.Context(), a, &answer); err != nil {
				t.Fatal(err)
			}
			before := s.Len()
			if err := errors.Join(s.Close(), d.Stop(t.Context())); err != nil {
				t.Fatal(err)
			}

			again := p.sit(t)
			defer again.end(t)
			if r := again.Session().Repaired(); r.Needed() || again.Session().Len() != before {
				t.Errorf("opening it put right %+v", r)
			}
			checkValid(t, "opened again", again.Session().Messages())
			for range again.Session().Inbox(session.NextTurn) {
				again.model.Add(script.Step{Text: "waited"})
			}
			again.model.Add(script.Step{Calls: []script.Call{read("a.txt")}}, script.Step{Text: "gone on"})
			out, err := again.Ask(t.Context(), "go on")
			if err != nil || out.Text != "gone on" {
				t.Errorf("%+v, %v", out, err)
			}
			checkValid(t, "gone on", again.Session().Messages())
		})
	}
}
