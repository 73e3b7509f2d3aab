package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
)

// Verdict is what a PreExecute listener says about a call.
type Verdict uint8

// The verdicts. The zero value allows.
const (
	Allow Verdict = iota
	Deny
	// Ask puts the call to the approval service.
	Ask
)

// Decision is a verdict with its reason, which the model or the person who is
// asked reads.
type Decision struct {
	Verdict Verdict
	Reason  string
}

// Executed is a call with its result.
type Executed struct {
	Call   *Call
	Result Result
}

// The stages of a call.
var (
	// PreExecute decides whether a call may run.
	PreExecute = event.NewWaterfall[*Call, Decision]("tools/pre-execute")
	// Execute wraps the body: next runs it and returns its value. A listener
	// may return another value, which is checked against the output schema.
	Execute = event.NewWaterfall[*Call, any]("tools/execute")
	// PostExecute may replace the result, content or value, or block it by
	// returning an error.
	PostExecute = event.NewWaterfall[Executed, Result]("tools/post-execute")
	// Done tells of the final result of every call, also of one that was refused
	// before PreExecute: aborted, of an unknown tool, or with invalid arguments.
	// Such a call reached no other stage, and its Arguments are not validated.
	Done = event.NewEmit[Executed]("tools/result")
)

// guard is a check that runs after PreExecute and before the body.
type guard struct {
	owner string
	check func(context.Context, *Call) error
}

// run judges a call. A panic refuses it.
func (g *guard) run(ctx context.Context, call *Call) (err error) {
	defer event.Caught(&err, errs.ListenerFailed, "guard of tool calls owned by "+strconv.Quote(g.owner))
	return g.check(ctx, call)
}

// coded gives an error that has no code one, so that no failure goes without.
func coded(code errs.Code, err error) error {
	if err == nil || errs.CodeOf(err) != "" {
		return err
	}
	return errs.Wrap(code, err.Error(), err)
}

// Guard adds a check of every call until scope ends. Its error refuses the
// call.
func (r *Registry) Guard(scope event.Scope, check func(context.Context, *Call) error) (undo func()) {
	g := &guard{owner: scope.Owner(), check: check}
	r.mu.Lock()
	r.guards = append(slices.Clip(r.guards), g)
	r.mu.Unlock()
	undo = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.guards = slices.DeleteFunc(slices.Clone(r.guards), func(x *guard) bool { return x == g })
	}
	scope.Add(undo)
	return undo
}

// Execute runs one call through the pipeline. Every failure is in the result,
// and [Done] tells of every result.
func (r *Registry) Execute(ctx context.Context, inv Invocation) Result {
	call, result := r.execute(ctx, inv)
	if call == nil {
		call = inv.refused()
	}
	if err := Done.Send(context.WithoutCancel(ctx), r.bus, Executed{call, result}); err != nil {
		return Failure(err)
	}
	return result
}

// execute returns no call where it was refused before there was one.
func (r *Registry) execute(ctx context.Context, inv Invocation) (*Call, Result) {
	if ctx.Err() != nil {
		return nil, Failure(AbortedBeforeDispatch())
	}
	reg, err := r.lookup(inv.Agent, inv.Name)
	if err != nil {
		return nil, Failure(err)
	}
	call, err := reg.prepare(inv)
	if err != nil {
		return nil, reg.refuse(inv, err)
	}
	result, err := r.run(ctx, reg, call)
	if err != nil {
		result = Failure(aborted(ctx, coded(errs.ToolFailed, err)))
	}
	return call, result
}

// AbortedBeforeDispatch is the error of a call that was cancelled before it
// began.
func AbortedBeforeDispatch() error {
	return errs.New(errs.AbortedBeforeDispatch, "the call was aborted before it started; nothing was done")
}

// aborted gives a failure that came of cancellation the code ABORTED, unless
// it has a code already.
func aborted(ctx context.Context, err error) error {
	code := errs.CodeOf(err)
	uncoded := code == errs.ToolFailed && errors.Is(err, context.Cause(ctx)) // the cause of a caller's own
	if ctx.Err() == nil || code != errs.Aborted && !uncoded {
		return err
	}
	return errs.Wrap(errs.Aborted, "the call was aborted", err)
}

// prepare freezes the arguments; a panic of the code that the tool has for them
// is a failure of this call only.
func (reg *registered) prepare(inv Invocation) (_ *Call, err error) {
	defer event.Caught(&err, errs.ToolFailed, "preparing the arguments of tool "+reg.Name)
	return reg.freeze(inv)
}

// refuse is the result of a call with invalid arguments.
func (reg *registered) refuse(inv Invocation, problem error) Result {
	failed := Failure(problem)
	value, err := reg.explainInvalid(inv, problem)
	if err != nil || value == nil {
		return failed
	}
	result, err := reg.render(&Call{ID: inv.ID, Name: inv.Name, Agent: inv.Agent}, value)
	if err != nil {
		return failed
	}
	result.IsError, result.Error = true, failed.Error
	return result
}

func (reg *registered) explainInvalid(inv Invocation, problem error) (value any, err error) {
	if reg.Invalid == nil || errs.CodeOf(problem) != errs.InvalidArgs {
		return nil, nil
	}
	defer event.Caught(&err, errs.ToolFailed, "tool "+reg.Name)
	return reg.Invalid(json.RawMessage(inv.Arguments), problem), nil
}

func (r *Registry) run(ctx context.Context, reg *registered, call *Call) (Result, error) {
	if err := r.decide(ctx, call); err != nil {
		return Result{}, coded(errs.ToolDenied, err)
	}
	r.mu.RLock()
	guards := r.guards
	r.mu.RUnlock()
	for _, g := range guards {
		if err := g.run(ctx, call); err != nil {
			return Result{}, coded(errs.ToolDenied, err)
		}
	}
	value, err := Execute.Ask(ctx, r.bus, call, func(ctx context.Context, call *Call) (any, error) {
		return reg.body(ctx, call)
	})
	if err != nil {
		return Result{}, err
	}
	result, err := reg.render(call, value)
	if err != nil {
		return Result{}, err
	}
	return PostExecute.Ask(ctx, r.bus, Executed{call, result}, func(_ context.Context, e Executed) (Result, error) {
		return e.Result, nil
	})
}

// decide asks the PreExecute listeners, and the approval service where one of
// them wants that.
func (r *Registry) decide(ctx context.Context, call *Call) error {
	d, err := PreExecute.Ask(ctx, r.bus, call, nil)
	if err != nil {
		return err
	}
	switch d.Verdict {
	case Deny:
		return errs.New(errs.ToolDenied, fmt.Sprintf("the call of %s was denied: %s", call.Name, d.Reason))
	case Ask:
		return r.ask(ctx, call, d.Reason)
	}
	return nil
}

func (r *Registry) ask(ctx context.Context, call *Call, reason string) error {
	service, release, err := r.approval.Acquire()
	if err != nil {
		return errs.Wrap(errs.ApprovalUnavailable, fmt.Sprintf("%s needs approval (%s), and no approval service is mounted", call.Name, reason), err)
	}
	defer release()
	outcome, err := requestOf(ctx, service, call, reason)
	return approval.Refusal(outcome, call.Name, err)
}

// requestOf puts a question; nothing is allowed by a service that panics.
func requestOf(ctx context.Context, s approval.Service, call *Call, reason string) (_ approval.Outcome, err error) {
	defer event.Caught(&err, errs.ApprovalUnavailable, "the approval service")
	return s.Request(ctx, call, approval.Request{
		ToolName: call.Name, CallID: call.ID, Reason: reason, Arguments: call.Arguments,
	})
}

// body runs the tool's own code; a panic in it is a failure of this call only.
func (reg *registered) body(ctx context.Context, call *Call) (value any, err error) {
	defer event.Caught(&err, errs.ToolFailed, "tool "+reg.Name)
	value, err = reg.Run(ctx, call)
	if err != nil && errs.CodeOf(err) == "" {
		err = errs.Wrap(errs.ToolFailed, err.Error(), err)
	}
	return value, err
}

// render checks the value against the output schema and turns it into a
// result; a panic of the tool's own code is a failure of this call only.
func (reg *registered) render(call *Call, value any) (_ Result, err error) {
	defer event.Caught(&err, errs.ToolFailed, "rendering of tool "+reg.Name)
	value, err = reg.conform(value)
	if err != nil {
		return Result{}, err
	}
	rendered, err := reg.Render(call, value)
	if err != nil {
		return Result{}, err
	}
	result := Result{Content: rendered.Content, IsError: rendered.IsError, Value: value}
	if rendered.IsError && rendered.Code != "" {
		result.Error = &ErrorInfo{Name: errorName(rendered.Code), Code: string(rendered.Code)}
	}
	if rendered.Meta != nil {
		if result.Meta, err = encode(rendered.Meta); err != nil {
			return Result{}, reg.invalidOutput(err)
		}
	}
	return result, nil
}

// conform returns the value in the form that the renderer takes. A value whose
// Go type does not vouch for it, such as one that a listener put in place of
// the body's, is checked as JSON.
func (reg *registered) conform(value any) (any, error) {
	if reg.Conforms != nil && reg.Conforms(value) {
		return value, nil
	}
	encoded, err := encode(value)
	if err != nil {
		return nil, reg.invalidOutput(err)
	}
	if reg.output != nil {
		parsed, err := parse(encoded)
		if err != nil {
			return nil, reg.invalidOutput(err)
		}
		if err := reg.output.Validate(parsed); err != nil {
			return nil, reg.invalidOutput(errors.New(explain(err)))
		}
	}
	if reg.Decode == nil {
		return value, nil
	}
	decoded, err := reg.Decode(encoded)
	if err != nil {
		return nil, reg.invalidOutput(err)
	}
	return decoded, nil
}

func (reg *registered) invalidOutput(cause error) error {
	return errs.Wrap(errs.InvalidOutput, fmt.Sprintf("tool %s produced a value that does not match its output schema: %v", reg.Name, cause), cause)
}

// Block returns the result as the block that answers the call.
func (r Result) Block(callID string) llm.Block {
	return llm.ToolResult(callID, r.IsError, r.Content...)
}
