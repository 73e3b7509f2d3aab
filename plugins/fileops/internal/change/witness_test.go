package change_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
)

// outsideCases are operations of a root without a sandbox that change what lies
// outside of it, or in its .git directory, in several steps.
var outsideCases = []operationCase{
	{"outside, move across", "move_file", `{"source_path":"old.txt","destination_path":"../dev/new/c.txt"}`, true, true},
	{"outside, move a directory across", "move_file", `{"source_path":"../d","destination_path":"../dev/d2"}`, true, true},
	{"outside, copy over a directory", "copy_file", `{"source_path":"../d","destination_path":"../dev","recursive":true,"overwrite":true}`, false, true},
	{"outside, batch", "batch_file_ops", `{"atomic":true,"operations":[
		{"operation":"write_file","path":"../n/1.txt","config":{"content":"1\n"}},
		{"operation":"write_file","path":"../d/sub/1.txt","config":{"content":"1\n"}},
		{"operation":"move_file","path":"../d","config":{"destination_path":"../n/d"}},
		{"operation":"write_file","path":"../n/d/sub/y.txt","config":{"content":"2\n","force_overwrite":true,"create_backup":false}},
		{"operation":"write_file","path":".git/hooks/new","config":{"content":"1\n","allow_sensitive":true}},
		{"operation":"delete_file","path":"old.txt"}]}`, false, true},
}

// within is a provider with another working directory.
type within struct {
	vfs.FileSystem
	cwd string
}

func (w within) Unwrap() vfs.FileSystem { return w.FileSystem }

func (w within) Resolve(ctx context.Context, path string, o vfs.ResolveOptions) (vfs.Target, error) {
	if o.Cwd == "" {
		o.Cwd = w.cwd
	}
	return w.FileSystem.Resolve(ctx, path, o)
}

// TestForgedJournals proves that a journal which somebody has put into a
// workspace, as an archive or a confined call can, does nothing outside of it
// and nothing to its .git directory: not by any path that a journal has, nor
// through symlinks. It is told of and left alone.
func TestForgedJournals(t *testing.T) {
	const (
		id   = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
		name = "ws/" + backup.Folder + "/journal-" + id + ".json"
	)
	sum := sha256.Sum256([]byte("planted\n"))
	planted := fmt.Sprintf(`{"type":"file","sha256":%q,"backup_id":"%s","backup_dir":"ROOT/ws/.fileops-backups"}`, hex.EncodeToString(sum[:]), id)
	host, err := os.Hostname()
	must(t, err)
	gone := "ROOT/home/.fileops-gone-" + id
	files := tree{
		"home/precious/f": "mine\n", "home/rc": "mine\n", "home/.fileops-gone-" + id + "/f": "mine\n",
		"ws/.git/hooks/sample": "mine\n", "ws/a": "a\n", "ws/link": "->../home", "ws/planted": "planted\n",
		"ws/.fileops-backups/" + id + ".bak": "planted\n",
		"ws/.fileops-backups/" + id + ".json": fmt.Sprintf(`{"id":%q,"original_path":"ROOT/home/new","sha256":%q,"size":8,"mode":493}`,
			id, hex.EncodeToString(sum[:])),
	}
	for _, c := range []struct{ what, doc string }{
		{"removes a directory", `"records":[{"path":"ROOT/home/precious","before":{"type":"absent"},"after":{"type":"directory"}}]`},
		{"makes a file", `"records":[{"path":"ROOT/home/new","before":` + planted + `,"after":{"type":"absent"}}]`},
		{"by way of dots", `"records":[{"path":"ROOT/ws/../home/precious","before":{"type":"absent"},"after":{"type":"directory"}}]`},
		{"by way of a symlink", `"records":[{"path":"ROOT/ws/link/precious","before":{"type":"absent"},"after":{"type":"directory"}}]`},
		{"takes a directory away", `"records":[{"path":"ROOT/home/precious","from":"ROOT/ws/b","before":{"type":"absent"},"after":{"type":"directory"}}]`},
		{"puts a file there", `"records":[{"path":"ROOT/ws/planted","from":"ROOT/home/new","before":{"type":"absent"},"after":{"type":"file","sha256":"` + hex.EncodeToString(sum[:]) + `"}}]`},
		{"takes what is aside", `"records":[{"path":"ROOT/ws/b","aside":"ROOT/home/precious","before":{"type":"directory"},"after":{"type":"absent"}}]`},
		{"takes what is gone", `"records":[{"path":"ROOT/ws/b","from":"ROOT/ws/c","gone":"` + gone + `","before":{"type":"absent"},"after":{"type":"directory"}}]`},
		{"removes scratch of others", `"records":[],"complete":true,"scratch":["` + gone + `"]`},
		{"removes scratch through a symlink", `"records":[],"complete":true,"scratch":["ROOT/ws/link/.fileops-gone-` + id + `"]`},
		{"removes directories", `"records":[{"path":"ROOT/ws/a","made":["ROOT/home/empty"],"before":{"type":"absent"},"after":{"type":"absent"}}]`},
		{"makes a hook", `"records":[{"path":"ROOT/ws/planted","from":"ROOT/ws/.git/hooks/pre-commit","before":{"type":"absent"},"after":{"type":"file","sha256":"` + hex.EncodeToString(sum[:]) + `"}}]`},
		{"makes a hook in another spelling", `"records":[{"path":"ROOT/ws/planted","from":"ROOT/ws/.GIT/hooks/pre-commit","before":{"type":"absent"},"after":{"type":"file","sha256":"` + hex.EncodeToString(sum[:]) + `"}}]`},
		{"removes .git", `"records":[{"path":"ROOT/ws/.git","before":{"type":"absent"},"after":{"type":"directory"}}]`},
		{"removes a witness of others", `"records":[],"complete":true,"witnesses":["ROOT/home/rc"]`},
	} {
		t.Run(c.what, func(t *testing.T) {
			for provider := range providers {
				w := newWorld(t, provider, nil)
				doc := fmt.Sprintf(`{"version":1,"id":%q,"operation":"batch_file_ops","owner":{"pid":2147483646,"host":%q},%s}`, id, host, c.doc)
				all := tree{name: doc, "home/empty/": ""}
				for p, content := range files {
					all[p] = content
				}
				for p, content := range all {
					all[p] = strings.ReplaceAll(content, "ROOT", w.root)
				}
				w.put(all)
				before, backups := w.state()
				e := New(Config{}, new(event.Bus), nil, nil)
				found, err := e.Recover(t.Context(), within{w.fs, w.root + "/ws"}, nil)
				must(t, err)
				if len(found) != 1 || found[0].Doubt == "" || !strings.Contains(found[0].String(), "left alone") {
					t.Errorf("%s: what was found: %+v", provider, found)
				}
				after, b := w.state()
				if diff := cmp.Diff(before, after); diff != "" || backups != b {
					t.Errorf("%s: %d files of backups, %d before (-before +after):\n%s", provider, b, backups, diff)
				}
			}
		})
	}
}

// TestWitnessesGo proves that a change outside of the root has witnesses while
// it lasts, which name its journal, and leaves none.
func TestWitnessesGo(t *testing.T) {
	for _, c := range outsideCases {
		for provider := range providers {
			t.Run(c.name+"/"+provider, func(t *testing.T) {
				w := c.world(t, provider)
				seen := map[string]bool{}
				f := &faulty{}
				f.hook = func(string) {
					all, _ := w.state()
					for p := range all {
						if strings.Contains(p, ".fileops-witness-") {
							seen[p[:strings.LastIndexByte(p, '/')+1]] = true
						}
					}
				}
				if o := c.play(t.Context(), w, f); o.Fault != nil {
					t.Fatal(o.Fault)
				}
				if len(seen) == 0 {
					t.Error("there was no witness")
				}
				if c.op == "batch_file_ops" && !seen["e/.git/"] {
					t.Errorf("there was no witness for .git, but in %v", seen)
				}
				left, _ := w.state()
				for p := range left {
					if strings.Contains(p, ".fileops-") {
						t.Errorf("%s is left", p)
					}
				}
			})
		}
	}
}
