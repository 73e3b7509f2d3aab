package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// call returns a call of a session at cwd whose log sets the given modes.
func call(t *testing.T, cwd string, modes ...sandbox.Mode) *tool.Call {
	t.Helper()
	s, err := session.NewMemoryStore(session.Config{}).Create(context.Background(), session.Header{Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, m := range modes {
		if _, err := s.Append(session.SandboxMode{Mode: m}.Event()); err != nil {
			t.Fatal(err)
		}
	}
	return &tool.Call{ID: "c1", Agent: &tool.Agent{Session: s}}
}

func TestPolicyAccess(t *testing.T) {
	const ro, ww, full = sandbox.ReadOnly, sandbox.WorkspaceWrite, sandbox.FullAccess
	grant := func(m sandbox.Mode, id string) *sandbox.Grant { return &sandbox.Grant{Mode: m, CallID: id} }
	tests := []struct {
		name  string
		cfg   PolicyConfig
		actor any
		grant *sandbox.Grant
		want  sandbox.Access
	}{
		{name: "nobody", want: sandbox.Access{Mode: ro}},
		{name: "no call", actor: (*tool.Call)(nil), want: sandbox.Access{Mode: ro}},
		{name: "call without a session", actor: &tool.Call{}, cfg: PolicyConfig{Mode: ww}, want: sandbox.Access{Mode: ww, Roots: []string{"/t"}}},
		{name: "default", actor: call(t, "/w"), want: sandbox.Access{Mode: ro}},
		{name: "configured", actor: call(t, "/w"), cfg: PolicyConfig{Mode: ww, Roots: []string{"/x"}}, want: sandbox.Access{Mode: ww, Roots: []string{"/w", "/x", "/t"}}},
		{name: "session narrower", actor: call(t, "/w", ro), cfg: PolicyConfig{Mode: full}, want: sandbox.Access{Mode: ro}},
		{name: "session wider", actor: call(t, "/w", full), want: sandbox.Access{Mode: full}},
		{name: "last of several", actor: call(t, "/w", full, ro, ww), want: sandbox.Access{Mode: ww, Roots: []string{"/w", "/t"}}},
		{name: "session itself", actor: call(t, "/w", ww).Agent.Session, want: sandbox.Access{Mode: ww, Roots: []string{"/w", "/t"}}},
		{name: "agent", actor: call(t, "/w", ww).Agent, want: sandbox.Access{Mode: ww, Roots: []string{"/w", "/t"}}},
		{name: "something else", actor: 7, want: sandbox.Access{Mode: ro}},
		{name: "grant", actor: call(t, "/w"), grant: grant(ww, "c1"), want: sandbox.Access{Mode: ww, Roots: []string{"/w", "/t"}}},
		{name: "grant of another call", actor: call(t, "/w"), grant: grant(ww, "c2"), want: sandbox.Access{Mode: ro}},
		{name: "grant that narrows", actor: call(t, "/w", full), grant: grant(ww, "c1"), want: sandbox.Access{Mode: full}},
		{name: "grant of nonsense", actor: call(t, "/w"), grant: grant("root", "c1"), want: sandbox.Access{Mode: ro}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.TempDirs = []string{"/t"}
			p, err := NewPolicy(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Access(context.Background(), tt.actor, tt.grant)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, _ := NewPolicy(PolicyConfig{Mode: full})
	_, err := p.Access(ctx, nil, nil)
	wantCode(t, "aborted", err, errs.FSAborted)
}

func TestPolicyConfig(t *testing.T) {
	for _, cfg := range []PolicyConfig{{Mode: "root"}, {Roots: []string{"relative"}}, {TempDirs: []string{""}}} {
		if _, err := NewPolicy(cfg); !errors.Is(err, errs.InvalidArgs) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	p, err := NewPolicy(PolicyConfig{Mode: sandbox.WorkspaceWrite})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(os.TempDir(), p.roots[0]); diff != "" {
		t.Errorf("temp directory: want - got +\n%s", diff)
	}
}

// TestPlugins composes both, and takes the policy away from under the
// provider.
func TestPlugins(t *testing.T) {
	ctx := context.Background()
	base := tempDir(t)
	world(t, base, "ws/", "out/")
	ws := filepath.Join(base, "ws")

	_, err := harness.Compose(ctx, Plugin(fslocal.Config{}))
	if !errors.Is(err, errs.MissingService) || !strings.Contains(err.Error(), "sandbox") || !strings.Contains(err.Error(), "Policy") {
		t.Errorf("without the policy service: %v", err)
	}

	d, err := harness.Compose(ctx, Plugin(fslocal.Config{Cwd: ws}), PolicyPlugin(PolicyConfig{TempDirs: []string{}}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop(ctx)
	fs, release, err := plug.ServiceOf[vfs.FileSystem](d.Context()).Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if !vfs.Confines(fs) {
		t.Error("the provider does not say that it confines")
	}
	c, _ := vfs.As[vfs.Confiner](fs)
	if !strings.Contains(c.Fence(), "handles") {
		t.Errorf("the fence is %q", c.Fence())
	}
	write := func(actor any, path string) error {
		_, err := fs.WriteText(ctx, target(t, fs, path), "x", vfs.Options{Actor: actor})
		return err
	}
	session := call(t, ws, sandbox.WorkspaceWrite)
	wantCode(t, "inside", write(session, "a"), "")
	wantCode(t, "outside", write(session, "../out/a"), errs.SandboxDenied)
	wantCode(t, "another session", write(call(t, ws), "b"), errs.SandboxDenied)
	wantCode(t, "the other's own workspace", write(call(t, filepath.Join(base, "out"), sandbox.WorkspaceWrite), "a"), errs.SandboxDenied)

	text, _, err := d.Prompt().Context(session)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "workspace-write") || !strings.Contains(text, ws) {
		t.Errorf("the runtime context is %q", text)
	}

	if err := d.Unmount(ctx, PolicyName); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "without the policy", write(session, "later"), errs.ServiceUnavailable)
	release()
	if entries, _ := os.ReadDir(ws); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}

// TestPolicyGone: while no policy is mounted, nothing may be changed.
func TestPolicyGone(t *testing.T) {
	base := tempDir(t)
	f := newFS(t, base, service{plug.NewService[sandbox.Policy]()})
	_, err := f.WriteText(context.Background(), target(t, f, "p/a"), "x", vfs.Options{})
	wantCode(t, "write", err, errs.ServiceUnavailable)
	if mode := (service{plug.NewService[sandbox.Policy]()}).ModeOf(nil); mode != sandbox.ReadOnly {
		t.Errorf("the mode is %s", mode)
	}
	if entries, _ := os.ReadDir(base); len(entries) > 0 {
		t.Errorf("%v", entries)
	}
}

func TestDescribe(t *testing.T) {
	tests := []struct {
		mode  sandbox.Mode
		actor any
		want  string
	}{
		{"", nil, "read-only"},
		{"", call(t, "/w", sandbox.FullAccess), "not restricted"},
		{"", call(t, "/w\n", sandbox.WorkspaceWrite), `below /w\n.`},
		{sandbox.WorkspaceWrite, nil, "no writable directory"},
	}
	for _, tt := range tests {
		p, err := NewPolicy(PolicyConfig{Mode: tt.mode, TempDirs: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.describe(tt.actor); !strings.Contains(got, tt.want) {
			t.Errorf("%q does not say %q", got, tt.want)
		}
	}
}
