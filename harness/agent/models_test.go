package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/script"
)

// TestAgentWithoutModels fails the turn at once, says what to mount, and goes
// on once that is done.
func TestAgentWithoutModels(t *testing.T) {
	d := testkit.Compose(t)
	s, err := session.NewMemory(session.Header{ID: "s", Cwd: "/w"}, session.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Agent(s, agent.Config{Provider: "p", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Ask(t.Context(), "hello")
	if !errors.Is(err, errs.ServiceUnavailable) || !strings.Contains(err.Error(), "plugins/models") || !strings.Contains(err.Error(), "adapter") {
		t.Errorf("Ask gave %v, want %s and what to mount", err, errs.ServiceUnavailable)
	}
	if out.Reason.Kind != session.EndError || out.Reason.Code != string(errs.ServiceUnavailable) {
		t.Errorf("the turn ended with %+v", out.Reason)
	}
	model := script.New(script.Config{Provider: "p"}, script.Step{Text: "here I am"})
	if err := d.Mount(t.Context(), models(), model.Plugin()); err != nil {
		t.Fatal(err)
	}
	if out, err := a.Ask(t.Context(), "and now?"); err != nil || out.Text != "here I am" {
		t.Errorf("after mounting them Ask gave %+v, %v", out, err)
	}
}
