package vfstest

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

var resolveClauses = []Clause{
	{
		Name:    "resolve/one key by any route",
		Promise: "a file has the same key by a relative or absolute path, through \".\", \"..\" and doubled slashes, and through symlinks to it and to its parents",
		Why:     "observations and locks go by key: with two keys, a file that was read counts as unseen, and two writers of it do not wait for each other",
		check: func(r *run) {
			r.put("d/f", "x")
			want := r.at("d/f").Key
			routes := []string{r.path("d") + "/./f", r.path("d") + "//f", r.Dir + "/d/../d/f", "d/f", "./d/f", "d/../d/f"}
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink(r.path("d/f"), r.path("to file")))
				r.do("symlink", r.Outside.Symlink("d", r.path("to dir")))
				r.do("symlink", r.Outside.Symlink("to dir", r.path("again")))
				routes = append(routes, "to file", "to dir/f", "again/f", "again/../d/f")
			}
			for _, route := range routes {
				t, err := r.FS.Resolve(r.ctx, route, vfs.ResolveOptions{Cwd: r.Dir})
				if r.ok("resolving "+route, err) && t.Key != want {
					r.errorf("by %q the key is %q, by the absolute path it is %q", route, t.Key, want)
				}
			}
			r.put("d/other", "x")
			if r.at("d/other").Key == want {
				r.errorf("two files have the key %q", want)
			}
		},
	},
	{
		Name:    "resolve/key before it exists",
		Promise: "a file that does not exist yet has the key it will have, also under a symlinked parent and through a dangling symlink",
		Why:     "what was seen as absent must be known again after it was created",
		check: func(r *run) {
			r.need("Symlink", "MakeDir")
			r.do("mkdir", r.Outside.MakeDir(r.path("real")))
			r.do("symlink", r.Outside.Symlink("real", r.path("link")))
			r.do("symlink", r.Outside.Symlink("real/later", r.path("dangling")))
			want := r.at("real/later").Key
			for _, route := range []string{"link/later", "dangling"} {
				if got := r.at(route).Key; got != want {
					r.errorf("before it exists, the key by %s is %q, want %q", route, got, want)
				}
			}
			deep := r.at("link/a/b").Key
			r.put("real/later", "x")
			r.put("real/a/b", "x")
			for route, want := range map[string]vfs.Key{"real/later": want, "link/later": want, "dangling": want, "real/a/b": deep} {
				if got := r.at(route).Key; got != want {
					r.errorf("once it exists, the key by %s is %q, before it was %q", route, got, want)
				}
			}
		},
	},
	{
		Name:    "resolve/dot-dot after a symlink",
		Promise: "\"..\" after a symlink means the parent of where the symlink leads, as for the kernel",
		Why:     "a provider that takes the path apart as text reads and writes another file than every other program",
		check: func(r *run) {
			r.need("Symlink", "MakeDir")
			r.do("mkdir", r.Outside.MakeDir(r.path("a/b")))
			r.put("a/x", "the kernel's")
			r.put("x", "the text's")
			r.do("symlink", r.Outside.Symlink("a/b", r.path("link")))
			t := r.resolve(r.Dir + "/link/../x")
			text, err := r.FS.ReadText(r.ctx, t)
			if r.ok("reading link/../x", err) && text.Content != "the kernel's" {
				r.errorf("link/../x holds %q, want %q", text.Content, "the kernel's")
			}
			if want := r.at("a/x").Key; t.Key != want {
				r.errorf("the key of link/../x is %q, want that of a/x, %q", t.Key, want)
			}
			// What is shown must lead to the same file again.
			if again := r.resolve(t.Path); again.Key != t.Key {
				r.errorf("the display path %q leads to %q, not to %q", t.Path, again.Key, t.Key)
			}
		},
	},
	{
		Name:    "resolve/relative to the caller",
		Promise: "a relative path starts from the caller's working directory where one is given",
		Why:     "each session has a directory of its own, and must not write into another's",
		check: func(r *run) {
			r.put("one/f", "1")
			r.put("two/f", "2")
			for dir, want := range map[string]string{"one": "1", "two": "2"} {
				t, err := r.FS.Resolve(r.ctx, "f", vfs.ResolveOptions{Cwd: r.path(dir)})
				if !r.ok("resolving f in "+dir, err) {
					continue
				}
				text, err := r.FS.ReadText(r.ctx, t)
				if r.ok("reading f in "+dir, err) && text.Content != want {
					r.errorf("f in %s holds %q, want %q", dir, text.Content, want)
				}
			}
		},
	},
	{
		Name:    "resolve/display path",
		Promise: "the display path is absolute and lexically clean, and symlinks in it are left as the caller spelled them",
		Why:     "people and models recognise the path they used",
		check: func(r *run) {
			r.put("d/f", "x")
			checks := map[string]string{"d/f": r.path("d/f"), "./d//f": r.path("d/f"), "d/../d/f": r.path("d/f"), r.path("d/f"): r.path("d/f"), "missing/f": r.path("missing/f")}
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("d", r.path("link")))
				checks["link/f"] = r.path("link/f")
			}
			for p, want := range checks {
				t, err := r.FS.Resolve(r.ctx, p, vfs.ResolveOptions{Cwd: r.Dir})
				if r.ok("resolving "+p, err) && path.Clean(slashes(t.Path)) != want {
					r.errorf("the display path of %q is %q, want %q", p, t.Path, want)
				}
			}
		},
	},
	{
		Name:    "resolve/refused paths",
		Promise: "an empty path, one that begins with \"~\" and one with a NUL byte are INVALID_ARGS",
		Why:     "\"~\" would make a directory of that name, and the system cuts a path at a NUL, so that another file is meant than is shown",
		check: func(r *run) {
			for _, p := range []string{"", "~", "~/f", "~root/f", "a\x00b", r.Dir + "/a\x00"} {
				_, err := r.FS.Resolve(r.ctx, p, vfs.ResolveOptions{Cwd: r.Dir})
				r.code("resolving "+brief(p), err, errs.InvalidArgs)
			}
		},
	},
	{
		Name:    "resolve/odd names",
		Promise: "other names work, however odd: blanks, quotes, line breaks, a leading dash, \"...\", a \"~\" further on",
		Why:     "real trees have such names, and a tool that cannot touch them is stuck",
		check: func(r *run) {
			names := []string{" a ", "-rf", "...", "a~", "x'y", "ü", "a b.txt", "名"}
			if !r.NoUnixNames {
				names = append(names, "line\nbreak", "tab\t", "quote\"", "back\\slash", "a:b", "*", "\u202egpj.exe", "%41", "#")
			}
			for _, name := range names {
				t, err := r.FS.Resolve(r.ctx, r.Dir+"/"+name, vfs.ResolveOptions{})
				if !r.ok("resolving "+brief(name), err) {
					continue
				}
				_, err = r.FS.WriteText(r.ctx, t, name, vfs.Options{Guard: vfs.CreateIfAbsent()})
				if r.ok("writing "+brief(name), err) {
					r.same("after a write", name, name)
				}
			}
		},
	},
	{
		Name:    "resolve/symlink loop",
		Promise: "a symlink loop is an error with a code, at once",
		Why:     "a hostile tree must not hang or exhaust an agent",
		check: func(r *run) {
			r.need("Symlink")
			r.do("symlink", r.Outside.Symlink("b", r.path("a")))
			r.do("symlink", r.Outside.Symlink("a", r.path("b")))
			err := r.promptly("reading a symlink loop", func(ctx context.Context) error {
				t, err := r.FS.Resolve(ctx, r.path("a"), vfs.ResolveOptions{})
				if err == nil {
					_, err = r.FS.ReadText(ctx, t)
				}
				return err
			})
			if err == nil || !strings.HasPrefix(string(errs.CodeOf(err)), "FS_") {
				r.errorf("reading a symlink loop gave %v, want an error with an FS code", err)
			}
		},
	},
	{
		Name:    "contains/by components",
		Promise: "a directory contains itself and what is below it, by components of resolved paths: /w/app does not contain /w/app-x",
		Why:     "a sandbox that compares strings lets writes into the neighbour's directory",
		check: func(r *run) {
			r.put("app/f", "x")
			r.put("app-x/f", "x")
			type pair struct {
				dir, t string
				want   bool
			}
			pairs := []pair{{"app", "app", true}, {"app", "app/f", true}, {"app", "app/not/yet", true},
				{"app", "app-x", false}, {"app", "app-x/f", false}, {"app", "", false}, {"", "app", true}, {"app/f", "app", false}}
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("app", r.path("link")))
				r.do("symlink", r.Outside.Symlink("../app-x", r.path("app/door")))
				pairs = append(pairs, pair{"link", "app/f", true}, pair{"app", "link/f", true}, pair{"app", "app/door/f", false})
			}
			for _, p := range pairs {
				got, err := r.FS.Contains(r.at(p.dir), r.at(p.t))
				if r.ok("Contains", err) && got != p.want {
					r.errorf("%q contains %q: %v, want %v", p.dir, p.t, got, p.want)
				}
			}
			root := r.resolve("/")
			if got, err := r.FS.Contains(root, r.at("app")); r.ok("Contains", err) && !got {
				r.errorf("the root does not contain %q", r.path("app"))
			}
		},
	},
	{
		Name:    "paths/process path and file URL",
		Promise: "the process path is absolute and resolves to the same key; the file URL has the scheme file and, decoded, that path",
		Why:     "other programs are handed these to open the very file",
		check: func(r *run) {
			name := "a b#%41ü.txt"
			r.put(name, "x")
			t := r.at(name)
			p, err := r.FS.ProcessPath(t)
			if !r.ok("ProcessPath", err) {
				return
			}
			if got := r.resolve(p); got.Key != t.Key {
				r.errorf("the process path %q has the key %q, want %q", p, got.Key, t.Key)
			}
			text, err := r.FS.FileURL(t)
			if !r.ok("FileURL", err) {
				return
			}
			u, err := url.Parse(text)
			if err != nil || u.Scheme != "file" {
				r.errorf("the file URL is %q (%v), want one of scheme file", text, err)
				return
			}
			if got := strings.TrimPrefix(u.Path, "/"); u.Fragment != "" || got != strings.TrimPrefix(slashes(p), "/") {
				r.errorf("the file URL %q decodes to %q, want %q", text, u.Path, p)
			}
		},
	},
}

// slashes writes a path of this machine with slashes.
func slashes(p string) string { return strings.ReplaceAll(p, `\`, "/") }
