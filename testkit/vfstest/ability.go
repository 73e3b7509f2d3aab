package vfstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// lacks skips the clause when the provider does not have the ability.
func lacks[T any](r *run) {
	if _, ok := vfs.As[T](r.FS); !ok {
		r.skipf("the provider is no %v", reflect.TypeFor[T]())
	}
}

var none vfs.Options

var abilityClauses = []Clause{
	{
		Name:    "ability/remove",
		Promise: "Remove removes a file, or the symlink itself; missing is FS_NOT_FOUND, a directory FS_NOT_REGULAR_FILE",
		Why:     "removing what a symlink leads to, or a whole directory, is loss nobody asked for",
		check: func(r *run) {
			lacks[vfs.Remover](r)
			r.put("f", "x")
			r.put("kept", "x")
			r.put("d/f", "x")
			r.ok("removing a file", vfs.Remove(r.ctx, r.FS, r.at("f"), none))
			r.absent("f")
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("kept", r.path("link")))
				r.ok("removing a symlink", vfs.Remove(r.ctx, r.FS, r.at("link"), none))
				r.absent("link")
				r.same("after its symlink was removed", "kept", "x")
			}
			r.code("removing a missing file", vfs.Remove(r.ctx, r.FS, r.at("f"), none), errs.NotFound)
			r.code("removing a directory as a file", vfs.Remove(r.ctx, r.FS, r.at("d"), none), errs.NotRegularFile)
			stale := vfs.Options{Guard: vfs.ReplaceIfVersion("no such version")}
			r.code("removing with a stale version", vfs.Remove(r.ctx, r.FS, r.at("kept"), stale), errs.StaleVersion)
			r.same("after a refused removal", "kept", "x")
		},
	},
	{
		Name:    "ability/remove directory",
		Promise: "RemoveDir removes an empty directory; one that is not empty is FS_IO_ERROR and stays, a missing one FS_NOT_FOUND",
		Why:     "a directory that got a file meanwhile must not vanish with it",
		check: func(r *run) {
			lacks[vfs.DirRemover](r)
			r.put("full/f", "x")
			r.code("removing a directory that is not empty", vfs.RemoveDir(r.ctx, r.FS, r.at("full"), none), errs.IO)
			r.same("after a refused removal", "full/f", "x")
			r.code("removing a missing directory", vfs.RemoveDir(r.ctx, r.FS, r.at("missing"), none), errs.NotFound)
			lacks[vfs.DirMaker](r)
			r.ok("making a directory", vfs.MakeDir(r.ctx, r.FS, r.at("empty"), none))
			r.ok("removing it", vfs.RemoveDir(r.ctx, r.FS, r.at("empty"), none))
			r.absent("empty")
		},
	},
	{
		Name:    "ability/make directory",
		Promise: "MakeDir makes a directory and its missing parents; one that exists is no error, and a file in its place is one",
		Why:     "callers need not look first, and must learn that they cannot have a directory",
		check: func(r *run) {
			lacks[vfs.DirMaker](r)
			for range 2 {
				r.ok("making a directory", vfs.MakeDir(r.ctx, r.FS, r.at("a/b/c"), none))
			}
			if info, err := r.FS.Stat(r.ctx, r.at("a/b/c")); r.ok("stat", err) && info.Type != vfs.Directory {
				r.errorf("a/b/c is %v, want a directory", info.Type)
			}
			r.put("f", "x")
			if err := vfs.MakeDir(r.ctx, r.FS, r.at("f"), none); err == nil {
				r.errorf("a directory was made where there is a file")
			}
			r.same("after that", "f", "x")
		},
	},
	{
		Name:    "ability/rename",
		Promise: "Rename moves a file with its content, makes the parents it needs, replaces only when it may, and judges the guard on the destination",
		Why:     "a move is a write of its destination and needs the same care",
		check: func(r *run) {
			lacks[vfs.Renamer](r)
			r.put("a", "a")
			r.put("b", "b")
			rename := func(from, to string, replace bool, opts vfs.Options) error {
				return vfs.Rename(r.ctx, r.FS, r.at(from), r.at(to), replace, opts)
			}
			r.code("renaming onto a file without replace", rename("a", "b", false, none), errs.NotObserved)
			r.code("renaming with a stale version", rename("a", "b", true, vfs.Options{Guard: vfs.ReplaceIfVersion("no such version")}), errs.StaleVersion)
			r.same("after refused moves", "a", "a")
			r.same("after refused moves", "b", "b")
			r.ok("renaming with replace", rename("a", "b", true, none))
			r.absent("a")
			r.same("after the move", "b", "a")
			r.ok("renaming to a new name", rename("b", "c", false, none))
			r.absent("b")
			r.same("after the move", "c", "a")
			r.code("renaming a missing file", rename("b", "d", false, none), errs.NotFound)
			r.ok("renaming into a missing directory", rename("c", "new/dir/c", false, none))
			r.same("after the move", "new/dir/c", "a")
			errors := race(8, func(i int) error {
				from := fmt.Sprintf("from%d", i)
				if _, err := r.FS.WriteText(r.ctx, r.at(from), from, none); err != nil {
					return err
				}
				return rename(from, "one", false, none)
			})
			won := 0
			for _, err := range errors {
				if err == nil {
					won++
					continue
				}
				r.code("renaming onto what another has put there", err, errs.NotObserved)
			}
			if won != 1 {
				r.errorf("%d of 8 racing moves without replace succeeded, want 1", won)
			}
		},
	},
	{
		Name:    "ability/copy",
		Promise: "Copy copies the bytes, permission bits and modification time of a file, and a symlink as a symlink; it makes the parents it needs and replaces only when it may",
		Why:     "a backup that differs from the original is none",
		check: func(r *run) {
			lacks[vfs.Copier](r)
			data := "\xef\xbb\xbf\x00\xff\r\n"
			from := r.put("a", data)
			if r.has("Chmod") {
				r.do("chmod", r.Outside.Chmod(r.path("a"), 0o751))
			}
			n, err := vfs.Copy(r.ctx, r.FS, from, r.at("b"), false, none)
			if r.ok("copying", err) {
				if n != int64(len(data)) {
					r.errorf("Copy reports %d bytes, want %d", n, len(data))
				}
				r.same("after a copy", "b", data)
				r.same("after a copy", "a", data)
				a, errA := r.FS.Stat(r.ctx, from)
				b, errB := r.FS.Stat(r.ctx, r.at("b"))
				if r.ok("stat", errors.Join(errA, errB)) && (a.Mode != b.Mode || !a.Modified.Equal(b.Modified)) {
					r.errorf("the copy has mode %04o and time %v, want %04o and %v", b.Mode, b.Modified, a.Mode, a.Modified)
				}
			}
			_, err = vfs.Copy(r.ctx, r.FS, from, r.at("new/dir/b"), false, none)
			r.ok("copying into a missing directory", err)
			r.same("after the copy", "new/dir/b", data)
			r.put("c", "mine")
			_, err = vfs.Copy(r.ctx, r.FS, from, r.at("c"), false, none)
			r.code("copying onto a file without replace", err, errs.NotObserved)
			r.same("after a refused copy", "c", "mine")
			_, err = vfs.Copy(r.ctx, r.FS, from, r.at("c"), true, none)
			r.ok("copying with replace", err)
			r.same("after the copy", "c", data)
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("a", r.path("link")))
				_, err = vfs.Copy(r.ctx, r.FS, r.at("link"), r.at("link2"), false, none)
				r.ok("copying a symlink", err)
				if info, err := r.FS.Lstat(r.ctx, r.at("link2")); r.ok("lstat", err) && info.Type != vfs.Link {
					r.errorf("the copy of a symlink is %v", info.Type)
				}
			}
		},
	},
	{
		Name:    "ability/symlinks",
		Promise: "Symlink makes a symlink with exactly that content and never replaces; Readlink tells it",
		Why:     "a relative link that was made absolute breaks when its tree is moved",
		check: func(r *run) {
			lacks[vfs.Linker](r)
			r.put("f", "x")
			for name, content := range map[string]string{"l1": "f", "l2": "./nowhere/../f", "l3": "nowhere"} {
				t := r.at(name)
				if !r.ok("making a symlink", vfs.Symlink(r.ctx, r.FS, content, t, none)) {
					continue
				}
				got, err := vfs.Readlink(r.ctx, r.FS, r.at(name))
				if r.ok("reading a symlink", err) && got != content {
					r.errorf("%s holds %q, want %q", name, got, content)
				}
			}
			r.code("making a symlink where there is a file", vfs.Symlink(r.ctx, r.FS, "x", r.at("f"), none), errs.NotObserved)
			r.same("after that", "f", "x")
		},
	},
	{
		Name:    "ability/write bytes",
		Promise: "WriteBytes writes any bytes with the guarantees of WriteText, and sets the mode and time that are asked for",
		Why:     "restoring a backup brings back more than text",
		check: func(r *run) {
			lacks[vfs.ByteWriter](r)
			data := []byte("\x00\xff\r\n")
			at := time.Unix(1_600_000_000, 0)
			res, err := vfs.WriteBytes(r.ctx, r.FS, r.at("d/f"), data, vfs.Attr{Mode: 0o640, SetMode: true, Modified: at}, none)
			if r.ok("writing bytes", err) {
				r.same("after it", "d/f", string(data))
				info, err := r.FS.Stat(r.ctx, r.at("d/f"))
				if r.ok("stat", err) && (!info.Modified.Equal(at) || info.Mode != 0 && info.Mode&0o200 == 0) {
					r.errorf("the file has mode %04o and time %v, want 0640 and %v", info.Mode, info.Modified, at)
				}
				if r.has("Chmod") {
					r.mode("after it", "d/f", 0o640)
				}
			}
			_, err = vfs.WriteBytes(r.ctx, r.FS, r.at("d/f"), []byte("x"), vfs.Attr{}, vfs.Options{Guard: vfs.ReplaceIfVersion(res.Version)})
			r.ok("writing with its version", err)
			_, err = vfs.WriteBytes(r.ctx, r.FS, r.at("d/f"), []byte("y"), vfs.Attr{}, vfs.Options{Guard: vfs.ReplaceIfVersion(res.Version)})
			r.code("writing with a stale version", err, errs.StaleVersion)
			r.same("after a refused write", "d/f", "x")
		},
	},
	{
		Name:    "ability/open",
		Promise: "an open file gives any part of its bytes, as it was when it was opened, with its size then",
		Why:     "a search in a file must not see half of the old and half of the new",
		check: func(r *run) {
			lacks[vfs.Opener](r)
			data := "0123456789"
			t := r.put("f", data)
			f, err := vfs.Open(r.ctx, r.FS, t)
			if !r.ok("opening", err) {
				return
			}
			defer f.Close()
			_, err = r.FS.WriteText(r.ctx, t, "replaced by the provider", none)
			r.ok("writing", err)
			buf := make([]byte, 4)
			if n, err := f.ReadAt(buf, 3); r.ok("reading a part", err) && string(buf[:n]) != data[3:7] {
				r.errorf("bytes 3 to 7 are %q, want %q", buf[:n], data[3:7])
			}
			if n, err := f.ReadAt(buf, 8); err != io.EOF || string(buf[:n]) != data[8:] {
				r.errorf("at the end there are %q (%v), want %q and io.EOF", buf[:n], err, data[8:])
			}
			if f.Size() != int64(len(data)) {
				r.errorf("the size is %d, want %d", f.Size(), len(data))
			}
			_, err = vfs.Open(r.ctx, r.FS, r.resolve(r.Dir))
			r.code("opening a directory", err, errs.NotRegularFile)
		},
	},
	{
		Name:    "ability/walk",
		Promise: "WalkDir visits everything below once, directories before what they hold, siblings in byte order, without following symlinks; SkipDir leaves out a directory, or the rest of the one that a file is in",
		Why:     "searches and trees must be complete, repeatable and finite",
		check: func(r *run) {
			lacks[vfs.Walker](r)
			for _, name := range []string{"w/b/2", "w/b/1", "w/a.x", "w/a/f", "w/c"} {
				r.put(name, "x")
			}
			want := []string{"a", "a/f", "a.x", "b", "b/1", "b/2", "c"}
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("..", r.path("w/loop")))
				want = append(want, "loop")
			}
			var got []string
			walk := func(fn vfs.WalkFunc) {
				got = nil
				r.ok("walking", r.promptly("walking", func(ctx context.Context) error {
					return vfs.WalkDir(ctx, r.FS, r.at("w"), fn)
				}))
			}
			walk(func(path string, _ vfs.Entry, err error) error {
				r.ok("visiting "+path, err)
				got = append(got, path)
				return nil
			})
			// Byte order of whole paths and of names differ in where "a.x" goes;
			// both are sorted.
			sorted := slices.Sorted(slices.Values(want))
			if !slices.Equal(got, want) && !slices.Equal(got, sorted) {
				r.errorf("visited %q, want %q", got, want)
			}
			walk(func(path string, e vfs.Entry, _ error) error {
				got = append(got, path)
				if e.Type == vfs.Directory {
					return vfs.SkipDir
				}
				return nil
			})
			for _, path := range got {
				if path == "a/f" || path == "b/1" || path == "b/2" {
					r.errorf("visited %q, which was to be skipped", path)
				}
			}
			walk(func(path string, _ vfs.Entry, _ error) error {
				got = append(got, path)
				if path == "b/1" {
					return vfs.SkipDir
				}
				return nil
			})
			if slices.Contains(got, "b/2") || !slices.Contains(got, "c") {
				r.errorf("visited %q with SkipDir at \"b/1\", want all but \"b/2\"", got)
			}
			stop := errors.New("stop")
			if err := vfs.WalkDir(r.ctx, r.FS, r.at("w"), func(string, vfs.Entry, error) error { return stop }); !errors.Is(err, stop) {
				r.errorf("a walk whose function failed gave %v, want its error", err)
			}
		},
	},
}

// absent checks that nothing is there, not even a symlink.
func (r *run) absent(name string) {
	info, err := r.FS.Lstat(r.ctx, r.at(name))
	if r.ok("lstat of "+name, err) && info.Exists() {
		r.errorf("%s is still there, as %v", name, info.Type)
	}
}
