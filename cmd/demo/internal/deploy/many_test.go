package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit/script"
)

// idleBound is how much heap an idle session may hold after the turn of the
// test, its conversation included: a limit that a leak passes at once, and far
// above what is measured.
const idleBound = 64 << 10

// Many sessions run at once in one process, with files and logs on disk. When
// they have ended their turns, each holds little, and after the stop no
// goroutine is left.
func TestManySessionsAtOnce(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	workspace := memDir(t)
	for i := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/%d.txt", workspace, i), []byte("teh end\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d := compose(t, append(deploy.Plugins(deploy.Default(workspace)), registryPlugin())...)
	store := session.NewFileStore(memDir(t), session.Config{MayRetry: d.Tools().MayRetry})

	// All wait for one another in their first answer, so that all do run at once.
	hold := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(n)
	agents := make([]*agent.Agent, n)
	for i := range agents {
		file := fmt.Sprintf("%d.txt", i)
		model := script.New(script.Config{Provider: fmt.Sprintf("p%d", i)},
			script.Step{Calls: []script.Call{read(file)}, Hold: hold, Check: func(llm.Request) error { waiting.Done(); return nil }},
			script.Step{Calls: []script.Call{edit(file, "teh", "the")}}, script.Step{Text: "ok"})
		if err := d.Mount(t.Context(), model.Plugin()); err != nil {
			t.Fatal(err)
		}
	}
	before := heap()
	for i := range agents {
		s, err := store.Create(t.Context(), session.Header{Cwd: workspace})
		if err != nil {
			t.Fatal(err)
		}
		if agents[i], err = d.Agent(s, agent.Config{Provider: fmt.Sprintf("p%d", i), Model: "m"}); err != nil {
			t.Fatal(err)
		}
	}
	goroutines := runtime.NumGoroutine()
	var running sync.WaitGroup
	for _, a := range agents {
		running.Go(func() {
			if _, err := a.Ask(context.Background(), "fix it"); err != nil {
				t.Error(err)
			}
		})
	}
	waiting.Wait()
	close(hold)
	running.Wait()
	idle := (heap() - before) / int64(n)
	t.Logf("%d sessions: %d bytes of heap each when idle, with the conversation of one turn", n, idle)
	if idle > idleBound {
		t.Errorf("an idle session holds %d bytes of heap, want at most %d", idle, idleBound)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines run while nothing happens, %d did before", now, goroutines)
	}
	for i := range agents {
		data, err := os.ReadFile(fmt.Sprintf("%s/%d.txt", workspace, i))
		if err != nil || !strings.HasPrefix(string(data), "the end") {
			t.Fatalf("file %d has %q, %v", i, data, err)
		}
	}
	var failures []error
	for _, a := range agents {
		failures = append(failures, a.Session().Close())
	}
	if err := errors.Join(append(failures, d.Stop(t.Context()))...); err != nil {
		t.Fatal(err)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // finalizers of the first run may hold memory until the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
