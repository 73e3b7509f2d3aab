package vfstest

import (
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

var confineClauses = []Clause{
	{
		Name:    "write/root",
		Promise: "a change with Options.Root is made where its symlinks lead, if that is at or below the root, and is FS_SANDBOX_DENIED elsewhere",
		Why:     "tools that check a path before they change it rely on this at the moment of the change",
		check: func(r *run) {
			r.put("in/f", "x")
			r.put("in-x/f", "x")
			r.put("out/f", "x")
			opts := vfs.Options{Root: r.at("in")}
			_, err := r.FS.WriteText(r.ctx, r.at("in/f"), "y", opts)
			r.ok("writing inside", err)
			_, err = r.FS.WriteText(r.ctx, r.at("in/new/f"), "y", opts)
			r.ok("creating inside", err)
			for _, p := range []string{"out/f", "in-x/f", "in/../out/f", "out/new/f"} {
				_, err = r.FS.WriteText(r.ctx, r.at(p), "y", opts)
				r.code("writing "+p, err, errs.SandboxDenied)
			}
			r.same("after a denied write", "out/f", "x")
			r.same("after a denied write", "in-x/f", "x")
			r.absent("out/new")
			_, err = r.FS.EditText(r.ctx, r.at("out/f"), vfs.Edit{Old: "x", New: "y"}, opts)
			r.code("editing outside", err, errs.SandboxDenied)
			r.confineEntries(opts)
			if r.Outside.Symlink == nil {
				return
			}
			r.do("symlink", r.Outside.Symlink(r.path("out"), r.path("in/door")))
			_, err = r.FS.WriteText(r.ctx, r.at("in/door/f"), "y", opts)
			r.code("writing through a symlink that leads out", err, errs.SandboxDenied)
			r.same("after that", "out/f", "x")
		},
	},
	{
		Name:    "ability/directory attributes",
		Promise: "SetDirAttr sets mode and modification time of a directory, and of nothing else",
		Why:     "a copy of a private directory must be private",
		check: func(r *run) {
			lacks[vfs.DirAttrSetter](r)
			r.put("d/f", "x")
			at := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
			r.ok("setting attributes", vfs.SetDirAttr(r.ctx, r.FS, r.at("d"), vfs.Attr{Mode: 0o700, SetMode: true, Modified: at}, none))
			if info, err := r.FS.Stat(r.ctx, r.at("d")); r.ok("stat", err) {
				if info.Mode != 0 && info.Mode != 0o700 {
					r.errorf("the mode is %o, want 700", info.Mode)
				}
				if !info.Modified.IsZero() && !info.Modified.Equal(at) {
					r.errorf("the modification time is %v, want %v", info.Modified, at)
				}
			}
			r.code("setting those of a file", vfs.SetDirAttr(r.ctx, r.FS, r.at("d/f"), vfs.Attr{Mode: 0o700, SetMode: true}, none), errs.NotDirectory)
			r.code("setting those of nothing", vfs.SetDirAttr(r.ctx, r.FS, r.at("gone"), vfs.Attr{Mode: 0o700, SetMode: true}, none), errs.NotFound)
		},
	},
	{
		Name:    "version/comparing",
		Promise: "SameVersion says what a guard would say: equal content has the same version, other content has not",
		Why:     "who made a change from what was read must know that a policy means the same content",
		check: func(r *run) {
			r.put("f", "one")
			first, err := r.FS.ReadBytes(r.ctx, r.at("f"), 100)
			r.ok("reading", err)
			res, err := r.FS.WriteText(r.ctx, r.at("f"), "two", none)
			r.ok("writing", err)
			second, err := r.FS.ReadText(r.ctx, r.at("f"))
			r.ok("reading again", err)
			if !vfs.SameVersion(r.FS, res.Version, second.Version) {
				r.errorf("what was written and what was read then are not the same")
			}
			if vfs.SameVersion(r.FS, first.Version, second.Version) || vfs.SameVersion(r.FS, "", second.Version) {
				r.errorf("other content is the same")
			}
		},
	},
}

// confineEntries tries the changes of entries.
func (r *run) confineEntries(opts vfs.Options) {
	try := func(what string, err error) {
		if errs.CodeOf(err) != errs.Unsupported {
			r.code(what, err, errs.SandboxDenied)
		}
	}
	try("removing outside", vfs.Remove(r.ctx, r.FS, r.at("out/f"), opts))
	try("moving in", vfs.Rename(r.ctx, r.FS, r.at("out/f"), r.at("in/g"), false, opts))
	try("moving out", vfs.Rename(r.ctx, r.FS, r.at("in/f"), r.at("out/g"), false, opts))
	_, err := vfs.Copy(r.ctx, r.FS, r.at("in/f"), r.at("out/g"), false, opts)
	try("copying out", err)
	try("making a directory outside", vfs.MakeDir(r.ctx, r.FS, r.at("out/d"), opts))
	try("making a link outside", vfs.Symlink(r.ctx, r.FS, "f", r.at("out/l"), opts))
	try("removing a directory outside", vfs.RemoveDir(r.ctx, r.FS, r.at("in-x"), opts))
	try("setting attributes outside", vfs.SetDirAttr(r.ctx, r.FS, r.at("out"), vfs.Attr{Mode: 0o700, SetMode: true}, opts))
	_, err = vfs.WriteBytes(r.ctx, r.FS, r.at("out/f"), []byte("y"), vfs.Attr{}, opts)
	try("writing bytes outside", err)
	r.same("after denied changes", "out/f", "x")
	r.same("after denied changes", "in/f", "y")
	r.absent("out/g")
	r.absent("out/d")
}
