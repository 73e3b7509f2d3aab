package fspolicy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fspolicy"
)

// world is a bus with the policy on it.
type world struct {
	t     *testing.T
	bus   event.Bus
	scope *plug.Scope
}

func newWorld(t *testing.T, cfg fspolicy.Config) *world {
	w := &world{t: t, scope: plug.NewScope("fspolicy")}
	fspolicy.New(cfg).Listen(&w.bus, w.scope)
	return w
}

func newSession(t *testing.T, id string, events ...session.Event) *session.Session {
	t.Helper()
	s, err := session.NewMemory(session.Header{ID: id, Cwd: "/w"}, session.Config{}, events...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func actor(s *session.Session) *tool.Call { return &tool.Call{Agent: &tool.Agent{Session: s}} }

var file = vfs.Target{Key: "/w/a.txt", Path: "/w/a.txt"}

func (w *world) observe(o vfs.Observation) {
	w.t.Helper()
	if o.Target.Key == "" {
		o.Target = file
	}
	if err := vfs.Observed.Send(w.t.Context(), &w.bus, o); err != nil {
		w.t.Fatal(err)
	}
}

// guards returns what write and edit intents are answered, as short words.
func (w *world) guards(a any) (write, edit string) {
	return w.guard(vfs.WriteIntent, a), w.guard(vfs.EditIntent, a)
}

func (w *world) guard(topic *event.Waterfall[vfs.Intent, vfs.Guard], a any) string {
	g, err := topic.Ask(w.t.Context(), &w.bus, vfs.Intent{Target: file, Actor: a}, nil)
	switch v, versioned := g.Version(); {
	case err != nil:
		return string(errs.CodeOf(err))
	case versioned:
		return "version " + string(v)
	case g.Absent():
		return "create"
	}
	return "none"
}

func TestIntents(t *testing.T) {
	s := newSession(t, "s1")
	me, other, nobody := actor(s), actor(newSession(t, "s2")), &tool.Call{}
	w := newWorld(t, fspolicy.Config{})
	steps := []struct {
		name        string
		see         *vfs.Observation
		as          any
		write, edit string
	}{
		{"unseen", nil, me, "create", "FS_NOT_OBSERVED"},
		{"absent", &vfs.Observation{Absent: true, Actor: me}, me, "create", "FS_NOT_FOUND"},
		{"present", &vfs.Observation{Version: "v1", Actor: me}, me, "version v1", "version v1"},
		{"another session has seen nothing", nil, other, "create", "FS_NOT_OBSERVED"},
		{"a window counts as the whole", &vfs.Observation{Version: "v2", Actor: me, First: 5, Last: 6, TotalLines: 9}, me, "version v2", "version v2"},
		{"deleted and looked at again", &vfs.Observation{Absent: true, Actor: me}, me, "create", "FS_NOT_FOUND"},
		{"a call without a session remembers nothing", &vfs.Observation{Version: "v1", Actor: nobody}, nobody, "create", "FS_NOT_OBSERVED"},
		{"nor does one without an actor", &vfs.Observation{Version: "v1"}, nil, "create", "FS_NOT_OBSERVED"},
	}
	for _, step := range steps {
		if step.see != nil {
			w.observe(*step.see)
		}
		if write, edit := w.guards(step.as); write != step.write || edit != step.edit {
			t.Errorf("%s: write %q, edit %q; want %q, %q", step.name, write, edit, step.write, step.edit)
		}
	}
}

func TestWordsOfAnUnreadEdit(t *testing.T) {
	w := newWorld(t, fspolicy.Config{})
	_, err := vfs.EditIntent.Ask(t.Context(), &w.bus, vfs.Intent{Target: file, Actor: actor(newSession(t, "s"))}, nil)
	if want := `edit requires reading "/w/a.txt" first`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

// A resumed session has its log and nothing else.
func TestStateIsInTheLog(t *testing.T) {
	s := newSession(t, "s1")
	first := newWorld(t, fspolicy.Config{})
	first.observe(vfs.Observation{Version: "v1", Actor: actor(s)})
	first.observe(vfs.Observation{Version: "v1", Actor: actor(s)})
	first.observe(vfs.Observation{Version: "v2", Actor: actor(s)})
	var log []session.Event
	for e, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Ignorable {
			t.Errorf("%s is not ignorable", e.Type)
		}
		log = append(log, e)
	}
	if len(log) != 2 {
		t.Errorf("%d events for two versions seen", len(log))
	}
	resumed := newSession(t, "s1", log...)
	second := newWorld(t, fspolicy.Config{})
	if write, _ := second.guards(actor(resumed)); write != "version v2" {
		t.Errorf("after a restart: %q", write)
	}
}

func TestPolicyLeavesWithItsScope(t *testing.T) {
	w := newWorld(t, fspolicy.Config{})
	if err := w.scope.Close(); err != nil {
		t.Fatal(err)
	}
	if write, edit := w.guards(actor(newSession(t, "s"))); write != "none" || edit != "none" {
		t.Errorf("after the policy left: write %q, edit %q", write, edit)
	}
}

func TestFullReadBeforeOverwrite(t *testing.T) {
	window := func(v vfs.Version, first, last, total int) vfs.Observation {
		return vfs.Observation{Version: v, First: first, Last: last, TotalLines: total}
	}
	tests := []struct {
		name string
		seen []vfs.Observation
		want string // what is missing; "" when the overwrite is allowed
	}{
		{"whole", []vfs.Observation{{Version: "v1"}}, ""},
		{"one window", []vfs.Observation{window("v1", 1, 4, 10)}, "of its 10 lines these were not read: 5-10"},
		{"gaps", []vfs.Observation{window("v1", 8, 9, 10), window("v1", 2, 3, 10)}, "of its 10 lines these were not read: 1, 4-7, 10"},
		{"together", []vfs.Observation{window("v1", 5, 10, 10), window("v1", 1, 6, 10)}, ""},
		{"touching", []vfs.Observation{window("v1", 1, 4, 10), window("v1", 5, 10, 10)}, ""},
		{"of another version", []vfs.Observation{window("v1", 1, 4, 10), window("v2", 5, 10, 10)}, "of its 10 lines these were not read: 1-4"},
		{"whole after windows", []vfs.Observation{window("v1", 1, 4, 10), {Version: "v1"}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, fspolicy.Config{RequireFullRead: true})
			me := actor(newSession(t, "s"))
			for _, o := range test.seen {
				o.Actor = me
				w.observe(o)
			}
			_, err := vfs.WriteIntent.Ask(t.Context(), &w.bus, vfs.Intent{Target: file, Actor: me}, nil)
			if test.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if !errors.Is(err, errs.NotObserved) || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("error %v, want one that ends in %q", err, test.want)
			}
			// An edit needs no more than a window.
			if _, edit := w.guards(me); !strings.HasPrefix(edit, "version") {
				t.Errorf("edit: %q", edit)
			}
		})
	}
}

// now is a provider with one text, for explanations.
type now struct {
	vfs.FileSystem
	text string
}

func (n now) Stat(context.Context, vfs.Target) (vfs.Info, error) {
	return vfs.Info{Type: vfs.File, Size: int64(len(n.text))}, nil
}

func (n now) ReadText(context.Context, vfs.Target) (vfs.Text, error) {
	text, err := vfs.DecodeText(file, []byte(n.text))
	return vfs.Text{Content: text}, err
}

func TestStaleRefusalSaysWhatChanged(t *testing.T) {
	seen := "one\ntwo\nthree\nfour\nfive\n"
	tests := []struct {
		name string
		cfg  fspolicy.Config
		seen *string
		size int64
		now  string
		want string
	}{
		{"lines changed", fspolicy.Config{}, &seen, 0, "one\nTWO\nthree\nfour\nfive\nsix\n", ` (it had 24 bytes then and has 28 now; lines 2, 6 changed)`},
		{"a byte-order mark counts", fspolicy.Config{}, &seen, 27, "one\ntwo\n", ` (it had 27 bytes then and has 8 now; line 2 changed)`},
		{"no longer text", fspolicy.Config{}, &seen, 0, "\xff", ` (it had 24 bytes then and has 1 now; it is no longer text)`},
		{"too large to look at", fspolicy.Config{}, &seen, 0, strings.Repeat("x", 5<<20), ` (it had 24 bytes then and has 5242880 now)`},
		{"text was not at hand but its size", fspolicy.Config{}, nil, 24, "one\n", ` (it had 24 bytes then and has 4 now)`},
		{"text not kept", fspolicy.Config{MaxTextBytes: 8}, &seen, 0, "one\n", ` (it had 24 bytes then and has 4 now)`},
		{"nothing was at hand", fspolicy.Config{}, nil, 0, "one\n", ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.cfg)
			me := actor(newSession(t, "s"))
			w.observe(vfs.Observation{Version: "v1", Actor: me, Size: test.size, Text: test.seen})
			refused := vfs.Stale(file, true)
			got, err := vfs.Refused.Ask(t.Context(), &w.bus, vfs.Refusal{Target: file, Actor: me, Err: refused, FS: now{text: test.now}},
				func(_ context.Context, r vfs.Refusal) (error, error) { return r.Err, nil })
			if err != nil {
				t.Fatal(err)
			}
			if want := refused.Error() + test.want; got.Error() != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if !errors.Is(got, errs.StaleVersion) {
				t.Error("the code is gone")
			}
		})
	}
}

// However many files and sessions there are, the texts that are kept stay
// within their bound, and what was forgotten costs details only.
func TestMemoryIsBounded(t *testing.T) {
	w := newWorld(t, fspolicy.Config{MaxTextBytes: 1000})
	me := actor(newSession(t, "s"))
	text := strings.Repeat("x", 100)
	target := func(i int) vfs.Target {
		p := fmt.Sprintf("/w/%d", i)
		return vfs.Target{Key: vfs.Key(p), Path: p}
	}
	for i := range 50 {
		w.observe(vfs.Observation{Target: target(i), Version: "v", Actor: me, Text: &text})
	}
	explained := 0
	for i := range 50 {
		refused := vfs.Stale(target(i), true)
		got, err := vfs.Refused.Ask(t.Context(), &w.bus, vfs.Refusal{Target: target(i), Actor: me, Err: refused, FS: now{}},
			func(_ context.Context, r vfs.Refusal) (error, error) { return r.Err, nil })
		if err != nil {
			t.Fatal(err)
		}
		if got.Error() != refused.Error() {
			explained++
		}
	}
	if explained != 10 {
		t.Errorf("%d texts of 100 bytes are known, want the 10 that fit into 1000", explained)
	}
}

// What is remembered of a session goes with it, and everything with the
// policy. Other sessions keep what they saw.
func TestMemoryEndsWithTheSession(t *testing.T) {
	text := "one\n"
	explained := func(w *world, s *session.Session) bool {
		t.Helper()
		refused := vfs.Stale(file, true)
		got, err := vfs.Refused.Ask(t.Context(), &w.bus, vfs.Refusal{Target: file, Actor: actor(s), Err: refused, FS: now{text: "two\n"}},
			func(_ context.Context, r vfs.Refusal) (error, error) { return r.Err, nil })
		if err != nil {
			t.Fatal(err)
		}
		return got.Error() != refused.Error()
	}
	w := newWorld(t, fspolicy.Config{})
	gone, stays := newSession(t, "gone"), newSession(t, "stays")
	for _, s := range []*session.Session{gone, stays} {
		w.observe(vfs.Observation{Version: "v1", Actor: actor(s), Text: &text})
	}
	if !explained(w, gone) || !explained(w, stays) {
		t.Fatal("a refusal is not explained")
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	// The same session, opened again, has its log and nothing else.
	again := newSession(t, "gone", session.Observed{Key: string(file.Key), Path: file.Path, State: session.ObservedPresent, Version: "v1"}.Event())
	if explained(w, again) {
		t.Error("the text outlives its session")
	}
	if !explained(w, stays) {
		t.Error("another session has lost what it saw")
	}
	w.observe(vfs.Observation{Version: "v1", Actor: actor(again), Text: &text})
	if !explained(w, again) {
		t.Error("a session that was opened again is not remembered")
	}
}
