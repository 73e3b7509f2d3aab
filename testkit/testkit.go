// Package testkit helps to test plugins and deployments.
//
//	d := testkit.Compose(t, memfs.Plugin(memfs.Config{}), toolfs.Plugin(toolfs.Config{}))
//	agent := testkit.Agent(t, memfs.DefaultCwd)
//	r := testkit.Call(t, d, agent, "read", map[string]any{"file_path": "a.txt"})
//
// The packages beneath it:
//
//	memfs     a filesystem provider in memory
//	vfstest   the conformance suite of filesystem providers
//	script    a language model that says what was written down
//	scenario  conformance scenarios, played on a deployment
//	replay    recorded sessions, run again and compared
//
// testkit imports the harness and no plugin, so plugins may import it from
// their tests.
package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// StopTimeout is how long a deployment may take to stop.
const StopTimeout = 10 * time.Second

// Compose starts a deployment for the length of a test. It fails the test when
// the deployment does not start, and when it does not stop cleanly in time or
// leaves a plugin, a tool or a prompt segment behind.
func Compose(t testing.TB, plugins ...plug.Plugin) *harness.Deployment {
	t.Helper()
	d, err := harness.Compose(t.Context(), plugins...)
	if err != nil {
		t.Fatalf("composing the deployment: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), StopTimeout)
		defer cancel()
		if err := d.Stop(ctx); err != nil {
			t.Errorf("stopping the deployment: %v", err)
		}
		if left := d.Plugins(); len(left) > 0 {
			t.Errorf("still mounted after the stop: %v", left)
		}
		for _, def := range d.Tools().Definitions(nil) {
			t.Errorf("tool %s is still registered after the stop", def.Name)
		}
		for _, s := range d.Prompt().Segments() {
			t.Errorf("prompt segment %s is still there after the stop", s.Name)
		}
	})
	return d
}

// Agent returns an agent with a session in memory, in the directory cwd, that
// has the given events and an open turn.
func Agent(t testing.TB, cwd string, events ...session.Event) *tool.Agent {
	t.Helper()
	s, err := session.NewMemory(session.Header{Cwd: cwd}, session.Config{}, events...)
	if err != nil {
		t.Fatalf("opening a session: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	if s.OpenTurn() == 0 {
		turn := 1
		s.View(func(state *session.State) { turn = state.LastTurn() + 1 })
		if _, err := s.Append(session.TurnStart{Turn: turn}.Event()); err != nil {
			t.Fatalf("opening a turn: %v", err)
		}
	}
	return &tool.Agent{Session: s}
}

var calls atomic.Int64

// Call runs one tool call and returns its result, which may be a failure. args
// is the text of the arguments, or a value that is encoded as JSON. A nil
// agent makes a call without a session.
func Call(t testing.TB, d *harness.Deployment, agent *tool.Agent, name string, args any) tool.Result {
	t.Helper()
	text, ok := args.(string)
	if !ok {
		encoded, err := json.Marshal(args)
		if err != nil {
			t.Fatalf("arguments of %s: %v", name, err)
		}
		text = string(encoded)
	}
	return d.Tools().Execute(t.Context(), tool.Invocation{
		ID: fmt.Sprintf("call-%d", calls.Add(1)), Name: name, Arguments: text, Agent: agent,
	})
}

// MustCall is [Call] for a call that must succeed.
func MustCall(t testing.TB, d *harness.Deployment, agent *tool.Agent, name string, args any) tool.Result {
	t.Helper()
	r := Call(t, d, agent, name, args)
	if r.IsError {
		t.Fatalf("%s failed with %q: %s", name, CodeOf(r), r.Text())
	}
	return r
}

// CodeOf returns the code of a failed call, or "".
func CodeOf(r tool.Result) errs.Code {
	if r.Error == nil {
		return ""
	}
	return errs.Code(r.Error.Code)
}

// NoLeaks fails the test when, at its end, goroutines run that did not run
// when NoLeaks was called. Call it first: what the test cleans up later counts
// as stopped. It cannot be used in tests that run in parallel.
func NoLeaks(t testing.TB) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}
