package vfstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

const staleVersion = errs.StaleVersion

// stream reads a text stream to its end in pieces, and returns what it gave.
func (r *run) stream(t vfs.Target, piece int) (string, vfs.Version) {
	s, err := r.FS.StreamText(r.ctx, t)
	if !r.ok("StreamText", err) {
		return "", ""
	}
	defer s.Close()
	text, err := drain(s, piece)
	r.ok("reading a stream", err)
	return text, s.Version()
}

// drain reads in pieces, at least as large as one character.
func drain(s io.Reader, piece int) (string, error) {
	var b bytes.Buffer
	buf := make([]byte, max(piece, 4))
	for {
		n, err := s.Read(buf)
		b.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
	}
}

// texts are files with what is shown of them.
var texts = map[string]struct{ bytes, shown string }{
	"empty":            {"", ""},
	"plain":            {"a\nb\n", "a\nb\n"},
	"no final newline": {"a\nb", "a\nb"},
	"endings":          {"a\r\nb\nc\rd\r\n", "a\r\nb\nc\rd\r\n"},
	"blanks":           {"  a \t\n\n \n", "  a \t\n\n \n"},
	"mark":             {"\xef\xbb\xbfa\r\n", "a\r\n"},
	"mark alone":       {"\xef\xbb\xbf", ""},
	"two marks":        {"\xef\xbb\xbf\xef\xbb\xbfa", "\xef\xbb\xbfa"},
	"inner mark":       {"a\xef\xbb\xbf", "a\xef\xbb\xbf"},
	"characters":       {"é世😀\n", "é世😀\n"},
	"late NUL":         {strings.Repeat("x", 8192) + "\x00y", strings.Repeat("x", 8192) + "\x00y"},
	"long":             {strings.Repeat("é世😀x\n", 30_000), strings.Repeat("é世😀x\n", 30_000)},
}

// notTexts are files that are not text.
var notTexts = map[string]string{
	"NUL":              "a\x00b",
	"last early NUL":   strings.Repeat("x", 8191) + "\x00",
	"invalid UTF-8":    "ok\n\xff\xfe\n",
	"Latin-1":          "caf\xe9",
	"cut character":    "caf\xc3",
	"surrogate":        "\xed\xa0\x80",
	"late and invalid": strings.Repeat("long line of text\n", 10_000) + "\xff",
}

var readClauses = []Clause{
	{
		Name:    "read text/as it is",
		Promise: "the text comes with its line endings, blanks and end as they are, without the byte-order mark at its beginning; a NUL behind the first 8192 bytes is text",
		Why:     "edits are matched against what was shown",
		check: func(r *run) {
			for name, f := range texts {
				t := r.put(name, f.bytes)
				text, err := r.FS.ReadText(r.ctx, t)
				if r.ok("reading "+name, err) && text.Content != f.shown {
					r.errorf("%s reads as %s, want %s", name, brief(text.Content), brief(f.shown))
				}
			}
		},
	},
	{
		Name:    "read text/not text",
		Promise: "a NUL in the first 8192 bytes, or invalid UTF-8 anywhere, is FS_NOT_TEXT",
		Why:     "a model that is shown replacement characters writes them back, and the file is ruined",
		check: func(r *run) {
			for name, data := range notTexts {
				_, err := r.FS.ReadText(r.ctx, r.put(name, data))
				r.code("reading "+name, err, errs.NotText)
			}
		},
	},
	{
		Name:    "stream text/same as read",
		Promise: "a stream gives, in all, what ReadText gives, however small the pieces; the version is known at its end and not before",
		Why:     "large files are streamed, and must look no different",
		check: func(r *run) {
			for name, f := range texts {
				t := r.put(name, f.bytes)
				for _, piece := range []int{4, 7, 64 << 10} {
					text, version := r.stream(t, piece)
					if text != f.shown {
						r.errorf("%s streams as %s in pieces of %d, want %s", name, brief(text), piece, brief(f.shown))
					}
					if version == "" {
						r.errorf("the stream of %s has no version at its end", name)
					}
				}
			}
			s, err := r.FS.StreamText(r.ctx, r.at("long"))
			if !r.ok("StreamText", err) {
				return
			}
			defer s.Close()
			if _, err := io.ReadFull(s, make([]byte, 10)); r.ok("reading a stream", err) && s.Version() != "" {
				r.errorf("the stream has a version before its end")
			}
		},
	},
	{
		Name:    "stream text/not text",
		Promise: "a stream of what is not text ends with FS_NOT_TEXT, at the latest where the offence is",
		Why:     "half a binary file must not pass for a text",
		check: func(r *run) {
			for name, data := range notTexts {
				s, err := r.FS.StreamText(r.ctx, r.put(name, data))
				if err == nil {
					_, err = drain(s, 4096)
					s.Close()
				}
				r.code("streaming "+name, err, errs.NotText)
			}
		},
	},
	{
		Name:    "read bytes/limit",
		Promise: "a file up to the limit comes whole, byte for byte; a larger one is FS_TOO_LARGE and never cut; a negative limit is INVALID_ARGS",
		Why:     "half an image or archive that passes for the whole is worse than none",
		check: func(r *run) {
			data := "\xef\xbb\xbf\x00\xff\r\nabc"
			t := r.put("f", data)
			size := int64(len(data))
			for _, limit := range []int64{size, size + 1, 1 << 40} {
				got, err := r.FS.ReadBytes(r.ctx, t, limit)
				if r.ok(fmt.Sprintf("reading %d bytes with the limit %d", size, limit), err) && string(got.Data) != data {
					r.errorf("with the limit %d the bytes are %q, want %q", limit, got.Data, data)
				}
			}
			for _, limit := range []int64{0, 1, size - 1} {
				got, err := r.FS.ReadBytes(r.ctx, t, limit)
				r.code(fmt.Sprintf("reading %d bytes with the limit %d", size, limit), err, errs.TooLarge)
				if len(got.Data) > 0 {
					r.errorf("with the limit %d there came %d bytes beside the error", limit, len(got.Data))
				}
			}
			_, err := r.FS.ReadBytes(r.ctx, r.put("empty", ""), 0)
			r.ok("reading an empty file with the limit 0", err)
			_, err = r.FS.ReadBytes(r.ctx, t, -1)
			r.code("reading with the limit -1", err, errs.InvalidArgs)
		},
	},
	{
		Name:    "stream text/constant memory",
		Promise: "streaming takes the memory of a few pieces, whatever the size of the file",
		Why:     "a log of gigabytes must not bring the process down",
		check: func(r *run) {
			t := r.put("f", strings.Repeat("a line of a large file\n", hugeBytes/23))
			took := allocated(func() {
				s, err := r.FS.StreamText(r.ctx, t)
				if !r.ok("StreamText", err) {
					return
				}
				defer s.Close()
				_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{s}, make([]byte, 64<<10))
				r.ok("reading a stream", err)
			})
			if took > hugeBytes/4 {
				r.errorf("streaming a file of %d bytes allocated %d bytes", hugeBytes, took)
			}
		},
	},
	{
		Name:    "read bytes/bounded memory",
		Promise: "a file larger than the limit is refused without a buffer beyond the limit",
		Why:     "the limit is there to protect the process, not only the caller",
		check: func(r *run) {
			t := r.put("f", strings.Repeat("x", hugeBytes))
			took := allocated(func() {
				_, err := r.FS.ReadBytes(r.ctx, t, 1000)
				r.code("reading a large file with a limit of 1000", err, errs.TooLarge)
			})
			if took > hugeBytes/4 {
				r.errorf("refusing a file of %d bytes allocated %d bytes", hugeBytes, took)
			}
		},
	},
	{
		Name:    "read bytes/the caller's own",
		Promise: "the bytes read belong to the caller, and those written stay the caller's: what becomes of them later changes no file",
		Why:     "a buffer that is used again would change files past every guard and policy",
		check: func(r *run) {
			const text = "before"
			holds := func(what, name string) {
				if got, err := r.FS.ReadBytes(r.ctx, r.at(name), 100); r.ok("reading", err) && string(got.Data) != text {
					r.errorf("%s a second read gives %q, want %q", what, got.Data, text)
				}
				r.same(what, name, text)
			}
			got, err := r.FS.ReadBytes(r.ctx, r.put("f", text), 100)
			if r.ok("reading", err) {
				copy(got.Data, "xxxxxx")
				holds("after the bytes read were changed", "f")
			}
			if _, ok := vfs.As[vfs.ByteWriter](r.FS); !ok {
				return
			}
			data := []byte(text)
			_, err = vfs.WriteBytes(r.ctx, r.FS, r.at("g"), data, vfs.Attr{}, vfs.Options{})
			if r.ok("writing bytes", err) {
				copy(data, "xxxxxx")
				holds("after the bytes written were changed", "g")
			}
		},
	},
	{
		Name:    "read/missing",
		Promise: "reading, streaming, listing and editing what is not there is FS_NOT_FOUND, and an error that names the file in readable form and wraps its cause",
		Why:     "a model corrects its path by the code, and a name must not be able to forge a line of output",
		check: func(r *run) {
			name := "missing\n\u202etxt"
			if r.NoUnixNames {
				name = "missing"
			}
			t := r.at(name)
			for what, op := range r.opens(t) {
				err := op(r.ctx)
				r.code(what+" a missing file", err, errs.NotFound)
				if err == nil {
					continue
				}
				if strings.ContainsAny(err.Error(), "\n\u202e") {
					r.errorf("the error of %s shows control characters: %q", what, err)
				}
				var coded *errs.Error
				if !errors.As(err, &coded) {
					r.errorf("the error of %s is no *errs.Error: %T", what, err)
				}
			}
			_, err := r.FS.List(r.ctx, t)
			r.code("listing a missing directory", err, errs.NotFound)
		},
	},
	{
		Name:    "read/regular files only",
		Promise: "a directory, FIFO or device is FS_NOT_REGULAR_FILE at once, for reading and for changing",
		Why:     "opening a FIFO waits for a writer that never comes, and opening a device can do harm",
		check: func(r *run) {
			names := []string{"d"}
			r.put("d/f", "x")
			if r.Outside.Fifo != nil {
				r.do("fifo", r.Outside.Fifo(r.path("pipe")))
				names = append(names, "pipe")
			}
			if r.Outside.Fifo != nil && r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("pipe", r.path("link to pipe")))
				names = append(names, "link to pipe")
			}
			for _, name := range names {
				t := r.at(name)
				ops := r.opens(t)
				ops["writing"] = func(ctx context.Context) error {
					_, err := r.FS.WriteText(ctx, t, "x", vfs.Options{})
					return err
				}
				for what, op := range ops {
					r.code(what+" "+name, r.promptly(what+" "+name, op), errs.NotRegularFile)
				}
			}
			if r.Outside.Fifo == nil {
				r.skipf("this world has no Outside.Fifo, so that it was tried on a directory alone")
			}
		},
	},
	{
		Name:    "read/no permission",
		Promise: "what may not be read is FS_PERMISSION_DENIED",
		Why:     "it is not missing, and asking again does not help",
		check: func(r *run) {
			r.need("Chmod")
			if !r.PermissionsBind {
				r.skipf("permissions do not bind this process")
			}
			t := r.put("f", "x")
			r.put("d/f", "x")
			r.do("chmod", r.Outside.Chmod(r.path("f"), 0))
			r.do("chmod", r.Outside.Chmod(r.path("d"), 0))
			defer func() { r.do("chmod", r.Outside.Chmod(r.path("d"), 0o755)) }()
			for what, op := range r.opens(t) {
				r.code(what+" a file of mode 000", op(r.ctx), errs.Permission)
			}
			_, err := r.FS.List(r.ctx, r.at("d"))
			r.code("listing a directory of mode 000", err, errs.Permission)
		},
	},
}

// hugeBytes is the size of a file that is noticed when it is held in memory.
const hugeBytes = 16 << 20

// allocated returns how many bytes the process allocated during fn. Others
// allocate too, so the answer is good for orders of magnitude only.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// opens are the operations that open a file for its content.
func (r *run) opens(t vfs.Target) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"reading": func(ctx context.Context) error {
			_, err := r.FS.ReadText(ctx, t)
			return err
		},
		"streaming": func(ctx context.Context) error {
			s, err := r.FS.StreamText(ctx, t)
			if err == nil {
				_, err = drain(s, 4096)
				s.Close()
			}
			return err
		},
		"reading the bytes of": func(ctx context.Context) error {
			_, err := r.FS.ReadBytes(ctx, t, 1<<20)
			return err
		},
		"editing": func(ctx context.Context) error {
			_, err := r.FS.EditText(ctx, t, vfs.Edit{Old: "x", New: "y"}, vfs.Options{})
			return err
		},
	}
}

var listClauses = []Clause{
	{
		Name:    "list/sorted, typed, one level",
		Promise: "the children of a directory come in byte order of their names, with type, size and the target they resolve to; a broken symlink is other",
		Why:     "what is listed twice must look the same, and be usable without another look",
		check: func(r *run) {
			want := map[string]vfs.Type{"B": vfs.File, "a": vfs.File, "a.b": vfs.File, "aa": vfs.Directory, "é": vfs.File}
			r.put("d/B", "12345")
			r.put("d/a", "")
			r.put("d/a.b", "")
			r.put("d/é", "")
			r.put("d/aa/below", "")
			if r.Outside.Symlink != nil {
				r.do("symlink", r.Outside.Symlink("a", r.path("d/good")))
				r.do("symlink", r.Outside.Symlink("nowhere", r.path("d/broken")))
				want["good"], want["broken"] = vfs.Link, vfs.Other
			}
			if r.Outside.Fifo != nil {
				r.do("fifo", r.Outside.Fifo(r.path("d/pipe")))
				want["pipe"] = vfs.Other
			}
			entries, err := r.FS.List(r.ctx, r.at("d"))
			if !r.ok("listing", err) {
				return
			}
			for i, e := range entries {
				if i > 0 && entries[i-1].Name >= e.Name {
					r.errorf("%q comes after %q", e.Name, entries[i-1].Name)
				}
				typ, there := want[e.Name]
				if !there || typ != e.Type {
					r.errorf("%q is listed as %v, want %v", e.Name, e.Type, typ)
				}
				delete(want, e.Name)
				if t := r.at("d/" + e.Name); t != e.Target {
					r.errorf("the target of %q is %+v, want %+v", e.Name, e.Target, t)
				}
				if e.Name == "B" && e.Size != 5 && (e.Size != 0 || !e.Modified.IsZero()) {
					r.errorf("B is listed with %d bytes, want 5, or neither size nor time", e.Size)
				}
			}
			for name := range want {
				r.errorf("%q is not listed", name)
			}
			if empty, err := r.FS.List(r.ctx, r.at("d/aa")); r.ok("listing", err) && len(empty) != 1 {
				r.errorf("d/aa is listed with %d children, want 1", len(empty))
			}
		},
	},
	{
		Name:    "list/not a directory",
		Promise: "listing a file is FS_NOT_DIRECTORY",
		Why:     "the caller learns to read it instead",
		check: func(r *run) {
			_, err := r.FS.List(r.ctx, r.put("f", "x"))
			r.code("listing a file", err, errs.NotDirectory)
		},
	},
}
