package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// PolicyConfig configures the policy service. Its zero value works.
type PolicyConfig struct {
	// Mode is the mode of sessions that say nothing else, and of calls without
	// a session. The default is read-only.
	Mode sandbox.Mode
	// Roots are absolute paths of directories that may be changed in every
	// session, beside the session's working directory.
	Roots []string
	// TempDirs are the temp directories, absolute. nil means those of the
	// system: [os.TempDir] and, where there is one, /tmp. An empty list means
	// none.
	TempDirs []string
}

// Policy resolves what a call may change. Make one with [NewPolicy].
type Policy struct {
	mode  sandbox.Mode
	roots []string // of every session
}

var _ sandbox.Policy = (*Policy)(nil)

// NewPolicy returns a policy. A mode that does not exist, or a path that is not
// absolute, is INVALID_ARGS.
func NewPolicy(cfg PolicyConfig) (*Policy, error) {
	if cfg.Mode == "" {
		cfg.Mode = sandbox.DefaultMode
	}
	if !cfg.Mode.Valid() {
		return nil, errs.New(errs.InvalidArgs, fmt.Sprintf("sandbox mode %q does not exist; the modes are %v", cfg.Mode, sandbox.Modes()))
	}
	temp := cfg.TempDirs
	if temp == nil {
		temp = systemTempDirs()
	}
	p := &Policy{mode: cfg.Mode}
	for _, root := range append(append([]string{}, cfg.Roots...), temp...) {
		if !filepath.IsAbs(root) {
			return nil, errs.New(errs.InvalidArgs, fmt.Sprintf("the writable root %q is not an absolute path", root))
		}
		p.roots = append(p.roots, root)
	}
	return p, nil
}

func systemTempDirs() []string {
	dirs := []string{os.TempDir()}
	if runtime.GOOS != "windows" && filepath.Clean(dirs[0]) != "/tmp" {
		dirs = append(dirs, "/tmp")
	}
	return dirs
}

// caller is what the policy needs to know of an actor. A [*tool.Call] is one.
type caller interface{ Session() *session.Session }

// sessionOf returns the session of an actor, or nil.
func sessionOf(actor any) *session.Session {
	switch a := actor.(type) {
	case caller:
		return a.Session()
	case *tool.Agent:
		if a != nil {
			return a.Session
		}
	case *session.Session:
		return a
	}
	return nil
}

// ModeOf implements [sandbox.Policy]: the mode of the session's last
// sandbox/mode event, else the default. An event with a mode that does not
// exist leaves the session read-only.
func (p *Policy) ModeOf(actor any) sandbox.Mode {
	s := sessionOf(actor)
	if s == nil {
		return p.mode
	}
	mode := s.SandboxMode()
	switch {
	case mode == "":
		return p.mode
	case !mode.Valid():
		return sandbox.ReadOnly
	}
	return mode
}

// Access implements [sandbox.Policy]. A grant counts for the call it was given
// to, and only when it widens the call's own mode.
func (p *Policy) Access(ctx context.Context, actor any, grant *sandbox.Grant) (sandbox.Access, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Access{}, errs.Wrap(errs.FSAborted, "the call was aborted", context.Cause(ctx))
	}
	mode := p.ModeOf(actor)
	if grant != nil && servesCall(grant, actor) && grant.Mode.Wider(mode) {
		mode = grant.Mode
	}
	access := sandbox.Access{Mode: mode}
	if mode != sandbox.WorkspaceWrite {
		return access, nil
	}
	roots := make([]string, 0, len(p.roots)+1)
	if s := sessionOf(actor); s != nil && filepath.IsAbs(s.Cwd()) {
		roots = append(roots, s.Cwd())
	}
	access.Roots = append(roots, p.roots...)
	return access, nil
}

func servesCall(grant *sandbox.Grant, actor any) bool {
	call, ok := actor.(*tool.Call)
	return !ok || call != nil && call.ID == grant.CallID
}

// describe is what a model is told of its session's mode.
func (p *Policy) describe(actor any) string {
	const heading = "File sandbox: "
	switch mode := p.ModeOf(actor); mode {
	case sandbox.ReadOnly:
		return heading + string(mode) + ". Files can be read everywhere and changed nowhere."
	case sandbox.FullAccess:
		return heading + string(mode) + ". File changes are not restricted."
	default:
		access, err := p.Access(context.Background(), actor, nil)
		if err != nil {
			return ""
		}
		var roots []string
		for _, r := range access.Roots {
			roots = append(roots, vfs.DisplayName(filepath.Clean(r)))
		}
		if len(roots) == 0 {
			return heading + string(mode) + ". There is no writable directory."
		}
		return heading + string(mode) + ". Files can be read everywhere and changed below " + strings.Join(roots, ", ") + "."
	}
}

// PolicyName is the name of the policy plugin.
const PolicyName = "sandbox-policy"

// sectionOrder puts the section behind what plugins say of their tools.
const sectionOrder = 200

// PolicyPlugin provides the service [sandbox.Policy] and tells each session's
// model its mode, in the section "sandbox:policy" of the runtime context.
func PolicyPlugin(cfg PolicyConfig) plug.Plugin {
	return plug.Plugin{
		Name:     PolicyName,
		Services: []plug.Declaration{plug.Provides[sandbox.Policy]()},
		Options: fx.Module(PolicyName,
			fx.Provide(func() (*Policy, sandbox.Policy, error) {
				p, err := NewPolicy(cfg)
				return p, p, err
			}),
			fx.Invoke(func(scope *plug.Scope, prompts *prompt.Registry, p *Policy) error {
				_, err := prompts.AddSection(scope, prompt.Section{Name: "sandbox:policy", Order: sectionOrder, Text: p.describe})
				return err
			})),
	}
}
