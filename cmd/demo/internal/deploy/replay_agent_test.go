package deploy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/testkit/replay"
	"github.com/bridle-go/bridle/testkit/script"
)

// A session of the agent's whole deployment, on real files in a sandbox, is
// recorded, and replayed by the deployment that its log tells of.
func TestAgentSessionsReplay(t *testing.T) {
	workspace := t.TempDir()
	for name, text := range map[string]string{"a.txt": "alpha\n", "b.txt": "beta\n"} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	yes := approve.Answerer("person", func(context.Context, approval.Question, event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
		return approval.AllowedOnce, nil
	})
	hub := func(args string) script.Call { return script.Call{Name: "file_ops_hub", Arguments: args} }
	wider := script.Call{Name: "edit", Arguments: fmt.Sprintf(
		`{"file_path":"a.txt","old_string":"ALPHA","new_string":"omega","sandbox_permissions":%q,"justification":"The file has to be changed."}`, sandbox.WorkspaceWrite)}
	steps := []script.Step{
		{Calls: []script.Call{read("a.txt"), read("b.txt"), hub(`{"operation":"file_tree","path":"."}`)}},
		{Calls: []script.Call{edit("a.txt", "alpha", "ALPHA"), write("new/deep.txt", "new\n")}},
		{Text: "done"},
		{Calls: []script.Call{edit("a.txt", "ALPHA", "denied"), wider, read("a.txt")}},
		{Text: "done"},
	}
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprintf("whole %v", whole), func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "recording")
			err := replay.Record(t.Context(), folder, replay.Recorder{
				Workspace: workspace, Script: steps, Whole: whole, Agent: agent.Config{Provider: "p", Model: "m"},
				Plugins: func(s replay.Setup) ([]plug.Plugin, error) {
					o := deploy.Agent()
					o.Place(s.Workspace, s.Home)
					return append(deploy.Plugins(o), yes), nil
				},
				Drive: func(ctx context.Context, a *agent.Agent) error {
					if _, err := a.Ask(ctx, "change them"); err != nil {
						return err
					}
					if _, err := a.Session().Append(session.SandboxMode{Mode: sandbox.ReadOnly}.Event()); err != nil {
						return err
					}
					_, err := a.Ask(ctx, "change it again")
					return err
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			rec, err := replay.Load(folder)
			if err != nil {
				t.Fatal(err)
			}
			report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: deploy.Replay})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range report.Differences {
				t.Error(d)
			}
			var denied, allowed int
			for _, c := range report.Calls {
				if c.Recorded.Error != nil && c.Recorded.Error.Code == "FS_SANDBOX_DENIED" {
					denied++
				} else if !c.Recorded.IsError {
					allowed++
				} else {
					t.Errorf("%s: %s", c.Name, c.Recorded.Content)
				}
			}
			if denied != 1 || allowed != len(report.Calls)-1 || len(report.Calls) != 8 {
				t.Errorf("of %d calls %d were denied and %d went well", len(report.Calls), denied, allowed)
			}
			if data, err := os.ReadFile(filepath.Join(workspace, "a.txt")); err != nil || string(data) != "alpha\n" {
				t.Errorf("the workspace was changed: %q, %v", data, err)
			}
		})
	}
}
