package models

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
)

func open(t *testing.T, cfg Config) *Catalogue {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestResolve(t *testing.T) {
	c := open(t, Config{
		Models: map[string]llm.ModelInfo{
			"openai/gpt-4o":      {ContextWindow: 1000, Media: llm.MediaLimits{MaxImages: 3}},
			"box/Qwen/Qwen3-32B": {ContextWindow: 32768, MaxOutputTokens: 8192},
			"openai/ft:gpt-4o:x": {InputModalities: []llm.Modality{llm.TextInput}},
		},
		Defaults: map[string]llm.ModelInfo{"openai": {ContextWindow: 77, Media: llm.MediaLimits{MaxImages: 2}}},
		Closed:   []string{"anthropic"},
	})
	openaiMedia := llm.MediaLimits{MaxImages: 500, MaxBytes: 20 << 20, MaxRequestBytes: 48_000_000}
	configured := openaiMedia
	configured.MaxImages = 3
	defaults := openaiMedia
	defaults.MaxImages = 2
	anthropicMedia := llm.MediaLimits{MaxImages: 100, MaxDimension: 2000, MaxBytes: 3_932_160, MaxRequestBytes: 30_000_000}
	tests := []struct {
		name, provider, vendor, model string
		want                          llm.ModelInfo
	}{
		{"published", "openai", "openai", "gpt-4.1",
			llm.ModelInfo{ContextWindow: 1_047_576, MaxOutputTokens: 32_768, InputModalities: vision, Media: openaiMedia}},
		{"a snapshot of it", "openai", "openai", "gpt-4.1-2025-04-14",
			llm.ModelInfo{ContextWindow: 1_047_576, MaxOutputTokens: 32_768, InputModalities: vision, Media: openaiMedia}},
		{"a snapshot with facts of its own", "openai", "openai", "gpt-4o-2024-05-13",
			llm.ModelInfo{ContextWindow: 128_000, MaxOutputTokens: 4096, InputModalities: vision, Media: openaiMedia}},
		{"configured over published", "openai", "openai", "gpt-4o",
			llm.ModelInfo{ContextWindow: 1000, MaxOutputTokens: 16_384, InputModalities: vision, Media: configured}},
		{"the configuration is of one route", "mirror", "openai", "gpt-4o",
			llm.ModelInfo{ContextWindow: 128_000, MaxOutputTokens: 16_384, InputModalities: vision, Media: openaiMedia}},
		{"the facts are of one vendor", "openai", "", "gpt-4.1", llm.ModelInfo{ContextWindow: 77, Media: llm.MediaLimits{MaxImages: 2}}},
		{"a longer name is another model", "openai", "openai", "gpt-4.1-audio", llm.ModelInfo{ContextWindow: 77, Media: defaults}},
		{"a shorter name is another model", "openai", "openai", "gpt", llm.ModelInfo{ContextWindow: 77, Media: defaults}},
		{"configured alone", "openai", "openai", "ft:gpt-4o:x", llm.ModelInfo{InputModalities: text, Media: openaiMedia}},
		{"a date in eight digits", "anthropic", "anthropic", "claude-sonnet-4-5-20250929",
			llm.ModelInfo{ContextWindow: 200_000, MaxOutputTokens: 64_000, InputModalities: vision, ReasoningEfforts: []string{"low", "medium", "high"}, Media: anthropicMedia}},
		{"weights by a hub's name", "box", "open-weights", "Qwen/Qwen2.5-VL-7B-Instruct", llm.ModelInfo{InputModalities: vision}},
		{"weights by Ollama's name", "box", "open-weights", "llama3.2-vision:11b", llm.ModelInfo{InputModalities: vision}},
		{"weights with a slash in the configuration", "box", "open-weights", "Qwen/Qwen3-32B",
			llm.ModelInfo{ContextWindow: 32768, MaxOutputTokens: 8192, InputModalities: text}},
		{"nothing known", "box", "open-weights", "my-own", llm.ModelInfo{}},
		{"unknown vendor", "x", "y", "z", llm.ModelInfo{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Provider, tt.want.Model = tt.provider, tt.model
			got, err := c.Resolve(tt.provider, tt.vendor, tt.model)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.ReasoningEfforts) == 0 {
				got.ReasoningEfforts = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	_, err := c.Resolve("anthropic", "anthropic", "claude-sonet-4-5")
	if !errors.Is(err, llm.UnknownModel) || !strings.Contains(err.Error(), "claude-sonnet-4-5") {
		t.Errorf("a closed provider: got %v, want %s and the models there are", err, llm.UnknownModel)
	}
}

// A caller that changes what it got changes nobody else's.
func TestFactsAreCopied(t *testing.T) {
	c := open(t, Config{})
	a, err := c.Resolve("openai", "openai", "gpt-4o")
	if err != nil {
		t.Fatal(err)
	}
	a.InputModalities[0] = "x"
	b, err := c.Resolve("openai", "openai", "gpt-4o")
	if err != nil || !b.Accepts(llm.TextInput) {
		t.Errorf("got %v, %v", b.InputModalities, err)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]Config{
		"gpt-4o":        {Models: map[string]llm.ModelInfo{"gpt-4o": {}}},
		"/m":            {Models: map[string]llm.ModelInfo{"/m": {}}},
		"leave":         {Models: map[string]llm.ModelInfo{"a/b": {Model: "c"}}},
		"contextWindow": {Models: map[string]llm.ModelInfo{"a/b": {ContextWindow: -1}}},
		"audio":         {Models: map[string]llm.ModelInfo{"a/b": {InputModalities: []llm.Modality{"audio"}}}},
		"media.maxByte": {Defaults: map[string]llm.ModelInfo{"a": {Media: llm.MediaLimits{MaxBytes: -1}}}},
	} {
		if _, err := New(cfg); !errors.Is(err, errs.InvalidArgs) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s about %q", err, errs.InvalidArgs, want)
		}
	}
}

// The table has each model once, in a form in which it is found, and no
// answer longer than the window.
func TestFacts(t *testing.T) {
	for name, v := range vendors {
		ids := v.ids()
		for i, id := range ids {
			info, ok := published(name, id)
			if !ok || slices.Contains(ids[:i], id) {
				t.Errorf("%s: %s is found: %v, and listed before: %v", name, id, ok, slices.Contains(ids[:i], id))
			}
			if info.MaxOutputTokens > info.ContextWindow || !info.Accepts(llm.TextInput) {
				t.Errorf("%s: %s has impossible facts: %+v", name, id, info)
			}
		}
		known := open(t, Config{}).Known("p", name)
		if len(known) != len(ids) || !slices.IsSortedFunc(known, func(a, b llm.ModelInfo) int { return strings.Compare(a.Model, b.Model) }) {
			t.Errorf("%s: Known has %d models of %d, or is not sorted", name, len(known), len(ids))
		}
	}
}
