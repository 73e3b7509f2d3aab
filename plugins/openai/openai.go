// Package openai reaches models through the chat completions protocol: those
// of OpenAI, and of the many servers that speak the same with an accent, such
// as DeepSeek, Mistral, vLLM and Ollama.
//
// A [Flavour] says which accent. One plugin serves one endpoint under one
// provider id; several may be mounted, each with an id of its own:
//
//	openai.Plugin(openai.Config{})
//	openai.Plugin(openai.Config{Flavour: openai.DeepSeek})
//	openai.Plugin(openai.Config{Flavour: openai.Ollama, Provider: "laptop", BaseURL: "http://10.0.0.7:11434/v1"})
//
// What a log holds is converted to what the protocol allows: calls without a
// result get one, arguments that are no JSON object are wrapped in one, names
// and ids that a server refuses are replaced and translated back, blank texts
// are left out, and images in tool results, which only users may send here,
// follow the results in a message of their own.
package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/internal/endpoint"
	"github.com/bridle-go/bridle/plugins/internal/route"
)

// Config configures one endpoint. The zero value is OpenAI with the key of
// the environment.
type Config struct {
	// Flavour is the kind of server. Default [OpenAI].
	Flavour Flavour `json:"flavour,omitempty"`
	// Provider is the provider id. Default the flavour's name; [Compatible]
	// needs one.
	Provider string `json:"provider,omitempty"`
	// BaseURL is what "/chat/completions" is added to. Default that of the
	// flavour's environment variable (OPENAI_BASE_URL, DEEPSEEK_BASE_URL,
	// MISTRAL_BASE_URL, VLLM_BASE_URL, OLLAMA_BASE_URL), else the flavour's own.
	BaseURL string `json:"baseURL,omitempty"`
	// APIKey is sent as a bearer token. Default that of APIKeyEnv.
	APIKey llm.Secret `json:"apiKey,omitempty"`
	// APIKeyEnv names the environment variable of the key. Default that of the
	// flavour (OPENAI_API_KEY and so on), unless BaseURL names another host than
	// the flavour's: a key is not given to another server by accident.
	APIKeyEnv string `json:"apiKeyEnv,omitempty"`
	// Headers are sent with every request and kept out of errors.
	Headers map[string]llm.Secret `json:"headers,omitempty"`
	// Vendor names the part of the catalogue whose facts hold for the models
	// here, such as "gemini" for that vendor's endpoint of this protocol.
	// Default that of the flavour, unless BaseURL names another host than the
	// one of OpenAI, DeepSeek or Mistral.
	Vendor string `json:"vendor,omitempty"`
	// MaxTokensField is the field that bounds an answer: "max_tokens" or
	// "max_completion_tokens". Default the latter for OpenAI, else the former.
	MaxTokensField string `json:"maxTokensField,omitempty"`
	// SendReasoning says which answers go back with their reasoning. Default
	// [ReasoningToolCalls] for DeepSeek, else [ReasoningNever].
	SendReasoning SendReasoning `json:"sendReasoning,omitempty"`
	// ReasoningField is the field in which it goes back: "reasoning_content" or
	// "reasoning". Default the latter for Ollama, else the former.
	ReasoningField string `json:"reasoningField,omitempty"`
	// Extra is merged into the body of every request, field by field, before
	// the options of the request. A null takes a field out.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
	// IdleTimeoutSeconds bounds how long the server may send nothing at all,
	// before an answer and within it. Default 300; a negative one sets no bound.
	IdleTimeoutSeconds int `json:"idleTimeoutSeconds,omitempty"`
	// MaxResponseBytes bounds an answer. Default 64 MiB.
	MaxResponseBytes int64 `json:"maxResponseBytes,omitempty"`

	// Getenv reads the environment. Default [os.Getenv].
	Getenv func(string) string `json:"-"`
	// Transport makes the requests. Default one of the adapter's own.
	Transport http.RoundTripper `json:"-"`
}

// Plugin returns the endpoint as a plugin. It is called "openai" where that
// is the provider id, else "openai/" and the id.
func Plugin(cfg Config) plug.Plugin {
	return route.Plugin("openai", cfg.provider(), func(c llm.Catalogue) (*Adapter, error) { return New(cfg, c) })
}

func (c Config) provider() string {
	return cmp.Or(c.Provider, string(cmp.Or(c.Flavour, OpenAI)))
}

// Adapter reaches the models of one endpoint.
type Adapter struct {
	cfg       Config
	traits    traits
	provider  string
	keyHint   string // what to do about a key that is missing; "" if none is
	client    *endpoint.Client
	catalogue llm.Catalogue
}

var _ llm.Adapter = (*Adapter)(nil)

// New returns an adapter. The catalogue may be nil. INVALID_ARGS tells what
// is wrong with cfg; a missing key shows in the first request only, so that
// a deployment may offer providers that are not all in use.
func New(cfg Config, catalogue llm.Catalogue) (*Adapter, error) {
	invalid := func(format string, args ...any) (*Adapter, error) {
		return nil, errs.New(errs.InvalidArgs, fmt.Sprintf("openai: "+format, args...))
	}
	cfg.Flavour = cmp.Or(cfg.Flavour, OpenAI)
	t, ok := flavours[cfg.Flavour]
	if !ok {
		return invalid("the flavour %q is unknown; there are %v", cfg.Flavour, Flavours())
	}
	if cfg.Flavour == Compatible && (cfg.Provider == "" || cfg.BaseURL == "") {
		return invalid("the flavour %q needs a provider id and a base URL", Compatible)
	}
	t.maxTokens = cmp.Or(cfg.MaxTokensField, t.maxTokens)
	if t.maxTokens != "max_tokens" && t.maxTokens != "max_completion_tokens" {
		return invalid("maxTokensField must be max_tokens or max_completion_tokens, not %q", t.maxTokens)
	}
	t.reasoning = cmp.Or(cfg.ReasoningField, t.reasoning)
	if t.reasoning != "reasoning_content" && t.reasoning != "reasoning" {
		return invalid("reasoningField must be reasoning_content or reasoning, not %q", t.reasoning)
	}
	t.sendReasoning = cmp.Or(cfg.SendReasoning, t.sendReasoning)
	switch t.sendReasoning {
	case ReasoningNever, ReasoningToolCalls, ReasoningAlways:
	default:
		return invalid("sendReasoning must be %s, %s or %s, not %q", ReasoningNever, ReasoningToolCalls, ReasoningAlways, t.sendReasoning)
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = cmp.Or(strings.TrimSpace(route.Getenv(cfg.Getenv)(t.baseURLEnv)), t.baseURL)
	} else if !sameHost(cfg.BaseURL, t.baseURL) {
		t.keyNeeded = false
		t.keyEnv = ""
		if t.vendor != "open-weights" {
			t.vendor = ""
		}
	}
	t.vendor = cmp.Or(cfg.Vendor, t.vendor)
	t.keyEnv = cmp.Or(cfg.APIKeyEnv, t.keyEnv)

	client, hint, err := route.Server{
		Kind: "openai", Provider: cfg.provider(), BaseURL: cfg.BaseURL,
		Key: cfg.APIKey, KeyEnv: t.keyEnv, KeyNeeded: cfg.APIKeyEnv != "" || t.keyNeeded,
		SetKey:  func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		Headers: cfg.Headers, IdleTimeoutSeconds: cfg.IdleTimeoutSeconds, MaxResponseBytes: cfg.MaxResponseBytes,
		Transport: cfg.Transport, Getenv: cfg.Getenv,
	}.Open()
	if err != nil {
		return nil, err
	}
	return &Adapter{cfg: cfg, traits: t, provider: cfg.provider(), keyHint: hint, client: client, catalogue: catalogue}, nil
}

func sameHost(a, b string) bool {
	x, err := url.Parse(a)
	y, err2 := url.Parse(b)
	return err == nil && err2 == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// Provider returns the provider id.
func (a *Adapter) Provider() string { return a.provider }

// Close closes connections that are kept for reuse.
func (a *Adapter) Close() { a.client.Close() }

// ResolveModel returns what the catalogue knows of the model, at least its
// ids.
func (a *Adapter) ResolveModel(model string) (llm.ModelInfo, error) {
	return route.Resolve(a.catalogue, a.provider, a.traits.vendor, model)
}
