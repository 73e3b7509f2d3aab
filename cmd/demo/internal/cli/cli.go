// Package cli is the command line of the demo: its commands, their flags, and
// what their outcomes mean to the caller.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/render"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/plugins/approve"
)

// Main runs the command line of the process and returns its exit status.
//
// An interrupt that nobody takes ends the context of the command, so that it
// cleans up; one more ends the process.
func Main() int {
	base, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Without a handler, writing to a pipe that nobody reads would end the
	// process before it has cleaned up.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	go func() {
		select {
		case <-broken:
			cancel()
		case <-base.Done():
		}
	}()
	interrupts := new(Interrupts)
	defer interrupts.listen(cancel)()
	return Run(base, Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Interrupts: interrupts, Typed: isTerminal(os.Stdin),
	})
}

// Env is what a command line gets from its process.
type Env struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Interrupts may be nil, where there are none.
	Interrupts *Interrupts
	// Typed tells that a person types at Stdin.
	Typed bool
}

// Run runs one command line and returns its exit status: one of the status
// constants.
func Run(ctx context.Context, env Env) int {
	a := &app{
		stdin: env.Stdin, getenv: env.Getenv, interrupts: env.Interrupts, typed: env.Typed,
		out: term.New(env.Stdout, env.Getenv), errors: term.New(env.Stderr, env.Getenv),
	}
	if a.interrupts == nil {
		a.interrupts = new(Interrupts)
	}
	a.render = render.New(a.out)
	root := a.root()
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(a.out)
	root.SetErr(a.errors)
	cmd, err := root.ExecuteContextC(ctx)
	if lost := a.out.Err(); lost != nil {
		if errors.Is(lost, syscall.EPIPE) {
			return statusInterrupted // who read the output has seen enough
		}
		err = failed(string(errs.IO), "cannot write the output: %v; the operation itself may have been done", lost)
	}
	if err == nil {
		return statusOK
	}
	f := asFailure(ctx, cmd, err)
	a.complain(f)
	return f.status
}

// complain prints a failure on its one line.
func (a *app) complain(f *failure) {
	fmt.Fprintf(a.errors, "%s %s\n", a.errors.Paint(term.Red, "demo: "+f.code+":"), term.Line(f.message))
}

// app is what the commands share.
type app struct {
	stdin      io.Reader
	getenv     func(string) string
	interrupts *Interrupts
	typed      bool // a person types at stdin
	consumed   bool // stdin was read as data; see readInput
	refused    bool // the last answer was a no
	out        *term.Output
	errors     *term.Output
	render     *render.Renderer
	answerer   *approve.Terminal // see terminal
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "demo",
		Short: "Show the harness at work, and use its tools by hand",
		Long: `demo shows the harness at work, and lets you use its tools by hand.

Without a command it gives a tour: in a scratch workspace that is removed
afterwards, a scripted model reads and changes files through the basic
deployment. It takes a second and needs no network. run lets a real model, or a
scripted one, work on the files of a directory.

Exit status:
  0    done
  1    the operation failed, a turn did not complete, or a replay, a scenario or
       an image came out otherwise than it should
  2    the command line is wrong; nothing was tried
  130  interrupted

Errors go to standard error, one line each: demo: CODE: what is wrong; what to
do. Codes never change; texts may.

Colour is used on terminals. NO_COLOR turns it off, CLICOLOR_FORCE=1 on.`,
		Example: `  demo
  demo run "Find the typo in notes.txt and fix it" --model anthropic/claude-sonnet-4-5
  demo show last --html session.html
  demo read README.md --offset 1 --limit 20
  demo edit notes.txt --old "teh" --new "the" --all
  demo scenario testkit/testdata/*.json`,
		Args:          noCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.tour(cmd.Context()) },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usageText)
	root.Version = version(debug.ReadBuildInfo())
	root.SetVersionTemplate("demo {{.Version}}\n")
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.readCommand(), a.writeCommand(), a.editCommand(), a.scenarioCommand(), a.replayCommand())
	root.AddCommand(a.runCommand(), a.sessionsCommand(), a.showCommand(), a.pluginsCommand(), a.imageCommand(), a.rewindCommand())
	root.AddCommand(a.attachmentsCommand(), a.opsCommand(), a.versionCommand())
	return root
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command",
		Long:    "help explains a command, as its --help does.",
		Example: "  demo help edit",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), args)
			}
			return about.Help()
		},
	}
}

// noCommand refuses what follows a command that has others below it and is none
// of them, and names the one that may have been meant.
func noCommand(parent *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	within := ""
	if parent.HasParent() {
		within = parent.Name() + " "
	}
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := didYouMean(args[0], names)
	if begun := func(name string) bool { return args[0] != "" && strings.HasPrefix(name, args[0]) }; hint == "" {
		if i := slices.IndexFunc(names, begun); i >= 0 {
			hint = `; did you mean "` + names[i] + `"?`
		}
	}
	if within != "" {
		hint = strings.Replace(hint, `"`, `"`+within, 1)
	}
	return usage(`there is no command "%s%s"%s`, within, args[0], hint)
}
