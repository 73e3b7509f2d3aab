package session_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// stores runs a test on each kind of store.
func stores(t *testing.T, fn func(t *testing.T, store session.Store)) {
	t.Run("memory", func(t *testing.T) { fn(t, session.NewMemoryStore(fixed())) })
	t.Run("file", func(t *testing.T) {
		fn(t, session.NewFileStore(filepath.Join(memDir(t), "deep", "sessions"), fixed()))
	})
}

func create(t *testing.T, store session.Store, id string) *session.Session {
	t.Helper()
	s, err := store.Create(ctx, session.Header{ID: id, Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func events(t *testing.T, s *session.Session) []session.Event {
	t.Helper()
	var out []session.Event
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// A session that is closed and opened again is the same session.
func TestResume(t *testing.T) {
	stores(t, func(t *testing.T, store session.Store) {
		s := create(t, store, "s")
		converse(t, s, 1)
		want, messages, observed := encoded(events(t, s)), s.Messages(), s.Observations()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.Repaired().Needed() {
			t.Errorf("a session that was closed was repaired: %+v", s.Repaired())
		}
		if got := encoded(events(t, s)); got != want {
			t.Errorf("events (-before +after):\n%s", cmp.Diff(want, got))
		}
		if diff := cmp.Diff(messages, s.Messages()); diff != "" {
			t.Errorf("messages (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(observed, s.Observations()); diff != "" || len(observed) != 1 {
			t.Errorf("observations (-before +after):\n%s", diff)
		}
		if s.SandboxMode() != "workspace-write" || s.Title() != "fix" {
			t.Errorf("mode %q, title %q", s.SandboxMode(), s.Title())
		}
		next := add(t, s, session.TurnStart{Turn: 2}.Event())
		if next[0].Seq != s.Len()-1 {
			t.Errorf("the next event has number %d of %d", next[0].Seq, s.Len())
		}
	})
}

// The events of an open session include what is not written yet.
func TestEventsWhileStreaming(t *testing.T) {
	stores(t, func(t *testing.T, store session.Store) {
		s := create(t, store, "s")
		defer s.Close()
		add(t, s, session.TurnStart{Turn: 1}.Event())
		add(t, s, chunks(1, 1, streamed(0, llm.TextBlock, "a", "b", "c", "d")[:4]...)...)
		if got := len(events(t, s)); got != 5 {
			t.Errorf("%d events, want 5", got)
		}
		for range s.Events() {
			break // ending early is fine
		}
		log, err := store.Read(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		if len(log.Events) < 1 {
			t.Error("a reader beside the writer sees nothing")
		}
	})
}

func TestList(t *testing.T) {
	stores(t, func(t *testing.T, store session.Store) {
		if got, err := store.List(ctx); err != nil || len(got) != 0 {
			t.Fatalf("an empty store lists %v, %v", got, err)
		}
		for _, id := range []string{"a", "b", "c"} {
			s := create(t, store, id)
			for turn := 1; turn <= len(id)+int(id[0]-'a'); turn++ {
				converse(t, s, turn)
			}
			if id != "c" {
				s.Close()
			} else {
				defer s.Close()
			}
		}
		for range 2 { // the second time from what is remembered
			list, err := store.List(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range list {
				if i.Size == 0 || i.CreatedAt == 0 || i.Err != nil {
					t.Errorf("info %+v", i)
				}
				got = append(got, fmt.Sprint(i.ID, " ", i.Title, " ", i.Cwd, " ", i.Turns))
			}
			if diff := cmp.Diff([]string{"c fix /w 3", "b fix /w 2", "a fix /w 1"}, got); diff != "" {
				t.Errorf("list (-want +got):\n%s", diff)
			}
		}
		// A renamed session is listed by its new name.
		s, err := store.Open(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, session.Title{Title: "better", Source: session.TitleSource{Kind: "user"}}.Event())
		s.Close()
		list, err := store.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(i session.Info) bool { return i.ID == "a" })
		if got := list[i].Title; got != "better" {
			t.Errorf("title %q", got)
		}
	})
}

// The session that was used last comes first, however old it is.
func TestListByUse(t *testing.T) {
	stores(t, func(t *testing.T, store session.Store) {
		for _, id := range []string{"old", "new"} {
			create(t, store, id).Close()
		}
		// File times are coarse: without a pause both logs could have one.
		pause(t)
		s, err := store.Open(ctx, "old")
		if err != nil {
			t.Fatal(err)
		}
		converse(t, s, 1)
		s.Close()
		list, err := store.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if list[0].ID != "old" || !list[0].UsedAt.After(list[1].UsedAt) {
			t.Errorf("listed %+v", list)
		}
	})
}

// pause returns when a file written now has a later time than one written
// before.
func pause(t *testing.T) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "probe")
	stamp := func() time.Time {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return st.ModTime()
	}
	for first := stamp(); !stamp().After(first); {
		runtime.Gosched()
	}
}

// A log that cannot be read is listed with the reason, and hides no other.
func TestListDamaged(t *testing.T) {
	dir := memDir(t)
	store := session.NewFileStore(dir, fixed())
	create(t, store, "good").Close()
	for name, text := range map[string]string{
		"bad.jsonl":   "{\"type\":\"sess",
		"other.jsonl": `{"type":"session","version":1,"id":"other","createdAt":5,"cwd":"/w"}` + "\n",
		"empty.jsonl": "",
		"notes.txt":   "hello",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := store.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, i := range list {
		got[i.ID] = fmt.Sprint(i.Err)
	}
	want := map[string]string{
		"good":  "<nil>",
		"bad":   "the session log cannot be opened: line 1: the header is cut off or damaged: it is not valid JSON: unexpected end of JSON input",
		"other": "the session log cannot be opened: line 1: the log has format version 1, and this program reads version 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	stores(t, func(t *testing.T, store session.Store) {
		open := create(t, store, "open")
		defer open.Close()
		_, openErr := store.Open(ctx, "none")
		_, readErr := store.Read(ctx, "none")
		_, forkErr := store.Fork(ctx, "none", -1)
		_, existsErr := store.Create(ctx, session.Header{ID: "open", Cwd: "/w"})
		_, lockedErr := store.Open(ctx, "open")
		closed := create(t, store, "closed")
		closed.Close()
		_, takenErr := store.Create(ctx, session.Header{ID: "closed", Cwd: "/w"})
		_, appendErr := closed.Append(session.TurnStart{Turn: 1}.Event())
		var eventsErr error
		for _, err := range closed.Events() {
			eventsErr = err
		}
		tests := []struct {
			name string
			err  error
			code error
		}{
			{"open", openErr, session.NotFound},
			{"read", readErr, session.NotFound},
			{"fork", forkErr, session.NotFound},
			{"delete", store.Delete(ctx, "none"), session.NotFound},
			{"open twice", lockedErr, session.Locked},
			{"delete an open one", store.Delete(ctx, "open"), session.Locked},
			{"create one that is there", takenErr, session.Exists},
			{"append to a closed one", appendErr, session.Closed},
			{"read a closed one", eventsErr, session.Closed},
			{"checkpoint a closed one", closed.Checkpoint(ctx), session.Closed},
			{"close twice", closed.Close(), nil},
		}
		for _, tt := range tests {
			if !errors.Is(tt.err, tt.code) {
				t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.code)
			}
		}
		if !errors.Is(existsErr, session.Exists) && !errors.Is(existsErr, session.Locked) {
			t.Errorf("create one that is open: %v", existsErr)
		}
		for _, id := range []string{"../x", "a/b", ".hidden", "a b", strings.Repeat("x", 129), "a\x00"} {
			if _, err := store.Create(ctx, session.Header{ID: id, Cwd: "/w"}); !errors.Is(err, session.InvalidID) {
				t.Errorf("create %q: %v", id, err)
			}
		}
	})
}

func TestFork(t *testing.T) {
	stores(t, func(t *testing.T, store session.Store) {
		s := create(t, store, "s")
		converse(t, s, 1)
		first := s.Len()
		converse(t, s, 2)
		add(t, s, session.TurnStart{Turn: 3}.Event()) // the fork leaves it out
		defer s.Close()
		all := events(t, s)

		last, err := store.Fork(ctx, "s", -1)
		if err != nil {
			t.Fatal(err)
		}
		defer last.Close()
		earlier, err := store.Fork(ctx, "s", first-1)
		if err != nil {
			t.Fatal(err)
		}
		defer earlier.Close()
		for _, tt := range []struct {
			fork *session.Session
			n    int64
		}{{last, int64(len(all)) - 1}, {earlier, first}} {
			got := events(t, tt.fork)
			if a, b := encoded(all[:tt.n]), encoded(got[:tt.n]); a != b {
				t.Errorf("events (-original +fork):\n%s", cmp.Diff(a, b))
			}
			var seed session.EndSeed
			if e := got[tt.n]; e.Type != session.TypeEndSeed || int64(len(got)) != tt.n+1 {
				t.Errorf("the fork goes on with %s, and has %d events", e.Type, len(got))
			} else if err := e.Decode(&seed); err != nil || seed.From != "s" || seed.Seq != tt.n-1 {
				t.Errorf("seed %+v, %v", seed, err)
			}
			want := fmt.Sprintf(`{"session":"s","seq":%d}`, tt.n-1)
			if h := tt.fork.Header(); h.ID == "s" || h.Cwd != "/w" || string(h.Extra["forkedFrom"]) != want {
				t.Errorf("header %+v", h)
			}
			validMessages(t, tt.fork.Messages())
			converse(t, tt.fork, 3)
			if tt.fork.Len() <= tt.n+1 {
				t.Error("the fork took no more events")
			}
		}
		if got := s.Len(); got != int64(len(all)) {
			t.Errorf("the original has %d events now, and had %d", got, len(all))
		}

		_, err = store.Fork(ctx, "s", first+2)
		if !errors.Is(err, session.UnstableBoundary) || !strings.Contains(err.Error(), fmt.Sprintf("the nearest before it is event %d", first)) {
			t.Errorf("fork within a turn: %v", err)
		}
		if _, err := store.Fork(ctx, "s", 1<<40); !errors.Is(err, session.UnstableBoundary) {
			t.Errorf("fork past the end: %v", err)
		}
	})
}

// Files are for their owner alone, and a store leaves no other file behind.
func TestFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	dir := filepath.Join(memDir(t), "home", "sessions")
	store := session.NewFileStore(dir, fixed())
	s := create(t, store, "s")
	modes := func() string {
		var out []string
		filepath.Walk(filepath.Dir(dir), func(path string, info os.FileInfo, err error) error {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, info.Name()+" "+info.Mode().String())
			return nil
		})
		return strings.Join(out, "\n")
	}
	if diff := cmp.Diff("home drwx------\nsessions drwx------\ns.jsonl -rw-------\ns.lock -rw-------", modes()); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	converse(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"type":"tu`)
	f.Close()
	s, err = store.Open(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if diff := cmp.Diff("home drwx------\nsessions drwx------\ns.jsonl -rw-------\ns.torn-1 -rw-------", modes()); diff != "" {
		t.Errorf("repaired and closed (-want +got):\n%s", diff)
	}
	if err := store.Delete(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("home drwx------\nsessions drwx------", modes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// A log under the name of another session is not taken for it.
func TestRenamedLog(t *testing.T) {
	dir := memDir(t)
	store := session.NewFileStore(dir, fixed())
	create(t, store, "a").Close()
	if err := os.Rename(filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, "b"); !errors.Is(err, session.Corrupt) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the failed open left its lock: %v", err)
	}
}

// A session that another process writes is refused with that process named;
// what a dead process left is taken over.
func TestLock(t *testing.T) {
	dir := memDir(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SESSION_TEST_WRITER="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if !bufio.NewScanner(out).Scan() { // it has the session open
		t.Fatal("the writer said nothing")
	}
	store := session.NewFileStore(dir, fixed())
	_, err = store.Open(ctx, "s")
	var owner *session.OwnerError
	if !errors.Is(err, session.Locked) || !errors.As(err, &owner) {
		t.Fatalf("error %v", err)
	}
	host, _ := os.Hostname()
	if owner.Owner.PID != cmd.Process.Pid || owner.Owner.Host != host || owner.Owner.Started == 0 {
		t.Errorf("owner %+v, want pid %d on %s", owner.Owner, cmd.Process.Pid, host)
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("process %d on %s, started ", cmd.Process.Pid, host)) {
		t.Errorf("error %q does not name the owner", err)
	}

	cmd.Process.Kill()
	cmd.Wait()
	if _, err := os.Stat(filepath.Join(dir, "s.lock")); err != nil {
		t.Fatalf("the dead writer left no lock file, so nothing is tried: %v", err)
	}
	s, err := store.Open(ctx, "s")
	if err != nil {
		t.Fatalf("the lock of a dead process was not taken over: %v", err)
	}
	s.Close()
}

// Of many openers at once exactly one gets the session, over and over.
func TestOneWriter(t *testing.T) {
	stores(t, func(t *testing.T, store session.Store) {
		create(t, store, "s").Close()
		for range 20 {
			var wg sync.WaitGroup
			won := make(chan *session.Session, 8)
			for range 8 {
				wg.Go(func() {
					s, err := store.Open(ctx, "s")
					if err == nil {
						won <- s
					} else if !errors.Is(err, session.Locked) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			close(won)
			n := 0
			for s := range won {
				n++
				s.Close()
			}
			if n != 1 {
				t.Fatalf("%d writers at once", n)
			}
		}
	})
}

// Checkpoints from many goroutines, while others append, all return; and a
// cancelled one returns at once.
func TestCheckpointTogether(t *testing.T) {
	dir := memDir(t)
	store := session.NewFileStore(dir, session.Config{})
	s := create(t, store, "s")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if _, err := s.Append(session.Observed{Key: "k", State: session.ObservedAbsent}.Event()); err != nil {
					t.Error(err)
				}
				if err := s.Checkpoint(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	add(t, s, session.TurnStart{Turn: 1}.Event())
	if err := s.Checkpoint(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled checkpoint: %v", err)
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Errorf("a cancelled checkpoint broke the session: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := store.Read(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if len(log.Events) != 801 {
		t.Errorf("%d events, want 801", len(log.Events))
	}
}
