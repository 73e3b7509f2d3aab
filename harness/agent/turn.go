package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// EndMaxTokens is the reason of a turn whose last answer the model could not
// finish within its output limit.
const EndMaxTokens = "max-tokens"

// turn claims one message and answers it.
func (a *Agent) turn(ctx context.Context) (Outcome, error) {
	var n int
	a.session.View(func(s *session.State) { n = s.LastTurn() + 1 })
	if _, err := a.append(session.TurnStart{Turn: n}.Event()); err != nil {
		return Outcome{}, err
	}
	t := &turn{Agent: a, n: n}
	reason, err := t.run(ctx)
	out := Outcome{Turn: n, Reason: reason, Steps: t.step, Text: t.text}
	if _, failed := a.append(session.TurnEnd{Turn: n, Reason: reason}.Event()); failed != nil {
		return out, also(err, failed)
	}
	return out, also(err, a.checkpoint(ctx))
}

// turn is one running turn.
type turn struct {
	*Agent
	n    int
	step int
	text string
}

// run makes steps until there is nothing more to say, and returns why.
func (t *turn) run(ctx context.Context) (session.EndReason, error) {
	claimed, err := t.session.Dequeue(session.NextTurn, 1)
	if err != nil {
		return failure(ctx, err), err
	}
	for {
		if t.step == t.cfg.MaxSteps {
			return session.EndReason{Kind: session.EndMaxSteps}, nil
		}
		steering, err := t.session.Dequeue(session.NextStep, -1)
		if err != nil {
			return failure(ctx, err), err
		}
		t.step++
		more, finish, err := t.makeStep(ctx, append(claimed, steering...))
		claimed = nil
		switch {
		case err != nil:
			return failure(ctx, err), err
		case more:
			continue
		case len(t.session.Inbox(session.NextStep)) > 0:
			continue // somebody steered while the model spoke its last word
		case finish == llm.FinishMaxTokens:
			return session.EndReason{Kind: EndMaxTokens, Message: "the answer was cut at the model's output limit"}, nil
		}
		return session.EndReason{Kind: session.EndCompleted}, nil
	}
}

// makeStep makes one request and runs the tool calls of its answer. more tells
// that their results want another step.
func (t *turn) makeStep(ctx context.Context, input []llm.Message) (more bool, finish llm.FinishKind, err error) {
	if _, err := t.append(session.StepStart{Turn: t.n, Step: t.step}.Event()); err != nil {
		return false, "", err
	}
	more, finish, err = t.stepBody(ctx, input)
	if _, failed := t.append(session.StepEnd{Turn: t.n, Step: t.step}.Event()); failed != nil {
		return false, "", also(err, failed)
	}
	return more, finish, err
}

func (t *turn) stepBody(ctx context.Context, input []llm.Message) (bool, llm.FinishKind, error) {
	if err := t.take(input); err != nil {
		return false, "", err
	}
	answer, finish, err := t.request(ctx)
	if answer == nil {
		return false, finish, err
	}
	if text := answer.Text(); text != "" {
		t.text = text
	}
	calls := answer.ToolCalls()
	if len(calls) == 0 {
		return false, finish, err
	}
	if err != nil {
		// The answer broke off: its calls are not made, but each gets a result.
		return false, finish, also(err, t.abort(calls))
	}
	if err := t.calls(ctx, calls); err != nil {
		return false, finish, err
	}
	return true, finish, context.Cause(ctx)
}

// take puts claimed messages in front of the model, and the runtime context
// where it changed, and gives the session a title if it has none.
func (t *turn) take(input []llm.Message) error {
	var events []session.Event
	for _, m := range input {
		events = append(events, session.UserMessage(m))
	}
	snapshot, changed, failed := t.runtimeContext()
	if changed {
		events = append(events, session.UserMessage(snapshot))
	}
	added, err := t.append(events...)
	err = also(failed, err) // what was claimed is in the log even so
	if err != nil || len(input) == 0 || t.session.Title() != "" {
		return err
	}
	title := fallbackTitle(input[0].Text())
	if title == "" {
		return nil
	}
	_, err = t.append(session.Title{Title: title, MessageSeqs: []int64{added[0].Seq}, Source: session.TitleSource{Kind: "fallback"}}.Event())
	return err
}

// fallbackTitle is the first words of a message.
func fallbackTitle(text string) string {
	const words, most = 5, 80
	fields := strings.Fields(text)
	title := strings.Join(fields[:min(words, len(fields))], " ")
	if r := []rune(title); len(r) > most {
		title = string(r[:most])
	}
	return title
}

// failure is how a turn that did not complete is logged.
func failure(ctx context.Context, err error) session.EndReason {
	if aborted(ctx, err) || ctx.Err() != nil {
		return session.EndReason{Kind: session.EndAborted}
	}
	code := string(errs.CodeOf(err))
	return session.EndReason{Kind: session.EndError, Message: err.Error(), Code: code}
}

// also adds a second failure to a first one, unless it is the same: a log that
// failed once answers each append with that failure.
func also(err, second error) error {
	if err != nil && second != nil && (errors.Is(err, second) || err.Error() == second.Error()) {
		return err
	}
	return errors.Join(err, second)
}
