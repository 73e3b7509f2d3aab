//go:build linux || darwin

package fslocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

// TestCreateRace lets many create one file; exactly one may.
func TestCreateRace(t *testing.T) {
	for range 20 {
		var providers [4]*FS
		dir := t.TempDir()
		for i := range providers {
			providers[i], _ = New(Config{Cwd: dir})
		}
		var wins atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				f := providers[i%4]
				tg := target(t, f, "p/q/a")
				_, err := f.WriteText(context.Background(), tg, fmt.Sprint(i), vfs.Options{Guard: vfs.CreateIfAbsent()})
				switch {
				case err == nil:
					wins.Add(1)
				case !errors.Is(err, errs.NotObserved):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 {
			t.Fatalf("%d creators won", wins.Load())
		}
		wantNames(t, filepath.Join(dir, "p/q"), "a")
	}
}

// TestConcurrentEdits lets 64 goroutines count in 20 files; every success must
// be in the file, once.
func TestConcurrentEdits(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	f, dir := newFS(t)
	const files = 20
	for i := range files {
		put(t, filepath.Join(dir, fmt.Sprint(i)), "")
	}
	var done [files]atomic.Int32
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			ctx := context.Background()
			for r := range rounds {
				i := (g*7 + r*13) % files
				tg := target(t, f, fmt.Sprint(i))
				for {
					text, err := f.ReadText(ctx, tg)
					if err != nil {
						t.Error(err)
						return
					}
					_, err = f.WriteText(ctx, tg, text.Content+"x", vfs.Options{Guard: vfs.ReplaceIfVersion(text.Version)})
					if err == nil {
						done[i].Add(1)
						break
					}
					if !errors.Is(err, errs.StaleVersion) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range files {
		if got := content(t, filepath.Join(dir, fmt.Sprint(i))); len(got) != int(done[i].Load()) {
			t.Errorf("file %d has %d of %d successes", i, len(got), done[i].Load())
		}
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != files {
		t.Errorf("%d entries are left", len(entries))
	}
	if len(locks.held) != 0 {
		t.Errorf("%d locks are left", len(locks.held))
	}
}

// TestLockWaitEnds makes sure that a change that waits for its turn can be
// aborted.
func TestLockWaitEnds(t *testing.T) {
	f, _ := newFS(t)
	tg := target(t, f, "a")
	unlock, err := lockKey(context.Background(), string(tg.Key))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := f.WriteText(ctx, tg, "x", vfs.Options{})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, errs.FSAborted) {
		t.Errorf("%v", err)
	}
}

func TestClosed(t *testing.T) {
	f, _ := newFS(t)
	f.Close()
	if _, err := f.WriteText(context.Background(), target(t, f, "a"), "x", vfs.Options{}); !errors.Is(err, errs.IO) {
		t.Errorf("%v", err)
	}
}
