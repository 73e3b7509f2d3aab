package change_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/vfs"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// start is the tree that the injected failures meet.
var start = tree{
	"a.txt": "alpha\nbeta\n", "b.txt": "other\n", "p.json": `{"a":1}`, "link": "->a.txt",
	"d/x.txt": "x\n", "d/sub/y.txt": "y\n", "d/l": "->x.txt", "e/old.txt": "old\n", "dev/z.txt": "z\n",
}

type operationCase struct {
	name, op, args string
	device         bool // dev/ is a device of its own
	outside        bool // the root is the directory e, without a sandbox
}

var operationCases = []operationCase{
	{"create", "write_file", `{"file_path":"new/deep/f.txt","content":"hi\n"}`, false, false},
	{"overwrite", "write_file", `{"file_path":"a.txt","content":"new\n","force_overwrite":true}`, false, false},
	{"overwrite through a symlink", "write_file", `{"file_path":"link","content":"new\n","force_overwrite":true}`, false, false},
	{"overwrite without backup", "write_file", `{"file_path":"a.txt","content":"new\n","force_overwrite":true,"create_backup":false}`, false, false},
	{"append", "write_file", `{"file_path":"a.txt","content":"more\n","append":true}`, false, false},
	{"edit", "edit_file", `{"file_path":"a.txt","replacements":[{"old_content":"alpha","new_content":"ALPHA"}]}`, false, false},
	{"patch", "patch_file", `{"file_path":"p.json","patches":[{"op":"set","path":"/a","value":2}]}`, false, false},
	{"copy", "copy_file", `{"source_path":"a.txt","destination_path":"n/c.txt"}`, false, false},
	{"copy over", "copy_file", `{"source_path":"a.txt","destination_path":"b.txt","overwrite":true}`, false, false},
	{"copy a symlink", "copy_file", `{"source_path":"link","destination_path":"other"}`, false, false},
	{"copy a directory", "copy_file", `{"source_path":"d","destination_path":"n/d2","recursive":true}`, false, false},
	{"copy over a directory", "copy_file", `{"source_path":"d","destination_path":"e","recursive":true,"overwrite":true}`, false, false},
	{"move", "move_file", `{"source_path":"a.txt","destination_path":"n/c.txt"}`, false, false},
	{"move over", "move_file", `{"source_path":"a.txt","destination_path":"b.txt","overwrite":true}`, false, false},
	{"move a directory", "move_file", `{"source_path":"d","destination_path":"n/d2"}`, false, false},
	{"move over a directory", "move_file", `{"source_path":"d","destination_path":"e","overwrite":true}`, false, false},
	{"move across", "move_file", `{"source_path":"a.txt","destination_path":"dev/c.txt"}`, true, false},
	{"move across, over", "move_file", `{"source_path":"a.txt","destination_path":"dev/z.txt","overwrite":true}`, true, false},
	{"move a directory across", "move_file", `{"source_path":"d","destination_path":"dev/d2"}`, true, false},
	{"delete", "delete_file", `{"file_path":"a.txt"}`, false, false},
	{"delete a symlink", "delete_file", `{"file_path":"link"}`, false, false},
	{"back up", "backup_file", `{"file_path":"a.txt"}`, false, false},
	{"batch", "batch_file_ops", `{"atomic":true,"operations":[
		{"operation":"write_file","path":"n/1.txt","config":{"content":"1\n"}},
		{"operation":"edit_file","path":"a.txt","config":{"replacements":[{"old_content":"alpha","new_content":"A"}]}},
		{"operation":"edit_file","path":"a.txt","config":{"replacements":[{"old_content":"A","new_content":"B"}],"create_backup":false}},
		{"operation":"copy_file","path":"d","config":{"destination_path":"e","recursive":true,"overwrite":true}},
		{"operation":"move_file","path":"b.txt","config":{"destination_path":"n/b.txt"}},
		{"operation":"delete_file","path":"p.json"}]}`, false, false},
}

// runStep runs a step of a batch as the plugin does, without its checks.
func runStep(ctx context.Context, b *Batch, _ int, s Step) (any, *fault.Fault) {
	args := NewArgs(s.Operation)
	fields := map[string]any{}
	if len(s.Config) > 0 {
		if err := json.Unmarshal(s.Config, &fields); err != nil {
			return err.Error(), fault.New(fault.InvalidArguments, "config", err.Error())
		}
	}
	if s.Path != nil {
		for _, name := range []string{"file_path", "source_path"} {
			fields[name] = *s.Path
		}
	}
	data, _ := json.Marshal(fields)
	if err := json.Unmarshal(data, args); err != nil {
		return err.Error(), fault.New(fault.InvalidArguments, "config", err.Error())
	}
	o := b.Do(ctx, s.Operation, args)
	return o.Result, o.Fault
}

// world is the tree that a case begins with.
func (c operationCase) world(t testing.TB, provider string) *world {
	w := newWorld(t, provider, start)
	if c.outside {
		w.put(tree{"e/.git/config": "x"})
	}
	return w
}

// play runs a case on a world through a provider that fails.
func (c operationCase) play(ctx context.Context, w *world, f *faulty) Outcome {
	f.FileSystem = w.fs
	var fs vfs.FileSystem = f
	if c.device {
		fs = devices{f, "dev"}
	}
	e := w.engine(Config{})
	if c.outside {
		fs = within{fs, w.root + "/e"}
		e = New(Config{}, new(event.Bus), nil, nil)
	}
	if c.op == "batch_file_ops" {
		return batch(ctx, w.t, e, fs, nil, c.args)
	}
	return e.Do(ctx, fs, nil, c.op, decoded(w.t, c.op, c.args))
}

// TestFaults fails every call of the provider, before and after it took
// effect, and ends the caller's context at each. Whatever happens, the tree is
// what it was or what it was to become, the receipts say which, and nothing is
// left over.
func TestFaults(t *testing.T) {
	for provider := range providers {
		for i, c := range operationCases {
			t.Run(provider+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, provider, start)
				old, _ := w.state()
				count := &faulty{}
				if o := c.play(t.Context(), w, count); o.Fault != nil {
					t.Fatalf("without a failure: %v", o.Fault)
				}
				want, _ := w.state()
				if c.op != "backup_file" && cmp.Equal(old, want) {
					t.Fatal("the operation changes nothing")
				}
				// In memory nearly every call is tried; on disk a sample, which is not the
				// same for each case.
				step := stride(count.calls, map[string]int{"memfs": 90, "fslocal": 8}[provider])
				for at := 1 + i%step; at <= count.calls; at += step {
					for _, how := range []string{"before", "after", "cancel"} {
						w := newWorld(t, provider, start)
						ctx, cancel := context.WithCancel(t.Context())
						f := &faulty{at: at, after: how == "after"}
						if how == "cancel" {
							f.stop = cancel
						}
						o := c.play(ctx, w, f)
						cancel()
						judge(t, w, fmt.Sprintf("call %d (%s, %s)", at, f.hit, how), o, old, want)
					}
				}
			})
		}
	}
}

// judge says whether a world is in one of the two states, and the outcome
// tells which.
func judge(t *testing.T, w *world, when string, o Outcome, old, want tree) {
	t.Helper()
	got, backups := w.state()
	said := "old"
	done := 0
	for _, r := range o.Receipts {
		if r.RolledBack == nil || !*r.RolledBack {
			done++
		}
	}
	if done > 0 {
		said = "new"
	}
	is := "neither"
	switch {
	case cmp.Equal(got, old) && cmp.Equal(old, want):
		is = said // of a backup nothing shows
	case cmp.Equal(got, old):
		is = "old"
	case cmp.Equal(got, want):
		is = "new"
	}
	switch {
	case is == "neither":
		t.Errorf("%s: neither the old state nor the new: %v\n(-old +got):\n%s", when, o.Fault, cmp.Diff(old, got))
	case is != said:
		t.Errorf("%s: the state is the %s one, the receipts say the %s one: %v", when, is, said, o.Fault)
	case o.Fault == nil && is != "new":
		t.Errorf("%s: it succeeded and changed nothing", when)
	case is == "old" && backups > 0 && len(o.Receipts) == 0 && !strings.Contains(fmt.Sprint(o.Fault), "left over"):
		t.Errorf("%s: %d files are left in backup folders", when, backups)
	}
}
