package vfstest

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// errCause is what the clauses cancel with: the coded failure of something
// else, as errgroup does. It must not pass for the operation's own.
var errCause = errs.New(errs.NotFound, "the failure of another call")

var cancelClauses = []Clause{
	{
		Name:    "cancel/before",
		Promise: "with a context that has ended, whatever its cause, every operation is FS_ABORTED, and nothing has changed",
		Why:     "a person who stops an agent expects that it stops",
		check: func(r *run) {
			t := r.put("f", "before")
			fresh := r.at("new/f")
			dir := r.resolve(r.Dir)
			ctx, cancel := context.WithCancelCause(r.ctx)
			cancel(errCause)
			ops := r.opens(t)
			ops["editing"] = func(ctx context.Context) error {
				_, err := r.FS.EditText(ctx, t, vfs.Edit{Old: "before", New: "after"}, vfs.Options{})
				return err
			}
			ops["writing"] = func(ctx context.Context) error {
				_, err := r.FS.WriteText(ctx, t, "after", vfs.Options{})
				return err
			}
			ops["creating"] = func(ctx context.Context) error {
				_, err := r.FS.WriteText(ctx, fresh, "after", vfs.Options{})
				return err
			}
			ops["listing"] = func(ctx context.Context) error {
				_, err := r.FS.List(ctx, dir)
				return err
			}
			ops["stat of"] = func(ctx context.Context) error {
				_, err := r.FS.Stat(ctx, t)
				return err
			}
			for what, op := range ops {
				err := op(ctx)
				r.code(what+" a file when the context has ended", err, errs.FSAborted)
				if errors.Is(err, errs.NotFound) {
					r.errorf("%s a file when the context has ended passes for the failure of another call: %v", what, err)
				}
			}
			r.same("after aborted changes", "f", "before")
			if info, err := r.FS.Stat(r.ctx, r.at("new")); r.ok("stat", err) && info.Exists() {
				r.errorf("an aborted create has made the parent directory")
			}
		},
	},
	{
		Name:    "cancel/stream",
		Promise: "a stream whose context ends gives FS_ABORTED at its next read",
		Why:     "a read of a huge file must not go on after its turn was cancelled",
		check: func(r *run) {
			t := r.put("f", strings.Repeat("line\n", 200_000))
			ctx, cancel := context.WithCancelCause(r.ctx)
			defer cancel(nil)
			s, err := r.FS.StreamText(ctx, t)
			if !r.ok("StreamText", err) {
				return
			}
			defer s.Close()
			_, err = io.ReadFull(s, make([]byte, 100))
			r.ok("reading a stream", err)
			cancel(errCause)
			_, err = drain(s, 4096)
			r.code("reading a stream whose context has ended", err, errs.FSAborted)
		},
	},
	{
		Name:    "cancel/waiting",
		Promise: "a change whose context ends while it waits for another of the same target is FS_ABORTED, and nothing of it happens",
		Why:     "the write that a person cancelled must not come through a minute later",
		check: func(r *run) {
			r.need("Pause")
			t := r.put("f", "x")
			reached, release := r.Outside.Pause(r.path("f"))
			first := make(chan error, 1)
			go func() {
				_, err := r.FS.WriteText(r.ctx, t, "first", vfs.Options{})
				first <- err
			}()
			<-reached
			ctx, cancel := context.WithCancelCause(r.ctx)
			second := make(chan error, 1)
			go func() {
				_, err := r.FS.WriteText(ctx, t, "second", vfs.Options{})
				second <- err
			}()
			cancel(errCause)
			release()
			r.ok("the first write", <-first)
			r.code("the second write, which was cancelled,", <-second, errs.FSAborted)
			r.same("in the end", "f", "first")
		},
	},
}
