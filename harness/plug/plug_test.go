package plug_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type greeter interface{ Greet() string }

type fixed string

func (f fixed) Greet() string { return string(f) }

type clock interface{ Tick() }

// journal is a ground value in which plugins note what happens, in order.
type journal struct{ lines []string }

func (j *journal) add(line string) { j.lines = append(j.lines, line) }

func greeterPlugin(name, text string) plug.Plugin {
	return plug.Plugin{
		Name:     name,
		Services: []plug.Declaration{plug.Provides[greeter]()},
		Options: fx.Options(
			fx.Provide(func(j *journal, lc fx.Lifecycle) greeter {
				lc.Append(fx.Hook{
					OnStart: func(context.Context) error { j.add("start " + name); return nil },
					OnStop:  func(context.Context) error { j.add("stop " + name); return nil },
				})
				return fixed(text)
			}),
		),
	}
}

// userPlugin needs a greeter and exposes its handle.
func userPlugin(name string, handle **plug.Service[greeter]) plug.Plugin {
	return plug.Plugin{
		Name:     name,
		Services: []plug.Declaration{plug.Needs[greeter]()},
		Options: fx.Invoke(func(j *journal, s *plug.Service[greeter], scope *plug.Scope) {
			j.add("start " + name)
			*handle = s
			scope.Add(func() { j.add("undo " + name + " 1") })
			scope.Add(func() { j.add("undo " + name + " 2") })
		}),
	}
}

func compose(t *testing.T, j *journal, plugins ...plug.Plugin) *plug.Context {
	t.Helper()
	c, err := plug.Compose(t.Context(), []any{j}, plugins...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestProvidersStartFirstAndStopLast(t *testing.T) {
	// The user comes before its provider in both the list and the alphabet.
	var j journal
	var s *plug.Service[greeter]
	c := compose(t, &j, userPlugin("a-user", &s), greeterPlugin("z-provider", "hello"))
	g, release, err := s.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Greet(); got != "hello" {
		t.Errorf("Greet() = %q", got)
	}
	release()
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"start z-provider", "start a-user", "undo a-user 2", "undo a-user 1", "stop z-provider"}
	if diff := cmp.Diff(want, j.lines); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestProblemsAreFoundBeforeAnythingRuns(t *testing.T) {
	var s *plug.Service[greeter]
	need := func(name string, d ...plug.Declaration) plug.Plugin {
		return plug.Plugin{Name: name, Services: d, Options: fx.Invoke(func(j *journal) { j.add(name + " ran") })}
	}
	tests := []struct {
		name    string
		plugins []plug.Plugin
		code    errs.Code
		names   []string
	}{
		{"missing service", []plug.Plugin{greeterPlugin("p", "x"), need("q", plug.Needs[clock]())}, errs.MissingService, []string{`"q"`, "plug_test.clock"}},
		{"two providers", []plug.Plugin{greeterPlugin("p", "x"), greeterPlugin("q", "y")}, errs.DuplicateService, []string{`"p"`, `"q"`, "plug_test.greeter"}},
		{"one name twice", []plug.Plugin{userPlugin("p", &s), greeterPlugin("p", "y")}, errs.DuplicatePlugin, []string{`"p"`}},
		{"one service declared twice", []plug.Plugin{need("p", plug.Uses[clock](), plug.Uses[clock]())}, errs.DuplicateService, []string{`"p" declares service plug_test.clock twice`}},
		{"no name", []plug.Plugin{need("")}, errs.InvalidArgs, nil},
		{"circle", []plug.Plugin{
			{Name: "p", Services: []plug.Declaration{plug.Needs[greeter](), plug.Provides[clock]()}},
			{Name: "q", Services: []plug.Declaration{plug.Needs[clock](), plug.Provides[greeter]()}},
		}, errs.PluginCycle, []string{"p needs q needs p"}},
		{"constructor wants what nobody provides", []plug.Plugin{need("ok"), {Name: "p", Options: fx.Invoke(func(clock) {})}}, errs.PluginFailed, []string{`"p"`, "clock"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var j journal
			_, err := plug.Compose(t.Context(), []any{&j}, test.plugins...)
			if !errors.Is(err, test.code) {
				t.Fatalf("error %v, want code %s", err, test.code)
			}
			for _, name := range test.names {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("error %q does not name %s", err, name)
				}
			}
			if len(j.lines) > 0 {
				t.Errorf("ran before the check: %v", j.lines)
			}
		})
	}
}

func TestFailingStartLeavesNothingMounted(t *testing.T) {
	var j journal
	boom := errors.New("boom")
	bad := func(name string, opt fx.Option) plug.Plugin {
		return plug.Plugin{Name: name, Options: fx.Options(
			fx.Invoke(func(s *plug.Scope) { s.Add(func() { j.add("undo " + name) }) }), opt)}
	}
	tests := []struct {
		name string
		bad  plug.Plugin
	}{
		{"start hook fails", bad("z", fx.Invoke(func(lc fx.Lifecycle) {
			lc.Append(fx.Hook{OnStart: func(context.Context) error { return boom }})
		}))},
		{"constructor fails", bad("z", fx.Invoke(func() error { return boom }))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j.lines = nil
			_, err := plug.Compose(t.Context(), []any{&j}, greeterPlugin("a", "x"), test.bad)
			if !errors.Is(err, boom) || !errors.Is(err, errs.PluginFailed) {
				t.Fatalf("error %v", err)
			}
			want := []string{"start a", "undo z", "stop a"}
			if diff := cmp.Diff(want, j.lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("constructor panics", func(t *testing.T) {
		j.lines = nil
		_, err := plug.Compose(t.Context(), []any{&j}, bad("z", fx.Invoke(func() { panic("ouch") })))
		if err == nil || !strings.Contains(err.Error(), "ouch") {
			t.Fatalf("error %v", err)
		}
	})
}

func TestOptionalServiceComesAndGoes(t *testing.T) {
	var j journal
	watcher := plug.Plugin{
		Name:     "watcher",
		Services: []plug.Declaration{plug.Uses[greeter]()},
		Options: fx.Invoke(func(s *plug.Service[greeter], scope *plug.Scope) error {
			return s.While(scope, func(scope *plug.Scope, g greeter) error {
				j.add("with " + g.Greet())
				scope.Add(func() { j.add("without " + g.Greet()) })
				return nil
			})
		}),
	}
	c := compose(t, &j, watcher)
	steps := []struct {
		name string
		do   func() error
		want []string
	}{
		{"mount", func() error { return c.Mount(t.Context(), greeterPlugin("one", "one")) }, []string{"start one", "with one"}},
		{"replace", func() error { return c.Replace(t.Context(), "one", greeterPlugin("two", "two")) }, []string{"start two", "without one", "with two", "stop one"}},
		{"unmount", func() error { return c.Unmount(t.Context(), "two") }, []string{"without two", "stop two"}},
		{"mount again", func() error { return c.Mount(t.Context(), greeterPlugin("one", "one")) }, []string{"start one", "with one"}},
		{"watcher leaves", func() error { return c.Unmount(t.Context(), "watcher") }, []string{"without one"}},
	}
	for _, step := range steps {
		j.lines = nil
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, j.lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestWatcherThatRefusesKeepsTheProviderOut(t *testing.T) {
	var j journal
	refuses := plug.Plugin{
		Name:     "picky",
		Services: []plug.Declaration{plug.Uses[greeter]()},
		Options: fx.Invoke(func(s *plug.Service[greeter], scope *plug.Scope) error {
			return s.While(scope, func(*plug.Scope, greeter) error { return errors.New("not this one") })
		}),
	}
	c := compose(t, &j, refuses)
	err := c.Mount(t.Context(), greeterPlugin("one", "one"))
	if err == nil || !strings.Contains(err.Error(), `"picky"`) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff([]string{"picky"}, c.Plugins()); diff != "" {
		t.Errorf("mounted (-want +got):\n%s", diff)
	}
	if owner, ok := plug.ServiceOf[greeter](c).Mounted(); ok {
		t.Errorf("service is still provided by %q", owner)
	}
}

func TestCallsInFlightFinishBeforeTheProviderStops(t *testing.T) {
	var j journal
	c := compose(t, &j, greeterPlugin("one", "one"))
	s := plug.ServiceOf[greeter](c)
	_, release, err := s.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan error)
	go func() { left <- c.Unmount(context.Background(), "one") }()
	for {
		if _, mounted := s.Mounted(); !mounted {
			break
		}
	}
	if _, _, err := s.Acquire(); !errors.Is(err, errs.ServiceUnavailable) {
		t.Errorf("a new call got %v, want %s", err, errs.ServiceUnavailable)
	}
	select {
	case err := <-left:
		t.Fatalf("the provider left under a call: %v", err)
	default:
	}
	release()
	if err := <-left; err != nil {
		t.Fatal(err)
	}
}

func TestUnmountGivesUpWaitingButNotStopping(t *testing.T) {
	var j journal
	c := compose(t, &j, greeterPlugin("one", "one"))
	_, release, err := plug.ServiceOf[greeter](c).Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Unmount(ctx, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want one that tells of the call in flight", err)
	}
	if diff := cmp.Diff([]string{"start one", "stop one"}, j.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAfterStopNothingCanBeMounted(t *testing.T) {
	c := compose(t, new(journal), greeterPlugin("one", "one"))
	if err := errors.Join(c.Stop(t.Context()), c.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := c.Mount(t.Context(), greeterPlugin("two", "two")); !errors.Is(err, errs.Stopped) {
		t.Errorf("Mount: %v", err)
	}
	if err := c.Unmount(t.Context(), "one"); !errors.Is(err, errs.Stopped) {
		t.Errorf("Unmount: %v", err)
	}
}

func TestListenersOfAPluginLeaveWithIt(t *testing.T) {
	topic := event.NewEmit[string]("test/said")
	var j journal
	listener := plug.Plugin{Name: "listener", Options: fx.Invoke(func(b *event.Bus, s *plug.Scope) {
		topic.On(b, s, func(_ context.Context, said string) error { j.add(said); return nil })
	})}
	c := compose(t, &j, listener)
	send := func(s string) {
		if err := topic.Send(t.Context(), c.Bus(), s); err != nil {
			t.Fatal(err)
		}
	}
	send("one")
	if err := c.Unmount(t.Context(), "listener"); err != nil {
		t.Fatal(err)
	}
	send("two")
	if diff := cmp.Diff([]string{"one"}, j.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
