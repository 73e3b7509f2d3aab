// Package agent turns tools and a model into an agent: it runs the turns of
// one session.
//
// A turn begins with a message that is claimed from the session's inbox. It is
// a sequence of steps, each one model request and the tool calls of its
// answer, until the model calls no more tools. Everything that happens goes to
// the session's log as it happens; the agent keeps no state of its own beside
// it, so a session that is opened again goes on where its log ends.
//
// Two queues feed an agent. [Agent.Send] queues a follow-up, which begins a
// turn of its own. [Agent.Steer] hands a message to the running turn, where it
// joins at the next step.
//
// Cancelling the context of [Agent.Run] ends the turn at whatever point it is:
// the stream stops and what was seen of it is kept, calls that have not begun
// get a result that says so, and the log is left in a state that a provider
// accepts. A tool that is running learns of it by its context and is waited for,
// so that what it did is in the log and nothing of the turn goes on behind it.
package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// Codes of this package.
const (
	// Busy reports a second Run on a session whose turn is running.
	Busy errs.Code = "AGENT_BUSY"
	// Unanswered reports a model that answered with nothing at all.
	Unanswered errs.Code = "MODEL_EMPTY_ANSWER"
)

// Defaults of Config.
const (
	DefaultMaxParallel = 10
	DefaultMaxSteps    = 500
)

// Config configures an agent. Provider and Model are required.
type Config struct {
	// Provider and Model are the route of the requests.
	Provider, Model string
	// Options go with every request.
	Options llm.Options
	// MaxParallel bounds the tool calls that run at once. Default 10.
	MaxParallel int
	// MaxSteps bounds the steps of one turn. Default 500.
	MaxSteps int
	// Retry says how failed requests are tried again.
	Retry Retry
	// View restricts and shadows the tools of this agent; nil changes nothing.
	View *tool.View
}

// Deps are what an agent works with.
type Deps struct {
	Tools  *tool.Registry
	Prompt *prompt.Registry
	// Models must have a provider when a step begins, else the turn fails with
	// SERVICE_UNAVAILABLE. Only a provider that is just being replaced is waited
	// for.
	Models *plug.Service[*llm.Registry]
	// Attachments is asked for the images of a conversation; without a store
	// they go as text that names them.
	Attachments *plug.Service[attachment.Store]
}

// Agent runs the turns of one session. Its methods may be called concurrently;
// turns run one at a time.
type Agent struct {
	deps    Deps
	session *session.Session
	cfg     Config
	caller  *tool.Agent
	running sync.Mutex
}

// New returns an agent for a session.
func New(deps Deps, s *session.Session, cfg Config) (*Agent, error) {
	if cfg.Provider == "" || cfg.Model == "" {
		return nil, errs.New(errs.InvalidArgs, "an agent needs a provider and a model")
	}
	if cfg.MaxParallel <= 0 {
		cfg.MaxParallel = DefaultMaxParallel
	}
	if cfg.MaxSteps <= 0 {
		cfg.MaxSteps = DefaultMaxSteps
	}
	cfg.Retry = cfg.Retry.withDefaults()
	return &Agent{deps: deps, session: s, cfg: cfg,
		caller: &tool.Agent{Session: s, Provider: cfg.Provider, Model: cfg.Model, View: cfg.View}}, nil
}

// Session returns the agent's session.
func (a *Agent) Session() *session.Session { return a.session }

// Caller returns the agent as the tools know it.
func (a *Agent) Caller() *tool.Agent { return a.caller }

// Send queues a message that begins a turn of its own once those before it
// have ended. It is in the log when Send returns, and durable.
func (a *Agent) Send(ctx context.Context, content ...llm.Block) error {
	return a.queue(ctx, session.NextTurn, content)
}

// Steer queues a message that joins the running turn at its next step. When no
// turn runs it joins the next one.
func (a *Agent) Steer(ctx context.Context, content ...llm.Block) error {
	return a.queue(ctx, session.NextStep, content)
}

func (a *Agent) queue(ctx context.Context, target session.InboxTarget, content []llm.Block) error {
	if len(content) == 0 {
		return errs.New(errs.InvalidArgs, "a message needs content")
	}
	m := llm.Message{Role: llm.User, Content: content, Source: llm.Source{Kind: llm.FromUser}, ID: a.session.NewID()}
	if err := a.session.Enqueue(target, m); err != nil {
		return err
	}
	return a.session.Checkpoint(ctx)
}

// Outcome is how a turn ended.
type Outcome struct {
	Turn int
	// Reason is the one in the log.
	Reason session.EndReason
	// Steps counts the steps of the turn.
	Steps int
	// Text is the model's last text.
	Text string
}

// Run runs turns until the inbox holds nothing that begins one, and returns
// how the last one ended. A turn that fails or is cancelled ends Run; messages
// that wait stay in the inbox. The error is the cause of a turn that did not
// complete; the log has it too. Without anything to do the outcome is zero.
func (a *Agent) Run(ctx context.Context) (Outcome, error) {
	if !a.running.TryLock() {
		return Outcome{}, errs.New(Busy, fmt.Sprintf("a turn of session %s is running; steer it, or wait for its end", a.session.ID()))
	}
	defer a.running.Unlock()
	var last Outcome
	for {
		if err := context.Cause(ctx); err != nil {
			return last, errs.Wrap(errs.Aborted, "the run was aborted", err)
		}
		waiting := len(a.session.Inbox(session.NextTurn)) + len(a.session.Inbox(session.NextStep))
		if waiting == 0 {
			return last, nil
		}
		outcome, err := a.turn(ctx)
		if err != nil || outcome.Reason.Kind != session.EndCompleted {
			return outcome, err
		}
		last = outcome
	}
}

// Ask sends a text and runs until everything is answered.
func (a *Agent) Ask(ctx context.Context, text string) (Outcome, error) {
	if err := a.Send(ctx, llm.Text(text)); err != nil {
		return Outcome{}, err
	}
	return a.Run(ctx)
}

// append adds to the log; a log that takes no more events ends the turn.
func (a *Agent) append(events ...session.Event) ([]session.Event, error) {
	return a.session.Append(events...)
}

// checkpoint makes the log durable whether or not the turn is being cancelled:
// what happened must not be lost for it.
func (a *Agent) checkpoint(ctx context.Context) error {
	return a.session.Checkpoint(context.WithoutCancel(ctx))
}

// aborted reports whether an error came of the end of ctx.
func aborted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		llm.ClassOf(err) == llm.Cancelled || errs.CodeOf(err) == errs.Aborted)
}
