package anthropic_test

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
	"github.com/bridle-go/bridle/plugins/anthropic"
	"github.com/bridle-go/bridle/plugins/internal/wiretest"
	"github.com/bridle-go/bridle/plugins/models"
)

// Where a request goes, with which key and headers.
func TestWhere(t *testing.T) {
	env := map[string]string{"ANTHROPIC_API_KEY": "sk-env\n", "MY_KEY": "sk-mine"}
	other := map[string]string{"ANTHROPIC_API_KEY": "sk-env", "ANTHROPIC_BASE_URL": "https://proxy.test/x"}
	tests := []struct {
		name     string
		cfg      anthropic.Config
		env      map[string]string
		url, key string
	}{
		{"Anthropic", anthropic.Config{}, env, "https://api.anthropic.com/v1/messages", "sk-env"},
		{"elsewhere by the environment", anthropic.Config{}, other, "https://proxy.test/x/v1/messages", "sk-env"},
		{"elsewhere by the configuration", anthropic.Config{BaseURL: "https://evil.test"}, env, "https://evil.test/v1/messages", ""},
		{"with the key named", anthropic.Config{BaseURL: "https://proxy.test", APIKeyEnv: "MY_KEY"}, env, "https://proxy.test/v1/messages", "sk-mine"},
		{"with the key given", anthropic.Config{APIKey: "sk-given"}, env, "https://api.anthropic.com/v1/messages", "sk-given"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Getenv = func(name string) string { return tt.env[name] }
			tt.cfg.Headers = map[string]llm.Secret{"anthropic-beta": "interleaved-thinking-2025-05-14"}
			reached := false
			tt.cfg.Transport = wiretest.RoundTripper(func(r *http.Request) (*http.Response, error) {
				reached = true
				got := []string{r.URL.String(), r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version"), r.Header.Get("Anthropic-Beta")}
				if diff := cmp.Diff([]string{tt.url, tt.key, "2023-06-01", "interleaved-thinking-2025-05-14"}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return wiretest.Answer(r, 500, strings.NewReader("")), nil
			})
			a := open(t, tt.cfg)
			if _, err := wiretest.Collect(t.Context(), a, wiretest.Hello(a)); !reached {
				t.Errorf("no request was made: %v", err)
			}
		})
	}
	a := open(t, anthropic.Config{})
	if _, err := wiretest.Collect(t.Context(), a, wiretest.Hello(a)); llm.ClassOf(err) != llm.Auth || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("without a key: got %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]anthropic.Config{
		"slash":    {Provider: "a/b"},
		"budget":   {ThinkingBudgets: map[string]int64{"low": 100}},
		"base URL": {BaseURL: "api.anthropic.com"},
	} {
		cfg.Getenv = noEnv
		if _, err := anthropic.New(cfg, nil); !errors.Is(err, errs.InvalidArgs) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s about %q", err, errs.InvalidArgs, want)
		}
	}
}

// The bound on the answer stays within the model's own, and the budget of
// reasoning within the bound.
func TestBounds(t *testing.T) {
	catalogue, err := models.New(models.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, model string
		options     llm.Options
		want        string
	}{
		{"of the catalogue", "claude-3-haiku-20240307", llm.Options{}, `"max_tokens":4096,`},
		{"of the catalogue, held back", "claude-sonnet-4-5", llm.Options{}, `"max_tokens":32000,`},
		{"of an unknown model", "claude-x", llm.Options{}, `"max_tokens":8192,`},
		{"asked for", "claude-sonnet-4-5", llm.Options{MaxOutputTokens: 50_000}, `"max_tokens":50000,`},
		{"asked for too much", "claude-sonnet-4-5", llm.Options{MaxOutputTokens: 100_000}, `"max_tokens":64000,`},
		{"a budget above the bound", "claude-sonnet-4-5", llm.Options{MaxOutputTokens: 3000, ReasoningEffort: "high"}, `"budget_tokens":1976}`},
		{"no room for a budget", "claude-sonnet-4-5", llm.Options{MaxOutputTokens: 2000, ReasoningEffort: "high"}, `[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]}],"stream":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body []byte
			a, err := anthropic.New(anthropic.Config{APIKey: "k", Getenv: noEnv, Transport: wiretest.RoundTripper(func(r *http.Request) (*http.Response, error) {
				body, _ = io.ReadAll(r.Body)
				return wiretest.Answer(r, 500, strings.NewReader("")), nil
			})}, catalogue)
			if err != nil {
				t.Fatal(err)
			}
			r := wiretest.Hello(a)
			r.Model, r.Options = tt.model, tt.options
			_, _ = wiretest.Collect(t.Context(), a, r) // the server fails, the body counts
			if !strings.Contains(string(body), tt.want) {
				t.Errorf("the body lacks %s:\n%s", tt.want, body)
			}
		})
	}
}

// The list goes on from page to page.
func TestModels(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		if r.URL.Query().Get("after_id") == "" {
			_, _ = io.WriteString(w, `{"data":[{"id":"claude-b","display_name":"B"}],"has_more":true,"last_id":"claude-b"}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"claude-a","display_name":"A"}],"has_more":false,"last_id":"claude-a"}`)
	}))
	defer server.Close()
	a := open(t, anthropic.Config{BaseURL: server.URL, APIKey: "k"})
	want := []llm.ModelInfo{{Provider: "anthropic", Model: "claude-a", Name: "A"}, {Provider: "anthropic", Model: "claude-b", Name: "B"}}
	got, err := a.Models(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	status = http.StatusUnauthorized
	if _, err := a.Models(t.Context()); llm.ClassOf(err) != llm.Auth {
		t.Errorf("a wrong key: got %v", err)
	}
}

// What an answer brings goes back as it came: reasoning with its signature,
// hidden reasoning, and calls of tools whose names the API does not allow.
func TestRoundTrip(t *testing.T) {
	stream := `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"aGlk"}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"NAME","input":{"a":1}}}

data: {"type":"content_block_stop","index":2}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

`
	var body string
	a := open(t, anthropic.Config{APIKey: "k", NoCache: true, Transport: wiretest.RoundTripper(func(r *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(r.Body)
		body = string(data)
		_, name, _ := strings.Cut(body, `"tools":[{"name":"`)
		name, _, _ = strings.Cut(name, `"`)
		return wiretest.Answer(r, 200, strings.NewReader(strings.Replace(stream, "NAME", name, 1))), err
	})})
	r := wiretest.Hello(a)
	r.Tools = []llm.ToolSchema{{Name: "fs.read/file", Description: "d"}}
	var acc llm.Accumulator
	chunks, err := wiretest.Collect(t.Context(), a, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		if err := acc.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	blocks := acc.Blocks()
	if calls := (llm.Message{Content: blocks}).ToolCalls(); len(calls) != 1 || calls[0].Name != "fs.read/file" {
		t.Fatalf("the calls are %+v", calls)
	}
	r.Messages = append(r.Messages,
		llm.Message{Role: llm.Assistant, Content: blocks, Source: llm.Source{Kind: llm.FromModel, Provider: "anthropic", Model: "m"}},
		llm.Message{Role: llm.User, Content: []llm.Block{llm.ToolResult("t1", false, llm.Text("r"))}})
	if _, err := wiretest.Collect(t.Context(), a, r); err != nil {
		t.Fatal(err)
	}
	want := `{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"redacted_thinking","data":"aGlk"},{"type":"tool_use","id":"t1","name":"fs_read_file_`
	if !strings.Contains(body, want) {
		t.Errorf("the body lacks %s:\n%s", want, body)
	}
}

func TestPlugin(t *testing.T) {
	ctx := context.Background()
	c, err := plug.Compose(ctx, nil, anthropic.Plugin(anthropic.Config{Getenv: noEnv}),
		anthropic.Plugin(anthropic.Config{Provider: "proxy", BaseURL: "http://localhost:1", Getenv: noEnv}), models.Plugin(models.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"models", "anthropic", "anthropic/proxy"}, c.Plugins()); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	registry, release, err := plug.ServiceOf[*llm.Registry](c).Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := registry.ResolveModelInfo("anthropic", "claude-opus-4-1-20250805"); err != nil || info.MaxOutputTokens != 32_000 {
		t.Errorf("got %+v, %v", info, err)
	}
	if info, err := registry.ResolveModelInfo("proxy", "claude-opus-4-1-20250805"); err != nil || info.MaxOutputTokens != 0 {
		t.Errorf("of another server nothing is known, but got %+v, %v", info, err)
	}
	if _, err := registry.ResolveModelInfo("anthropic", " "); !errors.Is(err, llm.UnknownModel) {
		t.Errorf("without a model: got %v", err)
	}
	release()
	if err := c.Stop(ctx); err != nil || len(registry.Providers()) != 0 {
		t.Errorf("after the stop: %v, %v", err, registry.Providers())
	}
}
