package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/testkit/replay"
)

// codeReplay reports recordings that did not come out as they were.
const codeReplay = "REPLAY_DIFFERS"

func (a *app) replayCommand() *cobra.Command {
	var asJSON bool
	var workspace, store string
	cmd := &cobra.Command{
		Use:   "replay LOG|FOLDER|ID...",
		Short: "Run recorded sessions again without a model, and compare",
		Long: `replay runs recorded sessions again: the recorded model, the same loop, the real
tools. It compares every request and every tool result with the recording, and
tells the first difference.

A LOG is a session log, and an ID, or last, a session of the store. A FOLDER
holds a log as session.jsonl, and in workspace/ the files as they were when the
session began; --workspace names another directory for them. The files are
copied to a scratch directory that is removed afterwards: nothing that you name
is changed. Without files, the session begins in an empty directory. The store
keeps no files, so that a session of it wants --workspace, too, when it read
any.

Times and ids come from the recording, as nothing else could make them come out
again: of calls of the file operations the fields receipt_id, backup_id and
elapsed_ms, and the created and modified times of files. They are not compared;
all else that a result tells is. Which id a file's receipt has is thus the same
in the log and in its replay.

Calls of tools that the demo does not have cannot be made again: their recorded
results stand for them, and they are told of as skipped.

With --json there is one JSON line a tool call, with name, arguments, recorded
and replayed result, and whether they are equal.

The exit status is 1 when something is different, or a recording cannot be
replayed. Of several, the others are replayed all the same.`,
		Example: `  demo replay ~/sessions/fix-typo
  demo replay session.jsonl --workspace before/
  demo replay --json recorded/* | jq 'select(.equal | not)'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("give at least one LOG, FOLDER or ID")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if workspace != "" {
				info, err := os.Stat(workspace)
				switch {
				case err != nil:
					return fileFailure(err)
				case !info.IsDir():
					return failed(string(errs.NotDirectory), "%s is not a directory; give --workspace a directory", workspace)
				}
			}
			var different []string
			var refused []error
			for _, path := range args {
				report, err := a.replay(cmd, store, path, workspace)
				if ctx := cmd.Context(); ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					if len(args) == 1 {
						return err
					}
					a.complain(asFailure(cmd.Context(), cmd, err))
					refused = append(refused, err)
					continue
				}
				if asJSON {
					a.replayLines(path, report)
				} else {
					a.replayTable(path, report)
				}
				if !report.Equal() {
					different = append(different, path+": "+report.First().Place())
				}
			}
			first := ""
			if asJSON && len(different) > 0 { // the table tells it, but the lines of calls may not
				first = "; " + different[0]
			}
			switch {
			case len(different) > 0 && len(refused) > 0:
				return failed(codeReplay, "%d of %s came out differently, and %d could not be replayed%s",
					len(different), count(len(args), "recording"), len(refused), first)
			case len(different) > 0:
				return failed(codeReplay, "%d of %s came out differently%s", len(different), count(len(args), "recording"), first)
			case len(refused) > 0:
				return failed(asFailure(cmd.Context(), cmd, refused[0]).code, "%d of %d recordings could not be replayed; the lines above say why",
					len(refused), len(args))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON line a tool call")
	storeFlag(cmd, &store)
	cmd.Flags().StringVar(&workspace, "workspace", "", "the `DIR` of the files as they were when the session began")
	return cmd
}

func (a *app) replay(cmd *cobra.Command, store, path, workspace string) (*replay.Report, error) {
	rec, err := a.recording(cmd.Context(), store, path)
	if err != nil {
		return nil, err
	}
	if workspace != "" {
		rec.Workspace = workspace
	}
	report, err := replay.Run(cmd.Context(), rec, replay.Config{Plugins: deploy.Replay, StandIns: true})
	if err != nil && errs.CodeOf(err) == "" {
		err = failed(codeFailed, "%s: %v", path, err)
	}
	return report, err
}

// recording reads what a word of the command line names: what there is of that
// name, else a session of the store.
func (a *app) recording(ctx context.Context, store, name string) (*replay.Recording, error) {
	_, err := os.Stat(name)
	if err == nil || strings.ContainsAny(name, `/\\`) || strings.HasSuffix(name, ".jsonl") {
		rec, err := replay.Load(name)
		return rec, notLog(name, err)
	}
	_, log, err := a.readSession(ctx, store, name)
	if err != nil {
		return nil, err
	}
	return replay.FromLog(log)
}

// replayLines prints the calls as JSON.
func (a *app) replayLines(path string, report *replay.Report) {
	name, err := json.Marshal(path)
	if err != nil {
		return // a string always encodes
	}
	for _, c := range report.Calls {
		line, err := c.MarshalJSON()
		if err != nil {
			continue // it holds nothing but JSON
		}
		fmt.Fprintf(a.out, "{\"log\":%s,%s\n", name, line[1:])
	}
}

// replayTable prints the calls for a person.
func (a *app) replayTable(path string, report *replay.Report) {
	fmt.Fprintln(a.out, a.out.Paint(term.Bold, term.Line(path)))
	width := 4
	for _, c := range report.Calls {
		width = max(width, len([]rune(c.Name)))
	}
	for _, c := range report.Calls {
		verdict, style := "same", term.Green
		switch {
		case c.Skipped != "":
			verdict, style = "skipped", term.Yellow
		case !c.Equal:
			verdict, style = "different", term.Red
		}
		text := term.Line(c.Arguments)
		if room := max(a.out.Width()-width-15, 20); len([]rune(text)) > room {
			text = string([]rune(text)[:room-1]) + "…"
		}
		fmt.Fprintf(a.out, "  %s  %-*s  %s\n", a.out.Paint(style, fmt.Sprintf("%-9s", verdict)), width, term.Line(c.Name), a.out.Paint(term.Dim, text))
	}
	for _, note := range report.Notes {
		fmt.Fprintf(a.out, "  %s\n", term.Line(note))
	}
	summary := fmt.Sprintf("%s, %s", count(len(report.Calls), "tool call"), count(report.Requests, "request"))
	if report.Equal() {
		fmt.Fprintf(a.out, "  %s: %s\n", summary, a.out.Paint(term.Green, "as recorded"))
		return
	}
	fmt.Fprintf(a.out, "  %s: %s\n", summary, a.out.Paint(term.Red, count(len(report.Differences), "difference")))
	fmt.Fprintln(a.out, "  the first is in")
	for _, line := range strings.Split(report.First().String(), "\n") {
		fmt.Fprintf(a.out, "    %s\n", term.Line(line))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
