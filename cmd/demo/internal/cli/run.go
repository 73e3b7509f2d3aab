package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
)

// codeIncomplete reports a turn that ended before the model was done.
const codeIncomplete = "TURN_INCOMPLETE"

// runFlags are those of run.
type runFlags struct {
	model     string
	baseURL   string
	apiKeyEnv string
	script    string
	cwd       string
	config    string
	resume    string
	approve   string
	sandbox   string
	store     string
	json      bool
	cwdGiven  bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [TASK]",
		Short: "Let a model work on the files of a directory",
		Long: `run gives an agent a task and shows what it does: what the model says, its tool
calls with their changes, retries, and the tokens in the end.

Without a TASK, at a terminal, it asks for tasks, one a line; a line that is
typed while a turn runs goes to the model with its next step. Ctrl-C ends the
turn and keeps the session; once more, or at the prompt, it ends the command.
A TASK of - is read from standard input.

The model is --model provider/model: openai, anthropic, deepseek, mistral,
vllm, ollama, or a name of your own with the --base-url of a server that speaks
the OpenAI protocol. Keys come from the environment (OPENAI_API_KEY,
ANTHROPIC_API_KEY and so on; --api-key-env names another variable, which a
--base-url of another host always needs). --script plays a model from a file
instead: a JSON list of answers, one a request, such as

  [
    {"text": "I look.", "calls": [{"name": "read", "args": {"file_path": "notes.txt"}}]},
    {"calls": [{"name": "edit", "args": {"file_path": "notes.txt", "old_string": "teh", "new_string": "the"}}]},
    {"text": "Done."}
  ]

Changes are confined to the workspace and the temp directories (--sandbox
workspace-write); read-only and danger-full-access are the other modes. What
goes further is asked for (--approve ask) or refused (--approve never). Without
a terminal the answers are read from standard input, one a line.

Sessions are kept in the store, readable by you alone. --resume continues one:
give its id, the beginning of its id, or last.

--json prints the header of the session's log and each event of this run, one
line each; of a new session that is a log again, as demo show takes it.`,
		Example: `  demo run "Find the typo in notes.txt and fix it" --model anthropic/claude-sonnet-4-5
  demo run --model ollama/qwen3 --cwd ~/project
  demo run "Now explain it" --resume last
  demo run "What is here?" --model local/any --base-url http://localhost:8080/v1
  demo run "Tidy up" --script answers.json --json | jq .type`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("give one TASK, in quotes")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			task := ""
			if len(args) == 1 {
				task = args[0]
				if strings.TrimSpace(task) == "" {
					return usage("the TASK is empty")
				}
			}
			return a.run(cmd.Context(), f, task)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.model, "model", "m", "", "the model, `PROVIDER/MODEL`; of a resumed session its own")
	flags.StringVar(&f.baseURL, "base-url", "", "the `URL` of the model's server")
	flags.StringVar(&f.apiKeyEnv, "api-key-env", "", "the environment `VARIABLE` of the server's key")
	flags.StringVar(&f.script, "script", "", "play the model from a `FILE`")
	flags.StringVarP(&f.cwd, "cwd", "C", ".", "the workspace, a `DIR`")
	flags.StringVar(&f.config, "config", "", "compose the deployment from a `FILE`; see demo plugins")
	flags.StringVar(&f.resume, "resume", "", "continue the session `ID`, or last")
	flags.StringVar(&f.approve, "approve", "", "`ask|never`: what happens to what needs approval (default ask)")
	flags.StringVar(&f.sandbox, "sandbox", "", "how far files may be changed, a `MODE`: "+modes()+" (default workspace-write)")
	storeFlag(cmd, &f.store)
	flags.BoolVar(&f.json, "json", false, "print the events of the session, one JSON line each")
	return cmd
}

func modes() string {
	var names []string
	for _, m := range sandbox.Modes() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// check finds what cannot be meant.
func (f *runFlags) check(cmd *cobra.Command) error {
	switch {
	case f.script != "" && (f.model != "" || f.baseURL != "" || f.apiKeyEnv != ""):
		return usage("give --script or a model, not both")
	case f.model != "" && !strings.Contains(strings.Trim(f.model, "/"), "/"):
		return usage("--model is %q, and must be provider/model", f.model)
	case f.resume == "" && cmd.Flags().Changed("resume"):
		return usage("--resume is empty; give an id, the beginning of one, or last")
	}
	f.cwdGiven = cmd.Flags().Changed("cwd")
	if err := checkSandbox(f.sandbox); err != nil {
		return err
	}
	return checkApprove(f.approve)
}

func checkSandbox(mode string) error {
	if mode != "" && !sandbox.Mode(mode).Valid() {
		return usage("--sandbox is %q, and must be one of %s", mode, modes())
	}
	return nil
}

func checkApprove(policy string) error {
	switch approval.Mode(policy) {
	case "", approval.Ask, approval.Never:
		return nil
	}
	return usage("--approve is %q, and must be %s or %s", policy, approval.Ask, approval.Never)
}

// run runs one task, or those of a prompt.
func (a *app) run(ctx context.Context, f runFlags, task string) (err error) {
	if task == "" && (f.json || !a.typed) {
		return usage("give a TASK; without one a terminal is needed")
	}
	if task == "-" {
		if task, err = a.readInput(ctx); err != nil {
			return err
		}
		if strings.TrimSpace(task) == "" {
			return usage("the TASK on standard input is empty")
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := a.openRun(ctx, f)
	if err != nil {
		return coded(err)
	}
	defer func() { err = firstError(err, r.close(ctx)) }()
	if task == "" {
		return r.prompt(ctx)
	}
	err = r.steeredTurn(ctx, task)
	r.farewell(ctx)
	return err
}

// coded gives an error that has no code one, so that it does not pass for a
// wrong command line.
func coded(err error) error {
	if err == nil || errs.CodeOf(err) != "" {
		return err
	}
	var f *failure
	if errors.As(err, &f) {
		return err
	}
	return failed(codeFailed, "%v", err)
}

func (r *running) summary() string {
	parts := []string{"session " + r.session.ID()}
	if u := r.view.Usage().String(); u != "" {
		parts = append(parts, u)
	}
	return strings.Join(parts, " · ")
}

// farewell tells what was used and how to go on.
func (r *running) farewell(ctx context.Context) {
	if r.discard || r.unused() {
		return
	}
	if r.flags.json {
		if ctx.Err() != nil {
			fmt.Fprintln(r.app.errors, r.resumeLine())
		}
		return
	}
	r.view.Pause()
	out := r.app.out
	fmt.Fprintf(out, "\n%s\n", dim(out, r.summary()))
	fmt.Fprintln(out, dim(out, r.resumeLine()))
}

func (r *running) resumeLine() string {
	line := "resume: demo run --resume " + r.session.ID() + r.home.flag()
	if r.flags.script != "" {
		line += " --script " + shellWord(r.flags.script)
	}
	if r.flags.config != "" {
		line += " --config " + shellWord(r.flags.config)
	}
	if r.flags.baseURL != "" {
		line += " --base-url " + shellWord(r.flags.baseURL)
	}
	return line
}
