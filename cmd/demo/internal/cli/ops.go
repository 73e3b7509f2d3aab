package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fileops"
)

// opsFlags are those of all file operations.
type opsFlags struct {
	cwd    string
	root   string
	config string
	json   bool
	yes    bool
}

// opsExamples are those in the help of each operation.
var opsExamples = map[string]string{
	"view_file": `  demo ops view_file README.md
  demo ops view_file server.log --tail-lines 20
  demo ops view_file data.json --offset-bytes 0 --limit-bytes 400`,
	"file_info": `  demo ops file_info go.mod`,
	"list_directory": `  demo ops list_directory . --verbose
  demo ops list_directory src --max-depth 3 --pattern '*.go'`,
	"file_tree": `  demo ops file_tree .
  demo ops file_tree . --include-patterns '*.go' --exclude-patterns 'testdata/**' --include-stats`,
	"search_files": `  demo ops search_files . --query TODO --context-lines 1
  demo ops search_files . --query 'func \w+Test' --is-regex --file-types go --output-mode count`,
	"diff_file": `  demo ops diff_file old.txt --compare-path new.txt
  demo ops diff_file notes.txt --config '{"new_content":"all of it\n"}'`,
	"validate_file": `  demo ops validate_file config.yaml
  curl -s https://example.com/a.json | jq -Rs '{content:.}' | demo ops validate_file --config -`,
	"write_file": `  demo ops write_file notes.txt --content 'remember the milk'
  demo ops write_file notes.txt --content 'and the bread' --append --yes`,
	"create_file": `  demo ops create_file notes.txt --content 'remember the milk' --yes`,
	"edit_file": `  demo ops edit_file notes.txt --replacements '[{"old_content":"teh","new_content":"the"}]' --dry-run
  demo ops edit_file notes.txt --replacements '[{"old_content":"teh","new_content":"the"}]' --replace-all --yes`,
	"patch_file": `  demo ops patch_file config.yaml --patches '[{"op":"set","path":"/port","value":9090}]'`,
	"copy_file":  `  demo ops copy_file notes.txt --destination-path old/notes.txt --yes`,
	"move_file":  `  demo ops move_file notes.txt --destination-path done/notes.txt --dry-run`,
	"delete_file": `  demo ops delete_file notes.txt --dry-run
  demo ops delete_file notes.txt --yes`,
	"backup_file":   `  demo ops backup_file notes.txt --label before --yes`,
	"list_backups":  `  demo ops list_backups notes.txt`,
	"rollback_file": `  demo ops rollback_file notes.txt --backup-id last --dry-run`,
	"batch_file_ops": `  demo ops batch_file_ops --atomic --operations '[
    {"operation":"copy_file","path":"a.txt","config":{"destination_path":"b.txt"}},
    {"operation":"delete_file","path":"a.txt"}]'`,
}

func (a *app) opsCommand() *cobra.Command {
	flags := new(opsFlags)
	cmd := &cobra.Command{
		Use:   "ops OPERATION [PATH]",
		Short: "Look at files and change them with the file operations",
		Long: `ops calls one operation of the file operations' hub, as a model would, and
shows what it gives: tables and colours on a terminal, the hub's JSON object
with --json.

Every argument of an operation has a flag of its own (demo ops view_file
--help); --config takes them as one JSON object, or - for one on standard
input, and flags count before it.

A change is shown first and asked about; the answer, y or n, is read from
standard input, unless the arguments were. --yes allows it beforehand.
Overwriting takes the SHA-256 of what is there, which a refusal names, or
--force-overwrite. What is changed is backed up in .fileops-backups beside it.`,
		Example: `  demo ops file_tree . --max-depth 2
  demo ops search_files . --query TODO --file-types go --context-lines 1
  demo ops view_file main.go --start-line 40 --end-line 60
  demo ops search_files . --config '{"query":"func \\w+","is_regex":true}' --json
  demo ops edit_file notes.txt --replacements '[{"old_content":"teh","new_content":"the"}]'
  demo ops rollback_file notes.txt --backup-id last --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name an operation; demo ops --help lists them")
			}
			return noCommand(cmd, args)
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // Args has refused every call
	}
	p := cmd.PersistentFlags()
	p.StringVarP(&flags.cwd, "cwd", "C", ".", "where relative paths start, a `DIR`")
	p.StringVar(&flags.root, "sandbox-root", "", "confine the operation to a `DIR`; relative paths then start there")
	p.StringVar(&flags.config, "config", "", "the arguments as a `JSON` object, or - to read it from standard input")
	p.BoolVar(&flags.json, "json", false, "print the hub's result as one JSON object")
	p.BoolVar(&flags.yes, "yes", false, "allow the change without asking")
	for _, op := range fileops.Operations() {
		cmd.AddCommand(a.operationCommand(op, flags))
	}
	return cmd
}

func (a *app) operationCommand(op fileops.Operation, flags *opsFlags) *cobra.Command {
	about := forPeople(op.About, op)
	use, most := op.Name, 0
	if op.Path != "" {
		use, most = op.Name+" [PATH]", 1
	}
	cmd := &cobra.Command{
		Use:     use,
		Short:   firstSentence(about),
		Long:    strings.Join(wrapped(about, helpWidth), "\n"),
		Example: opsExamples[op.Name],
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > most {
				return usage("%s takes at most %d argument; the others are flags", op.Name, most)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := a.opsConfig(cmd, op, flags)
			if err != nil {
				return err
			}
			call := map[string]any{"operation": op.Name}
			switch {
			case len(args) > 0:
				call["path"] = args[0]
			case op.Name == "file_tree" || op.Name == "list_directory":
				call["path"] = "."
			}
			if len(config) > 0 {
				call["config"] = config
			}
			return a.operate(cmd.Context(), op, flags, call)
		},
	}
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	for _, arg := range op.Arguments {
		if arg.Name != op.Path {
			addArgument(cmd.Flags(), op, arg)
		}
	}
	return cmd
}

// forPeople puts what a description tells a model into the words of a command
// line. The cursors of a result are shown as the flag that follows them.
func forPeople(about string, op fileops.Operation) string {
	if i := strings.Index(about, "Follow "); i >= 0 {
		about = about[:i] + "The output ends with the flag that shows more."
	}
	return withFlags(about, op)
}

func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// addArgument adds the flag of an argument. What it is set to is read back by
// its type, so the defaults here are only what help shows.
func addArgument(flags *pflag.FlagSet, op fileops.Operation, arg fileops.Argument) {
	about := withFlags(arg.About, op)
	if arg.Enum != nil {
		about += " One of " + strings.Join(arg.Enum, ", ") + "."
	}
	if arg.Required {
		about += " Must be given."
	}
	name := strings.ReplaceAll(arg.Name, "_", "-")
	switch arg.Type {
	case "integer":
		flags.Int64(name, 0, about)
	case "boolean":
		flags.Bool(name, false, about)
	case "array":
		flags.StringArray(name, nil, about+" Repeat the flag for more.")
	case "string":
		flags.String(name, "", about)
	default:
		flags.String(name, "", about+" As `JSON`.")
	}
	flags.Lookup(name).DefValue = zeroText(arg.Type)
}

// zeroText is the default that help shows as none.
func zeroText(kind string) string {
	switch kind {
	case "integer":
		return "0"
	case "boolean":
		return "false"
	case "array":
		return "[]"
	}
	return ""
}

// opsConfig joins --config and the flags of the arguments.
func (a *app) opsConfig(cmd *cobra.Command, op fileops.Operation, flags *opsFlags) (map[string]any, error) {
	config := map[string]any{}
	if cmd.Flags().Changed("config") {
		text := flags.config
		if text == "-" {
			var err error
			if text, err = a.readInput(cmd.Context()); err != nil {
				return nil, err
			}
		}
		if err := decodeJSON(text, &config); err != nil || config == nil {
			return nil, usage("--config must be a JSON object: %v", reason(err))
		}
	}
	for _, arg := range op.Arguments {
		name := strings.ReplaceAll(arg.Name, "_", "-")
		if arg.Name == op.Path || !cmd.Flags().Changed(name) {
			continue
		}
		v, err := argumentValue(cmd.Flags(), name, arg.Type)
		if err != nil {
			return nil, err
		}
		config[arg.Name] = v
	}
	return config, nil
}

func argumentValue(flags *pflag.FlagSet, name, kind string) (any, error) {
	switch kind {
	case "integer":
		return flags.GetInt64(name)
	case "boolean":
		return flags.GetBool(name)
	case "array":
		return flags.GetStringArray(name)
	case "string":
		return flags.GetString(name)
	}
	text, err := flags.GetString(name)
	if err != nil {
		return nil, err
	}
	var v any
	if err := decodeJSON(text, &v); err != nil {
		return nil, usage("--%s must be JSON: %v", name, reason(err))
	}
	return v, nil
}

// decodeJSON reads one JSON value and keeps numbers as they are spelled.
func decodeJSON(text string, into any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("more than one value")
	}
	return nil
}

func reason(err error) string {
	if err == nil {
		return "it is null"
	}
	return err.Error()
}

// operate makes a call of the hub and shows what came of it.
func (a *app) operate(ctx context.Context, op fileops.Operation, flags *opsFlags, call map[string]any) (err error) {
	root := ""
	if flags.root != "" {
		if root, err = existing(flags.root, "--sandbox-root"); err != nil {
			return err
		}
	}
	var terminal sync.Mutex // the spinner and the question share it
	spinner := term.NewSpinner(a.errors, &terminal)
	defer spinner.Stop()
	w, err := openWorkspaceWith(ctx, flags.cwd, func(o *deploy.Options) []plug.Plugin {
		// What has been seen counts in a session, and this is one call.
		o.Policy = nil
		o.Approval = &approve.Config{}
		o.FileOps = &fileops.Config{SandboxRoot: root, Progress: func(operation string, seen int) {
			terminal.Lock()
			defer terminal.Unlock()
			spinner.Update(fmt.Sprintf("%s: %d seen", operation, seen))
		}}
		return []plug.Plugin{approve.Answerer("terminal", a.opsAnswer(flags.yes, spinner, &terminal))}
	})
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, w.close(ctx)) }()
	terminal.Lock()
	spinner.Show(op.Name)
	terminal.Unlock()
	o, err := w.call(ctx, fileops.HubName, call)
	terminal.Lock()
	spinner.Hide()
	terminal.Unlock()
	if err != nil {
		return err
	}
	return wrongCall(a.showOperation(o, op, flags))
}

// wrongCall makes a call whose arguments the hub refused a wrong command line.
func wrongCall(err error) error {
	var f *failure
	if errors.As(err, &f) && f.code == "INVALID_ARGUMENTS" {
		return &failure{status: statusUsage, code: f.code, message: f.message}
	}
	return err
}

// opsAnswer answers the questions of an operation: yes where that was said
// beforehand, else what standard input says.
func (a *app) opsAnswer(yes bool, spinner *term.Spinner, terminal sync.Locker) event.Decider[approval.Question, approval.Outcome] {
	return func(ctx context.Context, q approval.Question, next event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
		if yes {
			return approval.AllowedOnce, nil
		}
		terminal.Lock()
		spinner.Hide()
		terminal.Unlock()
		return a.ask(ctx, q, next)
	}
}
