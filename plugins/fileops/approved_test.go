package fileops_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// TestApprovalIsOfAPlace proves that the question names where a path leads, and
// that the answer is good for that place alone: a symlink turned elsewhere
// after it has nothing changed on either side.
func TestApprovalIsOfAPlace(t *testing.T) {
	for _, turned := range []bool{false, true} {
		for _, step := range []object{
			{"operation": "create_file", "path": "link/new.txt", "config": object{"content": "n\n"}},
			{"operation": "edit_file", "path": "link/x.txt", "config": object{"replacements": []any{object{"old_content": "x", "new_content": "y"}}, "force_overwrite": true}},
			{"operation": "delete_file", "path": "link/x.txt", "config": object{}},
			{"operation": "copy_file", "path": "a.txt", "config": object{"destination_path": "link/copy.txt"}},
			{"operation": "move_file", "path": "a.txt", "config": object{"destination_path": "link/moved.txt"}},
			{"operation": "copy_file", "path": "link/x.txt", "config": object{"destination_path": "copy.txt"}},
			{"operation": "move_file", "path": "link/x.txt", "config": object{"destination_path": "moved.txt"}},
		} {
			t.Run(fmt.Sprintf("%s/turned=%t", step["operation"], turned), func(t *testing.T) {
				var world memfs.World
				var led string
				answer := approve.Answerer("answers", func(_ context.Context, q approval.Question, _ event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
					led = q.Resolved
					if turned {
						return approval.AllowedOnce, errors.Join(world.Remove("link"), world.Symlink("e", "link"))
					}
					return approval.AllowedOnce, nil
				})
				d, w := changing(t, fileops.Config{}, approve.Plugin(approve.Config{}), answer)
				world = w
				if err := errors.Join(world.Put("e/x.txt", []byte("x\n")), world.Symlink("d", "link")); err != nil {
					t.Fatal(err)
				}
				a, _ := agentIn(t)
				before := contents(t, world, "a.txt", "d/x.txt", "e/x.txt")
				got := callAs(t, d, a, fileops.HubName, step)
				if dst, ok := step["config"].(object)["destination_path"].(string); (!ok || strings.HasPrefix(dst, "link/")) && !strings.HasPrefix(led, memfs.DefaultCwd+"/d/") {
					t.Errorf("the question led to %q", led)
				}
				if !turned {
					if got["error_kind"] != nil {
						t.Errorf("where nothing moved it gave %v", got)
					}
					return
				}
				if got["error_kind"] != "hash_mismatch" {
					t.Errorf("it gave %v", got)
				}
				if d := cmp.Diff(before, contents(t, world, "a.txt", "d/x.txt", "e/x.txt")); d != "" {
					t.Errorf("files changed (-before +after):\n%s", d)
				}
				for _, name := range []string{"copy.txt", "moved.txt", "d/new.txt", "d/copy.txt", "d/moved.txt", "e/new.txt", "e/copy.txt", "e/moved.txt"} {
					if _, err := world.Get(name); err == nil {
						t.Errorf("%s was made", name)
					}
				}
			})
		}
	}
}

func contents(t *testing.T, w memfs.World, names ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		data, err := w.Get(name)
		out[name] = fmt.Sprintf("%s %v", data, err)
	}
	return out
}
