// Package change is the half of the file operations that changes files: it
// writes, edits, patches, copies, moves, deletes, backs up and rolls back, one
// at a time or as a batch.
//
// All operations go one way. A path is resolved and judged (place): whether it
// lies in the sandbox root, is sensitive or ignored. What is there is read. The
// change is planned in memory; a dry run ends here. Then, in this order, the
// deployment's policies are asked for a guard, a person for approval where that
// is demanded, a backup is made, what is needed to take the change back is
// written to the journal where there is one, the provider makes the change
// under the guard, and the target is read again. What came of it is a Receipt,
// which also goes to the session's log.
//
// A provider makes each single change of an entry atomically. What takes
// several, a directory that is copied or a batch that is atomic, keeps a
// journal in the backup folder of the root; [Engine.Recover] finishes what was
// interrupted.
package change

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
	"github.com/bridle-go/bridle/plugins/fileops/internal/sensitive"
)

// Config is what a deployment decides. The zero value works.
type Config struct {
	// SandboxRoot is the directory that confines all operations; "" for none.
	SandboxRoot string
	// BackupRoot is the folder for all backups; "" is one beside each file.
	BackupRoot string
	// RequireApproval asks before each change.
	RequireApproval bool
	// MaxFileBytes bounds the files whose content an operation holds in memory.
	// Default [DefaultMaxFileBytes].
	MaxFileBytes int64
	// Sensitive tells sensitive paths. Default that of this system.
	Sensitive *sensitive.Matcher
	// Now and Random give times and ids; time.Now and crypto/rand if nil.
	Now    func() time.Time
	Random io.Reader
}

// DefaultMaxFileBytes is the default of Config.MaxFileBytes.
const DefaultMaxFileBytes = 256 << 20

// Engine is what all calls share. It may be used concurrently.
type Engine struct {
	cfg         Config
	bus         *event.Bus
	approval    *plug.Service[approval.Service]
	attachments *plug.Service[attachment.Store]
	clock       *clock

	mu     sync.Mutex
	opened map[rootKey]bool // roots that were looked at for journals
}

type rootKey struct {
	fs   vfs.FileSystem
	root vfs.Key
}

// New returns an engine. The services may be nil or have no implementation:
// approval that is demanded is then denied, artifacts are unsupported.
func New(cfg Config, bus *event.Bus, approvals *plug.Service[approval.Service], attachments *plug.Service[attachment.Store]) *Engine {
	if cfg.MaxFileBytes <= 0 {
		cfg.MaxFileBytes = DefaultMaxFileBytes
	}
	if cfg.Sensitive == nil {
		m := sensitive.Default()
		cfg.Sensitive = &m
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	return &Engine{
		cfg: cfg, bus: bus, approval: approvals, attachments: attachments,
		clock:  &clock{now: cfg.Now, random: cfg.Random},
		opened: map[rootKey]bool{},
	}
}

// Outcome is what came of an operation.
type Outcome struct {
	// Result is the operation's result, a pointer to one of the result types.
	// On failure it has the fields that help, such as the current digest.
	Result any
	// Receipts tell what was changed on disk, in order.
	Receipts []Receipt
	// Recovered tells of interrupted changes that were finished first.
	Recovered []Recovery
	// Fault is nil when the operation succeeded.
	Fault *fault.Fault
}

// run is one call of one operation.
type run struct {
	*Engine
	fs   vfs.FileSystem
	call *tool.Call
	op   string

	root    vfs.Target // sandbox root; zero for none
	base    vfs.Target // what relative paths and workspace deltas start from
	keeper  *backup.Keeper
	journal *journal // nil where a single provider call does the change
	spares  []spare
	made    map[string]bool // directories that a session made, in a rewind

	receipts  []Receipt
	recovered []Recovery
}

// Do runs an operation. arguments are checked by their types alone; paths are
// in the operation's own fields. Batches come through [Engine.Batch].
func (e *Engine) Do(ctx context.Context, fs vfs.FileSystem, call *tool.Call, op string, args any) Outcome {
	r, err := e.start(ctx, fs, call, op, isDryRun(args))
	if err != nil {
		return Outcome{Fault: fault.Of(err, "")}
	}
	return r.do(ctx, args)
}

// start resolves the roots and finishes interrupted changes, unless the call
// must have no effect.
func (e *Engine) start(ctx context.Context, fs vfs.FileSystem, call *tool.Call, op string, dry bool) (*run, error) {
	r := &run{Engine: e, fs: fs, call: call, op: op}
	var err error
	cwd := call.Cwd()
	if e.cfg.SandboxRoot != "" {
		if r.root, err = fs.Resolve(ctx, e.cfg.SandboxRoot, vfs.ResolveOptions{}); err != nil {
			return nil, err
		}
		r.base = r.root
	} else if r.base, err = fs.Resolve(ctx, orDot(cwd), vfs.ResolveOptions{}); err != nil {
		return nil, err
	}
	r.keeper = r.newKeeper()
	if !dry {
		r.recovered, err = e.open(ctx, r)
	}
	return r, err
}

func orDot(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// do runs the operation that args belongs to.
func (r *run) do(ctx context.Context, args any) Outcome {
	var result any
	var err error
	field := "file_path"
	switch a := args.(type) {
	case *WriteArgs:
		result, err = resultOf(r.write(ctx, a))
	case *EditArgs:
		result, err = resultOf(r.edit(ctx, a))
	case *PatchArgs:
		result, err = resultOf(r.patch(ctx, a))
	case *CopyArgs:
		field = "source_path"
		result, err = resultOf(r.copy(ctx, a))
	case *MoveArgs:
		field = "source_path"
		result, err = resultOf(r.move(ctx, a))
	case *DeleteArgs:
		result, err = resultOf(r.delete(ctx, a))
	case *BackupArgs:
		result, err = resultOf(r.backup(ctx, a))
	case *ListBackupsArgs:
		result, err = resultOf(r.listBackups(ctx, a))
	case *RollbackArgs:
		result, err = resultOf(r.rollback(ctx, a))
	default:
		err = fault.New(fault.InvalidOperation, "", "unknown operation "+r.op)
	}
	o := Outcome{Result: result, Receipts: r.receipts, Recovered: r.recovered}
	if err != nil {
		if ctx.Err() != nil && len(r.receipts) == 0 {
			err = cancelled(ctx)
		}
		o.Fault = fault.Of(err, field)
	}
	return o
}

// resultOf keeps a result of which nothing is known from being told as a null.
func resultOf[T any](result *T, err error) (any, error) {
	if result == nil {
		return nil, err
	}
	return result, err
}

func cancelled(ctx context.Context) *fault.Fault {
	return &fault.Fault{Kind: fault.Cancelled, Message: "the call was cancelled; nothing was changed", Err: context.Cause(ctx)}
}

// options are those of every change of this call.
func (r *run) options(guard vfs.Guard) vfs.Options {
	return vfs.Options{Guard: guard, Actor: r.call, Root: r.root}
}
