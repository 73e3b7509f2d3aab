package deploy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit/script"
)

// killedEnv makes the test binary run a session, in the directory it names,
// until it is killed.
const killedEnv = "BRIDLE_TEST_RUN_UNTIL_KILLED"

// The file that is changed over and over has one of these contents.
var killedContents = []string{"one " + strings.Repeat("x", 5000) + "\n", "two " + strings.Repeat("x", 5000) + "\n"}

// endless reads the file once and changes it to and fro.
func endless() []script.Step {
	var steps []script.Step
	for i := range 2000 {
		from, to := "one ", "two "
		if i%2 == 1 {
			from, to = to, from
		}
		steps = append(steps, script.Step{Text: "now for the next", Calls: []script.Call{
			read("a.txt"), edit("a.txt", from, to), edit("a.txt", to, from), read("a.txt"), edit("a.txt", from, to),
		}})
	}
	return steps
}

// runUntilKilled is the other process.
func runUntilKilled(dir string) error {
	ctx := context.Background()
	workspace := filepath.Join(dir, "workspace")
	steps := endless()
	d, err := harness.Compose(ctx, append(deploy.Plugins(deploy.Default(workspace)), registryPlugin(), script.New(script.Config{Provider: "p", PieceRunes: 3}, steps...).Plugin())...)
	if err != nil {
		return err
	}
	store := session.NewFileStore(filepath.Join(dir, "sessions"), session.Config{MayRetry: d.Tools().MayRetry})
	s, err := store.Open(ctx, "s")
	if errors.Is(err, session.NotFound) {
		s, err = store.Create(ctx, session.Header{ID: "s", Cwd: workspace})
	}
	if err != nil {
		return err
	}
	a, err := d.Agent(s, agent.Config{Provider: "p", Model: "m", MaxSteps: 1000})
	if err != nil {
		return err
	}
	fmt.Println("running")
	_, err = a.Ask(ctx, "go on and on")
	return errors.Join(errors.New("the turn ended"), err)
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedEnv); dir != "" {
		fmt.Println(runUntilKilled(dir))
		os.Exit(1)
	}
	leakTest(m)
}

// A process that runs a session is killed at random moments, again and again.
// Each time the session opens, with a conversation that a provider accepts and
// nothing of what was on disk lost, the file is whole, and the next process
// goes on.
func TestKilledSessionsGoOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("kill -9 needs a Unix")
	}
	kills, limit := 100, 5*time.Second
	if testing.Short() {
		kills, limit = 20, 2*time.Second
	}
	p := newPlace(t, map[string]string{"a.txt": killedContents[0]})
	dir := memDir(t)
	if err := os.Symlink(p.workspace, filepath.Join(dir, "workspace")); err != nil {
		t.Fatal(err)
	}
	p.sessions = filepath.Join(dir, "sessions")

	var events int64
	var repaired int
	begin, n := time.Now(), 0
	for ; n < kills && time.Since(begin) < limit; n++ {
		runAndKill(t, dir)
		if content := p.content(t, "a.txt"); content != killedContents[0] && content != killedContents[1] {
			t.Fatalf("kill %d: the file is torn: %.40q, %d bytes", n, content, len(content))
		}
		store := session.NewFileStore(p.sessions, session.Config{MayRetry: func(name, _ string) bool { return name == "read" }})
		s, err := store.Open(t.Context(), "s")
		if errors.Is(err, session.NotFound) {
			continue // it was killed before there was anything
		}
		if err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
		if s.Len() < events {
			t.Fatalf("kill %d: the log had %d events and has %d", n, events, s.Len())
		}
		events = s.Len()
		if s.OpenTurn() != 0 || len(s.PendingCalls()) > 0 {
			t.Errorf("kill %d: something is open", n)
		}
		checkValid(t, fmt.Sprintf("kill %d", n), s.Messages())
		if s.Repaired().Needed() {
			repaired++
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
		// The log grows with each process; a new one keeps the rounds short.
		if events > 600 {
			if err := store.Delete(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			events = 0
		}
	}
	t.Logf("%d kills in %v: %d left something to put right", n, time.Since(begin).Round(time.Millisecond), repaired)
	if repaired < n/4 || n < 5 {
		t.Errorf("of %d kills only %d hit a running turn", n, repaired)
	}

	last := p.sit(t)
	defer last.end(t)
	for range last.Session().Inbox(session.NextTurn) {
		last.model.Add(script.Step{Text: "what the last processes did not come to"})
	}
	last.model.Add(script.Step{Calls: []script.Call{read("a.txt")}}, script.Step{Calls: []script.Call{write("a.txt", "the end\n")}}, script.Step{Text: "ok"})
	last.ask(t, "finish")
	if got := p.content(t, "a.txt"); got != "the end\n" {
		t.Errorf("the session does not go on: %s", last.lastResult())
	}
	left, err := filepath.Glob(filepath.Join(p.workspace, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("the workspace has %v, %v", left, err)
	}
}

// runAndKill starts the other process and kills it a moment after it runs.
func runAndKill(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killedEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "running\n" {
		t.Errorf("the process said %q, %v", line, err)
	}
	time.Sleep(rand.N(20 * time.Millisecond))
	_ = cmd.Process.Kill() // it may have ended by itself, which its output tells
	_ = cmd.Wait()         // killed
}
