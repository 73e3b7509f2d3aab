// Package script is a language model that says what a test, or a
// demonstration, has written down: an [llm.Adapter] that answers each request
// with the next [Step] of a script, in chunks as a provider streams them, and
// with the faults that providers have.
//
// Requests are recorded. Time is an input, so a scripted run is the same every
// time.
package script

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
)

// Step is one answer of the model. Its parts come in the order of the fields.
type Step struct {
	Reasoning string `json:"reasoning,omitempty"`
	Text      string `json:"text,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	// Usage is reported at the end; nil reports none.
	Usage *llm.Usage `json:"usage,omitempty"`
	// Finish is why the model stops. Default: tool-calls where there are calls,
	// else stop.
	Finish llm.FinishKind `json:"finish,omitempty"`
	// Fault makes the answer fail on the way; nil lets it end well.
	Fault *Fault `json:"fault,omitempty"`

	// Delay is waited before the first chunk, and Pace before each further one.
	// In JSON they are strings, as in "150ms".
	Delay time.Duration `json:"-"`
	Pace  time.Duration `json:"-"`
	// Hold, where it is not nil, is waited for before the first chunk: until it
	// is closed, or the request ends.
	Hold <-chan struct{} `json:"-"`
	// Check looks at the request that the step answers. An error of it is what
	// the request fails with.
	Check func(llm.Request) error `json:"-"`
}

// Call is a tool call.
type Call struct {
	// ID defaults to "call-" and a number that counts up over the script.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Arguments is the text that the model produces, which need not be JSON.
	Arguments string `json:"arguments,omitempty"`
	// Args are arguments as an object; they count where Arguments is "".
	Args json.RawMessage `json:"args,omitempty"`
}

// Fault is a failure in the middle of an answer.
type Fault struct {
	// After is how many chunks come before it.
	After int `json:"after,omitempty"`
	// Class, Status, RetryAfter and Message describe the provider's error.
	Class      llm.Class     `json:"class,omitempty"`
	Status     int           `json:"status,omitempty"`
	RetryAfter time.Duration `json:"-"` // in JSON a string, as in "2s"
	Message    string        `json:"message,omitempty"`
	// Cut ends the stream as a broken connection does. It counts alone.
	Cut bool `json:"cut,omitempty"`
	// Silent ends the stream without an error and without a finish chunk, as
	// no adapter should. It counts alone.
	Silent bool `json:"silent,omitempty"`
	// Err is yielded as it is, where it is not nil.
	Err error `json:"-"`
}

// Config describes the model. The zero value works.
type Config struct {
	// Provider is the provider id. Default: "script".
	Provider string
	// Models are the models of the provider; it answers for no other, unless
	// there are none, when it answers for any.
	Models []llm.ModelInfo
	// PieceRunes is how many characters a text delta has. Default: 16.
	PieceRunes int
	// Sleep waits, and returns early with the context's error. Default: real
	// time, which is that of a synctest bubble inside of one.
	Sleep func(context.Context, time.Duration) error
}

// Model is the scripted model. It may be used concurrently; each request takes
// one step.
type Model struct {
	cfg Config

	mu       sync.Mutex
	steps    []Step
	played   int
	calls    int
	requests []llm.Request
}

var _ llm.Adapter = (*Model)(nil)

// New returns a model that plays the steps.
func New(cfg Config, steps ...Step) *Model {
	if cfg.Provider == "" {
		cfg.Provider = "script"
	}
	if cfg.PieceRunes <= 0 {
		cfg.PieceRunes = 16
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	return &Model{cfg: cfg, steps: slices.Clone(steps)}
}

// Plugin returns the model as a plugin, called like its provider, that puts it
// into the model registry of the deployment.
func (m *Model) Plugin() plug.Plugin {
	return plug.Plugin{
		Name:     m.cfg.Provider,
		Services: []plug.Declaration{plug.Needs[*llm.Registry]()},
		Options: fx.Invoke(func(registry *plug.Service[*llm.Registry], scope *plug.Scope) error {
			return registry.While(scope, func(scope *plug.Scope, r *llm.Registry) error {
				_, err := r.Register(scope, m)
				return err
			})
		}),
	}
}

// Add appends steps to the script.
func (m *Model) Add(steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
}

// Requests returns the requests so far.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Left returns how many steps no request has taken.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.steps) - m.played
}

// Provider implements [llm.Adapter].
func (m *Model) Provider() string { return m.cfg.Provider }

// Models implements [llm.Adapter].
func (m *Model) Models(context.Context) ([]llm.ModelInfo, error) {
	models := slices.Clone(m.cfg.Models)
	for i := range models {
		models[i].Provider = m.cfg.Provider
	}
	slices.SortFunc(models, func(a, b llm.ModelInfo) int {
		switch {
		case a.Model < b.Model:
			return -1
		case a.Model > b.Model:
			return 1
		}
		return 0
	})
	return models, nil
}

// ResolveModel implements [llm.Adapter].
func (m *Model) ResolveModel(model string) (llm.ModelInfo, error) {
	for _, info := range m.cfg.Models {
		if info.Model == model {
			info.Provider = m.cfg.Provider
			return info, nil
		}
	}
	if len(m.cfg.Models) == 0 {
		return llm.ModelInfo{Provider: m.cfg.Provider, Model: model}, nil
	}
	return llm.ModelInfo{}, fmt.Errorf("the scripted provider %q has no model %q", m.cfg.Provider, model)
}

// Stream implements [llm.Adapter] with the next step of the script.
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		step, err := m.take(r)
		if err == nil && step.Check != nil {
			err = step.Check(r)
		}
		if err != nil {
			yield(llm.Chunk{}, m.fail(r, llm.Invalid, err))
			return
		}
		m.play(ctx, r, step, yield)
	}
}
