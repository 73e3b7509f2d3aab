package vfstest

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

var guardClauses = []Clause{
	{
		Name:    "guard/create if absent",
		Promise: "create-if-absent makes a missing file, and is FS_NOT_OBSERVED, with nothing changed, where anything exists",
		Why:     "an agent that believes a file is new must not overwrite it",
		check: func(r *run) {
			guard := vfs.Options{Guard: vfs.CreateIfAbsent()}
			_, err := r.FS.WriteText(r.ctx, r.at("new"), "x", guard)
			r.ok("creating a missing file", err)
			r.same("after a create", "new", "x")
			for name, content := range map[string]string{"new": "x", "empty": "", "same": "mine"} {
				t := r.put(name, content)
				_, err := r.FS.WriteText(r.ctx, t, "mine", guard)
				r.code("creating the existing file "+name, err, errs.NotObserved)
				r.same("after a refused create", name, content)
			}
		},
	},
	{
		Name:    "guard/one creator wins",
		Promise: "of creators that race with create-if-absent exactly one succeeds, and its content is what is there",
		Why:     "two agents must not both believe that they made the file",
		check: func(r *run) {
			for round := range 8 {
				name := fmt.Sprintf("f%d", round)
				t := r.at(name)
				errors := race(16, func(i int) error {
					_, err := r.FS.WriteText(r.ctx, t, strconv.Itoa(i), vfs.Options{Guard: vfs.CreateIfAbsent()})
					return err
				})
				winner := -1
				for i, err := range errors {
					switch {
					case err != nil:
						r.code("creating what another creates", err, errs.NotObserved)
					case winner >= 0:
						r.errorf("creators %d and %d both succeeded", winner, i)
					default:
						winner = i
					}
				}
				r.same("after the race", name, strconv.Itoa(winner))
			}
		},
	},
	{
		Name:    "guard/replace if version",
		Promise: "replace-if-version writes while the content is the version's, and is FS_STALE_VERSION, with nothing changed, where it is missing or different",
		Why:     "what others wrote since the agent looked is not overwritten",
		check: func(r *run) {
			t := r.put("f", "one")
			text, err := r.FS.ReadText(r.ctx, t)
			r.ok("reading", err)
			guard := vfs.Options{Guard: vfs.ReplaceIfVersion(text.Version)}
			_, err = r.FS.WriteText(r.ctx, t, "two", guard)
			r.ok("writing with a fresh version", err)
			r.same("after a guarded write", "f", "two")
			_, err = r.FS.WriteText(r.ctx, t, "three", guard)
			r.code("writing with the version of before", err, errs.StaleVersion)
			r.same("after a refused write", "f", "two")
			_, err = r.FS.WriteText(r.ctx, r.at("missing/f"), "x", guard)
			r.code("replacing a missing file", err, errs.StaleVersion)
			if info, err := r.FS.Stat(r.ctx, r.at("missing")); r.ok("stat", err) && info.Exists() {
				r.errorf("a refused replacement has made the parent directory")
			}
			_, err = r.FS.WriteText(r.ctx, t, "three", vfs.Options{Guard: vfs.ReplaceIfVersion("not a version of this provider")})
			r.code("writing with a made-up version", err, errs.StaleVersion)
		},
	},
	{
		Name:    "guard/judged at commit",
		Promise: "of changes that race with the version of the same content one succeeds: the version is compared with the bytes being replaced, under the target's lock",
		Why:     "between a check and a write that are not one act, somebody else's change is lost",
		check: func(r *run) {
			t := r.put("f", "0")
			const writers, rounds = 8, 6
			errors := race(writers, func(int) error {
				for done := 0; done < rounds; {
					text, err := r.FS.ReadText(r.ctx, t)
					if err != nil {
						return err
					}
					n, err := strconv.Atoi(text.Content)
					if err != nil {
						return err
					}
					_, err = r.FS.WriteText(r.ctx, t, strconv.Itoa(n+1), vfs.Options{Guard: vfs.ReplaceIfVersion(text.Version)})
					switch errs.CodeOf(err) {
					case "":
						done++
					case errs.StaleVersion:
					default:
						return err
					}
				}
				return nil
			})
			for _, err := range errors {
				r.ok("counting", err)
			}
			r.same(fmt.Sprintf("after %d writers counted %d times each", writers, rounds), "f", strconv.Itoa(writers*rounds))
		},
	},
}

// race runs fn n times at once and returns the errors.
func race(n int, fn func(i int) error) []error {
	errors := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errors[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return errors
}
