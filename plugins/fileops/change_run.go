package fileops

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/plugins/fileops/internal/change"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// changed is what a changing operation returns.
type changed struct {
	change.Outcome
	batch bool
}

// MarshalJSON encodes the operation's own result.
func (c changed) MarshalJSON() ([]byte, error) {
	if c.Result == nil {
		return []byte("{}"), nil
	}
	return []byte(encode(c.Result)), nil
}

func (c changed) summary() string {
	text := ""
	if s, ok := c.Result.(interface{ Summary() string }); ok {
		text = s.Summary()
	}
	for _, r := range c.Recovered {
		text = strings.TrimPrefix(text+"; "+r.String(), "; ")
	}
	return text
}

// hubFields are the fields about changes that the hub has besides.
func (c changed) hubFields() map[string]any {
	m := map[string]any{}
	if c.batch {
		receipts := c.Receipts
		if receipts == nil {
			receipts = []change.Receipt{}
		}
		m["mutation_receipts"] = receipts
	} else if n := len(c.Receipts); n > 0 {
		m["mutation_receipt"] = c.Receipts[n-1]
	}
	if len(c.Receipts) > 0 {
		m["mutation_summary"] = change.Summarize(c.Receipts)
	}
	if d := change.DeltaOf(c.Receipts); d != nil {
		m["workspace_delta"] = d
	}
	return m
}

// runChange runs an operation of package change.
func runChange(ctx context.Context, r *request) (result, error) {
	args, f := r.changeArgs()
	if f != nil {
		return nil, f
	}
	return finished(r.engine.Do(ctx, r.fs, r.call, r.op.name, args), false)
}

// finished splits an outcome into result and error.
func finished(o change.Outcome, batch bool) (result, error) {
	c := changed{o, batch}
	if o.Fault != nil {
		return c, o.Fault
	}
	return c, nil
}

// changeArgs are the checked arguments in the form that package change takes.
func (r *request) changeArgs() (any, *failure) {
	args := change.NewArgs(r.op.name)
	if err := json.Unmarshal([]byte(encode(map[string]any(r.args))), args); err != nil {
		return nil, badArgument("", "the arguments of %s do not fit: %v", r.op.name, err)
	}
	return args, nil
}

// runBatch runs the operations of a batch, of either half.
func runBatch(ctx context.Context, r *request) (result, error) {
	var args change.BatchArgs
	if err := json.Unmarshal([]byte(encode(map[string]any(r.args))), &args); err != nil {
		return nil, badArgument("operations", "operations do not fit: %v; each is an object with operation, path and config", err)
	}
	return finished(r.engine.Batch(ctx, r.fs, r.call, &args, func(ctx context.Context, b *change.Batch, index int, s change.Step) (any, *failure) {
		body, f, correct := r.step(ctx, b, index, s)
		if f == nil {
			return body, nil
		}
		told := *f
		told.Field = strings.TrimPrefix(stepField(index, told.Field), "config.")
		told.Call = nil
		if correct != nil {
			told.Call = map[string]any{"operations": toSend(&args, index, correct)}
		}
		return body, &told
	}), true)
}

// toSend are the operations of a call that goes on where one failed, with that
// one corrected: all of an atomic batch, which was taken back, else those that
// have not run.
func toSend(a *change.BatchArgs, index int, correct map[string]any) []any {
	if a.ContinueOnError {
		return []any{correct}
	}
	var list []any
	for i, s := range a.Operations {
		switch {
		case i == index:
			list = append(list, correct)
		case a.Atomic || i > index:
			list = append(list, s.Given)
		}
	}
	return list
}

// stepField is where the caller of a batch finds an argument of one operation.
func stepField(index int, field string) string {
	at := fmt.Sprintf("config.operations[%d]", index)
	if field == "" {
		return at
	}
	return at + "." + field
}

// step runs one operation of a batch, with the switches judged again. With a
// failure, whose field is the one of the operation as the batch has it, comes a
// call of that operation that would do.
func (r *request) step(ctx context.Context, b *change.Batch, index int, s change.Step) (any, *failure, map[string]any) {
	given := s.Given
	fail := func(op *operation, res result, args map[string]any, f *failure) (any, *failure, map[string]any) {
		if op != nil {
			f = op.inHub(f)
		}
		told, correct := *f, map[string]any(nil)
		if op != nil {
			told.Field, correct = op.hubField(f.Field, given), op.hubCall(op.corrected(args, f))
		}
		m := r.failedHub(s.Operation, res, f, stepField(index, told.Field), correct, f.Kind == fault.OperationNotEnabled || f.Kind == fault.InvalidOperation).body
		return m, &told, correct
	}
	op := operationNamed(s.Operation)
	switch {
	case op == nil:
		f, best := r.noOperation(given)
		if best == nil || best.name == "batch_file_ops" {
			return fail(nil, nil, nil, f)
		}
		args, _ := best.merge(given)
		return fail(best, nil, args, f)
	case op.name == "batch_file_ops": // by name: the table refers to this function
		return fail(nil, nil, nil, refuse(fault.InvalidOperation, "operation", "a batch cannot hold a batch"))
	case !r.cfg.allows(op.enable):
		return fail(nil, nil, nil, refuse(fault.OperationNotEnabled, "", "the operation %s is not enabled here", op.name))
	}
	args, f := op.merge(given)
	if f != nil {
		return fail(op, nil, args, f)
	}
	checked, f := checkArguments(op, args)
	if f != nil {
		return fail(op, nil, args, f)
	}
	sub := &request{ops: r.ops, op: op, call: r.call, fs: r.fs, args: checked}
	var res result
	var err error
	if change.NewArgs(op.name) == nil {
		res, err = op.run(ctx, sub)
	} else {
		var in any
		if in, f = sub.changeArgs(); f != nil {
			return fail(op, nil, args, f)
		}
		res, err = finished(b.Do(ctx, op.name, in), false)
	}
	if err != nil {
		return fail(op, res, args, fault.Of(err, op.path))
	}
	return r.success(op, res), nil, nil
}

func (o *ops) newEngine() *change.Engine {
	return change.New(change.Config{
		SandboxRoot:     o.cfg.SandboxRoot,
		BackupRoot:      o.cfg.BackupRoot,
		RequireApproval: !o.cfg.NoApproval,
	}, o.Bus, o.Approval, o.Attachments)
}
