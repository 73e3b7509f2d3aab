package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
)

// changeFlags are those of the commands that change a file.
type changeFlags struct {
	callFlags
	confinedFlags
	noRead bool
}

func (f *changeFlags) add(cmd *cobra.Command) {
	f.callFlags.add(cmd)
	f.confinedFlags.add(cmd)
	cmd.Flags().BoolVar(&f.noRead, "no-read", false, "do not read the file first; an existing file is then refused")
}

// whyRead explains in the help of each command why it reads first.
const whyRead = `
The policy of the basic deployment lets a session change only what it has
read, and every run is a session of its own. So the file is read first, in the
same session; if another program changes it between the two, the change is
refused and nothing is lost. --no-read leaves the read out and shows what
happens to a blind change.`

func (a *app) writeCommand() *cobra.Command {
	var flags changeFlags
	var text textFlag
	cmd := &cobra.Command{
		Use:   "write FILE [-]",
		Short: "Create a text file, or replace one as a whole",
		Long: `write calls the write tool and shows the change.

The content is that of --content, of --content-file, or of standard input
(--content-file -, or a "-" after FILE), byte for byte: no line feed is added.
Missing directories are made. An existing file keeps its mode, and a symlink
stays one.
` + whyRead + "\n" + whySandbox,
		Example: `  demo write notes.txt --content "remember the milk"
  date | demo write log/today.txt -
  demo write config.yaml --content-file new.yaml --json
  demo write README.md --no-read --content x     # refused: FS_NOT_OBSERVED
  demo write notes.txt --content x --sandbox read-only
  demo write ~/notes.txt --content x --sandbox workspace-write --landlock`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 2 && args[1] == "-":
			case len(args) != 1:
				return usage(`give one FILE, and "-" after it to read the content from standard input`)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if text.given(cmd) {
					return usage(`give the content once: "-", --content or --content-file`)
				}
				text.file = "-"
			} else if !text.given(cmd) {
				return usage(`give the content: --content TEXT, --content-file FILE, or "-" for standard input`)
			}
			content, err := text.read(cmd, a)
			if err != nil {
				return err
			}
			err = a.change(cmd.Context(), flags, "write", map[string]any{"file_path": args[0], "content": content})
			return asTyped(err, "file_path", "FILE", "content", text.typed(cmd))
		},
	}
	flags.add(cmd)
	text.add(cmd, "content", "the `TEXT` of the file")
	return cmd
}

func (a *app) editCommand() *cobra.Command {
	var flags changeFlags
	var before, after textFlag
	var all bool
	cmd := &cobra.Command{
		Use:   "edit FILE",
		Short: "Replace literal text in a text file",
		Long: `edit calls the edit tool and shows the change.

The text to replace must occur exactly once, unless --all is given. It is
literal: no pattern, and blanks count; only LF and CRLF are the same. Every
byte outside the replaced text stays. With --old-file and --new-file the texts
come from files, a final line feed included; one of them may be "-".
` + whyRead + "\n" + whySandbox,
		Example: `  demo edit main.go --old "Prinln" --new "Println"
  demo edit notes.txt --old "teh" --new "the" --all
  demo edit app.yaml --old-file old.txt --new-file - < new.txt
  demo edit README.md --no-read --old a --new b   # refused: FS_NOT_OBSERVED
  demo edit notes.txt --old a --new b --sandbox read-only --approve never`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !before.given(cmd):
				return usage("give the text to replace: --old TEXT or --old-file FILE")
			case !after.given(cmd):
				return usage(`give the text to put there: --new TEXT, --new-file FILE, or --new "" to delete`)
			case before.file == "-" && after.file == "-":
				return usage("only one of the texts can come from standard input")
			}
			from, err := before.read(cmd, a)
			if err != nil {
				return err
			}
			to, err := after.read(cmd, a)
			if err != nil {
				return err
			}
			arguments := map[string]any{"file_path": args[0], "old_string": from, "new_string": to}
			if all {
				arguments["replace_all"] = true
			}
			err = a.change(cmd.Context(), flags, "edit", arguments)
			err = asTyped(err, "file_path", "FILE", "old_string", before.typed(cmd), "new_string", after.typed(cmd))
			return nearFile(err, flags.cwd, args[0])
		},
	}
	flags.add(cmd)
	before.add(cmd, "old", "the `TEXT` to replace")
	after.add(cmd, "new", "the `TEXT` to put in its place")
	cmd.Flags().BoolVar(&all, "all", false, "replace every match")
	return cmd
}

// change calls a tool that changes a file, after a read of the file.
func (a *app) change(ctx context.Context, flags changeFlags, name string, arguments map[string]any) (err error) {
	if err := flags.confinedFlags.check(); err != nil {
		return err
	}
	w, err := openWorkspaceWith(ctx, flags.cwd, func(o *deploy.Options) []plug.Plugin { return flags.compose(a, o) })
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, w.close(ctx)) }()
	if err := flags.wall(a, w.agent.Session.Cwd()); err != nil {
		return err
	}
	if !flags.noRead {
		seen, err := w.call(ctx, "read", map[string]any{"file_path": arguments["file_path"], "limit": 1})
		if err != nil {
			return err
		}
		// A missing file is known to be missing now, which is what a write needs,
		// and an edit says so itself. What else keeps a file from being read
		// keeps it from being changed.
		if e := seen.result.Error; seen.result.IsError && (e == nil || e.Code != string(errs.NotFound)) {
			return a.show(seen, flags.json)
		}
	}
	o, err := w.call(ctx, name, arguments)
	if path, _ := arguments["file_path"].(string); err == nil && flags.sandbox != "" && isDenied(o.result) {
		if flags.walled(w.agent.Session.Cwd(), path) {
			fmt.Fprintln(a.errors, "landlock: nobody is asked to approve this, since the kernel would refuse it all the same")
			return a.show(o, flags.json)
		}
		if !flags.json {
			a.denial(o)
		}
		o, err = w.escalated(ctx, name, arguments, sandbox.Mode(flags.sandbox))
	}
	if err != nil {
		return err
	}
	return a.show(o, flags.json)
}

// textFlag is a text that a flag gives, or a file that another flag names.
type textFlag struct {
	name string
	text string
	file string
}

func (f *textFlag) add(cmd *cobra.Command, name, what string) {
	f.name = name
	cmd.Flags().StringVar(&f.text, name, "", what)
	cmd.Flags().StringVar(&f.file, name+"-file", "", "the `FILE` that holds it, or - for standard input")
}

func (f *textFlag) given(cmd *cobra.Command) bool {
	return cmd.Flags().Changed(f.name) || cmd.Flags().Changed(f.name+"-file")
}

// typed returns the flag that gave the text.
func (f *textFlag) typed(cmd *cobra.Command) string {
	if cmd.Flags().Changed(f.name) {
		return "--" + f.name
	}
	return "--" + f.name + "-file"
}

func (f *textFlag) read(cmd *cobra.Command, a *app) (string, error) {
	switch {
	case cmd.Flags().Changed(f.name) && cmd.Flags().Changed(f.name+"-file"):
		return "", usage("give --%s or --%s-file, not both", f.name, f.name)
	case cmd.Flags().Changed(f.name):
		return f.text, nil
	case f.file == "-":
		return a.readInput(cmd.Context())
	}
	data, err := os.ReadFile(f.file)
	if err != nil {
		return "", fileFailure(err)
	}
	return string(data), nil
}

// readAll reads everything, but does not wait longer than ctx for it: a person
// who is asked for input may press Ctrl-C.
func readAll(ctx context.Context, r io.Reader) (string, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(r)
		done <- read{data, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case in := <-done:
		if in.err != nil {
			return "", fileFailure(in.err)
		}
		return string(in.data), nil
	}
}
