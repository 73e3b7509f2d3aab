package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
)

// Registry holds the adapters of a deployment by provider id. The zero value
// is ready; a Registry may be used concurrently and must not be copied.
type Registry struct {
	mu       sync.RWMutex
	adapters map[string][]*registration // of one id, newest last
}

type registration struct {
	owner, id string
	adapter   Adapter
}

// Register adds an adapter until scope ends or the returned undo is called,
// which may happen twice. An owner may register a provider id again; the newest
// counts until it is undone. An id that another owner holds is NAME_DUPLICATE,
// which names both, unless the scope succeeds that owner. An adapter without an
// id is INVALID_ARGS.
func (r *Registry) Register(scope event.Scope, a Adapter) (undo func(), err error) {
	reg := &registration{owner: scope.Owner(), id: a.Provider(), adapter: a}
	if reg.id == "" {
		return nil, errs.New(errs.InvalidArgs, fmt.Sprintf("the adapter of %q has no provider id", reg.owner))
	}
	if err := r.add(reg, event.Succeeds(scope)); err != nil {
		return nil, err
	}
	undo = func() { r.remove(reg) }
	scope.Add(undo)
	return undo, nil
}

func (r *Registry) add(reg *registration, succeeds string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if held := r.adapters[reg.id]; len(held) > 0 && held[0].owner != reg.owner && held[0].owner != succeeds {
		return errs.New(errs.DuplicateName,
			fmt.Sprintf("the provider %q is registered by %q already, so %q cannot register it", reg.id, held[0].owner, reg.owner))
	}
	if r.adapters == nil {
		r.adapters = map[string][]*registration{}
	}
	r.adapters[reg.id] = append(slices.Clip(r.adapters[reg.id]), reg)
	return nil
}

func (r *Registry) remove(reg *registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(r.adapters[reg.id]), func(x *registration) bool { return x == reg })
	if r.adapters[reg.id] = rest; len(rest) == 0 {
		delete(r.adapters, reg.id)
	}
}

// Providers returns the ids of all providers in byte order.
func (r *Registry) Providers() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.adapters))
}

// Adapter returns the adapter of a provider, or fails with PROVIDER_UNKNOWN
// and the providers there are.
func (r *Registry) Adapter(provider string) (Adapter, error) {
	r.mu.RLock()
	held := r.adapters[provider]
	r.mu.RUnlock()
	if len(held) > 0 {
		return held[len(held)-1].adapter, nil
	}
	known := "none is mounted"
	if ids := r.Providers(); len(ids) > 0 {
		known = "there are: " + strings.Join(ids, ", ")
	}
	return nil, errs.New(UnknownProvider, fmt.Sprintf("the model provider %q is unknown (%s)", provider, known))
}

// ResolveModelInfo answers for exactly this route: never for another model of
// the provider, and never for the model at another provider.
func (r *Registry) ResolveModelInfo(provider, model string) (ModelInfo, error) {
	a, err := r.Adapter(provider)
	if err != nil {
		return ModelInfo{}, err
	}
	info, err := resolve(a, provider, model)
	if err != nil {
		if errs.CodeOf(err) == "" {
			err = errs.Wrap(UnknownModel, fmt.Sprintf("the model %q of provider %q cannot be resolved: %v", model, provider, err), err)
		}
		return ModelInfo{}, err
	}
	info.Provider, info.Model = provider, model
	return info, nil
}

// resolve asks an adapter; a panic in it fails with MODEL_FAILED.
func resolve(a Adapter, provider, model string) (_ ModelInfo, err error) {
	defer event.Caught(&err, Class("").Code(), fmt.Sprintf("the adapter of provider %q", provider))
	return a.ResolveModel(model)
}

// list likewise.
func list(ctx context.Context, a Adapter, provider string) (_ []ModelInfo, err error) {
	defer event.Caught(&err, Class("").Code(), fmt.Sprintf("the adapter of provider %q", provider))
	return a.Models(ctx)
}

// Models lists the models of all providers, by provider and then by model. A
// provider that cannot be asked does not hide the others: the errors of all
// such, joined, come with the list.
func (r *Registry) Models(ctx context.Context) ([]ModelInfo, error) {
	var all []ModelInfo
	var failed []error
	for _, id := range r.Providers() {
		a, err := r.Adapter(id)
		if err != nil {
			continue // it left since
		}
		models, err := list(ctx, a, id)
		if err != nil {
			failed = append(failed, fmt.Errorf("list the models of %q: %w", id, err))
		}
		all = append(all, models...)
	}
	return all, errors.Join(failed...)
}

// Stream sends the request to the adapter of its provider.
func (r *Registry) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	a, err := r.Adapter(req.Provider)
	if err != nil {
		return func(yield func(Chunk, error) bool) { yield(Chunk{}, err) }
	}
	return a.Stream(ctx, req)
}
