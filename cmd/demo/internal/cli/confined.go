package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fslocal"
	confine "github.com/bridle-go/bridle/plugins/sandbox"
)

// confinedFlags are those of a call in a sandbox.
type confinedFlags struct {
	sandbox  string
	approve  string
	landlock bool

	// walls are the directories that the kernel confines the process to; nil
	// while it does not.
	walls []string
}

func (f *confinedFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.sandbox, "sandbox", "", "confine the change, in a `MODE`: "+modes())
	flags.StringVar(&f.approve, "approve", "", "`ask|never`: what happens to a change that the sandbox denies (default ask)")
	flags.BoolVar(&f.landlock, "landlock", false, "have the kernel confine this whole process, too, to the workspace and the temp directories")
}

// whySandbox explains in the help of each command what --sandbox shows.
const whySandbox = `
--sandbox confines the change: read-only allows none, workspace-write those in
the workspace and the temp directories. A change that is denied is tried once
more with a wider mode, which somebody has to approve: the question shows the
difference, and what is approved is what is done. --landlock is a second wall
around the process that no approval opens (Linux).`

func (f *confinedFlags) check() error {
	if err := checkSandbox(f.sandbox); err != nil {
		return err
	}
	if f.sandbox == "" && (f.approve != "" || f.landlock) {
		return usage("--approve and --landlock need --sandbox MODE")
	}
	return checkApprove(f.approve)
}

// compose puts the sandbox into a deployment.
func (f *confinedFlags) compose(a *app, o *deploy.Options) []plug.Plugin {
	if f.sandbox == "" {
		return nil
	}
	o.Sandbox = &confine.PolicyConfig{Mode: sandbox.Mode(f.sandbox)}
	o.Approval = &approve.Config{Policy: approval.Mode(f.approve)}
	return []plug.Plugin{approve.Answerer("terminal", a.ask)}
}

// wall restricts the process where that was asked for, and says how far that
// holds. It cannot be undone.
func (f *confinedFlags) wall(a *app, workspace string) error {
	if !f.landlock {
		return nil
	}
	roots := []string{workspace, os.TempDir()}
	if runtime.GOOS != "windows" && filepath.Clean(roots[1]) != "/tmp" {
		roots = append(roots, "/tmp")
	}
	status, err := confine.Landlock(roots)
	if err != nil {
		return failed(codeFailed, "the kernel refuses to confine the process: %v", err)
	}
	if status != confine.Unavailable {
		f.walls = roots
	}
	what := "the kernel confines this process to changes below " + strings.Join(roots, ", ")
	switch status {
	case confine.Partial:
		what += ", but is too old to refuse everything else"
	case confine.Unavailable:
		what = "this system cannot confine the process; the sandbox alone holds"
	}
	fmt.Fprintf(a.errors, "landlock: %s: %s\n", a.errors.Paint(term.Bold, string(status)), term.Line(what))
	return nil
}

// walled reports whether the kernel would refuse a change of a file whatever is
// approved, so that nobody need be asked.
func (f *confinedFlags) walled(cwd, path string) bool {
	if f.walls == nil {
		return false
	}
	if !filepath.IsAbs(path) {
		path = cwd + string(filepath.Separator) + path
	}
	at, err := fslocal.Physical(path)
	if err != nil {
		return false
	}
	for _, wall := range f.walls {
		if dir, err := fslocal.Physical(wall); err == nil {
			if _, in := fslocal.Below(dir, at); in {
				return false
			}
		}
	}
	return true
}

// escalated makes a call once more, with a mode that allows it and a reason,
// after the sandbox has denied it.
func (w *workspace) escalated(ctx context.Context, name string, arguments map[string]any, mode sandbox.Mode) (outcome, error) {
	wider := sandbox.FullAccess
	if path, _ := arguments["file_path"].(string); mode == sandbox.ReadOnly && within(w.agent.Session.Cwd(), path) {
		wider = sandbox.WorkspaceWrite
	}
	again := map[string]any{
		"sandbox_permissions": string(wider),
		"justification":       "The change was asked for on the command line, and the sandbox denied it in the mode " + string(mode) + ".",
	}
	for k, v := range arguments {
		again[k] = v
	}
	return w.call(ctx, name, again)
}

// within reports whether a path is below a directory by its words alone. It
// decides what to ask for; the sandbox decides what is allowed.
func within(dir, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func isDenied(r tool.Result) bool {
	return r.IsError && r.Error != nil && r.Error.Code == string(errs.SandboxDenied)
}

// denial shows a call that the sandbox denied.
func (a *app) denial(o outcome) {
	card := o.definition.PresentCall(o.arguments)
	card.Text = o.result.Text()
	a.render.Failure(card, string(errs.SandboxDenied))
	fmt.Fprintln(a.out)
}
