package fileops

import (
	"context"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/change"
)

// The parts of a rewind.
type (
	// RewindOptions say how far to go back.
	RewindOptions = change.RewindOptions
	// RewindReport tells of a rewind.
	RewindReport = change.RewindReport
	// RewindChange is what a rewind does, or would do, at one path.
	RewindChange = change.RewindChange
	// Receipt tells what one change did on disk. Each is logged in the session
	// as an ignorable event of type [TypeReceipt].
	Receipt = change.Receipt
)

// TypeReceipt is the type of the events that log receipts.
const TypeReceipt = change.TypeReceipt

// Rewind takes back what a session changed after a turn: what the operations
// changed and, with [Config.BackupToolChanges], what other file tools did. It
// works from the receipts in the session's log and the backups they name.
//
// Only paths that the session changed are touched. Where one is no longer what
// the session left, or its backup is missing or damaged, nothing is done,
// unless forced; the report says where and why. What is replaced is backed up
// and what is done is logged, so that going back to the last turn takes the
// rewind back. What the log says the session has seen is brought up to date. A
// dry run changes neither files nor the log.
//
// The session must be open. cfg is that of the deployment that the session ran
// in; its BackupRoot and SandboxRoot count. The error of a refusal is about the
// changes whose Problem is set.
func Rewind(ctx context.Context, fs vfs.FileSystem, s *session.Session, cfg Config, o RewindOptions) (RewindReport, error) {
	bus, scope := new(event.Bus), plug.NewScope(Name)
	defer scope.Close()
	// The deployment's policies are not here. What they have noted in the log is
	// brought up to date, so that the session goes on from what is there now.
	vfs.Observed.On(bus, scope, func(_ context.Context, o vfs.Observation) error {
		if _, noted := s.Observation(string(o.Target.Key)); !noted {
			return nil
		}
		now := session.Observed{Key: string(o.Target.Key), Path: o.Target.Path, State: session.ObservedPresent, Version: string(o.Version)}
		if o.Absent {
			now.State, now.Version = session.ObservedAbsent, ""
		}
		_, err := s.Append(now.Event())
		return err
	})
	e := change.New(change.Config{SandboxRoot: cfg.SandboxRoot, BackupRoot: cfg.BackupRoot}, bus, nil, nil)
	return e.Rewind(ctx, fs, s, o)
}
