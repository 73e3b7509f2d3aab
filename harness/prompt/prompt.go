// Package prompt assembles what the model is told beside the conversation:
// the system prompt, from segments that plugins contribute, and the runtime
// context, a snapshot of facts that may change while a session runs.
//
// Both are byte-stable while nothing changed, so that a provider's cache of
// the prompt prefix stays valid. The system prompt changes only when plugins
// come or go. The runtime context is appended to the conversation, and only
// when its text differs from the last one.
package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
)

// SectionFailed reports a section of the runtime context that panicked.
const SectionFailed errs.Code = "PROMPT_SECTION_FAILED"

// Segment is a part of the system prompt.
type Segment struct {
	// Name identifies the segment; it is not shown to the model.
	Name string
	// Order sorts segments, lowest first; equal ones go by name.
	Order int
	Text  string
}

// Section is a part of the runtime context.
type Section struct {
	// Name identifies the section, as in "sandbox:policy".
	Name  string
	Order int
	// Text returns the section's text for a session's agent, opaque here; ""
	// leaves the section out. A panic in it is an error of [Registry.Context].
	Text func(actor any) string
}

// Snapshot is a section as it was at one moment.
type Snapshot struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Registry holds the segments and sections of a deployment. Its methods may be
// called concurrently.
type Registry struct {
	mu       sync.RWMutex
	segments []owned[Segment]
	sections []owned[Section]
}

type owned[T any] struct {
	owner string
	name  string
	order int
	item  T
	id    *int
	// shadowed tells that a successor has contributed the name again.
	shadowed bool
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{} }

// Add contributes a segment until scope ends or the returned undo is called.
// A name that is taken is NAME_DUPLICATE, unless the scope succeeds its owner.
func (r *Registry) Add(scope event.Scope, s Segment) (undo func(), err error) {
	return add(r, scope, &r.segments, s.Name, s.Order, s)
}

// AddSection contributes a section of the runtime context, likewise. One
// without a Text is INVALID_ARGS.
func (r *Registry) AddSection(scope event.Scope, s Section) (undo func(), err error) {
	if s.Text == nil {
		return nil, &errs.Error{Code: errs.InvalidArgs, Op: s.Name,
			Message: fmt.Sprintf("section %q of %q has no function that gives its text", s.Name, scope.Owner())}
	}
	return add(r, scope, &r.sections, s.Name, s.Order, s)
}

func add[T any](r *Registry, scope event.Scope, to *[]owned[T], name string, order int, item T) (func(), error) {
	o := owned[T]{owner: scope.Owner(), name: name, order: order, item: item, id: new(int)}
	r.mu.Lock()
	for _, other := range *to {
		if other.name == name && event.Succeeds(scope) != other.owner {
			r.mu.Unlock()
			return nil, &errs.Error{Code: errs.DuplicateName, Op: name,
				Message: fmt.Sprintf("prompt part %q is contributed by both %q and %q", name, other.owner, o.owner)}
		}
	}
	next := slices.Clone(*to)
	for i := range next {
		next[i].shadowed = next[i].shadowed || next[i].name == name
	}
	next = append(next, o)
	slices.SortStableFunc(next, func(a, b owned[T]) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	*to = next
	r.mu.Unlock()
	undo := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		*to = without(*to, o.id)
	}
	scope.Add(undo)
	return undo, nil
}

// without takes a contribution away. When it was a successor's that could not
// stay, the one it had shadowed counts again.
func without[T any](all []owned[T], id *int) []owned[T] {
	at := slices.IndexFunc(all, func(x owned[T]) bool { return x.id == id })
	if at < 0 {
		return all
	}
	gone := all[at]
	rest := slices.Delete(slices.Clone(all), at, at+1)
	if !gone.shadowed {
		for i := len(rest) - 1; i >= 0; i-- {
			if rest[i].name == gone.name {
				rest[i].shadowed = false
				break
			}
		}
	}
	return rest
}

// visible returns what counts.
func visible[T any](all []owned[T]) []owned[T] {
	return slices.DeleteFunc(slices.Clone(all), func(x owned[T]) bool { return x.shadowed })
}

// Segments returns the segments in prompt order.
func (r *Registry) Segments() []Segment {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Segment
	for _, s := range visible(r.segments) {
		out = append(out, s.item)
	}
	return out
}

// Owners tells which plugin contributed each segment.
func (r *Registry) Owners() map[string]string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make(map[string]string, len(r.segments))
	for _, s := range visible(r.segments) {
		out[s.name] = s.owner
	}
	return out
}

// System returns the system prompt: the segments' texts, parted by blank
// lines.
func (r *Registry) System() string {
	var texts []string
	for _, s := range r.Segments() {
		if s.Text != "" {
			texts = append(texts, s.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// contextHeading opens each snapshot, so that a model knows which one counts.
const contextHeading = "Current runtime context. This snapshot supersedes earlier runtime-context snapshots."

// NoContext is the snapshot that takes back earlier ones, when nothing is left
// to say.
const NoContext = contextHeading + "\n\nNothing of the earlier ones holds any more."

// Context returns the runtime context for actor: its whole text, "" when no
// section has anything to say, and the sections it is made of. A section that
// panics is PROMPT_SECTION_FAILED, which names it and its plugin: to leave it
// out could hide a rule from the model.
func (r *Registry) Context(actor any) (text string, sections []Snapshot, err error) {
	r.mu.RLock()
	all := visible(r.sections)
	r.mu.RUnlock()
	parts := []string{contextHeading}
	for _, s := range all {
		t, err := sectionText(s, actor)
		if err != nil {
			return "", nil, err
		}
		if t != "" {
			parts = append(parts, t)
			sections = append(sections, Snapshot{Name: s.name, Text: t})
		}
	}
	if len(sections) == 0 {
		return "", nil, nil
	}
	return strings.Join(parts, "\n\n"), sections, nil
}

func sectionText(s owned[Section], actor any) (text string, err error) {
	defer event.Caught(&err, SectionFailed, fmt.Sprintf("section %q of the runtime context, owned by %q,", s.name, s.owner))
	return s.item.Text(actor), nil
}
