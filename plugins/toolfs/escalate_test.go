package toolfs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	contract "github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/sandbox"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit"
)

// newFence is a world whose provider confines every session to reading. answer
// stands for the person who is asked.
func newFence(t *testing.T, answer event.Decider[approval.Question, approval.Outcome]) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plugins := []plug.Plugin{
		sandbox.Plugin(fslocal.Config{Cwd: dir}), sandbox.PolicyPlugin(sandbox.PolicyConfig{TempDirs: []string{}}),
		fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{}), approve.Plugin(approve.Config{}),
	}
	if answer != nil {
		plugins = append(plugins, approve.Answerer("person", answer))
	}
	return &world{testkit.Compose(t, plugins...), t, dir}
}

type next = event.Next[approval.Question, approval.Outcome]

func allow(context.Context, approval.Question, next) (approval.Outcome, error) {
	return approval.AllowedOnce, nil
}

func wider(a args) args {
	a["sandbox_permissions"], a["justification"] = "workspace-write", "the task needs it"
	return a
}

func sum(s string) string {
	d := sha256.Sum256([]byte(s))
	return hex.EncodeToString(d[:])
}

// The person is shown the change itself, and what is approved is on record.
func TestQuestionShowsTheRealChange(t *testing.T) {
	var asked approval.Question
	var diff string
	w := newFence(t, func(ctx context.Context, q approval.Question, _ next) (approval.Outcome, error) {
		asked = q
		var err error
		diff, err = q.Diff(ctx)
		return approval.AllowedOnce, err
	})
	w.put("a.txt", "\ufeffone\r\ntwo\r\n")
	a := w.agent("s")
	testkit.MustCall(t, w.Deployment, a, "read", args{"file_path": "a.txt"})
	testkit.MustCall(t, w.Deployment, a, "edit", wider(args{"file_path": "a.txt", "old_string": "two", "new_string": "2"}))

	after := "\ufeffone\r\n2\r\n"
	if got := w.get("a.txt"); got != after {
		t.Errorf("file %q", got)
	}
	if asked.ToolName != "edit" || asked.Reason != "escalate sandbox to workspace-write: the task needs it" || asked.Path != filepath.Join(w.dir, "a.txt") {
		t.Errorf("asked %+v", asked.Request)
	}
	if asked.Before != sum("\ufeffone\r\ntwo\r\n") || asked.After != sum(after) {
		t.Error("the digests are not those of the bytes on disk")
	}
	if !strings.Contains(diff, "-two\r\n+2\r\n") {
		t.Errorf("diff %q", diff)
	}
	var logged session.ApprovalAsked
	for e, err := range a.Session.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == session.TypeApprovalAsked {
			if err := e.Decode(&logged); err != nil {
				t.Fatal(err)
			}
		}
	}
	if logged.Before != asked.Before || logged.After != asked.After {
		t.Errorf("logged %+v", logged)
	}
}

// What is approved is what is done: if the file is no longer what the person
// saw, nothing happens.
func TestApprovalOfSomethingElseIsStale(t *testing.T) {
	tests := []struct {
		name   string
		file   string // "" for none
		meddle func(w *world)
		call   string
		args   args
		left   string
	}{
		{"file changed", "old\n", func(w *world) { w.put("a.txt", "sly\n") }, "write", args{"content": "new\n"}, "sly\n"},
		{"file appeared", "", func(w *world) { w.put("a.txt", "sly\n") }, "write", args{"content": "new\n"}, "sly\n"},
		{"file changed under an edit", "old\n", func(w *world) { w.put("a.txt", "old, sly\n") }, "edit", args{"old_string": "old", "new_string": "new"}, "old, sly\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var w *world
			w = newFence(t, func(context.Context, approval.Question, next) (approval.Outcome, error) {
				test.meddle(w)
				return approval.AllowedOnce, nil
			})
			if test.file != "" {
				w.put("a.txt", test.file)
			}
			a := w.agent("s")
			w.call(a, "read", args{"file_path": "a.txt"})
			test.args["file_path"] = "a.txt"
			r := w.call(a, test.call, wider(test.args))
			if code := codeOf(r.Error); code != "FS_STALE_VERSION" && code != "FS_NOT_OBSERVED" {
				t.Errorf("%s %s", code, r.Text())
			}
			if got := w.get("a.txt"); got != test.left {
				t.Errorf("file %q, want it left as %q", got, test.left)
			}
		})
	}
}

// A grant serves the one call it was given to.
func TestGrantServesOneCall(t *testing.T) {
	asks := 0
	w := newFence(t, func(context.Context, approval.Question, next) (approval.Outcome, error) {
		asks++
		return approval.AllowedOnce, nil
	})
	a := w.agent("s")
	testkit.MustCall(t, w.Deployment, a, "write", wider(args{"file_path": "d/a.txt", "content": "1"}))
	if r := w.call(a, "write", args{"file_path": "d/a.txt", "content": "2"}); codeOf(r.Error) != "FS_SANDBOX_DENIED" {
		t.Errorf("%+v %s", r.Error, r.Text())
	}
	if asks != 1 || w.get("d/a.txt") != "1" {
		t.Errorf("%d asks, file %q", asks, w.get("d/a.txt"))
	}
}

// Every way in which a question is not answered with yes has its own words,
// and nothing is done.
func TestEveryNoHasItsOwnWords(t *testing.T) {
	gives := func(o approval.Outcome) event.Decider[approval.Question, approval.Outcome] {
		return func(context.Context, approval.Question, next) (approval.Outcome, error) { return o, nil }
	}
	never := session.ApprovalPolicy{Policy: approval.Never}.Event()
	seen := map[string]string{}
	check := func(name string, w *world, a *tool.Agent, code string) {
		t.Helper()
		r := w.call(a, "write", wider(args{"file_path": "d/a.txt", "content": "1"}))
		if codeOf(r.Error) != code {
			t.Errorf("%s: %+v %s", name, r.Error, r.Text())
		}
		text := strings.ReplaceAll(r.Text(), w.dir, "")
		if other, taken := seen[text]; taken && other != name {
			t.Errorf("%s and %s are both told %q", name, other, text)
		}
		seen[text] = name
		if entries, err := os.ReadDir(w.dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: left behind: %v, %v", name, entries, err)
		}
	}
	w := newFence(t, gives(approval.Rejected))
	check("rejected", w, w.agent("s"), "APPROVAL_REJECTED")
	w = newFence(t, gives(approval.Cancelled))
	check("cancelled", w, w.agent("s"), "APPROVAL_CANCELLED")
	w = newFence(t, nil)
	check("nobody there", w, w.agent("s"), "APPROVAL_UNAVAILABLE")
	check("no agent", w, nil, "APPROVAL_UNAVAILABLE")
	if err := w.Unmount(t.Context(), "approve"); err != nil {
		t.Fatal(err)
	}
	check("no approval service", w, w.agent("s"), "APPROVAL_UNAVAILABLE")
	w = newFence(t, allow)
	check("rejected", w, testkit.Agent(t, w.dir, never), "APPROVAL_REJECTED")
}

// A mode that is not wider than the session's own changes nothing and asks
// nobody.
func TestNobodyIsAskedForWhatIsAllowed(t *testing.T) {
	w := newFence(t, func(context.Context, approval.Question, next) (approval.Outcome, error) {
		t.Error("somebody was asked")
		return approval.Rejected, nil
	})
	a := testkit.Agent(t, w.dir, session.SandboxMode{Mode: contract.WorkspaceWrite}.Event())
	testkit.MustCall(t, w.Deployment, a, "write", wider(args{"file_path": "a.txt", "content": "1"}))
	r := w.call(a, "write", wider(args{"file_path": "../a.txt", "content": "1"}))
	if codeOf(r.Error) != "FS_SANDBOX_DENIED" || strings.Contains(r.Text(), `"workspace-write"`) || !strings.Contains(r.Text(), `"danger-full-access"`) {
		t.Errorf("the advice offers what does not help: %s", r.Text())
	}
}

// A confining provider whose policy has left allows nothing.
func TestNothingIsChangedWithoutAPolicy(t *testing.T) {
	w := newFence(t, nil)
	if err := w.Unmount(t.Context(), sandbox.PolicyName); err != nil {
		t.Fatal(err)
	}
	r := w.call(w.agent("s"), "write", args{"file_path": "a.txt", "content": "1"})
	if r.Error == nil {
		t.Fatal("a change without a policy was made")
	}
	if entries, err := os.ReadDir(w.dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
