package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// MaxBatch is the most operations of a batch.
const MaxBatch = 100

// BatchResult is the result of batch_file_ops.
type BatchResult struct {
	// Results are what each operation that ran returned, in order.
	Results   []any `json:"results"`
	Total     int   `json:"total"`
	Succeeded int   `json:"succeeded"`
	Failed    int   `json:"failed"`
	Skipped   int   `json:"skipped"`
	Atomic    bool  `json:"atomic"`
	// FailedIndex is the first operation that failed, from 0.
	FailedIndex *int `json:"failed_index,omitempty"`
	// RolledBack tells of an atomic batch that failed whether everything was
	// taken back.
	RolledBack *bool  `json:"rolled_back,omitempty"`
	Text       string `json:"summary"`
}

// Summary says what a result tells, in one line.
func (b *BatchResult) Summary() string { return b.Text }

// Batch is a batch at work.
type Batch struct{ r *run }

// Do runs one changing operation of the batch. Its receipts are in the batch's
// outcome, too.
func (b *Batch) Do(ctx context.Context, op string, args any) Outcome {
	b.r.op = op
	first := len(b.r.receipts)
	o := b.r.do(ctx, args)
	o.Receipts, o.Recovered = b.r.receipts[first:], nil
	return o
}

// StepFunc runs one operation of a batch, changing or not, and returns what
// the caller sees of it and its failure, or nil.
type StepFunc func(ctx context.Context, b *Batch, index int, s Step) (any, *fault.Fault)

// Batch runs operations in order. It stops at the first that fails, unless the
// arguments say to go on. An atomic batch that fails, or is killed, is taken
// back.
func (e *Engine) Batch(ctx context.Context, fs vfs.FileSystem, call *tool.Call, a *BatchArgs, do StepFunc) Outcome {
	res := &BatchResult{Results: []any{}, Total: len(a.Operations), Atomic: a.Atomic}
	res.Skipped, res.Text = res.Total, "nothing was run"
	if f := a.check(); f != nil {
		return Outcome{Result: res, Fault: f}
	}
	effective := a.effective()
	r, err := e.start(ctx, fs, call, "batch_file_ops", !effective)
	if err != nil {
		return Outcome{Result: res, Fault: fault.Of(err, "")}
	}
	if a.Atomic && effective {
		if r.journal, err = r.begin(ctx); err != nil {
			return Outcome{Result: res, Recovered: r.recovered, Fault: fault.Of(err, "")}
		}
	}
	first := r.steps(ctx, a, do, res)
	if r.journal != nil {
		first = r.settleBatch(ctx, res, first)
	}
	res.Text = res.describe()
	return Outcome{Result: res, Receipts: r.receipts, Recovered: r.recovered, Fault: first}
}

func (a *BatchArgs) check() *fault.Fault {
	switch n := len(a.Operations); {
	case n == 0:
		return fault.New(fault.InvalidArguments, "operations", "operations must hold at least one object with operation, path and config")
	case n > MaxBatch:
		return fault.New(fault.InvalidArguments, "operations", fmt.Sprintf("operations holds %d; a batch has at most %d", n, MaxBatch))
	case a.Atomic && a.ContinueOnError:
		return &fault.Fault{Kind: fault.InvalidArguments, Field: "continue_on_error", Call: map[string]any{"continue_on_error": nil},
			Message: "an atomic batch is taken back at the first failure, so it cannot continue on error; send one of the two"}
	}
	return nil
}

// effective reports whether any step may have an effect.
func (a *BatchArgs) effective() bool {
	for _, s := range a.Operations {
		var c struct {
			DryRun bool `json:"dry_run"`
		}
		_ = json.Unmarshal(s.Config, &c) // whoever checks the step tells what is wrong
		if NewArgs(s.Operation) != nil && s.Operation != "list_backups" && !c.DryRun {
			return true
		}
	}
	return false
}

func (r *run) steps(ctx context.Context, a *BatchArgs, do StepFunc, res *BatchResult) (first *fault.Fault) {
	for i, s := range a.Operations {
		var result any
		var f *fault.Fault
		if ctx.Err() != nil {
			f = &fault.Fault{Kind: fault.Cancelled, Message: "the batch was cancelled before this operation", Err: context.Cause(ctx)}
		} else {
			result, f = do(ctx, &Batch{r}, i, s)
			res.Results = append(res.Results, result)
		}
		r.op = "batch_file_ops"
		if f == nil {
			res.Succeeded++
			continue
		}
		if result != nil {
			res.Failed++
		}
		if first == nil {
			res.FailedIndex = new(i)
			first = &fault.Fault{Kind: f.Kind, Field: f.Field, Call: f.Call, Action: f.Action, Err: f,
				Message: fmt.Sprintf("operation %d (%s) failed: %s", i, s.Operation, f.Message)}
		}
		if !a.ContinueOnError || f.Kind == fault.Cancelled {
			break
		}
	}
	res.Skipped = res.Total - res.Succeeded - res.Failed
	return first
}

// settleBatch ends an atomic batch: it keeps everything, or takes everything
// back.
func (r *run) settleBatch(ctx context.Context, res *BatchResult, first *fault.Fault) *fault.Fault {
	ctx = context.WithoutCancel(ctx)
	j := r.journal
	defer func() {
		r.journal = nil
		if j.made {
			r.dropFolder(ctx, j.dir, r.cfg.BackupRoot) // the last spare has left it by now
		}
	}()
	if first == nil {
		if err := r.complete(ctx); err != nil {
			// All is done; what is left over is told, and goes the next time.
			r.remark(err)
			if errors.Is(err, errReverts) {
				return nil // the backups are needed
			}
		}
		r.discardSpares(ctx)
		return nil
	}
	all := true
	var ids []string
	finished := r.takeBack(ctx, r.journal, func(entry int, _ Record, err error) {
		for i := range r.receipts {
			rec := &r.receipts[i]
			if rec.entry != entry {
				continue
			}
			rec.RolledBack = new(err == nil)
			if err != nil {
				rec.RollbackError = err.Error()
			} else {
				ids = append(ids, rec.ReceiptID)
			}
		}
		all = all && err == nil
	})
	var err error
	if finished {
		err = r.close(ctx, r.journal)
	} else {
		r.leave(r.journal)
	}
	if all {
		r.discardSpares(ctx)
	}
	r.logRolledBack(ids)
	res.RolledBack = &all
	switch {
	case !all:
		first.Message += "; not everything could be taken back, see rollback_error in the receipts"
	default:
		first.Message += "; all earlier changes of the batch were taken back"
	}
	if err != nil {
		first.Message += "; " + err.Error()
	}
	return first
}

// remark adds to the last receipt what went wrong after it.
func (r *run) remark(err error) {
	if n := len(r.receipts); n > 0 && r.receipts[n-1].VerificationError == "" {
		r.receipts[n-1].VerificationError = err.Error()
	}
}

// TypeRolledBack is the type of the event that tells which logged changes were
// taken back. It is ignorable.
const TypeRolledBack = "fileops/rolled-back"

// RolledBack is the body of that event.
type RolledBack struct {
	CallID     string   `json:"callId,omitempty"`
	ReceiptIDs []string `json:"receiptIds"`
}

func (r *run) logRolledBack(ids []string) {
	s := r.call.Session()
	if s == nil || len(ids) == 0 {
		return
	}
	data, err := json.Marshal(RolledBack{r.call.ID, ids})
	if err == nil {
		_, err = s.Append(session.Event{Type: TypeRolledBack, Data: data, Ignorable: true})
	}
	if err != nil {
		r.remark(errors.New("that it was taken back could not be logged: " + err.Error()))
	}
}

func (b *BatchResult) describe() string {
	text := fmt.Sprintf("%d of %s done", b.Succeeded, count(b.Total, "operation"))
	if b.Failed > 0 {
		text += fmt.Sprintf(", %d failed", b.Failed)
	}
	if b.Skipped > 0 {
		text += fmt.Sprintf(", %d not run", b.Skipped)
	}
	if b.RolledBack != nil {
		if *b.RolledBack {
			return text + "; everything was taken back"
		}
		return text + "; not everything could be taken back"
	}
	return text
}
