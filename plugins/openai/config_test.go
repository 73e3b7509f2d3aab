package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/internal/wiretest"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/openai"
)

// Where a request goes and with which key. The key of the environment goes to
// the flavour's own server, or where the flavour's own variable says, and to
// nobody else.
func TestWhere(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-openai\n", "DEEPSEEK_API_KEY": "sk-deepseek", "MY_KEY": "sk-mine", "VLLM_BASE_URL": "http://gpu:8000/v1"}
	other := map[string]string{"OPENAI_API_KEY": "sk-openai", "OPENAI_BASE_URL": "https://proxy.test/v1"}
	tests := []struct {
		name     string
		cfg      openai.Config
		env      map[string]string
		url, key string
	}{
		{"OpenAI", openai.Config{}, env, "https://api.openai.com/v1/chat/completions", "Bearer sk-openai"},
		{"OpenAI elsewhere by the environment", openai.Config{}, other, "https://proxy.test/v1/chat/completions", "Bearer sk-openai"},
		{"OpenAI elsewhere by the configuration", openai.Config{BaseURL: "https://evil.test/v1"}, env, "https://evil.test/v1/chat/completions", ""},
		{"with the key named", openai.Config{BaseURL: "https://proxy.test/v1", APIKeyEnv: "MY_KEY"}, env, "https://proxy.test/v1/chat/completions", "Bearer sk-mine"},
		{"with the key given", openai.Config{APIKey: "sk-given"}, env, "https://api.openai.com/v1/chat/completions", "Bearer sk-given"},
		{"DeepSeek", openai.Config{Flavour: openai.DeepSeek}, env, "https://api.deepseek.com/chat/completions", "Bearer sk-deepseek"},
		{"DeepSeek by another path", openai.Config{Flavour: openai.DeepSeek, BaseURL: "https://api.deepseek.com/beta"}, env, "https://api.deepseek.com/beta/chat/completions", "Bearer sk-deepseek"},
		{"not by plain http", openai.Config{Flavour: openai.DeepSeek, BaseURL: "http://api.deepseek.com"}, env, "http://api.deepseek.com/chat/completions", ""},
		{"vLLM", openai.Config{Flavour: openai.VLLM}, env, "http://gpu:8000/v1/chat/completions", ""},
		{"Ollama", openai.Config{Flavour: openai.Ollama}, env, "http://localhost:11434/v1/chat/completions", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Getenv = func(name string) string { return tt.env[name] }
			reached := false
			tt.cfg.Transport = wiretest.RoundTripper(func(r *http.Request) (*http.Response, error) {
				reached = true
				if got := r.URL.String(); got != tt.url {
					t.Errorf("the request goes to %s, want %s", got, tt.url)
				}
				if got := r.Header.Get("Authorization"); got != tt.key {
					t.Errorf("the key is %q, want %q", got, tt.key)
				}
				return wiretest.Answer(r, 500, strings.NewReader("")), nil
			})
			a := open(t, tt.cfg)
			if _, err := wiretest.Collect(t.Context(), a, wiretest.Hello(a)); !reached {
				t.Errorf("no request was made: %v", err)
			}
		})
	}
}

// Without a key that is needed no request is made, and the error says where
// the key belongs.
func TestNoKey(t *testing.T) {
	for want, cfg := range map[string]openai.Config{
		"OPENAI_API_KEY":  {},
		"MISTRAL_API_KEY": {Flavour: openai.Mistral},
		"MY_KEY":          {Flavour: openai.Ollama, APIKeyEnv: "MY_KEY"},
	} {
		cfg.Transport = wiretest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("a request was made")
		})
		a := open(t, cfg)
		_, err := wiretest.Collect(t.Context(), a, wiretest.Hello(a))
		if llm.ClassOf(err) != llm.Auth || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one about %s", err, want)
		}
		if _, err := a.Models(t.Context()); llm.ClassOf(err) != llm.Auth {
			t.Errorf("the list: got error %v", err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]openai.Config{
		"flavour":        {Flavour: "opneai"},
		"needs":          {Flavour: openai.Compatible, BaseURL: "http://x"},
		"slash":          {Provider: "a/b"},
		"maxTokensField": {MaxTokensField: "tokens"},
		"reasoningField": {ReasoningField: "thoughts"},
		"sendReasoning":  {SendReasoning: "sometimes"},
		"base URL":       {BaseURL: "api.openai.com"},
		"header":         {APIKey: "a\nb"},
	} {
		cfg.Getenv = noEnv
		if _, err := openai.New(cfg, nil); !errors.Is(err, errs.InvalidArgs) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s about %q", err, errs.InvalidArgs, want)
		}
	}
}

// The list has what the server has, sorted, with what is known of each; a
// server without a list has what is known.
func TestModels(t *testing.T) {
	catalogue, err := models.New(models.Config{Models: map[string]llm.ModelInfo{"vllm/b": {ContextWindow: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"b","max_model_len":4096},{"id":"a","max_model_len":2048},{"id":"a"},{"id":""}]}`)
	}))
	defer server.Close()
	a, err := openai.New(openai.Config{Flavour: openai.VLLM, BaseURL: server.URL, Vendor: "none", Getenv: noEnv}, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	want := []llm.ModelInfo{{Provider: "vllm", Model: "a", ContextWindow: 2048}, {Provider: "vllm", Model: "b", ContextWindow: 5}}
	got, err := a.Models(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	status = http.StatusNotFound
	got, err = a.Models(t.Context())
	if diff := cmp.Diff([]llm.ModelInfo{{Provider: "vllm", Model: "b", ContextWindow: 5}}, got); diff != "" || err != nil {
		t.Errorf("without a list: %v (-want +got):\n%s", err, diff)
	}
	status = http.StatusInternalServerError
	if _, err = a.Models(t.Context()); llm.ClassOf(err) != llm.Server {
		t.Errorf("a failing server: got %v", err)
	}
}

// The plugin registers its adapter while it is mounted, in any order of
// mounting, takes up a successor of the registry, and finds the catalogue.
func TestPlugin(t *testing.T) {
	ctx := context.Background()
	c, err := plug.Compose(ctx, nil,
		openai.Plugin(openai.Config{Getenv: noEnv}),
		openai.Plugin(openai.Config{Flavour: openai.DeepSeek, Getenv: noEnv}),
		models.Plugin(models.Config{}),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	registry := func() *llm.Registry {
		r, release, err := plug.ServiceOf[*llm.Registry](c).Acquire()
		if err != nil {
			t.Fatal(err)
		}
		release()
		return r
	}
	first := registry()
	if diff := cmp.Diff([]string{"deepseek", "openai"}, first.Providers()); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	if info, err := first.ResolveModelInfo("openai", "gpt-4.1"); err != nil || info.ContextWindow != 1_047_576 {
		t.Errorf("got %+v, %v", info, err)
	}
	if err := c.Unmount(ctx, "models"); err != nil {
		t.Fatal(err)
	}
	if got := first.Providers(); len(got) != 0 {
		t.Errorf("the registry that left still has %v", got)
	}
	if err := c.Mount(ctx, models.Plugin(models.Config{Models: map[string]llm.ModelInfo{"openai/gpt-4.1": {ContextWindow: 9}}})); err != nil {
		t.Fatal(err)
	}
	if info, err := registry().ResolveModelInfo("openai", "gpt-4.1"); err != nil || info.ContextWindow != 9 {
		t.Errorf("after a new registry: got %+v, %v", info, err)
	}
	if err := c.Unmount(ctx, "openai/deepseek"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"openai"}, registry().Providers()); diff != "" {
		t.Errorf("after the unmount (-want +got):\n%s", diff)
	}
	err = c.Mount(ctx, openai.Plugin(openai.Config{Flavour: openai.Ollama, Provider: "openai", Getenv: noEnv}))
	if !errors.Is(err, errs.DuplicatePlugin) {
		t.Errorf("the same provider twice: got %v", err)
	}
}
