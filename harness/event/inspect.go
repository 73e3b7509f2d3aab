package event

import (
	"cmp"
	"slices"
)

// Listeners are those of one event on one bus.
type Listeners struct {
	// Event is the event's name.
	Event string
	// Owners has the owner of each listener, in the order they are called.
	Owners []string
}

// Listeners returns the events of the bus that have listeners, by name. It is
// for people who want to see how a deployment is put together.
func (b *Bus) Listeners() []Listeners {
	slots := b.slots.Load()
	if slots == nil {
		return nil
	}
	topics.mu.Lock()
	names := slices.Clone(topics.names)
	topics.mu.Unlock()
	var out []Listeners
	for i, slot := range *slots {
		l, used := slot.(interface{ owners() []string })
		if !used {
			continue
		}
		if owners := l.owners(); len(owners) > 0 {
			out = append(out, Listeners{Event: names[i], Owners: owners})
		}
	}
	slices.SortStableFunc(out, func(a, b Listeners) int { return cmp.Compare(a.Event, b.Event) })
	return out
}

func (l *list[F]) owners() []string {
	entries := l.entries.Load()
	if entries == nil {
		return nil
	}
	var out []string
	for _, e := range *entries {
		out = append(out, e.owner)
	}
	return out
}
