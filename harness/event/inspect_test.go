package event_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/event"
)

func TestListenersNamesEventsAndOwnersInCallOrder(t *testing.T) {
	changed := event.NewEmit[int]("inspect/changed")
	asked := event.NewWaterfall[int, int]("inspect/asked")
	var bus event.Bus
	if got := bus.Listeners(); got != nil {
		t.Errorf("a bus without listeners has %v", got)
	}
	nothing := func(context.Context, int) error { return nil }
	changed.On(&bus, &scope{name: "first"}, nothing)
	undo := changed.On(&bus, &scope{name: "ahead"}, nothing, event.First())
	forget := asked.On(&bus, &scope{name: "decider"}, func(ctx context.Context, in int, next event.Next[int, int]) (int, error) {
		return next(ctx, in)
	})
	want := []event.Listeners{
		{Event: "inspect/asked", Owners: []string{"decider"}},
		{Event: "inspect/changed", Owners: []string{"ahead", "first"}},
	}
	if diff := cmp.Diff(want, bus.Listeners()); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
	undo()
	forget()
	want = []event.Listeners{{Event: "inspect/changed", Owners: []string{"first"}}}
	if diff := cmp.Diff(want, bus.Listeners()); diff != "" {
		t.Errorf("after the undo (-want +got):\n%s", diff)
	}
}
