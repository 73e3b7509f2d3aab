package agent

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// request gets the model's answer, with as many attempts as the failures
// allow. After an error the answer holds what was seen of the last attempt and
// is worth keeping, or nil.
func (t *turn) request(ctx context.Context) (*llm.Message, llm.FinishKind, error) {
	models, release, err := t.deps.Models.Wait(ctx)
	if err != nil {
		return nil, "", noModels(ctx, err)
	}
	defer release()
	req, err := t.prepare(ctx, models)
	if err != nil {
		return nil, "", err
	}
	for attempt := 1; ; attempt++ {
		// What the model is about to see is durable before it sees it.
		if err := t.session.Checkpoint(ctx); err != nil {
			return nil, "", err
		}
		s := &stream{turn: t}
		err := s.run(ctx, models, req)
		wait, again := t.cfg.Retry.wait(attempt, err)
		if err == nil || ctx.Err() != nil || !again {
			answer, failed := s.keep(err)
			return answer, s.finish, also(err, failed)
		}
		if err := t.logRetry(attempt, err, wait); err != nil {
			return nil, "", err
		}
		if err := t.cfg.Retry.Sleep(ctx, wait); err != nil {
			return nil, "", err
		}
	}
}

// noModels says what a deployment without models lacks; the end of ctx speaks
// for itself.
func noModels(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return errs.Wrap(errs.ServiceUnavailable,
		"no model registry is mounted; mount one (plugins/models) and an adapter of the agent's provider, such as plugins/openai or plugins/anthropic", err)
}

// stream is one attempt.
type stream struct {
	*turn
	acc    llm.Accumulator
	chunks []int64
	finish llm.FinishKind
}

// run logs the chunks as they come. A panic of the adapter is a failure of
// this request only.
func (s *stream) run(ctx context.Context, models *llm.Registry, req llm.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &llm.Error{Provider: s.cfg.Provider, Model: s.cfg.Model, Message: fmt.Sprintf("the adapter panicked: %v", v),
				Err: &event.PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	for chunk, err := range models.Stream(ctx, req) {
		if err != nil {
			return err
		}
		if err := s.acc.Add(chunk); err != nil {
			return s.broken("sent what cannot be: " + err.Error())
		}
		added, err := s.append(session.AssistantChunk{Turn: s.n, Step: s.step, Chunk: chunk}.Event())
		if err != nil {
			return err
		}
		s.chunks = append(s.chunks, added[0].Seq)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	reason, ended := s.acc.Finish()
	switch {
	case !ended:
		return s.broken("ended the answer without saying why")
	case reason.Kind == llm.FinishError:
		// A refusal or a content filter: the same request would end the same way.
		return s.fail("", reason.Message)
	case reason.Kind == llm.FinishAborted:
		return s.fail(llm.Network, "the provider broke the answer off")
	case reason.Kind != llm.FinishMaxTokens && len(s.acc.OpenCalls()) > 0:
		// Who stops at a limit may stop anywhere. Without one, the turn would end
		// as if the model had called nothing.
		return s.broken("ended the answer in the middle of a tool call")
	case len(s.acc.Blocks()) == 0:
		return s.fail(llm.Server, "the model answered with nothing")
	}
	s.finish = reason.Kind
	return nil
}

func (s *stream) broken(how string) error { return s.fail(llm.Network, "the provider "+how) }

func (s *stream) fail(class llm.Class, message string) error {
	return &llm.Error{Class: class, Provider: s.cfg.Provider, Model: s.cfg.Model, Message: message}
}

// keep logs the answer as a message. Of an attempt that failed it keeps what a
// person may have seen; nil when that is nothing.
func (s *stream) keep(failed error) (*llm.Message, error) {
	blocks := s.acc.Blocks()
	if failed != nil {
		blocks = withoutReasoningAlone(blocks)
	}
	if len(blocks) == 0 {
		return nil, nil
	}
	m := llm.Message{Role: llm.Assistant, Content: blocks, ID: s.session.NewID(),
		Source: llm.Source{Kind: llm.FromModel, Provider: s.cfg.Provider, Model: s.cfg.Model}}
	_, err := s.append(session.AssistantMessage{Turn: s.n, Step: s.step, Message: m, Usage: s.acc.Usage()}.Event(s.chunks))
	return &m, err
}

// withoutReasoningAlone drops an answer that is nothing but unfinished
// thought: providers refuse such a message, and it says nothing.
func withoutReasoningAlone(blocks []llm.Block) []llm.Block {
	for _, b := range blocks {
		if b.Type != llm.ReasoningBlock {
			return blocks
		}
	}
	return nil
}
