package agent

import (
	"context"
	"sync"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// calls runs the tool calls of one answer. Neighbouring calls of tools that
// may run in parallel run together; any other runs alone, after those before
// it and before those after it. Results are logged in the order of the calls.
func (t *turn) calls(ctx context.Context, calls []llm.Block) error {
	for len(calls) > 0 {
		n := 1
		for t.parallel(calls[0]) && n < len(calls) && t.parallel(calls[n]) {
			n++
		}
		if err := t.batch(ctx, calls[:n]); err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

func (t *turn) parallel(call llm.Block) bool {
	d, err := t.deps.Tools.Lookup(t.caller, call.Name)
	return err == nil && d.Parallel
}

// batch runs calls at once, as many as the bound allows.
func (t *turn) batch(ctx context.Context, calls []llm.Block) error {
	if ctx.Err() != nil {
		return t.abort(calls)
	}
	events := make([]session.Event, len(calls))
	for i, c := range calls {
		events[i] = session.ToolCall{Turn: t.n, Step: t.step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments}.Event()
	}
	begun, err := t.append(events...)
	if err != nil {
		return err
	}
	// A crash must find the call in the log before the call can have had an
	// effect.
	if err := t.checkpoint(ctx); err != nil {
		return err
	}

	results := make([]tool.Result, len(calls))
	slots := make(chan struct{}, t.cfg.MaxParallel)
	var wg sync.WaitGroup
	for i, c := range calls {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = t.deps.Tools.Execute(ctx, tool.Invocation{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Agent: t.caller})
		})
	}
	wg.Wait()

	var failed error
	for i, r := range results {
		failed = also(failed, t.logResult(calls[i].ID, r, begun[i].Seq))
	}
	return failed
}

// abort gives calls that were not made a result that says so.
func (t *turn) abort(calls []llm.Block) error {
	const notBegun = -1
	var failed error
	for _, c := range calls {
		failed = also(failed, t.logResult(c.ID, tool.Failure(tool.AbortedBeforeDispatch()), notBegun))
	}
	return failed
}

func (t *turn) logResult(callID string, r tool.Result, call int64) error {
	body := session.ToolResult{Turn: t.n, Step: t.step, Meta: r.Meta,
		Message: session.ResultMessage(t.session.NewID(), callID, r.IsError, r.Content...)}
	if r.Error != nil {
		body.Error = &session.ResultError{Name: r.Error.Name, Code: r.Error.Code}
	}
	_, err := t.append(body.Event(call))
	return err
}
