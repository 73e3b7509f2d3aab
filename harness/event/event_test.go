package event_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
)

type scope struct {
	name string
	undo []func()
}

func (s *scope) Owner() string   { return s.name }
func (s *scope) Add(undo func()) { s.undo = append(s.undo, undo) }

var (
	said  = event.NewEmit[string]("test/said")
	price = event.NewWaterfall[int, int]("test/price")
)

func TestEmitReachesListenersInOrder(t *testing.T) {
	var b event.Bus
	var got []string
	note := func(who string) event.Listener[string] {
		return func(_ context.Context, s string) error { got = append(got, who+" "+s); return nil }
	}
	said.On(&b, &scope{}, note("a"))
	undo := said.On(&b, &scope{}, note("b"))
	said.On(&b, &scope{}, note("c"), event.First())
	said.On(&b, &scope{}, note("d"), event.First())
	if err := said.Send(t.Context(), &b, "x"); err != nil {
		t.Fatal(err)
	}
	undo()
	undo()
	if err := said.Send(t.Context(), &b, "y"); err != nil {
		t.Fatal(err)
	}
	want := []string{"d x", "c x", "a x", "b x", "d y", "c y", "a y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEmitFailuresNameEventAndOwner(t *testing.T) {
	var b event.Bus
	boom := errors.New("boom")
	ran := false
	said.On(&b, &scope{name: "first"}, func(context.Context, string) error { return boom })
	said.On(&b, &scope{name: "second"}, func(context.Context, string) error { panic("ouch") })
	said.On(&b, &scope{name: "third"}, func(context.Context, string) error { ran = true; return nil })
	err := said.Send(t.Context(), &b, "x")
	if !errors.Is(err, boom) || !errors.Is(err, errs.ListenerFailed) {
		t.Errorf("error %v does not wrap its cause and code", err)
	}
	for _, want := range []string{"test/said", "first", "second", "ouch"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}
	var p *event.PanicError
	if !errors.As(err, &p) || len(p.Stack) == 0 {
		t.Errorf("error %v does not carry the panic's stack", err)
	}
	if !ran {
		t.Error("a listener after a failing one was not told")
	}
}

func TestWaterfall(t *testing.T) {
	double := func(ctx context.Context, in int, next event.Next[int, int]) (int, error) {
		out, err := next(ctx, in)
		return 2 * out, err
	}
	plusOne := func(ctx context.Context, in int, next event.Next[int, int]) (int, error) { return next(ctx, in+1) }
	owns := func(context.Context, int, event.Next[int, int]) (int, error) { return 100, nil }
	boom := errors.New("boom")
	refuses := func(context.Context, int, event.Next[int, int]) (int, error) { return 0, boom }
	fallback := func(_ context.Context, in int) (int, error) { return 10 * in, nil }
	tests := []struct {
		name      string
		listeners []event.Decider[int, int]
		fallback  event.Next[int, int]
		want      int
		err       error
	}{
		{"no listener, no fallback", nil, nil, 0, nil},
		{"no listener", nil, fallback, 10, nil},
		{"wrapping the result", []event.Decider[int, int]{double}, fallback, 20, nil},
		{"passing something else on", []event.Decider[int, int]{plusOne, double}, fallback, 40, nil},
		{"owning the decision", []event.Decider[int, int]{double, owns, refuses}, fallback, 200, nil},
		{"refusing", []event.Decider[int, int]{refuses, owns}, fallback, 0, boom},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b event.Bus
			for _, l := range test.listeners {
				price.On(&b, &scope{}, l)
			}
			got, err := price.Ask(t.Context(), &b, 1, test.fallback)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %d, %v; want %d, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestWaterfallPanicBecomesAnError(t *testing.T) {
	var b event.Bus
	cause := errors.New("cause")
	price.On(&b, &scope{name: "bad"}, func(context.Context, int, event.Next[int, int]) (int, error) { panic(cause) })
	_, err := price.Ask(t.Context(), &b, 1, nil)
	if !errors.Is(err, errs.ListenerFailed) || !errors.Is(err, cause) || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("error %v", err)
	}
}

// A delivery works on the listeners there were when it began, whatever
// listeners do meanwhile, and nothing races.
func TestListenersMayComeAndGoDuringDelivery(t *testing.T) {
	var b event.Bus
	count := 0
	said.On(&b, &scope{}, func(context.Context, string) error {
		said.On(&b, &scope{}, func(context.Context, string) error { count++; return nil })
		return nil
	})
	for range 3 {
		if err := said.Send(t.Context(), &b, ""); err != nil {
			t.Fatal(err)
		}
	}
	if count != 0+1+2 {
		t.Errorf("late listeners were told %d times, want 3", count)
	}
	var wg sync.WaitGroup
	var other event.Bus
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				if i%2 == 0 {
					said.On(&other, &scope{}, func(context.Context, string) error { return nil })()
				} else if err := said.Send(context.Background(), &other, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestBusesAreApart(t *testing.T) {
	var a, b event.Bus
	said.On(&a, &scope{}, func(context.Context, string) error { t.Error("told of another deployment's event"); return nil })
	if err := said.Send(t.Context(), &b, ""); err != nil {
		t.Fatal(err)
	}
}

func TestOwnerUndoesItsListeners(t *testing.T) {
	var b event.Bus
	s := &scope{}
	said.On(&b, s, func(context.Context, string) error { t.Error("told after its owner left"); return nil })
	for _, undo := range s.undo {
		undo()
	}
	if err := said.Send(t.Context(), &b, ""); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkEmit sends to ten listeners; beside it the same ten functions are
// called from a plain slice.
func BenchmarkEmit(b *testing.B) {
	var sum int
	listener := func(_ context.Context, n int) error { sum += n; return nil }
	b.Run("emit", func(b *testing.B) {
		topic := event.NewEmit[int]("bench/emit")
		var bus event.Bus
		for range 10 {
			topic.On(&bus, &scope{}, listener)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := topic.Send(b.Context(), &bus, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("slice", func(b *testing.B) {
		fns := make([]event.Listener[int], 10)
		for i := range fns {
			fns[i] = listener
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, fn := range fns {
				if err := fn(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func ExampleEmit() {
	saved := event.NewEmit[string]("example/saved")
	var bus event.Bus
	undo := saved.On(&bus, &scope{name: "logger"}, func(_ context.Context, path string) error {
		fmt.Println("saved", path)
		return nil
	})
	defer undo()
	if err := saved.Send(context.Background(), &bus, "notes.txt"); err != nil {
		fmt.Println(err)
	}
	// Output: saved notes.txt
}

func ExampleWaterfall() {
	allowed := event.NewWaterfall[string, bool]("example/allowed")
	var bus event.Bus
	allowed.On(&bus, &scope{name: "guard"}, func(ctx context.Context, path string, next event.Next[string, bool]) (bool, error) {
		if path == "secret.txt" {
			return false, nil // owns the decision
		}
		return next(ctx, path)
	})
	yes := func(context.Context, string) (bool, error) { return true, nil }
	for _, path := range []string{"notes.txt", "secret.txt"} {
		ok, _ := allowed.Ask(context.Background(), &bus, path, yes)
		fmt.Println(path, ok)
	}
	// Output:
	// notes.txt true
	// secret.txt false
}
