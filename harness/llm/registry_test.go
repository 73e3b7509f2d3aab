package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
)

// fixedAdapter knows the models it lists.
type fixedAdapter struct {
	id     string
	models []string
	err    error
}

func (a fixedAdapter) Provider() string { return a.id }

func (a fixedAdapter) Models(context.Context) ([]llm.ModelInfo, error) {
	var out []llm.ModelInfo
	for _, m := range a.models {
		out = append(out, llm.ModelInfo{Provider: a.id, Model: m})
	}
	return out, a.err
}

func (a fixedAdapter) ResolveModel(model string) (llm.ModelInfo, error) {
	for _, m := range a.models {
		if m == model {
			return llm.ModelInfo{Name: a.id + " " + m}, nil
		}
	}
	return llm.ModelInfo{}, errors.New("not one of mine")
}

func (a fixedAdapter) Stream(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) { yield(text(0, a.id), nil) }
}

func TestRegistry(t *testing.T) {
	var r llm.Registry
	if _, err := r.ResolveModelInfo("a", "m"); !errors.Is(err, llm.UnknownProvider) || err.Error() != `the model provider "a" is unknown (none is mounted)` {
		t.Errorf("empty: %v", err)
	}
	undo, err := r.Register(plug.NewScope("plugin-a"), fixedAdapter{id: "a", models: []string{"m", "n"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register(plug.NewScope("plugin-b"), fixedAdapter{id: "b", models: []string{"m"}, err: errors.New("offline")}); err != nil {
		t.Fatal(err)
	}
	_, err = r.Register(plug.NewScope("plugin-c"), fixedAdapter{id: "a"})
	if !errors.Is(err, errs.DuplicateName) || !strings.Contains(err.Error(), `"plugin-a"`) || !strings.Contains(err.Error(), `"plugin-c"`) {
		t.Errorf("a provider twice: %v", err)
	}
	if _, err := r.Register(plug.NewScope("plugin-d"), fixedAdapter{}); !errors.Is(err, errs.InvalidArgs) {
		t.Errorf("no provider id: %v", err)
	}

	for _, route := range []string{"a/m", "b/m", "a/n"} {
		p, m, _ := strings.Cut(route, "/")
		got, err := r.ResolveModelInfo(p, m)
		if want := (llm.ModelInfo{Provider: p, Model: m, Name: p + " " + m}); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %+v, %v", route, got, err)
		}
	}
	if _, err := r.ResolveModelInfo("b", "n"); !errors.Is(err, llm.UnknownModel) || !strings.Contains(err.Error(), `"n" of provider "b"`) {
		t.Errorf("a model of another provider: %v", err)
	}
	if _, err := r.ResolveModelInfo("x", "n"); !errors.Is(err, llm.UnknownProvider) || !strings.Contains(err.Error(), "there are: a, b") {
		t.Errorf("an unknown provider: %v", err)
	}
	models, err := r.Models(context.Background())
	if len(models) != 3 || err == nil || !strings.Contains(err.Error(), `"b": offline`) {
		t.Errorf("models %v, %v", models, err)
	}
	for c, err := range r.Stream(context.Background(), llm.Request{Provider: "b"}) {
		if err != nil || c.Text != "b" {
			t.Errorf("stream %+v, %v", c, err)
		}
	}
	undo()
	if _, err := r.Register(plug.NewScope("plugin-c"), fixedAdapter{id: "a"}); err != nil {
		t.Errorf("register again after undo: %v", err)
	}
	undo() // of the first registration: the second one stays
	if got := r.Providers(); !cmp.Equal(got, []string{"a", "b"}) {
		t.Errorf("providers %v", got)
	}
	for _, err := range r.Stream(context.Background(), llm.Request{Provider: "x"}) {
		if !errors.Is(err, llm.UnknownProvider) {
			t.Errorf("stream to nobody: %v", err)
		}
	}
}

// successor is the scope of a plugin that is about to replace another.
type successor struct {
	*plug.Scope
	of string
}

func (s successor) Succeeds() string { return s.of }

func TestSuccessorTakesProvidersOver(t *testing.T) {
	var r llm.Registry
	register := func(scope event.Scope, model string) error {
		_, err := r.Register(scope, fixedAdapter{id: "a", models: []string{model}})
		return err
	}
	serving := func(when, model string) {
		t.Helper()
		if _, err := r.ResolveModelInfo("a", model); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	old := plug.NewScope("p")
	if err := register(old, "old"); err != nil {
		t.Fatal(err)
	}
	refused := successor{plug.NewScope("q"), "p"}
	if err := register(refused, "refused"); err != nil {
		t.Fatal(err)
	}
	serving("with a successor", "refused")
	if err := refused.Close(); err != nil {
		t.Fatal(err)
	}
	serving("after the successor was refused", "old")
	if err := register(successor{plug.NewScope("q"), "p"}, "new"); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	serving("after the predecessor left", "new")
	if err := register(successor{plug.NewScope("x"), "p"}, "other"); !errors.Is(err, errs.DuplicateName) {
		t.Errorf("the successor of somebody else got %v", err)
	}
	late := plug.NewScope("late")
	if err := late.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register(late, fixedAdapter{id: "b"}); err != nil || len(r.Providers()) != 1 {
		t.Errorf("a scope that has ended left %v, %v", r.Providers(), err)
	}
}

func TestClasses(t *testing.T) {
	limited := &llm.Error{Class: llm.RateLimited, Provider: "p", Status: 429, RetryAfter: 3 * time.Second, Message: "slow down"}
	tests := []struct {
		name  string
		err   error
		class llm.Class
		retry bool
		code  errs.Code
	}{
		{"none", nil, "", false, ""},
		{"rate limit, wrapped", fmt.Errorf("x: %w", limited), llm.RateLimited, true, "MODEL_RATE_LIMITED"},
		{"overloaded", &llm.Error{Class: llm.Overloaded}, llm.Overloaded, true, "MODEL_OVERLOADED"},
		{"context", &llm.Error{Class: llm.ContextTooLong}, llm.ContextTooLong, false, "MODEL_CONTEXT_TOO_LONG"},
		{"auth", &llm.Error{Class: llm.Auth}, llm.Auth, false, "MODEL_AUTH"},
		{"cancelled", &llm.Error{Class: llm.Cancelled, Err: context.Canceled}, llm.Cancelled, false, errs.Aborted},
		{"a bare cancellation", fmt.Errorf("x: %w", context.Canceled), llm.Cancelled, false, errs.Aborted},
		{"a cut stream", io.ErrUnexpectedEOF, llm.Network, true, ""},
		{"anything else", errors.New("x"), "", false, ""},
		{"no class", &llm.Error{}, "", false, "MODEL_FAILED"},
	}
	for _, tt := range tests {
		if got := llm.ClassOf(tt.err); got != tt.class || got.Retryable() != tt.retry {
			t.Errorf("%s: class %q, retryable %v", tt.name, got, got.Retryable())
		}
		if got := errs.CodeOf(tt.err); got != tt.code {
			t.Errorf("%s: code %q, want %q", tt.name, got, tt.code)
		}
		if tt.code != "" && tt.code != errs.Aborted && !errors.Is(tt.err, tt.code) {
			t.Errorf("%s is not %s", tt.name, tt.code)
		}
	}
	if got := llm.RetryAfterOf(fmt.Errorf("x: %w", limited)); got != 3*time.Second {
		t.Errorf("retry after %v", got)
	}
	if got, want := limited.Error(), `model request to "p": slow down (rate-limited, status 429)`; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// broken panics whatever it is asked.
type broken struct{ llm.Adapter }

func (broken) Provider() string                                { return "broken" }
func (broken) Models(context.Context) ([]llm.ModelInfo, error) { panic("ouch") }
func (broken) ResolveModel(string) (llm.ModelInfo, error)      { panic("ouch") }

// An adapter that panics is one that cannot be asked.
func TestAdapterThatPanics(t *testing.T) {
	var r llm.Registry
	for _, a := range []llm.Adapter{broken{}, fixedAdapter{id: "a", models: []string{"m"}}} {
		if _, err := r.Register(plug.NewScope("p"), a); err != nil {
			t.Fatal(err)
		}
	}
	want := `the adapter of provider "broken" panicked: ouch`
	if _, err := r.ResolveModelInfo("broken", "m"); errs.CodeOf(err) != "MODEL_FAILED" || err.Error() != want {
		t.Errorf("resolve: %v (%s)", err, errs.CodeOf(err))
	}
	models, err := r.Models(t.Context())
	if len(models) != 1 || errs.CodeOf(err) != "MODEL_FAILED" || !strings.Contains(err.Error(), want) {
		t.Errorf("list: %v, %v", models, err)
	}
}
