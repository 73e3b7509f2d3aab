package vfstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

var writeClauses = []Clause{
	{
		Name:    "write/create",
		Promise: "a missing file is created with exactly the bytes given, its parent directories too; the outcome is create, without a before, with the text now there and the size of the file",
		Why:     "the outcome is what people and models are shown",
		check: func(r *run) {
			for name, f := range texts {
				res, err := r.FS.WriteText(r.ctx, r.at("new/deep/"+name), f.bytes, vfs.Options{})
				if !r.ok("creating "+name, err) {
					continue
				}
				r.same("after a create", "new/deep/"+name, f.bytes)
				r.outcome(name, res, vfs.Create, nil, f.shown, f.bytes)
			}
			// What nobody can read as text may be written as one all the same.
			const name, content = "new/with a NUL", "a\x00b"
			res, err := r.FS.WriteText(r.ctx, r.at(name), content, vfs.Options{})
			if r.ok("creating a file with a NUL", err) {
				r.same("after a create", name, content)
				r.outcome(name, res, vfs.Create, nil, content, content)
			}
		},
	},
	{
		Name:    "write/update",
		Promise: "an existing file gets exactly the bytes given; the outcome is update, with the texts before and after, neither with its byte-order mark; before is nil when the old content was no text",
		Why:     "the diff that a person approves or reviews is made from them",
		check: func(r *run) {
			for name, f := range texts {
				t := r.put(name, f.bytes)
				res, err := r.FS.WriteText(r.ctx, t, "after\r\n", vfs.Options{})
				if !r.ok("updating "+name, err) {
					continue
				}
				r.same("after an update", name, "after\r\n")
				r.outcome(name, res, vfs.Update, r.below(f.bytes, "after\r\n", f.shown), "after\r\n", "after\r\n")
			}
			for name, data := range notTexts {
				t := r.put(name, data)
				res, err := r.FS.WriteText(r.ctx, t, "\xef\xbb\xbfafter", vfs.Options{})
				if r.ok("updating "+name, err) {
					r.same("after an update", name, "\xef\xbb\xbfafter")
					r.outcome(name, res, vfs.Update, nil, "after", "\xef\xbb\xbfafter")
				}
			}
		},
	},
	{
		Name:    "write/below a file",
		Promise: "a path that goes on below a file is FS_NOT_DIRECTORY, for resolving or for writing, whatever the guard, and the file stays",
		Why:     "a file that no listing shows is lost, and one that gives way to a directory even more so",
		check: func(r *run) {
			r.put("f", "before")
			for _, name := range []string{"f/new", "f/new/deeper"} {
				t, err := r.FS.Resolve(r.ctx, r.path(name), vfs.ResolveOptions{})
				if err != nil {
					r.code("resolving "+name+", where f is a file", err, errs.NotDirectory)
					continue
				}
				for what, guard := range map[string]vfs.Guard{"writing ": {}, "creating ": vfs.CreateIfAbsent()} {
					_, err := r.FS.WriteText(r.ctx, t, "x", vfs.Options{Guard: guard})
					r.code(what+name+", where f is a file", err, errs.NotDirectory)
				}
			}
			r.same("after the refusals", "f", "before")
		},
	},
	{
		Name:    "write/diff basis limit",
		Promise: "before is nil when the old or the new content is at or above the limit, and given for anything smaller; Options.Exact lifts the limit",
		Why:     "two copies of a huge file must not be held for a diff that nobody reads",
		check: func(r *run) {
			small := strings.Repeat("s", int(r.DiffBasisMaxBytes)-1)
			large := strings.Repeat("l", int(r.DiffBasisMaxBytes))
			for _, c := range []struct {
				old, new string
				exact    bool
				before   bool
			}{{small, "x", false, true}, {large, "x", false, false}, {"x", small, false, true}, {"x", large, false, false}, {large, large, true, true}} {
				t := r.put("f", c.old)
				res, err := r.FS.WriteText(r.ctx, t, c.new, vfs.Options{Exact: c.exact})
				what := fmt.Sprintf("from %d to %d bytes with a limit of %d, exact %v", len(c.old), len(c.new), r.DiffBasisMaxBytes, c.exact)
				if !r.ok("writing "+what, err) {
					continue
				}
				if (res.Before != nil) != c.before {
					r.errorf("%s: there is a before text: %v, want %v", what, res.Before != nil, c.before)
				}
				if res.Before != nil && *res.Before != c.old || res.After != c.new {
					r.errorf("%s: the texts are not those of the file", what)
				}
			}
		},
	},
	{
		Name:    "write/atomic for readers",
		Promise: "a reader sees the old or the new content as a whole, never a part or a mixture, and never nothing",
		Why:     "a program that is built or started from a half-written file fails, or does harm",
		check: func(r *run) {
			a, b := strings.Repeat("a", 200_000), strings.Repeat("b", 300_000)
			t := r.put("f", a)
			read := r.Outside.Read
			if read == nil {
				read = func(string) ([]byte, error) {
					data, err := r.FS.ReadBytes(r.ctx, t, 1<<30)
					return data.Data, err
				}
			}
			stop := make(chan struct{})
			seen := make(chan string, 1)
			go func() {
				defer close(seen)
				for {
					select {
					case <-stop:
						return
					default:
					}
					data, err := read(r.path("f"))
					if s := string(data); err != nil || s != a && s != b {
						seen <- fmt.Sprintf("%s (%v)", brief(s), err)
						return
					}
				}
			}()
			for i := range 40 {
				content := b
				if i%2 == 1 {
					content = a
				}
				if _, err := r.FS.WriteText(r.ctx, t, content, vfs.Options{}); !r.ok("writing", err) {
					break
				}
			}
			close(stop)
			if bad, ok := <-seen; ok {
				r.errorf("a reader saw %s", bad)
			}
		},
	},
	{
		Name:    "write/keeps the mode",
		Promise: "writing and editing keep the permission bits of an existing file",
		Why:     "a script stops being executable, or a secret becomes readable, when a tool changes a word in it",
		check: func(r *run) {
			r.need("Chmod")
			for _, mode := range []uint32{0o755, 0o600, 0o640, 0o666} {
				name := fmt.Sprintf("%o", mode)
				t := r.put(name, "before")
				r.do("chmod", r.Outside.Chmod(r.path(name), mode))
				_, err := r.FS.WriteText(r.ctx, t, "after", vfs.Options{})
				r.ok("writing", err)
				r.mode("after a write", name, mode)
				_, err = r.FS.EditText(r.ctx, t, vfs.Edit{Old: "after", New: "edited"}, vfs.Options{})
				r.ok("editing", err)
				r.mode("after an edit", name, mode)
			}
		},
	},
	{
		Name:    "write/symlink stays",
		Promise: "writing and editing through a symlink changes the file it leads to, and the symlink stays one; a dangling symlink's destination is created",
		Why:     "shared configuration is linked into many places, and a replaced symlink silently parts them",
		check: func(r *run) {
			r.need("Symlink", "MakeDir")
			r.put("real/f", "before")
			r.do("symlink", r.Outside.Symlink("real/f", r.path("link")))
			r.do("symlink", r.Outside.Symlink("real/new", r.path("dangling")))
			_, err := r.FS.WriteText(r.ctx, r.at("link"), "written", vfs.Options{})
			r.ok("writing through a symlink", err)
			r.same("after a write through a symlink", "real/f", "written")
			_, err = r.FS.EditText(r.ctx, r.at("link"), vfs.Edit{Old: "written", New: "edited"}, vfs.Options{})
			r.ok("editing through a symlink", err)
			r.same("after an edit through a symlink", "real/f", "edited")
			_, err = r.FS.WriteText(r.ctx, r.at("dangling"), "created", vfs.Options{Guard: vfs.CreateIfAbsent()})
			r.ok("creating through a dangling symlink", err)
			r.same("after a create through a symlink", "real/new", "created")
			for _, name := range []string{"link", "dangling"} {
				info, err := r.FS.Lstat(r.ctx, r.at(name))
				if r.ok("lstat", err) && info.Type != vfs.Link {
					r.errorf("%s has become a %v", name, info.Type)
				}
			}
		},
	},
	{
		Name:    "write/nothing left behind",
		Promise: "after success, and after a clean failure, the directory holds the file and nothing else",
		Why:     "staging files end up in commits, builds and listings",
		check: func(r *run) {
			r.need("Names")
			t := r.put("d/f", "x\nx\n")
			r.put("d/bin", "a\x00b")
			stale := vfs.Options{Guard: vfs.ReplaceIfVersion("no such version")}
			aborted, cancel := context.WithCancel(r.ctx)
			cancel()
			try := func(what string, fails bool, err error) {
				if fails == (err == nil) {
					r.errorf("%s gave %v", what, err)
				}
				names, err := r.Outside.Names(r.path("d"))
				r.do("names", err)
				if want := []string{"bin", "f"}; !slices.Equal(names, want) {
					r.errorf("after %s the directory holds %q, want %q", what, names, want)
				}
			}
			write := func(ctx context.Context, t vfs.Target, o vfs.Options) error {
				_, err := r.FS.WriteText(ctx, t, "x\nx\nnew\n", o)
				return err
			}
			edit := func(ctx context.Context, t vfs.Target, e vfs.Edit, o vfs.Options) error {
				_, err := r.FS.EditText(ctx, t, e, o)
				return err
			}
			try("a write", false, write(r.ctx, t, vfs.Options{}))
			try("an edit", false, edit(r.ctx, t, vfs.Edit{Old: "new", New: "newer"}, vfs.Options{}))
			try("a stale write", true, write(r.ctx, t, stale))
			try("a stale edit", true, edit(r.ctx, t, vfs.Edit{Old: "newer", New: "y"}, stale))
			try("a create of what exists", true, write(r.ctx, t, vfs.Options{Guard: vfs.CreateIfAbsent()}))
			try("a replacement of what is missing", true, write(r.ctx, r.at("d/missing"), stale))
			try("an edit without a match", true, edit(r.ctx, t, vfs.Edit{Old: "nowhere", New: "y"}, vfs.Options{}))
			try("an ambiguous edit", true, edit(r.ctx, t, vfs.Edit{Old: "x", New: "y"}, vfs.Options{}))
			try("an edit of a binary file", true, edit(r.ctx, r.at("d/bin"), vfs.Edit{Old: "a", New: "y"}, vfs.Options{}))
			try("an aborted write", true, write(aborted, t, vfs.Options{}))
			try("an aborted create", true, write(aborted, r.at("d/sub/new"), vfs.Options{}))
		},
	},
	{
		Name:    "write/no permission",
		Promise: "a new file in a directory that may not be written is FS_PERMISSION_DENIED; an existing file in it that may be written is written in place",
		Why:     "a single mounted file and a read-only directory are common in containers",
		check: func(r *run) {
			r.need("Chmod", "Names")
			if !r.PermissionsBind {
				r.skipf("permissions do not bind this process")
			}
			t := r.put("d/f", "before")
			r.do("chmod", r.Outside.Chmod(r.path("d"), 0o555))
			defer func() { r.do("chmod", r.Outside.Chmod(r.path("d"), 0o755)) }()
			_, err := r.FS.WriteText(r.ctx, r.at("d/new"), "x", vfs.Options{})
			r.code("creating a file in a directory of mode 555", err, errs.Permission)
			_, err = r.FS.WriteText(r.ctx, t, "after", vfs.Options{})
			if r.ok("writing an existing file in a directory of mode 555", err) {
				r.same("after the write", "d/f", "after")
			}
			names, err := r.Outside.Names(r.path("d"))
			r.do("names", err)
			if !slices.Equal(names, []string{"f"}) {
				r.errorf("the directory holds %q, want f alone", names)
			}
		},
	},
	{
		Name:    "write/targets in parallel",
		Promise: "a change of one target does not wait for a change of another",
		Why:     "one slow disk or question would stop every agent of the process",
		check: func(r *run) {
			r.need("Pause")
			slow, quick := r.put("slow", "x"), r.put("quick", "x")
			reached, release := r.Outside.Pause(r.path("slow"))
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := r.FS.WriteText(r.ctx, slow, "slow", vfs.Options{})
				r.ok("the slow write", err)
			})
			defer wg.Wait()
			defer release()
			<-reached
			err := r.promptly("writing one target while another is being written", func(ctx context.Context) error {
				_, err := r.FS.WriteText(ctx, quick, "quick", vfs.Options{})
				return err
			})
			r.ok("the quick write", err)
		},
	},
}

// outcome checks what a change reports; content is what the file holds now, and
// after that as it is shown.
func (r *run) outcome(name string, res vfs.WriteResult, op vfs.Operation, before *string, after, content string) {
	if res.Operation != op {
		r.errorf("the outcome for %s is %q, want %q", name, res.Operation, op)
	}
	if res.Version == "" {
		r.errorf("the outcome for %s has no version", name)
	}
	if size := int64(len(content)); res.Size != size {
		r.errorf("the size for %s is %d, want %d", name, res.Size, size)
	}
	if res.After != after {
		r.errorf("after for %s is %s, want %s", name, brief(res.After), brief(after))
	}
	switch {
	case before == nil && res.Before != nil:
		r.errorf("before for %s is %s, want none", name, brief(*res.Before))
	case before != nil && res.Before == nil:
		r.errorf("before for %s is missing, want %s", name, brief(*before))
	case before != nil && *before != *res.Before:
		r.errorf("before for %s is %s, want %s", name, brief(*res.Before), brief(*before))
	}
}

// below returns the before text that a change has: none at the limit.
func (r *run) below(before, after, shown string) *string {
	if int64(max(len(before), len(after))) >= r.DiffBasisMaxBytes {
		return nil
	}
	return &shown
}

func (r *run) mode(what, name string, want uint32) {
	got, err := r.Outside.Mode(r.path(name))
	r.do("mode", err)
	if got != want {
		r.errorf("%s the mode of %s is %04o, want %04o", what, name, got, want)
	}
}
