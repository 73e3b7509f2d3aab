package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/session"
)

func (a *app) sessionsCommand() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, fork and delete the sessions of demo run",
		Long: `sessions lists the sessions of the store, the one used last first: id, title,
when it was last used, turns, size and workspace. An ID can be shortened to its
beginning, and last is the one used last. To delete one takes 8 letters of its
id.`,
		Example: `  demo sessions
  demo sessions --json | jq -r .id
  demo sessions show last
  demo sessions fork 5a9a --at 120
  demo sessions delete 5a9aa8ac`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := a.home(dir)
			if err != nil {
				return err
			}
			return a.listSessions(cmd.Context(), h.sessions(session.Config{}), asJSON)
		},
	}
	cmd.PersistentFlags().StringVar(&dir, "store", "", "the `DIR` of sessions and images (default $XDG_STATE_HOME/bridle, or what the system has for that)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a session")
	cmd.AddCommand(a.sessionShowCommand(&dir), a.sessionForkCommand(&dir), a.sessionDeleteCommand(&dir))
	return cmd
}

// sessionLine is the JSON form of a session in the list. All keys are always
// there.
type sessionLine struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	CreatedAt int64  `json:"createdAt"` // Unix milliseconds
	UsedAt    int64  `json:"usedAt"`    // Unix milliseconds
	Cwd       string `json:"cwd"`
	Turns     int    `json:"turns"`
	Size      int64  `json:"size"` // bytes of the log
	// Error says why the log cannot be read, or is null.
	Error *string `json:"error"`
}

func (a *app) listSessions(ctx context.Context, store *session.FileStore, asJSON bool) error {
	all, err := store.List(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 && !asJSON {
		fmt.Fprintf(a.out, "There are no sessions in %s; demo run makes one.\n", term.Line(store.Dir()))
		return nil
	}
	for _, s := range all {
		if asJSON {
			line := sessionLine{s.ID, s.Title, s.CreatedAt, usedAt(s), s.Cwd, s.Turns, s.Size, nil}
			if s.Err != nil {
				text := s.Err.Error()
				line.Error = &text
			}
			data, err := encode(line)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s\n", data)
			continue
		}
		a.sessionEntry(s)
	}
	return nil
}

// usedAt returns when a session was last used in Unix milliseconds, or 0 where
// its log cannot be read.
func usedAt(s session.Info) int64 {
	if s.UsedAt.IsZero() {
		return 0
	}
	return s.UsedAt.UnixMilli()
}

func (a *app) sessionEntry(s session.Info) {
	if s.Err != nil {
		fmt.Fprintf(a.out, "%s  %s\n", s.ID, a.out.Paint(term.Red, term.Line(s.Err.Error())))
		return
	}
	title := term.Line(s.Title)
	if title == "" {
		title = "(no title)"
	}
	facts := []string{
		s.UsedAt.Format("2006-01-02 15:04"), plural(s.Turns, "turn"), byteSize(s.Size), term.Line(s.Cwd),
	}
	fmt.Fprintf(a.out, "%s  %s\n", s.ID, a.out.Paint(term.Bold, title))
	fmt.Fprintf(a.out, "  %s\n", a.out.Paint(term.Dim, strings.Join(facts, ", ")))
}

// byteSize writes a size for people.
func byteSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n)/unit, []string{"KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && value >= unit {
		value, units = value/unit, units[1:]
	}
	return fmt.Sprintf("%.1f %s", value, units[0])
}

func (a *app) sessionShowCommand(dir *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a session as it looked when it ran",
		Long:    "show prints the conversation of a session with its calls and their changes.\nWith --json it prints the log: the header and one line an event.",
		Example: "  demo sessions show last\n  demo sessions show 5a9a --json | jq .type",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, log, err := a.readSession(cmd.Context(), *dir, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printLog(log)
			}
			return a.showLog(cmd.Context(), log)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the log")
	return cmd
}

// readSession reads the log of a session of the store.
func (a *app) readSession(ctx context.Context, dir, id string) (home, *session.Log, error) {
	h, err := a.home(dir)
	if err != nil {
		return h, nil, err
	}
	store := h.sessions(session.Config{})
	info, err := find(ctx, store, id)
	if err != nil {
		return h, nil, err
	}
	log, err := store.Read(ctx, info.ID)
	return h, log, err
}

func (a *app) printLog(log *session.Log) error {
	fmt.Fprintf(a.out, "%s\n", log.Header.AppendJSON(nil))
	for _, e := range log.Events {
		if _, err := fmt.Fprintf(a.out, "%s\n", e.AppendJSON(nil)); err != nil {
			return fileFailure(err)
		}
	}
	return nil
}

func (a *app) sessionForkCommand(dir *string) *cobra.Command {
	at := int64(-1)
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Begin a session with the events of another one",
		Long: `fork makes a session from the first events of another one, which stays as it
is, and prints the id of the new one. --at is the number of the last event that
is copied, as in the log; it must be at a boundary, where no turn is open.`,
		Example: "  demo sessions fork last\n  demo sessions fork 5a9a --at 120",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("at") && at < 0 {
				return usage("--at is %d, and events are numbered from 0", at)
			}
			h, err := a.home(*dir)
			if err != nil {
				return err
			}
			store := h.sessions(session.Config{})
			info, err := find(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			s, err := store.Fork(cmd.Context(), info.ID, at)
			if err != nil {
				return err
			}
			if err := s.Close(); err != nil {
				return err
			}
			fmt.Fprintln(a.out, s.ID())
			return nil
		},
	}
	cmd.Flags().Int64Var(&at, "at", -1, "copy the events up to number `SEQ`, that one included (default the last boundary)")
	return cmd
}

func (a *app) sessionDeleteCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:     "delete ID",
		Short:   "Delete a session for good",
		Long:    "delete removes the log of a session and what was kept of its torn ends. A\nsession that is in use is not deleted. Images stay in the store.",
		Example: "  demo sessions delete 5a9aa8ac-63f7-4774-8cc4-efa99f57e7db",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := a.home(*dir)
			if err != nil {
				return err
			}
			store := h.sessions(session.Config{})
			info, err := find(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			if info.ID != args[0] && len(args[0]) < minDeletePrefix {
				return usage("to delete a session give at least %d letters of its id, so that a slip deletes nothing; %q is %s", minDeletePrefix, args[0], info.ID)
			}
			if err := store.Delete(cmd.Context(), info.ID); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "Deleted %s.\n", info.ID)
			return nil
		},
	}
}

// minDeletePrefix is how much of an id names a session to delete, so that a
// slip of the finger, or last, does not.
const minDeletePrefix = 8

func oneID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("give one ID, which demo sessions lists, or last")
	}
	return nil
}
