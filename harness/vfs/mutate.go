package vfs

import (
	"context"

	"github.com/bridle-go/bridle/harness/event"
)

// Ask asks the deployment's policies for the guard of a change: through
// [WriteIntent] for a file as a whole, [EditIntent] for a part of it. Without a
// policy it is none.
func Ask(ctx context.Context, bus *event.Bus, intent *event.Waterfall[Intent, Guard], in Intent) (Guard, error) {
	return intent.Ask(ctx, bus, in, nil)
}

// Tell lets the policies know what a change has put in place. The change is
// done: that its caller has lost interest must not make the policies miss it.
func Tell(ctx context.Context, bus *event.Bus, o Observation) error {
	return Observed.Send(context.WithoutCancel(ctx), bus, o)
}

// Explain gives the policies the chance to say more about a refusal. The
// refusal stays as it is where none does.
func Explain(ctx context.Context, bus *event.Bus, r Refusal) error {
	told, err := Refused.Ask(ctx, bus, r, func(_ context.Context, r Refusal) (error, error) { return r.Err, nil })
	if err != nil || told == nil {
		return r.Err
	}
	return told
}
