package plug_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
)

// TestWaitWhereNobodyComes fails at once, for it would last forever: before a
// provider was mounted, after it has left, and after the context has stopped.
func TestWaitWhereNobodyComes(t *testing.T) {
	var j journal
	c := compose(t, &j)
	s := plug.ServiceOf[greeter](c)
	synctest.Test(t, func(t *testing.T) {
		refused := func(when string) {
			if _, _, err := s.Wait(context.Background()); !errors.Is(err, errs.ServiceUnavailable) || !strings.Contains(err.Error(), "plug_test.greeter") {
				t.Errorf("%s: got %v, want %s", when, err, errs.ServiceUnavailable)
			}
		}
		refused("nothing mounted")
		if err := c.Mount(t.Context(), greeterPlugin("one", "one")); err != nil {
			t.Fatal(err)
		}
		if err := c.Unmount(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		refused("unmounted")
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused("stopped")
	})
}

// TestWaitDuringAReplacement refuses a successor after it has taken over. In
// the gap until the predecessor serves again Acquire fails, and Wait waits.
func TestWaitDuringAReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		var s *plug.Service[greeter]
		waited := make(chan string, 1)
		gap := fx.Invoke(func(scope *plug.Scope, lc fx.Lifecycle) {
			lc.Append(fx.StopHook(func() {
				if got := greet(s); !strings.Contains(got, "has no provider now") {
					t.Errorf("in the gap the service says %q", got)
				}
				go func() { waited <- wait(t.Context(), s) }()
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				if got := wait(ended, s); !strings.Contains(got, context.Canceled.Error()) {
					t.Errorf("an impatient caller got %q", got)
				}
				synctest.Wait()
				select {
				case got := <-waited:
					t.Errorf("a call did not wait for the end of the replacement: %q", got)
					waited <- got
				default:
				}
			}))
		})
		successor := greeterPlugin("new", "from new")
		successor.Options = fx.Options(successor.Options, gap)
		picky := plug.Plugin{Name: "picky", Services: []plug.Declaration{plug.Uses[greeter]()},
			Options: fx.Invoke(func(scope *plug.Scope, s *plug.Service[greeter]) error {
				return s.While(scope, func(_ *plug.Scope, g greeter) error {
					if g.Greet() == "from new" {
						return errors.New("not this one")
					}
					return nil
				})
			})}
		c := compose(t, &j, greeterPlugin("old", "from old"), picky)
		s = plug.ServiceOf[greeter](c)
		if err := c.Replace(t.Context(), "old", successor); !errors.Is(err, errs.PluginFailed) {
			t.Fatalf("the replacement gave %v", err)
		}
		if got := <-waited; got != "from old" {
			t.Errorf("the waiting call got %q, want the predecessor", got)
		}
	})
}

// TestWaitForWhatASuccessorDoesNotProvide fails while the predecessor still
// finishes its calls: the caller may be one of them.
func TestWaitForWhatASuccessorDoesNotProvide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		c := compose(t, &j, greeterPlugin("old", "from old"))
		s := plug.ServiceOf[greeter](c)
		_, release, err := s.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		replaced := make(chan error, 1)
		go func() { replaced <- c.Replace(t.Context(), "old", plug.Plugin{Name: "silent"}) }()
		synctest.Wait()
		if got := wait(t.Context(), s); !strings.Contains(got, "has no provider now") {
			t.Errorf("got %q", got)
		}
		release()
		if err := <-replaced; err != nil {
			t.Fatal(err)
		}
	})
}

// wait calls a service once, and waits for it.
func wait(ctx context.Context, s *plug.Service[greeter]) string {
	g, release, err := s.Wait(ctx)
	if err != nil {
		return err.Error()
	}
	defer release()
	return g.Greet()
}
