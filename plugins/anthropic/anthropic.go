// Package anthropic reaches models through the Anthropic messages API.
//
// Reasoning comes with a signature, which goes back unchanged with the answer
// it belongs to, and only to the model that gave it. Reasoning that the
// provider hides comes as a reasoning block without text whose data is kept
// in the block's Extra under [RedactedField].
//
// The stable prefix of each request is marked for the prompt cache: the tools
// and the system prompt, and the conversation up to its last two user
// messages.
//
// What a log holds is converted to what the API allows: turns alternate and
// begin with the user, each call is followed by its result, blank texts and
// trailing reasoning are left out, arguments that are no JSON object are
// wrapped in one, names and ids that would be refused are replaced and
// translated back, and tools that only the history uses are declared.
package anthropic

import (
	"cmp"
	"context"
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

const (
	defaultBaseURL = "https://api.anthropic.com"
	// version is that of the API, not of a model.
	version = "2023-06-01"
	// defaultMaxTokens bounds an answer when neither the request nor the
	// catalogue does; the API demands a bound. Every model since Claude 3.5
	// takes this one.
	defaultMaxTokens = 8192
	// maxDefault keeps the bound that the catalogue gives from eating up the
	// context window: the API counts it against the window before it begins.
	maxDefault = 32_000
	// minBudget is the smallest budget of reasoning that the API takes.
	minBudget = 1024
)

// RedactedField is the field of a reasoning block's Extra that holds reasoning
// which the provider gives in encrypted form only.
const RedactedField = "redactedData"

// Config configures the endpoint. The zero value is Anthropic with the key of
// the environment.
type Config struct {
	// Provider is the provider id. Default "anthropic".
	Provider string `json:"provider,omitempty"`
	// BaseURL is what "/v1/messages" is added to. Default that of the environment
	// variable ANTHROPIC_BASE_URL, else https://api.anthropic.com.
	BaseURL string `json:"baseURL,omitempty"`
	// APIKey is sent as x-api-key. Default that of APIKeyEnv.
	APIKey llm.Secret `json:"apiKey,omitempty"`
	// APIKeyEnv names the environment variable of the key. Default
	// ANTHROPIC_API_KEY, unless BaseURL names another host than Anthropic's: a
	// key is not given to another server by accident.
	APIKeyEnv string `json:"apiKeyEnv,omitempty"`
	// Headers are sent with every request and kept out of errors. Beta features
	// are asked for here, with the header anthropic-beta.
	Headers map[string]llm.Secret `json:"headers,omitempty"`
	// Vendor names the part of the catalogue whose facts hold for the models
	// here. Default "anthropic", unless BaseURL names another host.
	Vendor string `json:"vendor,omitempty"`
	// ThinkingBudgets gives, by reasoning effort, the most tokens of an answer
	// that may be reasoning, from 1024. Default low 4096, medium 10000, high
	// 24000. A request without an effort asks for no reasoning.
	ThinkingBudgets map[string]int64 `json:"thinkingBudgets,omitempty"`
	// NoCache leaves the marks for the prompt cache out.
	NoCache bool `json:"noCache,omitempty"`
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

var defaultBudgets = map[string]int64{"low": 4096, "medium": 10_000, "high": 24_000}

// Plugin returns the endpoint as a plugin. It is called "anthropic" where that
// is the provider id, else "anthropic/" and the id.
func Plugin(cfg Config) plug.Plugin {
	return route.Plugin("anthropic", cmp.Or(cfg.Provider, "anthropic"), func(c llm.Catalogue) (*Adapter, error) { return New(cfg, c) })
}

// Adapter reaches the models of one endpoint.
type Adapter struct {
	cfg       Config
	keyHint   string // what to do about a key that is missing; "" if none is
	client    *endpoint.Client
	catalogue llm.Catalogue
}

var _ llm.Adapter = (*Adapter)(nil)

// New returns an adapter. The catalogue may be nil. INVALID_ARGS tells what
// is wrong with cfg; a missing key shows in the first request only, so that
// a deployment may offer providers that are not all in use.
func New(cfg Config, catalogue llm.Catalogue) (*Adapter, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "anthropic")
	if cfg.ThinkingBudgets == nil {
		cfg.ThinkingBudgets = defaultBudgets
	}
	for effort, n := range cfg.ThinkingBudgets {
		if n < minBudget {
			return nil, errs.New(errs.InvalidArgs,
				fmt.Sprintf("anthropic: the thinking budget of %q must be at least %d tokens, not %d", effort, minBudget, n))
		}
	}
	ours := true // the key and the facts are Anthropic's
	if cfg.BaseURL == "" {
		cfg.BaseURL = cmp.Or(strings.TrimSpace(route.Getenv(cfg.Getenv)("ANTHROPIC_BASE_URL")), defaultBaseURL)
	} else if u, err := url.Parse(cfg.BaseURL); err != nil || u.Scheme+"://"+u.Host != defaultBaseURL {
		ours = false
	}
	keyEnv := cfg.APIKeyEnv
	if ours {
		cfg.Vendor = cmp.Or(cfg.Vendor, "anthropic")
		keyEnv = cmp.Or(keyEnv, "ANTHROPIC_API_KEY")
	}
	client, hint, err := route.Server{
		Kind: "anthropic", Provider: cfg.Provider, BaseURL: cfg.BaseURL,
		Key: cfg.APIKey, KeyEnv: keyEnv, KeyNeeded: keyEnv != "",
		SetKey: func(h http.Header, key string) { h.Set("X-Api-Key", key) },
		Header: http.Header{"Anthropic-Version": {version}}, Headers: cfg.Headers,
		IdleTimeoutSeconds: cfg.IdleTimeoutSeconds, MaxResponseBytes: cfg.MaxResponseBytes,
		Transport: cfg.Transport, Getenv: cfg.Getenv,
	}.Open()
	if err != nil {
		return nil, err
	}
	return &Adapter{cfg: cfg, keyHint: hint, client: client, catalogue: catalogue}, nil
}

// Provider returns the provider id.
func (a *Adapter) Provider() string { return a.cfg.Provider }

// Close closes connections that are kept for reuse.
func (a *Adapter) Close() { a.client.Close() }

// ResolveModel returns what the catalogue knows of the model, at least its
// ids.
func (a *Adapter) ResolveModel(model string) (llm.ModelInfo, error) {
	return route.Resolve(a.catalogue, a.cfg.Provider, a.cfg.Vendor, model)
}

// maxPages bounds how often a list of models is continued.
const maxPages = 20

// Models lists what the server has, with what the catalogue knows of it. Of a
// server that has no list, the result is what the catalogue knows.
func (a *Adapter) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	if a.keyHint != "" {
		return nil, a.client.Fail(llm.Auth, "", a.keyHint)
	}
	var served []llm.ModelInfo
	query := url.Values{"limit": {"1000"}}
	for range maxPages {
		var page struct {
			Data []struct {
				ID   string `json:"id"`
				Name string `json:"display_name"`
			} `json:"data"`
			More bool   `json:"has_more"`
			Last string `json:"last_id"`
		}
		err := a.client.Get(ctx, "v1/models", query, &page)
		if route.NoList(err) {
			return route.Known(a.catalogue, a.cfg.Provider, a.cfg.Vendor), nil
		}
		if err != nil {
			return nil, err
		}
		for _, m := range page.Data {
			if m.ID != "" {
				served = append(served, llm.ModelInfo{Provider: a.cfg.Provider, Model: m.ID, Name: m.Name})
			}
		}
		if !page.More || page.Last == "" {
			break
		}
		query.Set("after_id", page.Last)
	}
	return route.List(a.catalogue, a.cfg.Provider, a.cfg.Vendor, served), nil
}
