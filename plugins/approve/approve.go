// Package approve puts questions to a person, or to whoever stands for one,
// and keeps a record of what was asked and answered.
//
// The service asks the listeners of [approval.Answer]. Two ship with it:
// [Terminal], which shows the question and the change and reads the answer
// from a terminal, and [Scripted], which gives prepared answers. No listener,
// or one that fails, makes the outcome unavailable.
//
// Each request writes the pair approval/asked and approval/decided to the log
// of the session that asks, with the digests of what was shown.
package approve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// Config configures the service. The zero value works.
type Config struct {
	// Policy is that of sessions whose log sets none. Default [approval.Ask].
	Policy approval.Mode `json:"policy,omitempty"`
}

// Name is the name of the plugin.
const Name = "approve"

// Plugin returns the approval service as a plugin. The answerers come from other
// plugins, such as [Answerer].
func Plugin(cfg Config) plug.Plugin {
	return plug.Plugin{
		Name:     Name,
		Services: []plug.Declaration{plug.Provides[approval.Service]()},
		Options: fx.Options(
			fx.Provide(func(bus *event.Bus) (*Service, approval.Service, error) {
				s, err := New(cfg, bus)
				return s, s, err
			}),
			fx.Invoke(func(s *Service, prompts *prompt.Registry, scope *plug.Scope) error {
				_, err := prompts.AddSection(scope, prompt.Section{Name: "approval:policy", Order: sectionOrder, Text: s.describe})
				return err
			}),
		),
	}
}

// sectionOrder puts the section of the runtime context behind that of the
// sandbox, which says what needs approval.
const sectionOrder = 210

// describe is what a model is told of its session's policy.
func (s *Service) describe(actor any) string {
	session := sessionOf(actor)
	if session == nil {
		return ""
	}
	if s.policyOf(session) == approval.Never {
		return "Approval: nobody is asked in this session. Whatever needs approval is rejected at once, so do not request it."
	}
	return "Approval: the user is asked about whatever needs approval, and may refuse. Request it only where the task cannot be done without."
}

// Answerer returns a plugin of that name with one answerer.
func Answerer(name string, answer event.Decider[approval.Question, approval.Outcome]) plug.Plugin {
	return plug.Plugin{
		Name: name,
		Options: fx.Invoke(func(bus *event.Bus, scope *plug.Scope) {
			approval.Answer.On(bus, scope, answer)
		}),
	}
}

// Service decides requests.
type Service struct {
	cfg Config
	bus *event.Bus
}

var _ approval.Service = (*Service)(nil)

// New returns a service that asks the listeners on bus.
func New(cfg Config, bus *event.Bus) (*Service, error) {
	switch cfg.Policy {
	case "":
		cfg.Policy = approval.Ask
	case approval.Ask, approval.Never:
	default:
		return nil, errs.New(errs.InvalidArgs, fmt.Sprintf("approval policy %q must be %s or %s", cfg.Policy, approval.Ask, approval.Never))
	}
	return &Service{cfg: cfg, bus: bus}, nil
}

// Request asks and waits; see [approval.Service].
func (s *Service) Request(ctx context.Context, actor any, r approval.Request) (approval.Outcome, error) {
	sess := sessionOf(actor)
	if sess == nil {
		return approval.Unavailable, errors.New("the call belongs to no session that could be asked about")
	}
	q := approval.Question{Request: r, ID: sess.NewID(), SessionID: sess.ID()}
	asked := session.ApprovalAsked{
		ID: q.ID, CallID: r.CallID, ToolName: r.ToolName, Reason: r.Reason, Path: r.Path, Resolved: r.Resolved,
		Before: r.Before, After: r.After,
	}
	if _, err := sess.Append(asked.Event()); err != nil {
		return approval.Unavailable, fmt.Errorf("the question could not be recorded: %w", err)
	}
	outcome, err := s.decide(ctx, sess, q)
	decided := session.ApprovalDecided{ID: q.ID, CallID: r.CallID, Outcome: outcome}
	if err != nil {
		decided.Reason = err.Error()
	}
	if _, failed := sess.Append(decided.Event()); failed != nil {
		// What is not on record is not allowed.
		return approval.Unavailable, fmt.Errorf("the answer could not be recorded: %w", failed)
	}
	return outcome, err
}

// policyOf is the policy of a session.
func (s *Service) policyOf(sess *session.Session) approval.Mode {
	if policy := sess.ApprovalPolicy(); policy != "" {
		return policy
	}
	return s.cfg.Policy
}

func (s *Service) decide(ctx context.Context, sess *session.Session, q approval.Question) (approval.Outcome, error) {
	if s.policyOf(sess) == approval.Never {
		return approval.Rejected, nil
	}
	if ctx.Err() != nil {
		return approval.Cancelled, context.Cause(ctx)
	}
	outcome, err := s.put(ctx, q)
	switch {
	case ctx.Err() != nil:
		// An answer that comes with the cancellation is not trusted to have been
		// given before it.
		return approval.Cancelled, context.Cause(ctx)
	case err != nil:
		return approval.Unavailable, err
	}
	switch outcome {
	case approval.AllowedOnce, approval.Rejected, approval.Cancelled, approval.Unavailable:
		return outcome, nil
	case "":
		return approval.Unavailable, errors.New("no answerer took the question")
	}
	return approval.Unavailable, fmt.Errorf("an answerer gave the unknown outcome %q", outcome)
}

// patience is how long answerers may take to withdraw a question.
const patience = time.Second

// put puts a question to the answerers. One that does not notice the end of ctx
// is left behind: the call that asks must not hang on it.
func (s *Service) put(ctx context.Context, q approval.Question) (approval.Outcome, error) {
	type answer struct {
		outcome approval.Outcome
		err     error
	}
	given := make(chan answer, 1)
	go func() {
		outcome, err := approval.Answer.Ask(ctx, s.bus, q, nil)
		given <- answer{outcome, err}
	}()
	select {
	case a := <-given:
		return a.outcome, a.err
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-given:
	case <-late.C:
	}
	return approval.Cancelled, context.Cause(ctx)
}

// sessionOf returns the session that an actor speaks for, or nil.
func sessionOf(actor any) *session.Session {
	switch a := actor.(type) {
	case interface{ Session() *session.Session }:
		return a.Session()
	case *tool.Agent:
		if a != nil {
			return a.Session
		}
	}
	return nil
}
