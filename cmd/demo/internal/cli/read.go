package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
)

// callFlags are those of the commands that make one tool call.
type callFlags struct {
	cwd  string
	json bool
}

func (f *callFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.cwd, "cwd", "C", ".", "the workspace, a `DIR`; relative paths start here")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object: isError, code, content, value, meta")
}

func (a *app) readCommand() *cobra.Command {
	var flags callFlags
	var offset, limit int
	cmd := &cobra.Command{
		Use:   "read FILE",
		Short: "Show a window of a text file",
		Long: `read calls the read tool once and shows the window of lines that it gives.

A read gives at most 2000 lines and 51200 bytes, and 2000 characters of a line;
--offset continues where the last one ended. Characters that do not show
themselves are written as escapes.`,
		Example: `  demo read README.md
  demo read main.go --offset 40 --limit 20
  demo read --cwd ~/project --json go.mod`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			w, err := openWorkspace(cmd.Context(), flags.cwd)
			if err != nil {
				return err
			}
			defer func() { err = firstError(err, w.close(cmd.Context())) }()
			arguments := map[string]any{"file_path": args[0]}
			if cmd.Flags().Changed("offset") {
				arguments["offset"] = offset
			}
			if cmd.Flags().Changed("limit") {
				arguments["limit"] = limit
			}
			o, err := w.call(cmd.Context(), "read", arguments)
			if err == nil {
				err = a.show(o, flags.json)
			}
			if err != nil || flags.json {
				err = asTyped(err, "file_path", "FILE", "offset", "--offset", "limit", "--limit")
				return nearFile(err, w.agent.Session.Cwd(), args[0])
			}
			a.continuation(o)
			return nil
		},
	}
	flags.add(cmd)
	cmd.Flags().IntVar(&offset, "offset", 1, "the first line, `N` counted from 1")
	cmd.Flags().IntVar(&limit, "limit", 2000, "at most `N` lines")
	return cmd
}

// continuation tells how to see the rest of a file.
func (a *app) continuation(o outcome) {
	var meta struct {
		TotalLines int
		Lines      []struct{ Number int }
	}
	if json.Unmarshal(o.result.Meta, &meta) != nil || len(meta.Lines) == 0 {
		return
	}
	if last := meta.Lines[len(meta.Lines)-1].Number; last < meta.TotalLines {
		fmt.Fprintln(a.out, a.out.Paint(term.Dim, fmt.Sprintf("  … continue with --offset %d", last+1)))
	}
}

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("give one FILE")
	}
	return nil
}

// firstError returns the error of a command, else that of its cleaning up.
func firstError(err, cleanup error) error {
	if err != nil {
		return err
	}
	return cleanup
}
