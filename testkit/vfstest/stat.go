package vfstest

import (
	"github.com/bridle-go/bridle/harness/vfs"
)

var statClauses = []Clause{
	{
		Name:    "stat/absent is no error",
		Promise: "what is not there has type absent and no error, also below a file and through a dangling symlink",
		Why:     "absence is a fact that callers ask for, and record as seen",
		check: func(r *run) {
			r.put("f", "x")
			names := []string{"missing", "missing/deeper", "f/below"}
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("nowhere", r.path("dangling")))
				names = append(names, "dangling")
			}
			for _, name := range names {
				info, err := r.FS.Stat(r.ctx, r.at(name))
				if r.ok("stat of "+name, err) && (info.Exists() || info.Version != "") {
					r.errorf("%s is %v with version %q, want absent without one", name, info.Type, info.Version)
				}
			}
		},
	},
	{
		Name:    "stat/type, size and version",
		Promise: "stat follows symlinks and gives the type; a file has its size in bytes and a version, a directory and anything else has none",
		Why:     "tools choose by type and size how to read, before they open anything",
		check: func(r *run) {
			r.put("f", "héllo")
			r.put("empty", "")
			r.put("d/x", "")
			type want struct {
				typ  vfs.Type
				size int64
			}
			wants := map[string]want{"f": {vfs.File, 6}, "empty": {vfs.File, 0}, "d": {vfs.Directory, 0}}
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("f", r.path("lf")))
				r.do("symlink", r.Outside.Symlink("d", r.path("ld")))
				wants["lf"], wants["ld"] = want{vfs.File, 6}, want{vfs.Directory, 0}
			}
			if r.Outside.Fifo != nil {
				r.do("fifo", r.Outside.Fifo(r.path("p")))
				wants["p"] = want{vfs.Other, 0}
			}
			for name, w := range wants {
				info, err := r.FS.Stat(r.ctx, r.at(name))
				if !r.ok("stat of "+name, err) {
					continue
				}
				if info.Type != w.typ || w.typ == vfs.File && info.Size != w.size {
					r.errorf("%s is %v of %d bytes, want %v of %d", name, info.Type, info.Size, w.typ, w.size)
				}
				if (info.Version != "") != (w.typ == vfs.File) {
					r.errorf("%s, a %v, has the version %q", name, info.Type, info.Version)
				}
			}
		},
	},
	{
		Name:    "lstat/does not follow",
		Promise: "lstat reports a symlink as one, and follows those in the directories above",
		Why:     "removing and moving are about the symlink, not about where it leads",
		check: func(r *run) {
			r.need("Symlink")
			r.put("d/f", "x")
			r.do("symlink", r.Outside.Symlink("d", r.path("ld")))
			r.do("symlink", r.Outside.Symlink("nowhere", r.path("dangling")))
			r.do("symlink", r.Outside.Symlink("f", r.path("d/lf")))
			for name, want := range map[string]vfs.Type{"d/f": vfs.File, "ld": vfs.Link, "dangling": vfs.Link, "ld/f": vfs.File, "ld/lf": vfs.Link, "missing": vfs.Absent} {
				info, err := r.FS.Lstat(r.ctx, r.at(name))
				if r.ok("lstat of "+name, err) && info.Type != want {
					r.errorf("%s is %v to lstat, want %v", name, info.Type, want)
				}
			}
		},
	},
}

var versionClauses = []Clause{
	{
		Name:    "version/equal content stays fresh",
		Promise: "a version holds while the content is equal: after touch, after the same bytes were written again, after the file was deleted and recreated",
		Why:     "a checkout or a build that touches files would make an agent read them all again",
		check: func(r *run) {
			changes := map[string]func(name string){}
			if r.Outside.Touch != nil {
				changes["touch"] = func(name string) { r.do("touch", r.Outside.Touch(r.path(name))) }
			}
			if r.Outside.Write != nil {
				changes["rewrite"] = func(name string) { r.do("write", r.Outside.Write(r.path(name), []byte("same"))) }
			}
			if r.Outside.Write != nil && r.Outside.Remove != nil {
				changes["recreate"] = func(name string) {
					r.do("remove", r.Outside.Remove(r.path(name)))
					r.do("write", r.Outside.Write(r.path(name), []byte("same")))
				}
			}
			if len(changes) == 0 {
				r.skipf("this world has no Outside.Touch and no Outside.Write")
			}
			for name, change := range changes {
				t := r.put(name, "same")
				text, err := r.FS.ReadText(r.ctx, t)
				if !r.ok("reading", err) {
					continue
				}
				change(name)
				_, err = r.FS.WriteText(r.ctx, t, "next", vfs.Options{Guard: vfs.ReplaceIfVersion(text.Version)})
				r.ok("writing with the version read before "+name, err)
			}
		},
	},
	{
		Name:    "version/changed content is stale",
		Promise: "any change of content makes a version stale: another size, the same size, also within one clock tick or with the times put back",
		Why:     "what a person wrote meanwhile would be overwritten by an agent that never saw it",
		check: func(r *run) {
			r.need("Write")
			changes := map[string]func(path string) error{
				"longer": func(p string) error { return r.Outside.Write(p, []byte("before and more")) },
				"other":  func(p string) error { return r.Outside.Write(p, []byte("after.")) },
				"empty":  func(p string) error { return r.Outside.Write(p, nil) },
			}
			if r.Outside.Rewrite != nil {
				changes["rewritten with its times put back"] = func(p string) error { return r.Outside.Rewrite(p, []byte("AFTER.")) }
			}
			for name, change := range changes {
				t := r.put(name, "before")
				versions := map[string]vfs.Version{}
				if text, err := r.FS.ReadText(r.ctx, t); r.ok("reading", err) {
					versions["ReadText"] = text.Version
				}
				if data, err := r.FS.ReadBytes(r.ctx, t, 100); r.ok("reading", err) {
					versions["ReadBytes"] = data.Version
				}
				if info, err := r.FS.Stat(r.ctx, t); r.ok("stat", err) {
					versions["Stat"] = info.Version
				}
				r.do(name, change(r.path(name)))
				now := r.content(name)
				for from, v := range versions {
					_, err := r.FS.WriteText(r.ctx, t, "mine", vfs.Options{Guard: vfs.ReplaceIfVersion(v)})
					r.code("writing a file that was "+name+", with the version of "+from+",", err, staleVersion)
					r.same("after a refused write", name, now)
				}
			}
		},
	},
	{
		Name:    "version/of every operation",
		Promise: "reads, streams, writes and edits all return a version that guards the next change",
		Why:     "an agent that just wrote a file need not read it to write it again",
		check: func(r *run) {
			t := r.put("f", "one")
			write := func(from string, v vfs.Version, content string) vfs.Version {
				if v == "" {
					r.errorf("%s gave no version", from)
				}
				res, err := r.FS.WriteText(r.ctx, t, content, vfs.Options{Guard: vfs.ReplaceIfVersion(v)})
				r.ok("writing with the version of "+from, err)
				return res.Version
			}
			data, err := r.FS.ReadBytes(r.ctx, t, 100)
			r.ok("ReadBytes", err)
			v := write("ReadBytes", data.Version, "two")
			write("WriteText", v, "three")
			text, err := r.FS.ReadText(r.ctx, t)
			r.ok("ReadText", err)
			write("ReadText", text.Version, "four")
			_, streamed := r.stream(t, 3)
			write("StreamText", streamed, "five")
			res, err := r.FS.EditText(r.ctx, t, vfs.Edit{Old: "five", New: "six"}, vfs.Options{})
			r.ok("EditText", err)
			v = write("EditText", res.Version, "seven")
			res, err = r.FS.EditText(r.ctx, t, vfs.Edit{Old: "seven", New: "eight"}, vfs.Options{Guard: vfs.ReplaceIfVersion(v)})
			if r.ok("editing with the version of WriteText", err) {
				r.same("in the end", "f", "eight")
			}
			fresh, err := r.FS.WriteText(r.ctx, r.at("new"), "x", vfs.Options{Guard: vfs.CreateIfAbsent()})
			r.ok("creating", err)
			_, err = r.FS.WriteText(r.ctx, r.at("new"), "y", vfs.Options{Guard: vfs.ReplaceIfVersion(fresh.Version)})
			r.ok("writing with the version of a create", err)
		},
	},
}
