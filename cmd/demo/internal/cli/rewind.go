package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// codeRewind reports a rewind that could not be done, or not as a whole.
const codeRewind = "REWIND_REFUSED"

// rewindFlags are those of rewind.
type rewindFlags struct {
	store      string
	to         int
	backupRoot string
	dryRun     bool
	force      bool
	json       bool
}

func (a *app) rewindCommand() *cobra.Command {
	var f rewindFlags
	cmd := &cobra.Command{
		Use:   "rewind SESSION",
		Short: "Take back what a session changed in its files",
		Long: `rewind puts the files that a session changed back to what they were at the end
of a turn; without --to, to what they were before the session. It works from the
receipts in the session's log and the backups they name, and touches nothing
that the session did not change. SESSION is an id, the beginning of one, or
last.

Where a file is no longer what the session left, or its backup is missing or
damaged, nothing is done at all; --force goes on, and keeps a backup of what it
replaces. --dry-run shows what would be done.

A rewind is logged in the session like any change and can be taken back: it
counts as after the last turn, so --to with the number of the last turn undoes
it. Directories that a session made stay where they hold its backups.`,
		Example: `  demo rewind last --dry-run
  demo rewind last --to 2
  demo rewind 5a9a --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("give one SESSION, an id that demo sessions lists, or last")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.to < 0 {
				return usage("--to is %d, and turns are numbered from 1; 0 takes everything back", f.to)
			}
			return a.rewind(cmd.Context(), f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.to, "to", 0, "keep the changes up to the end of `TURN`")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be done")
	flags.BoolVar(&f.force, "force", false, "go on where a file was changed by somebody else since")
	flags.StringVar(&f.backupRoot, "backup-root", "", "the `DIR` of backups, where the deployment had one")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	storeFlag(cmd, &f.store)
	return cmd
}

func (a *app) rewind(ctx context.Context, f rewindFlags, id string) (err error) {
	h, err := a.home(f.store)
	if err != nil {
		return err
	}
	store := h.sessions(session.Config{})
	info, err := find(ctx, store, id)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, info.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fs, err := fslocal.New(fslocal.Config{Cwd: s.Cwd()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fs.Close()) }()
	unkept, err := withoutBackup(s, f.to)
	if err != nil {
		return err
	}
	report, err := fileops.Rewind(ctx, fs, s, fileops.Config{BackupRoot: f.backupRoot},
		fileops.RewindOptions{ToTurn: f.to, DryRun: f.dryRun, Force: f.force})
	if f.json {
		data, encodeErr := encode(report)
		if encodeErr != nil {
			return encodeErr
		}
		fmt.Fprintf(a.out, "%s\n", data)
	} else if err == nil || len(report.Changes) > 0 {
		a.showRewind(report, unkept)
	}
	switch {
	case err != nil && errs.CodeOf(err) == "":
		return failed(codeRewind, "%v", err)
	case err != nil:
		return err
	case len(report.Changes) == 0 && unkept > 0:
		return failed(codeRewind, "%s of write and edit had no backup and cannot be taken back; backupToolChanges of fileops keeps them", plural(unkept, "change"))
	case report.Problems > 0:
		return failed(codeRewind, "%s could not be taken back", plural(report.Problems, "change"))
	}
	return nil
}

// withoutBackup counts the changes of write and edit after a turn that the log
// has no receipt of, which is what a deployment without backupToolChanges
// leaves.
func withoutBackup(s *session.Session, to int) (int, error) {
	kept, calls := map[string]bool{}, map[string]bool{}
	turn, n := 0, 0
	var done []string
	for e, err := range s.Events() {
		if err != nil {
			return 0, err
		}
		switch e.Type {
		case session.TypeTurnStart:
			turn++
		case fileops.TypeReceipt:
			var receipt struct{ CallID string }
			if e.Decode(&receipt) == nil {
				kept[receipt.CallID] = true
			}
		case session.TypeToolCall:
			var c session.ToolCall
			if e.Decode(&c) == nil && turn > to {
				calls[c.CallID] = c.Name == "write" || c.Name == "edit"
			}
		case session.TypeToolResult:
			var r session.ToolResult
			if e.Decode(&r) != nil {
				continue
			}
			for _, b := range r.Message.Content {
				if calls[b.ToolCallID] && !b.IsError {
					done = append(done, b.ToolCallID)
				}
			}
		}
	}
	for _, id := range done {
		if !kept[id] {
			n++
		}
	}
	return n, nil
}

// showRewind prints a line for each path.
//
// unkept counts the changes that it cannot know of.
func (a *app) showRewind(r fileops.RewindReport, unkept int) {
	for _, rec := range r.Recovered {
		fmt.Fprintln(a.out, term.Line(rec.String()))
	}
	if len(r.Changes) == 0 && unkept > 0 {
		return // the error says more
	}
	if unkept > 0 {
		defer fmt.Fprintf(a.out, "%s of write and edit had no backup: not taken back.\n", plural(unkept, "change"))
	}
	if len(r.Changes) == 0 {
		fmt.Fprintln(a.out, "There is nothing to take back.")
		return
	}
	done := 0
	for _, c := range r.Changes {
		if c.Done {
			done++
		}
		fmt.Fprintln(a.out, a.rewindLine(c, r.DryRun))
	}
	if !r.DryRun {
		fmt.Fprintf(a.out, "%d of %s taken back.\n", done, plural(len(r.Changes), "change"))
	}
}

func (a *app) rewindLine(c fileops.RewindChange, dry bool) string {
	verb := strings.ReplaceAll(c.Action, "_", " ")
	path := term.Line(c.Path)
	if c.To != "" {
		path += " to " + term.Line(c.To)
	}
	turns := make([]string, len(c.Turns))
	for i, n := range c.Turns {
		turns[len(turns)-1-i] = strconv.Itoa(n)
	}
	line := fmt.Sprintf("%-9s %s", verb, path)
	if c.Problem != "" {
		return a.out.Paint(term.Red, line+": "+term.Line(c.Problem))
	}
	style := term.Green
	if dry {
		style = term.Bold
	}
	facts := plural(len(c.ReceiptIDs), "change")
	if len(turns) > 0 {
		facts += ", turn " + strings.Join(turns, ", ")
	}
	return a.out.Paint(style, line) + a.out.Paint(term.Dim, "  ("+facts+")")
}
