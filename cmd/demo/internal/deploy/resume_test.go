package deploy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit/script"
)

// place is a workspace with a store of sessions.
type place struct {
	workspace, sessions string
}

func newPlace(t *testing.T, files map[string]string) place {
	t.Helper()
	p := place{workspace: memDir(t), sessions: filepath.Join(memDir(t), "sessions")}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(p.workspace, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// sitting is one process's worth of a session.
type sitting struct {
	*agent.Agent
	d     *harness.Deployment
	model *script.Model
}

// sit composes a new deployment and opens the session "s", or makes it.
func (p place) sit(t *testing.T, steps ...script.Step) *sitting {
	t.Helper()
	model := script.New(script.Config{Provider: "p"}, steps...)
	plugins := append(deploy.Plugins(deploy.Default(p.workspace)), registryPlugin(), model.Plugin())
	d := compose(t, plugins...)
	store := session.NewFileStore(p.sessions, session.Config{MayRetry: d.Tools().MayRetry})
	s, err := store.Open(t.Context(), "s")
	if errors.Is(err, session.NotFound) {
		s, err = store.Create(t.Context(), session.Header{ID: "s", Cwd: p.workspace})
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Agent(s, agent.Config{Provider: "p", Model: "m", Retry: agent.Retry{Sleep: noSleep}})
	if err != nil {
		t.Fatal(err)
	}
	return &sitting{a, d, model}
}

func (s *sitting) ask(t *testing.T, text string) {
	t.Helper()
	if _, err := s.Ask(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func (s *sitting) end(t *testing.T) {
	t.Helper()
	if err := errors.Join(s.Session().Close(), s.d.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// lastResult is the text of the newest tool result.
func (s *sitting) lastResult() string {
	text := ""
	for _, m := range s.Session().Messages() {
		for _, b := range m.Content {
			if b.Type == llm.ToolResultBlock {
				text = b.Content[0].Text
			}
		}
	}
	return text
}

func (p place) content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.workspace, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// An agent that goes on in another process edits what it read before without
// reading it again, and is refused when the file has changed meanwhile.
func TestResumedAgentKnowsWhatItRead(t *testing.T) {
	p := newPlace(t, map[string]string{"same.txt": "teh end\n", "changed.txt": "teh end\n"})
	first := p.sit(t, script.Step{Calls: []script.Call{read("same.txt"), read("changed.txt")}}, script.Step{Text: "ok"})
	first.ask(t, "look")
	first.end(t)
	if err := os.WriteFile(filepath.Join(p.workspace, "changed.txt"), []byte("teh ebd\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	second := p.sit(t, script.Step{Calls: []script.Call{edit("same.txt", "teh", "the")}}, script.Step{Text: "ok"},
		script.Step{Calls: []script.Call{edit("changed.txt", "teh", "the")}}, script.Step{Text: "ok"})
	defer second.end(t)
	second.ask(t, "fix it")
	if got := p.content(t, "same.txt"); got != "the end\n" {
		t.Errorf("the unchanged file has %q: %s", got, second.lastResult())
	}
	second.ask(t, "fix the other")
	if got := second.lastResult(); !strings.Contains(got, "changed") || !strings.HasPrefix(got, "Error: ") {
		t.Errorf("the edit of the changed file got %q", got)
	}
	if got := p.content(t, "changed.txt"); got != "teh ebd\n" {
		t.Errorf("the changed file has %q", got)
	}
	errorsOf(t, second, "FS_STALE_VERSION")
}

// errorsOf wants the codes of the failed calls of a session.
func errorsOf(t *testing.T, s *sitting, want ...string) {
	t.Helper()
	var got []string
	for e, err := range s.Session().Events() {
		if err != nil {
			t.Fatal(err)
		}
		var b session.ToolResult
		if e.Type == session.TypeToolResult && e.Decode(&b) == nil && b.Error != nil {
			got = append(got, b.Error.Code)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("codes %q, want %q", got, want)
	}
}
