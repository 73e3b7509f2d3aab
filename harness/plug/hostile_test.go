package plug_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/tool"
)

type ticker struct{}

func (ticker) Tick() {}

// greet calls a service once.
func greet(s *plug.Service[greeter]) string {
	g, release, err := s.Acquire()
	if err != nil {
		return err.Error()
	}
	defer release()
	return g.Greet()
}

// TestPredecessorServesOnWhenASuccessorIsRefused replaces a provider of two
// services by one that a user of the second cannot take up.
func TestPredecessorServesOnWhenASuccessorIsRefused(t *testing.T) {
	var j journal
	both := func(name string) plug.Plugin {
		p := greeterPlugin(name, "from "+name)
		p.Services = append(p.Services, plug.Provides[clock]())
		p.Options = fx.Options(p.Options, fx.Provide(func() clock { return ticker{} }))
		return p
	}
	var taken []string
	refuse := false
	user := plug.Plugin{
		Name:     "user",
		Services: []plug.Declaration{plug.Needs[greeter](), plug.Needs[clock]()},
		Options: fx.Invoke(func(scope *plug.Scope, g *plug.Service[greeter], c *plug.Service[clock]) error {
			return errors.Join(
				g.While(scope, func(s *plug.Scope, v greeter) error {
					taken = append(taken, v.Greet())
					s.Add(func() { taken = append(taken, "no more "+v.Greet()) })
					return nil
				}),
				c.While(scope, func(*plug.Scope, clock) error {
					if refuse {
						return errors.New("not this one")
					}
					return nil
				}))
		}),
	}
	c := compose(t, &j, both("old"), user)
	refuse = true
	err := c.Replace(t.Context(), "old", both("new"))
	if !errors.Is(err, errs.PluginFailed) || !strings.Contains(err.Error(), "not this one") {
		t.Errorf("the replacement gave %v", err)
	}
	refuse = false
	if got := greet(plug.ServiceOf[greeter](c)); got != "from old" {
		t.Errorf("the service says %q, want the predecessor's words", got)
	}
	if owner, ok := plug.ServiceOf[clock](c).Mounted(); !ok || owner != "old" {
		t.Errorf("the other service belongs to %q, %v", owner, ok)
	}
	if last := taken[len(taken)-1]; last != "from old" {
		t.Errorf("the user's registrations went %q", taken)
	}
	if got := c.Plugins(); !slices.Equal(got, []string{"old", "user"}) {
		t.Errorf("mounted are %q", got)
	}
	if err := c.Replace(t.Context(), "old", both("next")); err != nil {
		t.Errorf("a good successor gave %v", err)
	}
	if got := greet(plug.ServiceOf[greeter](c)); got != "from next" {
		t.Errorf("the service says %q after all", got)
	}
}

// TestPanicsBecomeErrorsThatNameThePlugin lets a plugin panic wherever its code
// runs. Each time the others go on, and everything can be stopped.
func TestPanicsBecomeErrorsThatNameThePlugin(t *testing.T) {
	hook := func(h fx.Hook) fx.Option { return fx.Invoke(func(lc fx.Lifecycle) { lc.Append(h) }) }
	ouch := func(context.Context) error { panic("ouch") }
	mounting := map[string]fx.Option{
		"constructor": fx.Options(fx.Provide(func() clock { panic("ouch") }), fx.Invoke(func(clock) {})),
		"invocation":  fx.Invoke(func() { panic("ouch") }),
		"start hook":  hook(fx.Hook{OnStart: ouch}),
		"a watch at once": fx.Invoke(func(scope *plug.Scope, s *plug.Service[greeter]) error {
			return s.While(scope, func(*plug.Scope, greeter) error { panic("ouch") })
		}),
	}
	for name, opts := range mounting {
		t.Run(name, func(t *testing.T) {
			var j journal
			c := compose(t, &j, greeterPlugin("good", "hello"))
			err := c.Mount(t.Context(), plug.Plugin{Name: "bad", Services: []plug.Declaration{plug.Uses[greeter]()}, Options: opts})
			if !errors.Is(err, errs.PluginFailed) || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), "ouch") {
				t.Errorf("mounting gave %v", err)
			}
			if got := greet(plug.ServiceOf[greeter](c)); got != "hello" || len(c.Plugins()) != 1 {
				t.Errorf("after it %q, mounted %q", got, c.Plugins())
			}
		})
	}
	t.Run("stop hook", func(t *testing.T) {
		var j journal
		c := compose(t, &j, greeterPlugin("good", "hello"), plug.Plugin{Name: "bad", Options: hook(fx.Hook{OnStop: ouch})})
		if err := c.Unmount(t.Context(), "bad"); err == nil || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), "ouch") {
			t.Errorf("unmounting gave %v", err)
		}
	})
	t.Run("a watch when its service comes", func(t *testing.T) {
		var j journal
		panics := true
		c := compose(t, &j, plug.Plugin{Name: "bad", Services: []plug.Declaration{plug.Uses[greeter]()},
			Options: fx.Invoke(func(scope *plug.Scope, s *plug.Service[greeter]) error {
				return s.While(scope, func(*plug.Scope, greeter) error {
					if panics {
						panic("ouch")
					}
					return nil
				})
			})})
		err := c.Mount(t.Context(), greeterPlugin("good", "hello"))
		if err == nil || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), "ouch") {
			t.Errorf("mounting the service gave %v", err)
		}
		panics = false
		if err := c.Mount(t.Context(), greeterPlugin("good", "hello")); err != nil {
			t.Errorf("mounting it again gave %v", err)
		}
	})
}

// TestAPluginMayLookAroundWhileItIsMounted calls what would deadlock if
// mounting held the locks of what it looks at.
func TestAPluginMayLookAroundWhileItIsMounted(t *testing.T) {
	var j journal
	var seen []string
	compose(t, &j, greeterPlugin("a", "hello"), plug.Plugin{Name: "b", Options: fx.Invoke(func(c *plug.Context, lc fx.Lifecycle) {
		seen = c.Plugins()
		lc.Append(fx.StartStopHook(func() { seen = append(seen, c.Plugins()...) }, func() { c.Plugins() }))
	})})
	if want := []string{"a", "a"}; !slices.Equal(seen, want) {
		t.Errorf("saw %q, want %q", seen, want)
	}
}

// What was registered while a service is there ends with the scope. An undo
// that panics is told of, however deep it is, and keeps no other from running.
func TestUndosThatPanic(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*plug.Scope, func()) error
	}{
		{"the scope ends", func(scope *plug.Scope, _ func()) error { return scope.Close() }},
		{"the scope ends after the service has gone and come", func(scope *plug.Scope, renew func()) error {
			renew()
			return scope.Close()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := plug.NewService[clock]()
			gone, err := s.Provide("first", ticker{})
			if err != nil {
				t.Fatal(err)
			}
			var undone []string
			scope := plug.NewScope("user")
			scope.Add(func() { undone = append(undone, "outer") })
			err = s.While(scope, func(inner *plug.Scope, _ clock) error {
				inner.Add(func() { undone = append(undone, "inner") })
				inner.Add(func() { panic("ouch") })
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			err = c.end(scope, func() {
				gone()
				undone = nil
				if _, err := s.Provide("second", ticker{}); err != nil {
					t.Fatal(err)
				}
			})
			if err == nil || !strings.Contains(err.Error(), `undo of a registration of "user" panicked: ouch`) {
				t.Errorf("error %v", err)
			}
			if want := []string{"inner", "outer"}; !slices.Equal(undone, want) {
				t.Errorf("undone %v, want %v", undone, want)
			}
		})
	}
}

// A scope that has ended keeps nothing: what is registered in it late is undone
// at once.
func TestWhileOnAScopeThatHasEnded(t *testing.T) {
	s := plug.NewService[clock]()
	if _, err := s.Provide("p", ticker{}); err != nil {
		t.Fatal(err)
	}
	scope := plug.NewScope("late")
	if err := scope.Close(); err != nil {
		t.Fatal(err)
	}
	began, undone := 0, 0
	for range 2 {
		err := s.While(scope, func(inner *plug.Scope, _ clock) error {
			began++
			inner.Add(func() { undone++ })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if began != 2 || undone != 2 {
		t.Errorf("begun %d, undone %d", began, undone)
	}
}

// Whatever registry it is, a scope that has ended leaves nothing in it, and
// nobody waits for ever.
func TestRegistrationsInAScopeThatHasEnded(t *testing.T) {
	ended := plug.NewScope("late")
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	var bus event.Bus
	topic := event.NewEmit[int]("test/late")
	undo := topic.On(&bus, ended, func(context.Context, int) error { return errors.New("heard") })
	if err := topic.Send(t.Context(), &bus, 1); err != nil {
		t.Errorf("the event: %v", err)
	}
	undo()

	tools := tool.NewRegistry(&bus, plug.NewService[approval.Service]())
	_, err := tools.Register(ended, tool.Definition{Name: "late", Run: func(context.Context, *tool.Call) (any, error) { return nil, nil },
		Render: func(*tool.Call, any) (tool.Rendered, error) { return tool.Rendered{}, nil }})
	if err != nil || len(tools.Definitions(nil)) != 0 {
		t.Errorf("the tool: %v, %v", err, tools.Definitions(nil))
	}
	tools.Guard(ended, func(context.Context, *tool.Call) error { return errors.New("asked") })

	prompts := prompt.NewRegistry()
	if _, err := prompts.Add(ended, prompt.Segment{Name: "late", Text: "late"}); err != nil || prompts.System() != "" {
		t.Errorf("the segment: %v, %q", err, prompts.System())
	}
	if _, err := prompts.AddSection(ended, prompt.Section{Name: "late", Text: func(any) string { return "late" }}); err != nil {
		t.Error(err)
	}
	if text, _, err := prompts.Context(nil); err != nil || text != "" {
		t.Errorf("the section: %v, %q", err, text)
	}
}
