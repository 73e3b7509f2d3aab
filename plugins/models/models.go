// Package models provides the model services of a deployment: the registry in
// which the plugins that reach a provider put their adapters, and a catalogue
// of what is known of common models.
//
// The catalogue holds facts that the vendors themselves publish, as of
// [FactsDate], and only for the vendors' own routes: what another server makes
// of a model is its own affair. A fact that is not certain is left out, which
// shows as unknown and never as a guess. The configuration is put over the
// facts, for single models and for whole providers.
package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
)

// Config puts facts over those of the catalogue. The zero value changes
// nothing.
type Config struct {
	// Models holds the facts of single models by "provider/model", where the
	// provider is the id under which it is mounted. A field that is set replaces
	// that of the catalogue. Provider and model inside the value may be left out.
	Models map[string]llm.ModelInfo `json:"models,omitempty"`
	// Defaults holds, by provider, the facts of those models of which neither
	// Models nor the catalogue knows anything. The provider's media limits hold
	// for them too.
	Defaults map[string]llm.ModelInfo `json:"defaults,omitempty"`
	// Closed lists the providers that have no models but those of which
	// something is known: any other is refused with MODEL_UNKNOWN. Defaults of
	// such a provider have no effect.
	Closed []string `json:"closed,omitempty"`
}

// Name is the name of the plugin.
const Name = "models"

// Plugin returns the registry and the catalogue as a plugin.
func Plugin(cfg Config) plug.Plugin {
	return plug.Plugin{
		Name: Name,
		Services: []plug.Declaration{
			plug.Provides[*llm.Registry](),
			plug.Provides[llm.Catalogue](),
		},
		Options: fx.Provide(
			func() *llm.Registry { return new(llm.Registry) },
			func() (llm.Catalogue, error) { return New(cfg) },
		),
	}
}

// Catalogue knows models.
type Catalogue struct {
	cfg    Config
	routes map[string]map[string]llm.ModelInfo // configured, by provider and model
}

var _ llm.Catalogue = (*Catalogue)(nil)

// New returns the catalogue with the configuration over it. INVALID_ARGS
// names what is wrong with cfg.
func New(cfg Config) (*Catalogue, error) {
	c := &Catalogue{cfg: cfg, routes: map[string]map[string]llm.ModelInfo{}}
	for _, key := range slices.Sorted(maps.Keys(cfg.Models)) {
		info := cfg.Models[key]
		provider, model, ok := strings.Cut(key, "/")
		if !ok || provider == "" || model == "" {
			return nil, invalid("%q must be a provider and a model, as in openai/gpt-4.1", key)
		}
		if info.Provider != "" && info.Provider != provider || info.Model != "" && info.Model != model {
			return nil, invalid("%q holds the facts of %s/%s; leave provider and model out", key, info.Provider, info.Model)
		}
		if err := check(key, info); err != nil {
			return nil, err
		}
		if c.routes[provider] == nil {
			c.routes[provider] = map[string]llm.ModelInfo{}
		}
		c.routes[provider][model] = info
	}
	for _, provider := range slices.Sorted(maps.Keys(cfg.Defaults)) {
		if err := check("the defaults of "+provider, cfg.Defaults[provider]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func check(what string, m llm.ModelInfo) error {
	l := m.Media
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"contextWindow", m.ContextWindow}, {"maxOutputTokens", m.MaxOutputTokens}, {"media.maxImages", int64(l.MaxImages)},
		{"media.maxDimension", int64(l.MaxDimension)}, {"media.maxPixels", l.MaxPixels}, {"media.maxBytes", l.MaxBytes},
		{"media.maxRequestBytes", l.MaxRequestBytes},
	} {
		if f.value < 0 {
			return invalid("%s: %s must not be negative", what, f.name)
		}
	}
	for _, kind := range m.InputModalities {
		if kind != llm.TextInput && kind != llm.ImageInput {
			return invalid("%s: the input modality %q must be %s or %s", what, kind, llm.TextInput, llm.ImageInput)
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return errs.New(errs.InvalidArgs, "models: "+fmt.Sprintf(format, args...))
}

// Resolve returns what is known of a model; see [llm.Catalogue].
func (c *Catalogue) Resolve(provider, vendor, model string) (llm.ModelInfo, error) {
	info, known := published(vendor, model)
	if own, ok := c.routes[provider][model]; ok {
		info, known = own.Over(info), true
	}
	if !known {
		if slices.Contains(c.cfg.Closed, provider) {
			return llm.ModelInfo{}, errs.New(llm.UnknownModel, c.refusal(provider, vendor, model))
		}
		info = c.cfg.Defaults[provider].Over(info)
	}
	info.Provider, info.Model = provider, model
	return clone(info), nil
}

func (c *Catalogue) refusal(provider, vendor, model string) string {
	var ids []string
	for _, m := range c.Known(provider, vendor) {
		ids = append(ids, m.Model)
	}
	there := "it has none; configure them"
	if len(ids) > 0 {
		there = "there are: " + strings.Join(ids, ", ")
	}
	return fmt.Sprintf("the provider %q has no model %q (%s)", provider, model, there)
}

// Known returns the models that have facts; see [llm.Catalogue].
func (c *Catalogue) Known(provider, vendor string) []llm.ModelInfo {
	ids := map[string]bool{}
	for model := range c.routes[provider] {
		ids[model] = true
	}
	for _, id := range vendors[vendor].ids() {
		ids[id] = true
	}
	var out []llm.ModelInfo
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if info, err := c.Resolve(provider, vendor, id); err == nil {
			out = append(out, info)
		}
	}
	return out
}

// clone returns m with lists of its own: the catalogue's must not change.
func clone(m llm.ModelInfo) llm.ModelInfo {
	m.InputModalities = slices.Clone(m.InputModalities)
	m.ReasoningEfforts = slices.Clone(m.ReasoningEfforts)
	return m
}
