package tool

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/near"
	"github.com/bridle-go/bridle/harness/plug"
)

// Registry holds the tools of a deployment and runs their calls. Its methods
// may be called concurrently.
type Registry struct {
	bus      *event.Bus
	approval *plug.Service[approval.Service]

	mu     sync.RWMutex
	tools  map[string][]*registered // of one name, newest last
	guards []*guard
	order  func(a, b string) int
}

// registered is a definition with its compiled schemas.
type registered struct {
	Definition
	owner  string
	input  *jsonschema.Schema
	output *jsonschema.Schema
}

// NewRegistry returns an empty registry that raises its events on bus and puts
// questions of PreExecute listeners to the approval service.
func NewRegistry(bus *event.Bus, approval *plug.Service[approval.Service]) *Registry {
	return &Registry{bus: bus, approval: approval, tools: map[string][]*registered{}, order: cmp.Compare[string]}
}

// Register adds a tool until scope ends or the returned undo is called. An
// owner may register a name again; the newest counts until it is undone. A
// name that another owner holds is NAME_DUPLICATE, unless the scope succeeds
// that owner.
func (r *Registry) Register(scope event.Scope, d Definition) (undo func(), err error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	reg := &registered{Definition: d, owner: scope.Owner()}
	if reg.input, err = compile(d.Name+"-input", d.Input); err != nil {
		return nil, errs.Wrap(errs.InvalidArgs, err.Error(), err)
	}
	if reg.output, err = compile(d.Name+"-output", d.Output); err != nil {
		return nil, errs.Wrap(errs.InvalidArgs, err.Error(), err)
	}
	r.mu.Lock()
	if held := r.tools[d.Name]; len(held) > 0 && held[0].owner != reg.owner && held[0].owner != event.Succeeds(scope) {
		r.mu.Unlock()
		return nil, &errs.Error{Code: errs.DuplicateName, Op: d.Name,
			Message: fmt.Sprintf("tool %q is registered by both %q and %q", d.Name, held[0].owner, reg.owner)}
	}
	r.tools[d.Name] = append(slices.Clip(r.tools[d.Name]), reg)
	r.mu.Unlock()
	undo = func() { r.remove(reg) }
	scope.Add(undo)
	return undo, nil
}

func (r *Registry) remove(reg *registered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(r.tools[reg.Name]), func(x *registered) bool { return x == reg })
	if len(rest) == 0 {
		delete(r.tools, reg.Name)
		return
	}
	r.tools[reg.Name] = rest
}

// SetOrder sets how tool names are ordered in prompts; the default, and that of
// nil, is by name, which also decides between names that compare finds equal.
// It must be set before the first prompt is assembled.
func (r *Registry) SetOrder(compare func(a, b string) int) {
	if compare == nil {
		compare = cmp.Compare[string]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = compare
}

// View restricts and shadows tools for one agent.
type View struct {
	// Only, when not nil, names the tools that the agent may see and call.
	Only []string
	// Without names tools that it may not.
	Without []string
	// Shadow holds definitions that take the place of registered ones of the
	// same name, or join them.
	Shadow []Definition

	once     sync.Once
	compiled map[string]*registered
	err      error
}

func (v *View) allows(name string) bool {
	return v == nil || (v.Only == nil || slices.Contains(v.Only, name)) && !slices.Contains(v.Without, name)
}

func (v *View) shadow(name string) (*registered, error) {
	if v == nil {
		return nil, nil
	}
	v.once.Do(func() {
		v.compiled = map[string]*registered{}
		for _, d := range v.Shadow {
			reg := &registered{Definition: d, owner: "agent"}
			if v.err = d.check(); v.err != nil {
				return
			}
			if reg.input, v.err = compile(d.Name+"-input", d.Input); v.err != nil {
				return
			}
			if reg.output, v.err = compile(d.Name+"-output", d.Output); v.err != nil {
				return
			}
			v.compiled[d.Name] = reg
		}
	})
	return v.compiled[name], v.err
}

// Definitions returns the tools that agent sees, in prompt order. A nil agent
// sees all.
func (r *Registry) Definitions(agent *Agent) []Definition {
	view := viewOf(agent)
	byName := map[string]Definition{}
	r.mu.RLock()
	for name, held := range r.tools {
		byName[name] = held[len(held)-1].Definition
	}
	order := r.order
	r.mu.RUnlock()
	if view != nil {
		for _, d := range view.Shadow {
			byName[d.Name] = d
		}
	}
	var out []Definition
	for name, d := range byName {
		if view.allows(name) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Definition) int {
		// The names come out of a map: without the second, equal ones would stand
		// in another order in each request.
		return cmp.Or(order(a.Name, b.Name), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Owner names the plugin that registered a tool, or "".
func (r *Registry) Owner(name string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if held := r.tools[name]; len(held) > 0 {
		return held[len(held)-1].owner
	}
	return ""
}

// Lookup returns the tool that agent calls by name.
func (r *Registry) Lookup(agent *Agent, name string) (Definition, error) {
	reg, err := r.lookup(agent, name)
	if err != nil {
		return Definition{}, err
	}
	return reg.Definition, nil
}

// MayRetry reports whether a call whose result is not known can be made again
// without a second effect: its tool is one that may run in parallel, because
// it changes nothing. It is what a session store wants as Config.MayRetry; of
// a tool that is not there it says no.
func (r *Registry) MayRetry(name, _ string) bool {
	d, err := r.Lookup(nil, name)
	return err == nil && d.Parallel
}

func (r *Registry) lookup(agent *Agent, name string) (*registered, error) {
	view := viewOf(agent)
	if view.allows(name) {
		if reg, err := view.shadow(name); err != nil || reg != nil {
			return reg, err
		}
		r.mu.RLock()
		held := r.tools[name]
		r.mu.RUnlock()
		if len(held) > 0 {
			return held[len(held)-1], nil
		}
	}
	var names []string
	for _, d := range r.Definitions(agent) {
		names = append(names, d.Name)
	}
	msg := fmt.Sprintf("there is no tool %q", name)
	if best := near.Miss(name, names); best != "" {
		msg += fmt.Sprintf("; did you mean %q?", best)
	}
	return nil, &errs.Error{Code: errs.UnknownTool, Op: name, Message: msg}
}

func viewOf(agent *Agent) *View {
	if agent == nil {
		return nil
	}
	return agent.View
}
