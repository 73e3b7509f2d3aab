package toolfs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// Nobody is asked about a change that would be refused in any case: it is
// refused at once, as it would have been without the question.
func TestNobodyIsAskedInVain(t *testing.T) {
	full := func(a args) args {
		a["sandbox_permissions"], a["justification"] = "danger-full-access", "the task needs it"
		return a
	}
	for _, c := range []struct {
		name  string
		setup func(w *world, a *tool.Agent)
		call  string
		args  args
		code  string
		says  string
	}{
		{"a file that was not read", func(w *world, _ *tool.Agent) { w.put("a.txt", "one\n") },
			"write", wider(args{"file_path": "a.txt", "content": "new"}), "FS_NOT_OBSERVED", "read the file"},
		{"a file that has changed since", func(w *world, a *tool.Agent) {
			w.put("a.txt", "one\n")
			w.call(a, "read", args{"file_path": "a.txt"})
			w.put("a.txt", "two\n")
		}, "write", wider(args{"file_path": "a.txt", "content": "new"}), "FS_STALE_VERSION", "re-read"},
		{"an edit of a file that has changed since", func(w *world, a *tool.Agent) {
			w.put("a.txt", "one\n")
			w.call(a, "read", args{"file_path": "a.txt"})
			w.put("a.txt", "one, two\n")
		}, "edit", full(args{"file_path": "a.txt", "old_string": "one", "new_string": "1"}), "FS_STALE_VERSION", "re-read"},
		{"a file that is gone", func(w *world, a *tool.Agent) {
			w.put("a.txt", "one\n")
			w.call(a, "read", args{"file_path": "a.txt"})
			w.remove("a.txt")
		}, "write", wider(args{"file_path": "a.txt", "content": "new"}), "FS_STALE_VERSION", ""},
		{"an edit that leaves no text", func(w *world, a *tool.Agent) {
			w.put("a.txt", "one\n")
			w.call(a, "read", args{"file_path": "a.txt"})
		}, "edit", full(args{"file_path": "a.txt", "old_string": "one", "new_string": "a\x00b"}), "INVALID_ARGS", "not text"},
		{"a directory", func(w *world, _ *tool.Agent) { w.mkdir("d") },
			"write", full(args{"file_path": "d", "content": "new"}), "FS_NOT_REGULAR_FILE", ""},
		{"a file as a directory", func(w *world, _ *tool.Agent) { w.put("a.txt", "one\n") },
			"write", full(args{"file_path": "a.txt/b", "content": "new"}), "FS_NOT_DIRECTORY", ""},
		{"an edit without a match", func(w *world, a *tool.Agent) {
			w.put("a.txt", "one\n")
			w.call(a, "read", args{"file_path": "a.txt"})
		}, "edit", full(args{"file_path": "a.txt", "old_string": "three", "new_string": "3"}), "FS_EDIT_NOT_FOUND", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFence(t, func(context.Context, approval.Question, next) (approval.Outcome, error) {
				t.Error("somebody was asked")
				return approval.AllowedOnce, nil
			})
			a := w.agent("s")
			c.setup(w, a)
			r := w.call(a, c.call, c.args)
			if codeOf(r.Error) != c.code || !strings.Contains(r.Text(), c.says) {
				t.Errorf("%s, want %s: %s", codeOf(r.Error), c.code, r.Text())
			}
			for e := range a.Session.Events() {
				if e.Type == session.TypeApprovalAsked {
					t.Error("a question is in the log")
				}
			}
		})
	}
}

// What is approved is a place, too: where a name leads when it is asked about.
// The person is shown that, and it is in the log; if the name leads elsewhere
// by the time of the write, nothing happens.
func TestApprovalIsForOnePlace(t *testing.T) {
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, swap := range []bool{false, true} {
		var asked approval.Question
		var w *world
		seen, sly := filepath.Join(outside, "seen"), filepath.Join(outside, "sly")
		for _, d := range []string{seen, sly} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w = newFence(t, func(_ context.Context, q approval.Question, _ next) (approval.Outcome, error) {
			asked = q
			if swap {
				if err := os.Rename(seen, seen+"-away"); err != nil {
					t.Error(err)
				}
				if err := os.Symlink(sly, seen); err != nil {
					t.Error(err)
				}
			}
			return approval.AllowedOnce, nil
		})
		w.link(seen, "notes")
		a := w.agent("s")
		r := w.call(a, "write", args{"file_path": "notes/a.txt", "content": "new\n",
			"sandbox_permissions": "danger-full-access", "justification": "the task needs it"})
		want := filepath.Join(seen, "a.txt")
		if asked.Path != filepath.Join(w.dir, "notes/a.txt") || asked.Resolved != want {
			t.Errorf("asked about %q, which leads to %q; want %q", asked.Path, asked.Resolved, want)
		}
		var logged session.ApprovalAsked
		for e := range a.Session.Events() {
			if e.Type == session.TypeApprovalAsked {
				if err := e.Decode(&logged); err != nil {
					t.Fatal(err)
				}
			}
		}
		if logged.Resolved != want {
			t.Errorf("the log has %q", logged.Resolved)
		}
		if !swap {
			if got, err := os.ReadFile(want); err != nil || string(got) != "new\n" {
				t.Errorf("%q, %v", got, err)
			}
			if err := os.Remove(want); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if codeOf(r.Error) != "FS_STALE_VERSION" {
			t.Errorf("%s %s", codeOf(r.Error), r.Text())
		}
		for _, d := range []string{sly, seen + "-away"} {
			if entries, err := os.ReadDir(d); err != nil || len(entries) > 0 {
				t.Errorf("in %s: %v, %v", d, entries, err)
			}
		}
	}
}

// A difference that is longer than can be shown says so, also when its first
// line alone is.
func TestQuestionSaysWhatItDoesNotShow(t *testing.T) {
	for _, content := range []string{strings.Repeat("x", 300_000), strings.Repeat("line\n", 60_000)} {
		var diff string
		w := newFence(t, func(ctx context.Context, q approval.Question, _ next) (approval.Outcome, error) {
			var err error
			diff, err = q.Diff(ctx)
			return approval.Rejected, err
		})
		w.call(w.agent("s"), "write", wider(args{"file_path": "a.txt", "content": content}))
		if !strings.HasSuffix(diff, "is not shown\n") {
			t.Errorf("the difference ends with %q", diff[max(0, len(diff)-60):])
		}
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(content, name string) {
	w.t.Helper()
	if err := os.Symlink(content, filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) mkdir(name string) {
	w.t.Helper()
	if err := os.Mkdir(filepath.Join(w.dir, name), 0o755); err != nil {
		w.t.Fatal(err)
	}
}
